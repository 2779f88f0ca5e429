//! What the kernel tells of each page of a mapping in /proc/self/pagemap.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::workloads::call::named;
use crate::workloads::mappings::mapping::Mapping;
use crate::workloads::memory::Pages;

/// One number per page.
const ENTRY_BYTES: usize = 8;
/// Set where the process maps no page but a place in swap, whatever the swap cache holds.
const IS_SWAPPED: u64 = 1 << 62;

/// Which pages of a mapping are swapped out: the page table leads to swap, and no longer to memory.
pub fn swapped(mapping: &Mapping) -> io::Result<Vec<bool>> {
    let page = Pages::Base.bytes();
    let mut entries = vec![0_u8; mapping.length().div_ceil(page) * ENTRY_BYTES];
    let from = mapping.address().addr() / page * ENTRY_BYTES;
    let file = File::open("/proc/self/pagemap").map_err(|error| named("open", error))?;
    file.read_exact_at(&mut entries, from as u64).map_err(|error| named("read", error))?;
    Ok(entries.as_chunks().0.iter().map(|&entry| u64::from_ne_bytes(entry) & IS_SWAPPED != 0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;

    #[test]
    fn pages_that_were_never_reclaimed_are_not_swapped() {
        let page = Pages::Base.bytes();
        let mapping = Mapping::anonymous(8 * page, Pages::Base).unwrap();
        mapping.write_every(page, 4 * page);
        let Ok(swapped) = swapped(&mapping) else { return skipped("nobody tells which pages are swapped out") };
        // What is short of memory may have swapped a page since.
        assert_eq!((swapped.len(), &swapped[4..]), (8, &[false; 4][..]));
    }
}
