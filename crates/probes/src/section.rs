//! The sections of a report; a probe names its own.

use hostmark_engine::prelude::Text;

/// The levels of the memory hierarchy.
pub const HIERARCHY: Text = Text { en: "Memory hierarchy", zh: "存储层次" };
/// What the levels are made of: lines, ways, translation, misses under way.
pub const STRUCTURE: Text = Text { en: "Caches and TLBs", zh: "缓存与 TLB" };
/// Memory by node.
pub const NODES: Text = Text { en: "Memory nodes", zh: "内存节点" };
/// Bandwidth of memory by size.
pub const BANDWIDTH: Text = Text { en: "Memory bandwidth", zh: "内存带宽" };
/// Latency of memory by size and pattern.
pub const LATENCY: Text = Text { en: "Memory latency", zh: "内存延迟" };
/// Whether memory keeps what it is given.
pub const INTEGRITY: Text = Text { en: "Memory integrity", zh: "内存完整性" };
/// The core itself.
pub const CORE: Text = Text { en: "Processor core", zh: "处理器核心" };
/// Reading the time.
pub const CLOCKS: Text = Text { en: "Clocks", zh: "时钟" };
/// Entering the kernel, and making processes.
pub const SYSTEM: Text = Text { en: "Processes and system calls", zh: "进程与系统调用" };
/// Pages that come, go and change.
pub const PAGING: Text = Text { en: "Paging", zh: "分页" };
/// Files in the cache.
pub const FILES: Text = Text { en: "Files", zh: "文件" };
/// Files on a device.
pub const DISKS: Text = Text { en: "Disks", zh: "磁盘" };
/// Bytes between processes.
pub const COMMUNICATION: Text = Text { en: "Communication", zh: "进程间通信" };
/// Requests, connections and bytes over the network's protocols.
pub const NETWORK: Text = Text { en: "Network", zh: "网络" };
/// Leaving a guest for its hypervisor.
pub const VIRTUALIZATION: Text = Text { en: "Virtualization", zh: "虚拟化" };
/// Programs of others.
pub const EXTERNAL: Text = Text { en: "External loads", zh: "外部负载" };
