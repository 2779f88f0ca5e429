//! Devices of a machine besides CPUs: firmware, memory modules, block devices, directories, network interfaces.

use serde::{Deserialize, Serialize};

/// Maker, model and firmware, as the firmware's tables name them, and the memory modules.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FirmwareFacts {
    /// Who made the machine (DMI sys_vendor).
    pub vendor: Option<String>,
    /// Its model (DMI product_name, or the device tree's model).
    pub product: Option<String>,
    /// The firmware's version.
    pub bios_version: Option<String>,
    /// The firmware's date.
    pub bios_date: Option<String>,
    /// The modules that are plugged in; empty where nobody tells (they need root, or a loaded EDAC driver).
    pub memory_modules: Vec<MemoryModule>,
}

/// One memory module.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MemoryModule {
    /// Its slot.
    pub slot: Option<String>,
    /// DDR4, DDR5, or what EDAC calls it.
    pub kind: Option<String>,
    /// Its size.
    pub size_bytes: u64,
    /// The rate at which it runs, transfers a second.
    pub transfers_per_s: Option<u64>,
}

/// Block devices and directories.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StorageFacts {
    /// Whole devices with a size, loop and RAM devices apart; at most 64.
    pub devices: Vec<BlockDevice>,
    /// Where a run writes to.
    pub directories: Vec<DirectoryFact>,
}

/// One block device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BlockDevice {
    /// The kernel's name.
    pub name: String,
    /// Its model, where the device says it.
    pub model: Option<String>,
    /// Its size.
    pub size_bytes: u64,
    /// Whether the kernel takes it for a spinning disk; virtual disks often do not say what they are.
    pub rotational: Option<bool>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
}

/// What a directory is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Scratch files of probes.
    #[default]
    Scratch,
    /// The runs that are kept.
    Data,
}

/// A directory that a run writes to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DirectoryFact {
    /// What for.
    pub purpose: Purpose,
    /// The directory.
    pub path: String,
    /// The file system's type.
    pub filesystem: Option<String>,
    /// What is mounted: a device, `tmpfs`, `server:/path`.
    pub device: Option<String>,
    /// What it lies on, from its file system down to the last device: `ext4`, `loop0`, `/x/image`, `ext4`, `vda`. The last is
    /// `unknown` where the kernel does not tell what comes next; empty where it tells nothing, and in files of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
    /// Where it is mounted.
    pub mount_point: Option<String>,
    /// Options of the mount and of the file system.
    pub options: Vec<String>,
    /// The file system's size; none for a remote one, which may not answer.
    pub total_bytes: Option<u64>,
    /// What this user may still write to it.
    pub available_bytes: Option<u64>,
    /// Whether this user may make files in it, or in what there is of its path; none for a remote one.
    pub writable: Option<bool>,
}

/// One network interface.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NetworkInterface {
    /// The kernel's name.
    pub name: String,
    /// The driver of its device; none for an interface without a device.
    pub driver: Option<String>,
    /// The link's speed in bits a second; none where the driver does not know or the link is down.
    pub bits_per_s: Option<u64>,
    /// The largest packet.
    pub mtu_bytes: Option<u64>,
    /// up, down, unknown …
    pub state: Option<String>,
}
