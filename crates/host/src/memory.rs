//! Memory, swap and page sizes.

use hostmark_model::{HugePages, MemoryFacts};

use crate::root::{Root, field, kilobytes_field};

/// What a captured tree that does not tell its page size is taken to have: the only base page of x86_64.
const USUAL_PAGE_BYTES: u64 = 4096;

const HUGE_DIR: &str = "/sys/kernel/mm/hugepages";
const THP_DIR: &str = "/sys/kernel/mm/transparent_hugepage";

pub(crate) fn read(root: &Root) -> MemoryFacts {
    let meminfo = root.raw("/proc/meminfo").unwrap_or_default();
    let bytes = |key| kilobytes_field(&meminfo, key).unwrap_or(0);
    let swap_total_bytes = bytes("SwapTotal");
    MemoryFacts {
        total_bytes: bytes("MemTotal"),
        available_bytes: reported_available(&meminfo).unwrap_or(0),
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

/// What can be used without swapping, as /proc/meminfo says. Kernels before 3.14 do not estimate; free memory is what is certain then.
fn reported_available(meminfo: &str) -> Option<u64> {
    kilobytes_field(meminfo, "MemAvailable").or_else(|| kilobytes_field(meminfo, "MemFree"))
}

/// The same, or what the kernel says itself where /proc holds processes alone (`subset=pid`, systemd's `ProcSubset=pid`) or is not there.
/// It is no fact of the host: who looks is told that there is no /proc.
pub(crate) fn available_bytes(root: &Root, meminfo: &str) -> Option<u64> {
    reported_available(meminfo)
        .or_else(|| root.is_this_machine().then(hostmark_sys::memory::of_machine)?.map(|(_, free)| free))
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

pub(crate) fn page_bytes(root: &Root) -> u64 {
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

    #[test]
    fn huge_pages_that_a_process_was_denied_are_reported_where_the_kernel_reports() {
        for (line, wanted) in [("THP_enabled:\t1\n", Some(false)), ("THP_enabled:\t0\n", Some(true)), ("", None)] {
            let at = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(at.path().join("proc/self")).unwrap();
            std::fs::write(at.path().join("proc/self/status"), format!("Name:\tsh\n{line}")).unwrap();
            assert_eq!(read(&Root::at(at.path())).transparent_huge_pages_forbidden, wanted);
        }
    }
}
