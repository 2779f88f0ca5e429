//! Pages far apart in the address space, with little memory behind them.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

use hostmark_engine::prelude::say;

use crate::workloads::call::named;
use crate::workloads::memory::Pages;

/// madvise(2): gather base pages into huge ones. The libc crate leaves it out for musl.
const MADV_COLLAPSE: libc::c_int = 25;
const ACCESS: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;

/// A range of addresses, of which base pages get memory of their own as they are touched; or huge pages at some places, all of which are
/// one and the same in memory. Unmapped when dropped.
#[derive(Debug)]
pub struct Sparse {
    mapping: NonNull<u8>,
    mapped: usize,
    offset: usize,
    length: usize,
}

impl Sparse {
    /// So many addresses whose pages are base pages.
    pub fn base(length: usize) -> io::Result<Sparse> {
        let sparse = Sparse::reserve(length, Pages::Base.bytes())?;
        // SAFETY: the range is this mapping's own, and the advice changes no contents.
        unsafe { libc::madvise(sparse.start().cast(), length, libc::MADV_NOHUGEPAGE) };
        Ok(sparse)
    }

    /// So many addresses with a huge page at each of these `places`, multiples of its size; none where the kernel gives no huge page
    /// for memory that is shared.
    pub fn huge(length: usize, places: impl Iterator<Item = usize>) -> io::Result<Option<Sparse>> {
        let page = Pages::Pmd.bytes();
        let sparse = Sparse::reserve(length, page)?;
        // SAFETY: the name ends with zero, and the kernel keeps nothing of it.
        let file = unsafe { libc::memfd_create(c"hostmark".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(named("memfd_create", io::Error::last_os_error()));
        }
        // SAFETY: the descriptor is new and nobody else's.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        rustix::fs::ftruncate(&file, page as u64).map_err(|error| named("ftruncate", error.into()))?;
        let mut is_first = true;
        for place in places {
            assert!(place.is_multiple_of(page) && place + page <= length, "{place} of {length}");
            // SAFETY: the place lies inside this mapping, which nobody has a reference to.
            let at = unsafe { sparse.start().add(place) };
            let flags = libc::MAP_SHARED | libc::MAP_FIXED;
            // SAFETY: as above; what was mapped there was this mapping's own, and empty.
            if unsafe { libc::mmap(at.cast(), page, ACCESS, flags, file.as_raw_fd(), 0) } == libc::MAP_FAILED {
                return Err(named("mmap", io::Error::last_os_error()));
            }
            if is_first && !gathered(at, page) {
                return Ok(None);
            }
            is_first = false;
        }
        Ok(Some(sparse))
    }

    fn reserve(length: usize, align: usize) -> io::Result<Sparse> {
        let mapped = length.checked_add(align).filter(|mapped| isize::try_from(*mapped).is_ok());
        let mapped = mapped.ok_or_else(|| named("mmap", io::ErrorKind::OutOfMemory.into()))?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new private mapping at an address of the kernel's choice touches nothing that exists.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), mapped, ACCESS, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return Err(named("mmap", io::Error::last_os_error()));
        }
        let mapping =
            NonNull::new(address.cast::<u8>()).ok_or_else(|| io::Error::other(say!("mmap gave address 0")))?;
        Ok(Sparse { mapping, mapped, offset: mapping.as_ptr().align_offset(align), length })
    }

    fn start(&self) -> *mut u8 {
        // SAFETY: the offset lies inside the mapping, by construction.
        unsafe { self.mapping.as_ptr().add(self.offset) }
    }

    /// All of it: of huge pages a byte may be found at each place, so that only one of these may be used.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: `length` bytes from `start` lie inside the mapping, are initialised (by the kernel) and borrowed with self.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.length) }
    }
}

/// Fills the page at this address, and makes it a huge one; whether it is one.
fn gathered(at: *mut u8, page: usize) -> bool {
    // SAFETY: the page is mapped and writable, and nobody has a reference to it.
    unsafe {
        at.write_bytes(0x5a, page);
        libc::madvise(at.cast(), page, MADV_COLLAPSE) == 0
    }
}

impl Drop for Sparse {
    fn drop(&mut self) {
        // SAFETY: the range is this value's own, from which nothing is borrowed any more.
        let _ = unsafe { libc::munmap(self.mapping.as_ptr().cast(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;

    #[test]
    fn base_pages_are_apart_and_huge_ones_are_the_same_memory() {
        let page = Pages::Pmd.bytes();
        let mut sparse = Sparse::base(64 * page).unwrap();
        sparse.bytes_mut()[63 * page] = 7;
        assert_eq!((sparse.bytes_mut()[0], sparse.bytes_mut()[63 * page]), (0, 7));
        drop(sparse);
        if page > 64 << 20 {
            return skipped("huge pages are too large here");
        }
        let Some(mut sparse) = Sparse::huge(9 * page, [0, 3, 8].map(|place| place * page).into_iter()).unwrap() else {
            return skipped("shared memory has no huge pages here");
        };
        let (first, last) = (3 * page, 8 * page);
        sparse.bytes_mut()[first + 64] = 9;
        assert_eq!((sparse.bytes_mut()[last + 64], sparse.bytes_mut()[page + 64]), (9, 0));
    }

    #[test]
    fn more_addresses_than_there_are_is_an_error() {
        assert!(Sparse::base(usize::MAX).is_err());
        assert!(Sparse::base(isize::MAX as usize - (1 << 30)).is_err());
    }
}
