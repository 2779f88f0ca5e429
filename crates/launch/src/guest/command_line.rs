//! QEMU's command line for a guest.

use std::ffi::OsString;
use std::fs::OpenOptions;

use super::prepare::{AgentChannel, Prepared};
use super::{Accel, GuestSpec, NetSpec, VIRTIO_PORT};
use crate::monitor::{CONSOLE, CONSOLE_BYTES};

/// The machine type unless another is asked for.
const MACHINE: &str = if cfg!(target_arch = "x86_64") { "q35" } else { "virt" };

/// The descriptors that QEMU inherits, by number.
pub struct Descriptors {
    pub kernel: i32,
    pub initramfs: i32,
    pub monitor: i32,
    pub channel: i32,
    pub disk: Option<i32>,
}

/// The machine type that is asked for.
pub fn machine(spec: &GuestSpec) -> &str {
    spec.machine.as_deref().unwrap_or(MACHINE)
}

/// The CPU model that is asked for.
pub fn cpu(spec: &GuestSpec) -> &str {
    spec.cpu.as_deref().unwrap_or(match spec.accel {
        Accel::Kvm => "host",
        Accel::Tcg => "max",
    })
}

/// The kernel's own command line.
pub fn append(spec: &GuestSpec) -> String {
    // A kernel that panics restarts at once, which QEMU tells.
    let ours = ["console=ttyS0", "panic=-1", "oops=panic", "rdinit=/init"].map(str::to_owned);
    ours.into_iter().chain(spec.append.iter().cloned()).collect::<Vec<_>>().join(" ")
}

/// All its words but its own name.
pub fn words(spec: &GuestSpec, prepared: &Prepared, held: &Descriptors) -> Vec<OsString> {
    let mut words: Vec<String> = Vec::new();
    let mut add = |option: &str, value: &str| {
        words.push(option.to_owned());
        if !value.is_empty() {
            words.push(value.to_owned());
        }
    };
    add("-name", "hostmark");
    for alone in ["-nodefaults", "-no-user-config", "-no-reboot", "-no-shutdown", "-S"] {
        add(alone, "");
    }
    add("-display", "none");
    add("-accel", spec.accel.name());
    add("-cpu", cpu(spec));
    add(
        "-smp",
        &format!(
            "cpus={n},maxcpus={n},sockets={s},cores={c},threads=1",
            n = spec.cpus,
            s = sockets(spec),
            c = spec.cpus / sockets(spec)
        ),
    );
    add("-m", &format!("{}B", spec.memory));
    let nodes = u64::from(spec.nodes);
    for node in 0..nodes {
        let size = spec.memory / nodes;
        let id = format!("memory{node}");
        add(
            "-object",
            &match spec.huge_pages {
                Some(page) => {
                    format!("memory-backend-memfd,id={id},size={size},hugetlb=on,hugetlbsize={page},prealloc=on")
                }
                None => format!("memory-backend-ram,id={id},size={size}"),
            },
        );
        if nodes > 1 {
            let each = spec.cpus / spec.nodes;
            let first = node as u32 * each;
            add("-numa", &format!("node,nodeid={node},cpus={first}-{},memdev={id}", first + each - 1));
        }
    }
    let backend = if nodes > 1 { "" } else { ",memory-backend=memory0" };
    add("-machine", &format!("{}{backend}", machine(spec)));
    add("-kernel", &format!("/proc/self/fd/{}", held.kernel));
    add("-initrd", &format!("/proc/self/fd/{}", held.initramfs));
    add("-append", &append(spec));
    add("-chardev", &format!("socket,id=monitor,fd={}", held.monitor));
    add("-mon", "chardev=monitor,mode=control");
    add("-chardev", &format!("ringbuf,id={CONSOLE},size={CONSOLE_BYTES}"));
    add("-serial", &format!("chardev:{CONSOLE}"));
    add("-chardev", &format!("socket,id=channel,fd={}", held.channel));
    match prepared.channel {
        AgentChannel::Serial => add("-serial", "chardev:channel"),
        AgentChannel::Virtio => {
            add("-device", "virtio-serial-pci");
            add("-device", &format!("virtserialport,chardev=channel,name={VIRTIO_PORT}"));
        }
    }
    if let (Some(disk), Some(held)) = (&spec.disk, held.disk) {
        let (format, cache) = (disk.format.name(), escaped(&disk.cache));
        add("-drive", &format!("file=/proc/self/fd/{held},format={format},if=none,id=disk,cache={cache}"));
        let iothread = if disk.iothread { ",iothread=io" } else { "" };
        if disk.iothread {
            add("-object", "iothread,id=io");
        }
        add("-device", &format!("virtio-blk-pci,drive=disk{iothread}"));
    }
    if let (Some(image), Some(format)) = (&spec.image, prepared.image) {
        // A name with a colon would be that of a protocol.
        let image = std::path::absolute(image).unwrap_or_else(|_| image.clone());
        let file = escaped(&image.to_string_lossy());
        add("-drive", &format!("file={file},format={},if=none,id=image,readonly=on", format.name()));
        add("-device", "virtio-blk-pci,drive=image");
    }
    if let Some(net) = &spec.net {
        add(
            "-netdev",
            &match net {
                NetSpec::User => "user,id=net".to_owned(),
                NetSpec::Tap { interface, .. } => {
                    let vhost = if has_vhost() { "on" } else { "off" };
                    format!("tap,id=net,ifname={},script=no,downscript=no,vhost={vhost}", escaped(interface))
                }
            },
        );
        add("-device", "virtio-net-pci,netdev=net,romfile=");
    }
    words.extend(spec.qemu_args.iter().cloned());
    words.into_iter().map(OsString::from).collect()
}

/// As many sockets as nodes, where these divide its CPUs.
fn sockets(spec: &GuestSpec) -> u32 {
    if spec.nodes > 0 && spec.cpus.is_multiple_of(spec.nodes) { spec.nodes } else { 1 }
}

/// A value as QEMU reads it back: a comma ends one.
fn escaped(value: &str) -> String {
    value.replace(',', ",,")
}

/// Whether the host's kernel passes packets on by itself.
pub fn has_vhost() -> bool {
    OpenOptions::new().read(true).write(true).open("/dev/vhost-net").is_ok()
}
