//! Larger things that a run may be a part of: the virtual machine that was started for it, and a series of one host.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Text;

/// Remark on a machine that QEMU emulates.
pub const IN_SOFTWARE: Text = term!(
    "QEMU executes this machine in software (TCG): what was measured is the emulator, and says nothing of hardware"
);

/// A guest, as who started it knows it: what a guest cannot see of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Guest {
    /// What carries its instructions out: `kvm`, or `tcg` for QEMU's software emulation.
    pub accel: String,
    /// The virtual machine monitor and its version, as it says it.
    pub vmm: String,
    /// The machine type, as the monitor resolved it: `pc-q35-7.2`.
    pub machine: String,
    /// The CPU model, as it was asked for.
    pub cpu: String,
    /// Virtual CPUs.
    pub cpus: u32,
    /// NUMA nodes that it is shown.
    pub nodes: u32,
    /// Memory, bytes.
    pub memory: u64,
    /// The pages of the host behind its memory: `base`, `transparent` or their size, as `2M`.
    pub backing: String,
    /// The host's CPU of each virtual one, in order; empty where they go where the host's scheduler puts them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned: Vec<usize>,
    /// Its disk: format, cache mode, how its requests are carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// Its network: the back end and the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net: Option<String>,
    /// What passes lines between it and its parent: `serial` or `virtio-serial`.
    pub channel: String,
    /// The whole command line of the monitor.
    pub command: Vec<String>,
    /// The kernel's own command line.
    pub append: String,
    /// SHA-256 of what it was made of, hexadecimal, by what that is: `kernel`, `initramfs`, `module`, `image`.
    pub digests: BTreeMap<String, String>,
    /// How long it took from its start to the first answer, ns.
    pub boot_ns: u64,
    /// What of the host matters to it, by name: nested paging, huge pages, halt polling, the clock source.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub host: BTreeMap<String, String>,
    /// How often it left guest mode while this run was measured, by reason; empty where the host does not tell.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exits: BTreeMap<String, u64>,
    /// CPUs that the monitor took while the guest was idle, as a number of CPUs; none where it was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_cpus: Option<f64>,
}

impl Guest {
    /// Tells whether software carries its instructions out, so that its figures tell nothing about hardware.
    pub fn is_emulated(&self) -> bool {
        self.accel == "tcg"
    }
}

/// Setup that the first process of a guest does before it starts agents: its initramfs holds this as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestSetup {
    /// Modules of the kernel, paths in the initramfs, in the order in which they are loaded.
    pub modules: Vec<String>,
    /// Channel for lines between an agent and its parent: a serial port by its name in /dev, or a port of virtio by its own.
    pub channel: String,
    /// The block device that is mounted for files, by its name in /dev.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// Device of a distribution's filesystem, in which agents run; else they run in the initramfs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The network interface that is brought up, and how it is addressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net: Option<GuestNet>,
}

/// The address of a guest's one network interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestNet {
    /// IPv4 address.
    pub address: std::net::Ipv4Addr,
    /// Bits of the address that name the network.
    pub prefix: u8,
    /// Gateway to other networks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<std::net::Ipv4Addr>,
}

/// Of which series a run is a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SeriesTurn {
    /// The series.
    pub name: String,
    /// From the start of one turn to that of the next, seconds.
    pub every_s: f64,
    /// When the last turn is to begin, RFC 3339, UTC; none where something else starts each turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}
