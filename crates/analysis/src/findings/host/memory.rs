//! Memory that is short, or that the kernel moves about.

use hostmark_model::{HostFacts, HostWeight, Lang, Unit};

use super::HostRule;
use crate::format::value;
use crate::texts::findings::host::memory as texts;

/// Memory that the quick profile may keep resident, bytes: with less to fill, sizes are cut.
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
    cure: texts::LITTLE_CURE,
    see: |host, _| {
        let (free, whole) = little(host).filter(|_| reserved(host).is_none())?;
        let (free, whole) = (bytes(free), bytes(whole));
        Some(texts::little_effect!(free, whole))
    },
};

/// The bytes of huge pages that were reserved and are most of what is missing.
fn reserved(host: &HostFacts) -> Option<u64> {
    let (free, whole) = little(host)?;
    let pages = host.memory.huge_pages.iter().flatten();
    let reserved = pages.map(|pages| pages.page_bytes.saturating_mul(pages.count)).fold(0, u64::saturating_add);
    (reserved > whole.saturating_sub(free) / 2).then_some(reserved)
}

pub(super) static RESERVED: HostRule = HostRule {
    id: "host.reserved_huge_pages",
    weight: HostWeight::Disturbs,
    cure: texts::RESERVED_CURE,
    see: |host, _| {
        let ((free, whole), reserved) = (little(host)?, reserved(host)?);
        let (free, whole, reserved) = (bytes(free), bytes(whole), bytes(reserved));
        Some(texts::reserved_effect!(free, whole, reserved))
    },
};

pub(super) static SWAP: HostRule = HostRule {
    id: "host.swap_in_use",
    weight: HostWeight::Disturbs,
    cure: texts::SWAP_CURE,
    see: |host, _| {
        let used = bytes(Some(host.memory.swap_used_bytes).filter(|used| *used >= SWAP_BYTES)?);
        Some(texts::swap_effect!(used))
    },
};

pub(super) static BALANCING: HostRule = HostRule {
    id: "host.numa_balancing",
    weight: HostWeight::Disturbs,
    cure: texts::BALANCING_CURE,
    see: |host, _| {
        let is_on = host.memory.numa_balancing.is_some_and(|mode| mode != 0);
        (is_on && host.nodes.len() > 1).then_some(())?;
        let nodes = host.nodes.len();
        Some(texts::balancing_effect!(nodes))
    },
};

pub(super) static MERGING: HostRule = HostRule {
    id: "host.same_page_merging",
    weight: HostWeight::Disturbs,
    cure: texts::MERGING_CURE,
    see: |host, _| {
        host.memory.same_page_merging.filter(|mode| *mode == 1)?;
        Some(texts::merging_effect!())
    },
};

pub(super) static NO_HUGE_PAGES: HostRule = HostRule {
    id: "host.no_huge_pages",
    weight: HostWeight::Shifts,
    cure: texts::NO_HUGE_PAGES_CURE,
    see: |host, _| {
        host.memory.transparent_huge_pages.as_deref().filter(|mode| *mode == "never")?;
        Some(texts::no_huge_pages_effect!())
    },
};
