//! A guest: a virtual machine that this program makes of a kernel and of itself, boots in QEMU, and ends.

mod boot;
mod command_line;
mod contents;
mod disk;
mod error;
mod initramfs;
pub mod kernel;
mod modules;
mod prepare;
mod start;

use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

pub use boot::Booted;
pub use error::GuestError;

/// The word that starts QEMU so that it ends with this program; no command for people.
pub const MACHINE: &str = "guest-machine";
/// Where a guest's first process finds what it has to do.
pub const SETUP: &str = "/hostmark.guest";
/// What the port of virtio is called that passes lines between an agent and its parent; a serial port has another name.
pub const VIRTIO_PORT: &str = "hostmark";

/// What carries the guest's instructions out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accel {
    /// The processor, through /dev/kvm.
    Kvm,
    /// QEMU's software emulation.
    Tcg,
}

impl Accel {
    /// As QEMU and run files name it.
    pub fn name(self) -> &'static str {
        match self {
            Accel::Kvm => "kvm",
            Accel::Tcg => "tcg",
        }
    }
}

/// A guest as it is to be made.
#[derive(Debug, Clone)]
pub struct GuestSpec {
    /// What carries its instructions out.
    pub accel: Accel,
    pub qemu: OsString,
    /// The machine type; QEMU's usual one of the architecture unless given.
    pub machine: Option<String>,
    /// The CPU model; the host's under KVM, and all that QEMU can emulate under TCG, unless given.
    pub cpu: Option<String>,
    /// Virtual CPUs.
    pub cpus: u32,
    /// NUMA nodes, over which CPUs and memory are spread.
    pub nodes: u32,
    /// Memory, bytes.
    pub memory: u64,
    /// Bytes of the huge pages that back it; whatever the host gives unless said.
    pub huge_pages: Option<u64>,
    pub kernel: PathBuf,
    /// The directory with that kernel's modules; /lib/modules/RELEASE where that is there, unless given.
    pub modules: Option<PathBuf>,
    /// hostmark's own module of the kernel.
    pub module: Option<PathBuf>,
    /// A distribution's image, in whose filesystem agents run. It is not written.
    pub image: Option<PathBuf>,
    pub disk: Option<DiskSpec>,
    /// Its network.
    pub net: Option<NetSpec>,
    /// The host's CPU of each virtual one, in order.
    pub pin: Vec<usize>,
    /// More words for the kernel's command line.
    pub append: Vec<String>,
    /// More words for QEMU's command line.
    pub qemu_args: Vec<String>,
    /// How long it may take until the first agent could be started.
    pub boot_timeout: Duration,
}

impl GuestSpec {
    /// A guest of one CPU and 1 GiB, and nothing else.
    pub fn new(accel: Accel, kernel: PathBuf) -> GuestSpec {
        GuestSpec {
            accel,
            qemu: format!("qemu-system-{}", std::env::consts::ARCH).into(),
            machine: None,
            cpu: None,
            cpus: 1,
            nodes: 1,
            memory: 1 << 30,
            huge_pages: None,
            kernel,
            modules: None,
            module: None,
            image: None,
            disk: None,
            net: None,
            pin: Vec::new(),
            append: Vec::new(),
            qemu_args: Vec::new(),
            boot_timeout: Duration::from_secs(60),
        }
    }
}

/// A disk that is made for a guest, with a filesystem on it, and is gone with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskSpec {
    /// The directory on whose filesystem its contents lie; no file with a name is made there.
    pub directory: PathBuf,
    /// Bytes.
    pub size: u64,
    /// How its contents are laid out.
    pub format: DiskFormat,
    /// QEMU's cache mode.
    pub cache: String,
    /// Whether a thread of its own carries its requests out.
    pub iothread: bool,
}

/// How a disk's contents are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskFormat {
    /// As they are.
    Raw,
    /// QEMU's own format.
    Qcow2,
}

/// What a guest's network interface is connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetSpec {
    /// QEMU's own network stack: without rights, and slow.
    User,
    /// An interface of the host's kernel.
    Tap {
        /// Its name; it exists, and has an address.
        interface: String,
        /// The guest's address in the same network.
        address: Ipv4Addr,
        /// Bits of it that name the network.
        prefix: u8,
    },
}
