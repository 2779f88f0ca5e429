//! The sections of a report; a probe names its own.

use hostmark_engine::prelude::Text;

/// The levels of the memory hierarchy.
pub const HIERARCHY: Text = term!("Memory hierarchy");
/// Structure of the levels: lines, ways, translation, misses under way.
pub const STRUCTURE: Text = term!("Caches and TLBs");
pub const NODES: Text = term!("Memory nodes");
/// Bandwidth of memory by size.
pub const BANDWIDTH: Text = term!("Memory bandwidth");
/// Latency of memory by size and pattern.
pub const LATENCY: Text = term!("Memory latency");
/// Integrity of memory: whether it keeps its contents.
pub const INTEGRITY: Text = term!("Memory integrity");
pub const CORE: Text = term!("Processor core");
pub const CLOCKS: Text = term!("Clocks");
/// Entering the kernel, and making processes.
pub const SYSTEM: Text = term!("Processes and system calls");
/// Pages that come, go and change.
pub const PAGING: Text = term!("Paging");
pub const FILES: Text = term!("Files");
pub const DISKS: Text = term!("Disks");
/// Bytes between processes.
pub const COMMUNICATION: Text = term!("Communication");
/// Requests, connections and bytes over the network's protocols.
pub const NETWORK: Text = term!("Network");
/// Leaving a guest for its hypervisor.
pub const VIRTUALIZATION: Text = term!("Virtualization");
pub const EXTERNAL: Text = term!("External loads");
