//! Memory, swap and page sizes, and how much of it nobody needs.

use hostmark_model::{HugePages, MemoryFacts, Message, displays_its_message};
use hostmark_say::say;

use crate::cgroups::{self, Groups, Version};
use crate::root::{Root, field, kilobytes_field};

/// Page size assumed for a captured tree that does not tell it, bytes: the only base page of x86_64.
const USUAL_PAGE_BYTES: u64 = 4096;

const HUGE_DIR: &str = "/sys/kernel/mm/hugepages";
const THP_DIR: &str = "/sys/kernel/mm/transparent_hugepage";

pub(crate) fn read(root: &Root) -> MemoryFacts {
    let meminfo = root.raw("/proc/meminfo").unwrap_or_default();
    let bytes = |key| kilobytes_field(&meminfo, key).unwrap_or(0);
    let swap_total_bytes = bytes("SwapTotal");
    MemoryFacts {
        total_bytes: bytes("MemTotal"),
        available_bytes: available_bytes(root, &meminfo).unwrap_or(0),
        swap_total_bytes,
        swap_used_bytes: swap_total_bytes.saturating_sub(bytes("SwapFree")),
        page_bytes: page_bytes(root),
        pmd_page_bytes: root.number(&format!("{THP_DIR}/hpage_pmd_size")).filter(|size| *size > 0),
        transparent_huge_pages: root.text(&format!("{THP_DIR}/enabled")).as_deref().and_then(chosen).map(str::to_owned),
        transparent_huge_pages_forbidden: root
            .raw("/proc/self/status")
            .and_then(|status| field(&status, "THP_enabled").map(|enabled| enabled == "0")),
        transparent_huge_page_defrag: root
            .text(&format!("{THP_DIR}/defrag"))
            .as_deref()
            .and_then(chosen)
            .map(str::to_owned),
        huge_pages: root.exists(HUGE_DIR).then(|| huge_pages(root, HUGE_DIR)),
        same_page_merging: root.number("/sys/kernel/mm/ksm/run"),
        numa_balancing: root.number("/proc/sys/kernel/numa_balancing"),
        zone_reclaim_mode: root.number("/proc/sys/vm/zone_reclaim_mode"),
        swappiness: root.number("/proc/sys/vm/swappiness"),
        overcommit: root.number("/proc/sys/vm/overcommit_memory"),
    }
}

/// Returns the memory usable without swapping, as /proc/meminfo says. Kernels before 3.14 do not estimate; the free memory is certain then,
/// and also where /proc holds processes alone (`subset=pid`, systemd's `ProcSubset=pid`) or is not there.
pub(crate) fn available_bytes(root: &Root, meminfo: &str) -> Option<u64> {
    let reported = |key| kilobytes_field(meminfo, key);
    let of_kernel = || root.is_this_machine().then(hostmark_sys::memory::of_machine)?.map(|(_, free)| free);
    reported("MemAvailable").or_else(|| reported("MemFree")).or_else(of_kernel)
}

/// The reserved huge pages under `dir` (`hugepages-2048kB/nr_hugepages`), largest first; sizes without any are left out.
pub(crate) fn huge_pages(root: &Root, dir: &str) -> Vec<HugePages> {
    let pool = |name: &String| {
        let kilobytes: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        let count = root.number(&format!("{dir}/{name}/nr_hugepages")).filter(|count| *count > 0)?;
        Some(HugePages { page_bytes: kilobytes.checked_mul(1024)?, count })
    };
    let mut pools: Vec<HugePages> = root.names(dir).iter().filter_map(pool).collect();
    pools.sort_unstable_by_key(|pool| std::cmp::Reverse(pool.page_bytes));
    pools
}

fn page_bytes(root: &Root) -> u64 {
    if root.is_this_machine() {
        return rustix::param::page_size() as u64;
    }
    let smaps = root.raw("/proc/self/smaps").unwrap_or_default();
    kilobytes_field(&smaps, "KernelPageSize").unwrap_or(USUAL_PAGE_BYTES)
}

/// The word in brackets of `always [madvise] never`.
pub(crate) fn chosen(text: &str) -> Option<&str> {
    Some(text.split_once('[')?.1.split_once(']')?.0)
}

/// Divisor of a node's memory that gives its reserve, where the kernel does not tell its watermarks.
const USUAL_RESERVE: u64 = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    Machine,
    Group(String),
    Node(usize),
}

impl From<&Holder> for Message {
    fn from(holder: &Holder) -> Message {
        match holder {
            Holder::Machine => say!("the machine"),
            Holder::Group(directory) => say!("the control group {directory}"),
            Holder::Node(id) => Message::plain(format_args!("node {id}")),
        }
    }
}

displays_its_message!(Holder);

/// Spare memory, and its holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spare {
    pub bytes: u64,
    pub holder: Holder,
}

/// Looks at what can be spared, again and again.
#[derive(Debug, Clone)]
pub struct SpareMemory {
    root: Root,
    /// The directories of the control groups that can limit this process, all ancestors among them.
    groups: Vec<(Version, String)>,
}

impl SpareMemory {
    /// Finds the control groups; what they hold is read at each look.
    pub fn new(root: Root) -> SpareMemory {
        let groups = Groups::read(&root).chain("memory").collect();
        SpareMemory { root, groups }
    }

    /// Returns what can be spared now without swapping and without taking it from others: by the machine, every control group, and `node`
    /// where memory is bound to one. `None` where the kernel does not tell.
    pub fn now(&self, node: Option<usize>) -> Option<Spare> {
        let meminfo = self.root.raw("/proc/meminfo").unwrap_or_default();
        let bytes = available_bytes(&self.root, &meminfo)?;
        let machine = Spare { bytes, holder: Holder::Machine };
        let of_group = |(version, directory): &(Version, String)| {
            let room = cgroups::memory_limit(&self.root, *version, directory)?.room_bytes();
            Some(Spare { bytes: room, holder: Holder::Group(directory.clone()) })
        };
        let of_node = match node {
            Some(id) => Some(Spare { bytes: self.of_node(id)?, holder: Holder::Node(id) }),
            None => None,
        };
        let all = std::iter::once(machine).chain(self.groups.iter().filter_map(of_group)).chain(of_node);
        all.min_by_key(|spare| spare.bytes)
    }

    /// Returns the free memory of a node beyond the kernel's reserve, and half of the page cache there that gives way at once.
    fn of_node(&self, id: usize) -> Option<u64> {
        let meminfo = self.root.raw(&format!("/sys/devices/system/node/node{id}/meminfo"))?;
        let bytes = |key: &str| -> Option<u64> {
            let line = meminfo.lines().find_map(|line| line.split_once(&format!(" {key}:")))?.1;
            line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
        };
        let reserve = match self.root.raw("/proc/zoneinfo").and_then(|zones| reserved_pages(&zones, id)) {
            Some(pages) => pages.saturating_mul(page_bytes(&self.root)),
            None => bytes("MemTotal").unwrap_or(0) / USUAL_RESERVE,
        };
        let busy = bytes("Dirty").unwrap_or(0).saturating_add(bytes("Writeback").unwrap_or(0));
        let cache = bytes("Inactive(file)").unwrap_or(0).saturating_sub(busy);
        Some(bytes("MemFree")?.saturating_sub(reserve).saturating_add(cache / 2))
    }
}

/// Pages that the kernel keeps back on a node: of each zone the high watermark and what is protected from allocations
/// that could go to a higher zone. None where /proc/zoneinfo does not know the node.
fn reserved_pages(zoneinfo: &str, node: usize) -> Option<u64> {
    let (mut inside, mut pages) = (false, None);
    for line in zoneinfo.lines() {
        if let Some(zone) = line.strip_prefix("Node ") {
            inside = zone.split(',').next().and_then(|id| id.trim().parse().ok()) == Some(node);
        } else if line.trim() == "pagesets" {
            // The lists of each CPU follow; they have a `high` of their own.
            inside = false;
        } else if inside {
            let mut words = line.split([' ', ',', ':', '(', ')']).filter(|word| !word.is_empty());
            let more: Option<u64> = match words.next() {
                Some("high") => words.next().and_then(|word| word.parse().ok()),
                Some("protection") => words.filter_map(|word| word.parse().ok()).max(),
                _ => None,
            };
            pages = more.map(|more| pages.unwrap_or(0) + more).or(pages);
        }
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_meminfo_this_machines_kernel_is_asked_and_no_captured_tree() {
        let (all, free) = hostmark_sys::memory::of_machine().unwrap();
        assert!(0 < free && free < all, "{free} of {all}");
        assert!(available_bytes(&Root::here(), "").is_some_and(|bytes| bytes > 0));
        assert_eq!(available_bytes(&Root::here(), "MemFree: 3 kB\nMemAvailable: 2 kB\n"), Some(2048));
        assert_eq!(available_bytes(&Root::at("/nowhere"), ""), None);
    }

    const ZONES: &str = "Node 0, zone    DMA32\n  pages free     700\n        boost    0\n        min      10\n        low      20\n        \
                         high     30\n        spanned  9\n        protection: (0, 0, 500, 500)\nNode 1, zone   Normal\n  pages free 9\n        \
                         high     7\n        protection: (0, 0, 0, 0)\n  pagesets\n    cpu: 0\n              count: 3\n              high:  2\n";

    #[test]
    fn a_nodes_reserve_is_its_watermarks_and_what_is_protected() {
        assert_eq!(reserved_pages(ZONES, 0), Some(530));
        assert_eq!(reserved_pages(ZONES, 1), Some(7));
        assert_eq!(reserved_pages(ZONES, 2), None);
        assert_eq!(reserved_pages("", 0), None);
    }
}
