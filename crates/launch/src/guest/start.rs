//! QEMU as it is started: its command line, and files that have no name in any filesystem, so that nothing can be left behind.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::rc::Rc;

use hostmark_model::Guest;
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::prepare::{AgentChannel, Prepared};
use super::{Accel, GuestError, GuestSpec, NetSpec, VIRTIO_PORT};
use crate::monitor::{CONSOLE, CONSOLE_BYTES};
use crate::program::{Programs, command};
use crate::supervise::{Ending, Errors, Membership, Supervised, Terms};

/// QEMU, and our ends of what it was given.
pub struct Started {
    pub process: Supervised,
    pub channel: OwnedFd,
    pub monitor: OwnedFd,
    pub command: Vec<String>,
}

pub fn start(
    spec: &GuestSpec,
    programs: &Programs,
    prepared: &Prepared,
    stop: Option<Rc<OwnedFd>>,
) -> Result<Started, GuestError> {
    let kernel = held("hostmark-kernel", &prepared.kernel.bytes)?;
    let initramfs = held("hostmark-initramfs", &prepared.initramfs)?;
    let pair =
        || socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).map_err(io::Error::from);
    let ((channel, its_channel), (monitor, its_monitor)) = (pair()?, pair()?);
    // Only these are inherited, and only by QEMU: nothing else is started while they are there.
    let of = |descriptor: &OwnedFd| rustix::io::dup(descriptor).map_err(io::Error::from);
    let inherited = [of(&kernel)?, of(&initramfs)?, of(&its_monitor)?, of(&its_channel)?];
    let of_file = |file: Option<&File>| file.map(rustix::io::dup).transpose().map_err(io::Error::from);
    let (disk, image) = (of_file(prepared.disk.as_ref())?, of_file(prepared.image.as_ref().map(|(file, _)| file))?);
    let [kernel, initramfs, its_monitor, its_channel] = inherited.each_ref().map(AsRawFd::as_raw_fd);
    let held = Descriptors {
        kernel,
        initramfs,
        monitor: its_monitor,
        channel: its_channel,
        disk: disk.as_ref().map(AsRawFd::as_raw_fd),
        image: image.as_ref().map(AsRawFd::as_raw_fd),
    };
    let words = words(spec, prepared, &held);
    let all = [spec.qemu.clone()];
    let all = all.iter().chain(&words).map(|word| word.to_string_lossy().into_owned()).collect();
    let mut command = command(programs.own());
    command.arg(super::MACHINE).arg(std::process::id().to_string()).arg(&spec.qemu).args(&words);
    let (errors, ending) = (Errors::CapturedAtLeisure, Ending::Killed);
    let terms = Terms { group: Membership::Own, has_input: false, errors, ending, stop };
    let process = Supervised::start(command, terms)?;
    Ok(Started { process, channel, monitor, command: all })
}

/// A file without a name that holds this, and changes no more.
fn held(name: &str, bytes: &[u8]) -> io::Result<OwnedFd> {
    let file = File::from(memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    (&file).write_all(bytes)?;
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK)?;
    Ok(file.into())
}

/// Description of a guest before it has booted.
pub fn described(spec: &GuestSpec, prepared: &Prepared, command: Vec<String>) -> Guest {
    Guest {
        accel: spec.accel.name().into(),
        vmm: String::new(),
        machine: machine(spec).into(),
        cpu: cpu(spec).into(),
        cpus: spec.cpus,
        nodes: spec.nodes,
        memory: spec.memory,
        backing: backing(spec),
        pinned: spec.pin.clone(),
        disk: spec.disk.as_ref().map(|disk| {
            let iothread = if disk.iothread { "own thread" } else { "main thread" };
            format!("virtio-blk, {}, cache={}, {iothread}", disk.format.name(), disk.cache)
        }),
        net: spec.net.as_ref().map(|net| match net {
            NetSpec::User => "virtio-net, user".into(),
            NetSpec::Tap { .. } if has_vhost() => "virtio-net, tap, vhost".into(),
            NetSpec::Tap { .. } => "virtio-net, tap".into(),
        }),
        channel: prepared.channel.name().into(),
        command,
        append: append(spec),
        digests: prepared.digests.clone(),
        boot_ns: 0,
        host: BTreeMap::new(),
        exits: BTreeMap::new(),
        idle_cpus: None,
    }
}

/// The pages of the host behind a guest's memory.
fn backing(spec: &GuestSpec) -> String {
    match spec.huge_pages {
        Some(bytes) if bytes.is_multiple_of(1 << 30) => format!("{}G", bytes >> 30),
        Some(bytes) if bytes.is_multiple_of(1 << 20) => format!("{}M", bytes >> 20),
        Some(bytes) => format!("{}K", bytes >> 10),
        // QEMU asks for them where they are given on request.
        None => match fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled") {
            Ok(text) if text.contains("[always]") || text.contains("[madvise]") => "transparent".into(),
            _ => "base".into(),
        },
    }
}

/// The machine type unless another is asked for.
const MACHINE_TYPE: &str = if cfg!(target_arch = "x86_64") { "q35" } else { "virt" };

/// The descriptors that QEMU inherits, by number.
pub struct Descriptors {
    pub kernel: i32,
    pub initramfs: i32,
    pub monitor: i32,
    pub channel: i32,
    pub disk: Option<i32>,
    pub image: Option<i32>,
}

/// The machine type that is asked for.
pub fn machine(spec: &GuestSpec) -> &str {
    spec.machine.as_deref().unwrap_or(MACHINE_TYPE)
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
    if let (Some((_, format)), Some(held)) = (&prepared.image, held.image) {
        add("-drive", &format!("file=/proc/self/fd/{held},format={},if=none,id=image,readonly=on", format.name()));
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

/// Number of sockets: that of nodes, where these divide its CPUs.
fn sockets(spec: &GuestSpec) -> u32 {
    if spec.nodes > 0 && spec.cpus.is_multiple_of(spec.nodes) { spec.nodes } else { 1 }
}

/// A value as QEMU reads it back: a comma ends one.
fn escaped(value: &str) -> String {
    value.replace(',', ",,")
}

/// Tells whether the host's kernel passes packets on by itself.
fn has_vhost() -> bool {
    OpenOptions::new().read(true).write(true).open("/dev/vhost-net").is_ok()
}
