//! Memory that is short, or that the kernel moves about.

use hostmark_model::{HostFacts, HostWeight, Lang, Text, Unit};

use super::{HostRule, text};
use crate::format::value;

/// What the quick profile may keep resident: with less to fill, sizes are cut.
const QUICK_BYTES: u64 = 256 << 20;
/// Sizes go up to so many times the last-level cache.
const CACHES: u64 = 4;
/// Less than one part in so many of the whole: page cache and file cases are short of memory too.
const LITTLE_PARTS: u64 = 20;
/// Every system that has been up for weeks has put some pages away that nobody wants back.
pub(in crate::findings) const SWAP_BYTES: u64 = 64 << 20;

fn bytes(count: u64) -> String {
    value(count as f64, Unit::Bytes, Lang::En)
}

fn little(host: &HostFacts) -> Option<(u64, u64)> {
    let whole = host.memory.total_bytes.min(host.limits.memory_limit_bytes.unwrap_or(u64::MAX));
    let cache = host.usable_cpus().first().and_then(|cpu| host.last_level_cache(*cpu)).map_or(0, |c| c.size_bytes);
    let needed = QUICK_BYTES.max(cache.saturating_mul(CACHES)).max(whole / LITTLE_PARTS);
    let free = host.fillable_bytes();
    (whole > 0 && free < needed).then_some((free, whole))
}

pub(super) static LITTLE: HostRule = HostRule {
    id: "host.little_memory",
    weight: HostWeight::Disturbs,
    cure: Text {
        en: "stop what holds memory, or raise the limit (docker -m, systemd MemoryMax=)",
        zh: "停止占用内存的程序，或提高限额（docker -m、systemd MemoryMax=）",
    },
    see: |host, _| {
        let (free, whole) = little(host)?;
        let (free, whole) = (bytes(free), bytes(whole));
        text(
            format!("{free} of {whole} can be filled: large sizes are cut, the kernel reclaims"),
            format!("{whole} 中只有 {free} 可用：大容量用例会被缩减，内核忙于回收"),
        )
    },
};

pub(super) static SWAP: HostRule = HostRule {
    id: "host.swap_in_use",
    weight: HostWeight::Disturbs,
    cure: Text {
        en: "swapoff -a (with enough free memory), or stop what needs the memory",
        zh: "swapoff -a（需有足够空闲内存），或停止占用内存的程序",
    },
    see: |host, _| {
        let used = bytes(Some(host.memory.swap_used_bytes).filter(|used| *used >= SWAP_BYTES)?);
        text(
            format!("{used} of swap in use: memory was short, page-ins may fall into samples"),
            format!("交换区已用 {used}：内存曾经不足，换入可能落在样本之中"),
        )
    },
};

pub(super) static BALANCING: HostRule = HostRule {
    id: "host.numa_balancing",
    weight: HostWeight::Disturbs,
    cure: Text { en: "sysctl kernel.numa_balancing=0", zh: "执行 sysctl kernel.numa_balancing=0" },
    see: |host, _| {
        let is_on = host.memory.numa_balancing.is_some_and(|mode| mode != 0);
        (is_on && host.nodes.len() > 1).then_some(())?;
        let nodes = host.nodes.len();
        text(
            format!("NUMA balancing over {nodes} nodes: pages are unmapped, faulted and moved"),
            format!("NUMA 均衡在 {nodes} 个节点间生效：页面会被解除映射以观察访问并被迁移"),
        )
    },
};

pub(super) static MERGING: HostRule = HostRule {
    id: "host.same_page_merging",
    weight: HostWeight::Disturbs,
    cure: Text { en: "echo 2 > /sys/kernel/mm/ksm/run", zh: "执行 echo 2 > /sys/kernel/mm/ksm/run" },
    see: |host, _| {
        host.memory.same_page_merging.filter(|mode| *mode == 1)?;
        text(
            "KSM is running: its thread scans memory, and takes CPU and cache",
            "KSM 正在运行：它扫描内存，其线程占用 CPU 与缓存",
        )
    },
};

pub(super) static NO_HUGE_PAGES: HostRule = HostRule {
    id: "host.no_huge_pages",
    weight: HostWeight::Shifts,
    cure: Text {
        en: "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        zh: "执行 echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
    },
    see: |host, _| {
        host.memory.transparent_huge_pages.as_deref().filter(|mode| *mode == "never")?;
        text(
            "transparent huge pages: never. Large buffers pay page walks on every miss",
            "透明大页为 never：大缓冲区每次 TLB 未命中都要遍历页表",
        )
    },
};
