//! Parts of a guest, put together and looked at before anything is started: its kernel, its first filesystem (an archive in the format
//! that the kernel unpacks: newc, kernel's buffer-format.rst), and its disk in a file without a name, which so is gone with the guest.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output};

use hostmark_model::{GuestNet, GuestSetup, Message};
use hostmark_say::say;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::kernel::{self, BootKernel, Module, Modules};
use super::{DiskFormat, DiskSpec, GuestError, GuestSpec, NetSpec, SETUP, VIRTIO_PORT};
use crate::program::{Program, Programs, digest, hex};
use crate::transport_error::shown;

/// Directories of the guest's first filesystem.
const DIRECTORIES: [&str; 8] = ["dev", "proc", "sys", "tmp", "root", "disk", "image", "modules"];
/// Modules of a virtio channel, and of an image's filesystem.
const CHANNEL_MODULES: [&str; 2] = ["virtio_pci", "virtio_console"];
const IMAGE_MODULES: [&str; 4] = ["virtio_blk", "ext4", "xfs", "overlay"];
const SERIAL: &str = "ttyS1";
/// QEMU's own network: what it calls the guest, and itself.
const USER_NET: (Ipv4Addr, u8, Ipv4Addr) = (Ipv4Addr::new(10, 0, 2, 15), 24, Ipv4Addr::new(10, 0, 2, 2));
/// Bytes of hostmark's own module at most.
const MOST_MODULE: u64 = 64 << 20;

/// Device that passes lines between an agent and its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentChannel {
    /// The second serial port, which every kernel has built in.
    Serial,
    Virtio,
}

impl AgentChannel {
    pub fn name(self) -> &'static str {
        match self {
            AgentChannel::Serial => "serial",
            AgentChannel::Virtio => "virtio-serial",
        }
    }
}

pub struct Prepared {
    pub kernel: BootKernel,
    pub program: Program,
    pub initramfs: Vec<u8>,
    pub disk: Option<File>,
    pub image: Option<(File, DiskFormat)>,
    pub channel: AgentChannel,
    pub digests: BTreeMap<String, String>,
}

pub fn prepare(spec: &GuestSpec, programs: &Programs) -> Result<Prepared, GuestError> {
    check(spec)?;
    let kernel = BootKernel::read(&spec.kernel)?;
    let machine = std::env::consts::ARCH;
    let program = programs.for_machine(machine).map_err(GuestError::Program)?;
    if !program.is_static {
        return Err(GuestError::Dynamic { machine });
    }
    let modules = Modules::of(spec.modules.as_deref(), kernel.release.as_deref())?;
    let channel = match CHANNEL_MODULES.iter().all(|name| modules.has(name)) {
        true => AgentChannel::Virtio,
        false => AgentChannel::Serial,
    };
    let mut wanted: Vec<&str> = Vec::new();
    wanted.extend(CHANNEL_MODULES.iter().filter(|_| channel == AgentChannel::Virtio));
    wanted.extend(spec.disk.iter().flat_map(|_| ["virtio_blk", "ext4"]));
    wanted.extend(spec.image.iter().flat_map(|_| IMAGE_MODULES));
    wanted.extend(spec.net.iter().map(|_| "virtio_net"));
    let mut loaded = modules.loaded_for(&wanted)?;
    let mut digests = BTreeMap::from([("kernel".to_owned(), kernel.digest.clone())]);
    if let Some(module) = &spec.module {
        let module = own_module(module)?;
        digests.insert("module".into(), hex(&Sha256::digest(&module.bytes)));
        loaded.push(module);
    }
    let image = spec.image.as_deref().map(|image| image_of(image, &mut digests)).transpose()?;
    let devices = ["vda", "vdb"];
    let setup = GuestSetup {
        modules: loaded.iter().map(path_of).collect(),
        channel: match channel {
            AgentChannel::Serial => SERIAL.to_owned(),
            AgentChannel::Virtio => VIRTIO_PORT.to_owned(),
        },
        disk: spec.disk.as_ref().map(|_| devices[0].to_owned()),
        root: image.as_ref().map(|_| devices[usize::from(spec.disk.is_some())].to_owned()),
        net: spec.net.as_ref().map(net_of),
    };
    let initramfs = initramfs(&program, &loaded, &setup)?;
    digests.insert("initramfs".into(), hex(&Sha256::digest(&initramfs)));
    let disk = spec.disk.as_ref().map(make).transpose()?;
    Ok(Prepared { kernel, program, initramfs, disk, image, channel, digests })
}

/// Checks all that can be told before anything is started.
fn check(spec: &GuestSpec) -> Result<(), GuestError> {
    let asked = |sentence: Message| Err(GuestError::Asked(sentence));
    match spec {
        _ if std::env::consts::ARCH != "x86_64" => {
            asked(say!("hostmark makes guests on x86_64 alone; take one that exists, by --on 'ssh vm1'"))
        }
        GuestSpec { cpus: 0, .. } | GuestSpec { nodes: 0, .. } => {
            asked(say!("a guest has one CPU and one node at least; give it more"))
        }
        GuestSpec { cpus, nodes, .. } if !cpus.is_multiple_of(*nodes) => {
            asked(say!("a guest's CPUs are spread evenly over its nodes; choose a multiple of the nodes"))
        }
        GuestSpec { memory, nodes, .. } if !memory.is_multiple_of(u64::from(*nodes) << 20) || *memory == 0 => {
            asked(say!("a guest's memory is a number of MiB for each node; choose another"))
        }
        GuestSpec { pin, cpus, .. } if !pin.is_empty() && pin.len() != *cpus as usize => {
            asked(say!("not as many CPUs are named to pin to as the guest has; name one for each"))
        }
        _ => Ok(()),
    }
}

fn own_module(path: &Path) -> Result<Module, GuestError> {
    let failed = |why: Message| {
        let path = shown(&path.to_string_lossy());
        GuestError::Asked(say!("{path} is no module of hostmark ({why}); build it in kmod/ for the guest's kernel"))
    };
    let bytes = kernel::contents(path, MOST_MODULE).map_err(|error| failed(error.into()))?;
    match bytes.starts_with(b"\x7fELF") {
        true => Ok(Module { name: "hostmark".into(), bytes }),
        false => Err(failed(say!("it is no ELF file"))),
    }
}

/// Opens an image, once: what is looked at here is what QEMU has.
fn image_of(path: &Path, digests: &mut BTreeMap<String, String>) -> Result<(File, DiskFormat), GuestError> {
    let image = shown(&path.to_string_lossy());
    let read = kernel::open(path).and_then(|file| Ok((format_of(&file)?, digest(&file)?, file)));
    let ((format, other), digest, file) = read.map_err(|error| {
        GuestError::Asked(say!("the image {image} cannot be read ({error}); name another by --image"))
    })?;
    if let Some(other) = other {
        let other = shown(&other);
        return Err(GuestError::Asked(say!(
            "the image {image} is not whole: QEMU would read another file as well ({other}); merge them by qemu-img convert"
        )));
    }
    digests.insert("image".into(), digest);
    Ok((file, format))
}

fn net_of(net: &NetSpec) -> GuestNet {
    match net {
        NetSpec::User => GuestNet { address: USER_NET.0, prefix: USER_NET.1, gateway: Some(USER_NET.2) },
        NetSpec::Tap { address, prefix, .. } => GuestNet { address: *address, prefix: *prefix, gateway: None },
    }
}

/// Path of a module in the initramfs.
fn path_of(module: &Module) -> String {
    format!("/modules/{}.ko", module.name)
}

fn initramfs(program: &Program, modules: &[Module], setup: &GuestSetup) -> io::Result<Vec<u8>> {
    let mut archive = Initramfs::default();
    DIRECTORIES.iter().for_each(|directory| archive.directory(directory));
    archive.device("dev/console", (5, 1));
    archive.file("hostmark", &program.bytes);
    archive.link("init", "hostmark");
    for module in modules {
        archive.file(path_of(module).trim_start_matches('/'), &module.bytes);
    }
    archive.file(SETUP.trim_start_matches('/'), &serde_json::to_vec(setup)?);
    Ok(archive.finish())
}

/// Makes the filesystem. Nothing of it is left for the guest's kernel to do in the background.
const MKFS: [&str; 7] = ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", "-m", "0"];
const CONVERT: [&str; 6] = ["qemu-img", "convert", "-f", "raw", "-O", "qcow2"];
/// Directories of the administrator's programs, which not every user has in PATH.
const SYSTEM: &str = "/usr/sbin:/sbin";
/// Bytes of the smallest disk with a journal that leaves room for cases.
const LEAST: u64 = 64 << 20;

pub fn make(spec: &DiskSpec) -> Result<File, GuestError> {
    let directory = shown(&spec.directory.to_string_lossy());
    let failed = |why: Message, remedy: Message| {
        GuestError::Asked(say!("the guest's disk cannot be made in {directory} ({why}); {remedy}"))
    };
    if spec.size < LEAST {
        return Err(failed(say!("{size} bytes are too few", size = spec.size), say!("choose 64 MiB or more")));
    }
    let refused = |error: io::Error| {
        let remedy = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => say!("make room, or choose a smaller disk"),
            _ => say!("name another directory"),
        };
        failed(error.into(), remedy)
    };
    let disk = tempfile::tempfile_in(&spec.directory).map_err(refused)?;
    // What is not there yet when the guest writes would be allocated then, and a case would pay for it.
    match fallocate(&disk, FallocateFlags::empty(), 0, spec.size) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => disk.set_len(spec.size).map_err(refused)?,
        allocated => allocated.map_err(|error| refused(error.into()))?,
    }
    run(&MKFS, &[&disk]).map_err(|(why, remedy)| failed(why, remedy))?;
    match spec.format {
        DiskFormat::Raw => Ok(disk),
        DiskFormat::Qcow2 => {
            let other = tempfile::tempfile_in(&spec.directory).map_err(refused)?;
            run(&CONVERT, &[&disk, &other]).map_err(|(why, remedy)| failed(why, remedy))?;
            Ok(other)
        }
    }
}

/// Runs a program on files without names; otherwise why it failed, and what to do.
fn run(words: &[&str], files: &[&File]) -> Result<(), (Message, Message)> {
    let name = words.first().copied().unwrap_or_default();
    // Only this program inherits them: nothing else is started while they are there.
    let inherited: io::Result<Vec<_>> = files.iter().map(|file| Ok(rustix::io::dup(file)?)).collect();
    let inherited = inherited.map_err(|error| (error.into(), say!("raise the limit of open files (ulimit -n)")))?;
    let paths = inherited.iter().map(|file| format!("/proc/self/fd/{}", file.as_raw_fd()));
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(name);
    command.args(&words[1..]).args(paths).env("PATH", format!("{path}:{SYSTEM}"));
    match command.output() {
        Ok(Output { status, .. }) if status.success() => Ok(()),
        Ok(Output { stderr, .. }) => {
            let text = String::from_utf8_lossy(&stderr);
            let word = text.lines().rfind(|line| !line.trim().is_empty()).map(|line| Message::plain(shown(line)));
            let word = word.unwrap_or_else(|| say!("it says nothing"));
            Err((say!("{name}: {word}"), say!("look at what it names")))
        }
        Err(error) => Err((say!("{what}: {error}", what = name), say!("install that program"))),
    }
}

/// Format of an image's contents, and the other file that these are in too, by its name there (qemu's docs/interop/qcow2.rst).
fn format_of(image: &File) -> io::Result<(DiskFormat, Option<String>)> {
    let mut header = [0; 80];
    let length = image.read_at(&mut header, 0)?;
    if !header[..length].starts_with(b"QFI\xfb") {
        return Ok((DiskFormat::Raw, None));
    }
    let number = |at: usize| header[at..at + 8].iter().fold(0, |all, &byte| (all << 8) | u64::from(byte));
    // Bit 2 of the features that a reader has to know: the data lie in a file of their own.
    let (backing, has_data_file) = (number(8), number(0) as u32 > 2 && number(72) & 4 != 0);
    let mut name = vec![0; (number(16) >> 32).min(LONGEST_BACKING) as usize];
    let length = if backing == 0 { 0 } else { image.read_at(&mut name, backing)? };
    let name = String::from_utf8_lossy(&name[..length]);
    let name = if backing == 0 { "data-file" } else { &name };
    Ok((DiskFormat::Qcow2, (backing != 0 || has_data_file).then(|| name.to_owned())))
}

/// Bytes of the name of a backing file at most.
const LONGEST_BACKING: u64 = 1023;

impl DiskFormat {
    pub fn name(self) -> &'static str {
        match self {
            DiskFormat::Raw => "raw",
            DiskFormat::Qcow2 => "qcow2",
        }
    }
}

/// The kind of an entry, as a part of its mode.
const DIRECTORY: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const DEVICE: u32 = 0o020_000;
const TRAILER: &str = "TRAILER!!!";

/// An archive that is under way.
#[derive(Debug, Default)]
struct Initramfs {
    bytes: Vec<u8>,
    entries: u32,
}

impl Initramfs {
    pub fn directory(&mut self, name: &str) {
        self.entry(name, DIRECTORY | 0o755, (0, 0), &[]);
    }

    /// Adds a file, which may be executed.
    pub fn file(&mut self, name: &str, contents: &[u8]) {
        self.entry(name, FILE | 0o755, (0, 0), contents);
    }

    pub fn link(&mut self, name: &str, to: &str) {
        self.entry(name, LINK | 0o777, (0, 0), to.as_bytes());
    }

    pub fn device(&mut self, name: &str, numbers: (u32, u32)) {
        self.entry(name, DEVICE | 0o600, numbers, &[]);
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.entry(TRAILER, 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, (major, minor): (u32, u32), contents: &[u8]) {
        self.entries += 1;
        // Who makes it, and when, is no part of it: the same contents have the same digest.
        let (user, group, links, time, from) = (0, 0, 1, 0, (0, 0));
        let (size, name_size) = (contents.len() as u32, name.len() as u32 + 1);
        let fields = [self.entries, mode, user, group, links, time, size, from.0, from.1, major, minor, name_size, 0];
        self.bytes.extend_from_slice(b"070701");
        fields.iter().for_each(|field| self.bytes.extend(format!("{field:08x}").into_bytes()));
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(contents);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    fn spec(directory: &Path) -> DiskSpec {
        let (directory, format, cache) = (directory.into(), DiskFormat::Raw, "none".into());
        DiskSpec { directory, size: LEAST, format, cache, iothread: false }
    }

    #[test]
    fn a_disk_has_a_filesystem_and_no_name() {
        let place = tempfile::tempdir().unwrap();
        for format in [DiskFormat::Raw, DiskFormat::Qcow2] {
            let disk = match make(&DiskSpec { format, ..spec(place.path()) }) {
                Ok(disk) => disk,
                Err(error) if error.to_string().contains("install that program") => {
                    return crate::skip::skipped(&error.to_string());
                }
                Err(error) => panic!("{error}"),
            };
            assert!(disk.metadata().unwrap().len() > 1 << 17);
            assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
            let kept = place.path().join("kept");
            fs::copy(format!("/proc/self/fd/{}", disk.as_raw_fd()), &kept).unwrap();
            assert_eq!(format_of(&File::open(&kept).unwrap()).unwrap(), (format, None));
            fs::remove_file(kept).unwrap();
        }
    }

    #[test]
    fn an_image_that_is_only_a_part_is_refused_and_the_other_file_named() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("image");
        let image = |backing: u64, name: &str, features: u64| {
            let sizes = [backing, (name.len() as u64) << 32].map(u64::to_be_bytes).concat();
            let header =
                [&b"QFI\xfb\0\0\0\x03"[..], &sizes, &[0; 48], &features.to_be_bytes(), name.as_bytes()].concat();
            fs::write(&path, header).unwrap();
            image_of(&path, &mut BTreeMap::new()).map(|(_, format)| format).map_err(|error| error.to_string())
        };
        assert_eq!(image(0, "", 1), Ok(DiskFormat::Qcow2));
        assert!(image(80, "/etc/shadow", 0).is_err_and(|why| why.contains("another file as well (/etc/shadow);")));
        assert!(image(0, "", 4).is_err_and(|why| why.contains("(data-file)")));
        // However little of the name is there.
        assert!(
            [u64::MAX, 1 << 40].iter().all(|backing| image(*backing, "x", 0).is_err_and(|why| why.contains("image")))
        );
    }

    #[test]
    fn what_cannot_be_made_is_reported_in_one_sentence() {
        let place = tempfile::tempdir().unwrap();
        let message = |spec: DiskSpec| make(&spec).unwrap_err().to_string();
        assert!(message(DiskSpec { size: 1 << 20, ..spec(place.path()) }).contains("choose 64 MiB or more"));
        let full = message(DiskSpec { size: 1 << 60, ..spec(place.path()) });
        assert!(full.contains("cannot be made") && full.contains("; "), "{full}");
        assert!(message(spec(&place.path().join("none"))).contains("name another directory"));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn other_programs_read_what_is_written() {
        let mut archive = Initramfs::default();
        archive.directory("dev");
        archive.file("init", b"#!/bin/sh\n");
        archive.file("odd", b"12345");
        archive.link("hostmark", "init");
        archive.device("dev/console", (5, 1));
        let bytes = archive.finish();
        let listing =
            Command::new("cpio").arg("-itv").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut listing) = listing else { return crate::skip::skipped("there is no cpio") };
        listing.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = String::from_utf8(listing.wait_with_output().unwrap().stdout).unwrap();
        let expected = [
            ("drwxr-xr-x", "dev"),
            ("-rwxr-xr-x", "init"),
            ("-rwxr-xr-x", "odd"),
            ("lrwxrwxrwx", "hostmark -> init"),
            ("crw-------", "dev/console"),
        ];
        assert_eq!(output.lines().count(), expected.len(), "{output}");
        for (line, (mode, name)) in output.lines().zip(expected) {
            assert!(line.starts_with(mode) && line.ends_with(name), "{line}");
        }
        assert!(output.contains("5,   1"), "{output}");
    }
}
