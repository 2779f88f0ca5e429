//! Memory, swap and page sizes.

use hostmark_model::MemoryFacts;

use crate::root::{Root, kilobytes_field};

/// What a captured tree that does not tell its page size is taken to have: the only base page of x86_64.
const USUAL_PAGE_BYTES: u64 = 4096;

const THP_DIR: &str = "/sys/kernel/mm/transparent_hugepage";

pub(crate) fn read(root: &Root) -> MemoryFacts {
    let meminfo = root.raw("/proc/meminfo").unwrap_or_default();
    let bytes = |key| kilobytes_field(&meminfo, key).unwrap_or(0);
    let swap_total_bytes = bytes("SwapTotal");
    MemoryFacts {
        total_bytes: bytes("MemTotal"),
        // Kernels before 3.14 do not estimate; free memory is what is certain then.
        available_bytes: kilobytes_field(&meminfo, "MemAvailable").unwrap_or_else(|| bytes("MemFree")),
        swap_total_bytes,
        swap_used_bytes: swap_total_bytes.saturating_sub(bytes("SwapFree")),
        page_bytes: page_bytes(root),
        pmd_page_bytes: root.number(&format!("{THP_DIR}/hpage_pmd_size")).filter(|size| *size > 0),
        transparent_huge_pages: root.text(&format!("{THP_DIR}/enabled")).as_deref().and_then(chosen).map(str::to_owned),
    }
}

fn page_bytes(root: &Root) -> u64 {
    if root.is_this_machine() {
        return rustix::param::page_size() as u64;
    }
    let smaps = root.raw("/proc/self/smaps").unwrap_or_default();
    kilobytes_field(&smaps, "KernelPageSize").unwrap_or(USUAL_PAGE_BYTES)
}

/// The word in brackets of `always [madvise] never`.
fn chosen(text: &str) -> Option<&str> {
    Some(text.split_once('[')?.1.split_once(']')?.0)
}
