//! What a guest is made of, put together and looked at before anything is started.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;

use hostmark_model::{GuestNet, GuestSetup, Message};
use hostmark_say::say;
use sha2::{Digest, Sha256};

use super::contents;
use super::disk::{format_of, make};
use super::error::GuestError;
use super::initramfs::Initramfs;
use super::kernel::BootKernel;
use super::modules::{Module, Modules};
use super::{DiskFormat, GuestSpec, NetSpec, SETUP, VIRTIO_PORT};
use crate::program::{Program, Programs, digest_of, hex};
use crate::transport_error::shown;

/// What the guest's first filesystem has directories for.
const DIRECTORIES: [&str; 8] = ["dev", "proc", "sys", "tmp", "root", "disk", "image", "modules"];
/// What a channel of virtio takes, and an image's filesystem.
const CHANNEL_MODULES: [&str; 2] = ["virtio_pci", "virtio_console"];
const IMAGE_MODULES: [&str; 4] = ["virtio_blk", "ext4", "xfs", "overlay"];
/// The second serial port.
const SERIAL: &str = "ttyS1";
/// QEMU's own network: what it calls the guest, and itself.
const USER_NET: (Ipv4Addr, u8, Ipv4Addr) = (Ipv4Addr::new(10, 0, 2, 15), 24, Ipv4Addr::new(10, 0, 2, 2));
/// Bytes of hostmark's own module at most.
const MOST_MODULE: u64 = 64 << 20;

/// What passes lines between an agent and its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentChannel {
    /// The second serial port, which every kernel has built in.
    Serial,
    /// A port of virtio.
    Virtio,
}

impl AgentChannel {
    /// As run files name it.
    pub fn name(self) -> &'static str {
        match self {
            AgentChannel::Serial => "serial",
            AgentChannel::Virtio => "virtio-serial",
        }
    }
}

/// What a guest is made of.
pub struct Prepared {
    pub kernel: BootKernel,
    pub program: Program,
    pub initramfs: Vec<u8>,
    pub disk: Option<File>,
    pub image: Option<DiskFormat>,
    pub channel: AgentChannel,
    pub digests: BTreeMap<String, String>,
}

/// Puts it together.
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
        root: image.map(|_| devices[usize::from(spec.disk.is_some())].to_owned()),
        net: spec.net.as_ref().map(net_of),
    };
    let initramfs = initramfs(&program, &loaded, &setup)?;
    digests.insert("initramfs".into(), hex(&Sha256::digest(&initramfs)));
    let disk = spec.disk.as_ref().map(make).transpose()?;
    Ok(Prepared { kernel, program, initramfs, disk, image, channel, digests })
}

/// What can be told before anything is started.
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
    let bytes = contents::of(path, MOST_MODULE).map_err(|error| failed(error.into()))?;
    match bytes.starts_with(b"\x7fELF") {
        true => Ok(Module { name: "hostmark".into(), bytes }),
        false => Err(failed(say!("it is no ELF file"))),
    }
}

fn image_of(image: &Path, digests: &mut BTreeMap<String, String>) -> Result<DiskFormat, GuestError> {
    let read = format_of(image).and_then(|format| Ok((format, digest_of(image)?)));
    let (format, digest) = read.map_err(|error| {
        let image = shown(&image.to_string_lossy());
        GuestError::Asked(say!("the image {image} cannot be read ({error}); name another by --image"))
    })?;
    digests.insert("image".into(), digest);
    Ok(format)
}

fn net_of(net: &NetSpec) -> GuestNet {
    match net {
        NetSpec::User => GuestNet { address: USER_NET.0, prefix: USER_NET.1, gateway: Some(USER_NET.2) },
        NetSpec::Tap { address, prefix, .. } => GuestNet { address: *address, prefix: *prefix, gateway: None },
    }
}

/// Where a module is in the initramfs.
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
