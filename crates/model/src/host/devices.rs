//! Devices of a host: its disks, its interfaces and the path to a peer.

use std::collections::BTreeMap;
use std::net::IpAddr;

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

/// The way from this machine to one address, read without sending anything. Facts that nobody tells are absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NetworkPath {
    /// Where it leads.
    pub destination: Option<IpAddr>,
    /// The address that this machine sends from.
    pub source: Option<IpAddr>,
    /// The interface's name.
    pub interface: Option<String>,
    /// Its driver, or its kind where it has no device: virtio_net, veth, bridge, tun …
    pub driver: Option<String>,
    /// The speed that the driver names, bits a second. Virtual interfaces name one that nothing holds to: see
    /// [`NetworkPath::link_bits_per_s`].
    pub bits_per_s: Option<u64>,
    /// Whether both directions work at the same time.
    pub full_duplex: Option<bool>,
    /// The interface's largest packet, without the link's own header.
    pub mtu_bytes: Option<u64>,
    /// The largest packet that the kernel sends to the destination whole.
    pub path_mtu_bytes: Option<u64>,
    /// The router that packets go to first; none where the destination is on the link, or where the route is unknown.
    pub next_hop: Option<IpAddr>,
    /// Whether the destination is on the link itself.
    pub on_link: Option<bool>,
    /// What packets wait in before the interface takes them.
    pub queue: Option<QueueingDiscipline>,
    /// What the interface does for the CPU.
    pub offloads: Offloads,
    /// Packets that the interface has room for.
    pub rings: Option<Rings>,
    /// When it interrupts the CPU.
    pub moderation: Option<InterruptModeration>,
    /// Queues that work in parallel.
    pub channels: Option<Channels>,
    /// What it has lost since it is there.
    pub losses: Option<InterfaceLosses>,
    /// The congestion control of sockets that choose none (net.ipv4.tcp_congestion_control).
    pub congestion_control: Option<String>,
    /// Those that the kernel offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub congestion_controls: Vec<String>,
    /// Smallest, first and largest receive buffer of a TCP socket that the kernel tunes, bytes (net.ipv4.tcp_rmem).
    pub tcp_receive_buffers: Option<[u64; 3]>,
    /// The same of its send buffer (net.ipv4.tcp_wmem).
    pub tcp_send_buffers: Option<[u64; 3]>,
    /// The largest receive buffer that a program may ask for, bytes (net.core.rmem_max).
    pub receive_buffer_limit: Option<u64>,
    /// The largest send buffer that a program may ask for, bytes (net.core.wmem_max).
    pub send_buffer_limit: Option<u64>,
    /// Further settings of its route and interface, by name: `route.initcwnd`, `rps_cpus` …
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// Interfaces without a wire: their drivers name a speed because they must name one.
const WITHOUT_A_WIRE: [&str; 6] = ["veth", "tun", "dummy", "ifb", "bridge", "openvswitch"];

impl NetworkPath {
    /// The speed of the wire, bits a second; none where there is no wire that holds packets to it.
    pub fn link_bits_per_s(&self) -> Option<u64> {
        let is_wire = !self.driver.as_deref().is_some_and(|driver| WITHOUT_A_WIRE.contains(&driver));
        self.bits_per_s.filter(|speed| *speed > 0 && is_wire)
    }

    /// The rate to which the interface's queue holds everything that goes through it, bits a second.
    pub fn limit_bits_per_s(&self) -> Option<u64> {
        let queue = self.queue.as_ref()?;
        queue.bits_per_s.filter(|rate| *rate > 0 && queue.holds_flows_apart != Some(true))
    }
}

/// What packets wait in before an interface takes them (tc-qdisc).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QueueingDiscipline {
    /// The interface's own: fq_codel, mq, tbf, noqueue …
    pub kind: String,
    /// Those within it, each kind once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inner: Vec<String>,
    /// The rate that it holds traffic to, bits a second; none where it has none, or none that is known how to read.
    pub bits_per_s: Option<u64>,
    /// Whether that rate is one flow's rather than that of all together.
    pub holds_flows_apart: Option<bool>,
    /// What may pass at once, bytes.
    pub burst_bytes: Option<u64>,
    /// What may wait, bytes; more is dropped.
    pub limit_bytes: Option<u64>,
}

/// What an interface does for the CPU.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Offloads {
    /// It cuts what TCP sends to packets (TSO).
    pub tso: Option<bool>,
    /// The kernel cuts late, just before the driver (GSO).
    pub gso: Option<bool>,
    /// The kernel joins what is received (GRO).
    pub gro: Option<bool>,
    /// The interface joins what is received (LRO).
    pub lro: Option<bool>,
    /// It computes checksums of what is sent.
    pub transmit_checksum: Option<bool>,
    /// It checks those of what is received.
    pub receive_checksum: Option<bool>,
    /// It gathers a packet from several pieces of memory.
    pub scatter_gather: Option<bool>,
}

/// Packets that an interface has room for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rings {
    /// Received ones.
    pub receive: u32,
    /// The most it could be set to.
    pub receive_max: u32,
    /// Those to be sent.
    pub transmit: u32,
    /// The most it could be set to.
    pub transmit_max: u32,
}

/// When an interface interrupts the CPU.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InterruptModeration {
    /// How long after a received packet, µs.
    pub receive_us: u32,
    /// Or after so many of them.
    pub receive_frames: u32,
    /// How long after a sent packet, µs.
    pub transmit_us: u32,
    /// Or after so many of them.
    pub transmit_frames: u32,
    /// Whether the driver adapts the first two to the traffic.
    pub adaptive_receive: bool,
    /// Whether it adapts the other two.
    pub adaptive_transmit: bool,
}

/// Queues of an interface that work in parallel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Channels {
    /// Those that receive and send.
    pub combined: u32,
    /// Those that only receive.
    pub receive: u32,
    /// Those that only send.
    pub transmit: u32,
}

/// Packets that an interface has lost since it is there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InterfaceLosses {
    /// Received whole, and dropped for want of room.
    pub receive_dropped: u64,
    /// Received in a bad state.
    pub receive_errors: u64,
    /// Never sent, for want of room.
    pub transmit_dropped: u64,
    /// Not sent because of faults.
    pub transmit_errors: u64,
}

/// The loopback interface of the network namespace that was measured in. What nobody told is absent, and not none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LoopbackFacts {
    /// Its largest packet; 65536 as the kernel makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u64>,
    /// What packets wait in before it takes them; `noqueue` as the kernel makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueingDiscipline>,
    /// Rules of nftables, iptables and ip6tables that its packets can meet; absent for who may not see them, as all but root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_rules: Option<u64>,
    /// Programs and classifiers that its packets meet: `xdp`, `clsact`, and the kinds of filter there (`tc bpf`), `tcx`, and those of the
    /// own control group (`cgroup bpf`). Absent where none was found and not all could be seen, as by all but root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<Vec<String>>,
    /// Settings of the network namespace by name: `tcp_rmem`, `tcp_wmem` …
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctls: BTreeMap<String, String>,
}

const USUAL_MTU_BYTES: u64 = 65536;
const NO_QUEUE: &str = "noqueue";
/// Number of rules that cost a tenth of a round trip over loopback at most: each packet is checked against one in some 20 ns.
const FEW_RULES: u64 = 20;

impl LoopbackFacts {
    /// Tells whether nothing is known of it.
    pub fn is_unknown(&self) -> bool {
        *self == LoopbackFacts::default()
    }

    /// The packet filter's rules, where they are too many to cost nothing.
    pub fn many_rules(&self) -> Option<u64> {
        self.filter_rules.filter(|rules| *rules >= FEW_RULES)
    }

    /// Returns its largest packet, where it is smaller than the kernel makes it.
    pub fn small_mtu(&self) -> Option<u64> {
        self.mtu_bytes.filter(|mtu| *mtu < USUAL_MTU_BYTES)
    }

    /// Returns the queue in which packets wait, where there is one.
    pub fn waits_in(&self) -> Option<&QueueingDiscipline> {
        self.queue.as_ref().filter(|queue| queue.kind != NO_QUEUE)
    }
}
