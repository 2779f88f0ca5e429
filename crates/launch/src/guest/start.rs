//! Starts QEMU: what it is given has no name in any filesystem, so that nothing of it can be left behind.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::rc::Rc;

use hostmark_model::Guest;
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::command_line::{self, Descriptors};
use super::error::GuestError;
use super::prepare::Prepared;
use super::{GuestSpec, MACHINE, NetSpec};
use crate::program::{Programs, command};
use crate::supervise::{Ending, Errors, Membership, Supervised, Terms};

/// QEMU, and our ends of what it was given.
pub struct Started {
    pub process: Supervised,
    pub channel: OwnedFd,
    pub monitor: OwnedFd,
    /// Its words.
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
    let disk = prepared.disk.as_ref().map(rustix::io::dup).transpose().map_err(io::Error::from)?;
    let [kernel, initramfs, its_monitor, its_channel] = inherited.each_ref().map(AsRawFd::as_raw_fd);
    let held = Descriptors {
        kernel,
        initramfs,
        monitor: its_monitor,
        channel: its_channel,
        disk: disk.as_ref().map(AsRawFd::as_raw_fd),
    };
    let words = command_line::words(spec, prepared, &held);
    let all = [spec.qemu.clone()];
    let all = all.iter().chain(&words).map(|word| word.to_string_lossy().into_owned()).collect();
    let mut command = command(programs.own());
    command.arg(MACHINE).arg(std::process::id().to_string()).arg(&spec.qemu).args(&words);
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

/// What is known of a guest before it has booted.
pub fn described(spec: &GuestSpec, prepared: &Prepared, command: Vec<String>) -> Guest {
    Guest {
        accel: spec.accel.name().into(),
        vmm: String::new(),
        machine: command_line::machine(spec).into(),
        cpu: command_line::cpu(spec).into(),
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
            NetSpec::Tap { .. } if command_line::has_vhost() => "virtio-net, tap, vhost".into(),
            NetSpec::Tap { .. } => "virtio-net, tap".into(),
        }),
        channel: prepared.channel.name().into(),
        command,
        append: command_line::append(spec),
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
