//! Mappings as operations to be measured: made, touched page by page, protected, given up.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};

use hostmark_engine::prelude::say;
use rustix::fd::{AsRawFd, OwnedFd};

use crate::workloads::call::named;
use crate::workloads::memory::Pages;

/// What writes to a file's mapping become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Writes to the file.
    Shared,
    /// Copies of its pages, of this process alone.
    Private,
}

/// A mapping of this process, untouched until it is touched; unmapped when dropped. Whatever is in it may be anything.
#[derive(Debug)]
pub struct Mapping {
    mapping: NonNull<u8>,
    mapped: usize,
    offset: usize,
    length: usize,
}

/// Of the kernel's interface; not every C library names them.
const MADV_COLD: libc::c_int = 20;
const MADV_PAGEOUT: libc::c_int = 21;
const MADV_COLLAPSE: libc::c_int = 25;
const READ: libc::c_int = libc::PROT_READ;
const WRITE: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;

impl Mapping {
    fn map(mapped: usize, protection: libc::c_int, flags: libc::c_int, file: libc::c_int) -> io::Result<Mapping> {
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), mapped, protection, flags, file, 0) };
        if address == libc::MAP_FAILED {
            return Err(named("mmap", io::Error::last_os_error()));
        }
        let mapping =
            NonNull::new(address.cast::<u8>()).ok_or_else(|| io::Error::other(say!("mmap gave address 0")))?;
        Ok(Mapping { mapping, mapped, offset: 0, length: mapped })
    }

    /// Private memory that asks for `pages`; `bytes` is rounded up to them.
    pub fn anonymous(bytes: usize, pages: Pages) -> io::Result<Mapping> {
        let (align, page) = (pages.bytes(), Pages::Base.bytes());
        let length = bytes.max(1).checked_next_multiple_of(align);
        let mapped = length.and_then(|length| length.checked_add(align - page));
        let (Some(length), Some(mapped)) = (length, mapped) else {
            return Err(named("mmap", io::ErrorKind::OutOfMemory.into()));
        };
        let mut mapping = Mapping::map(mapped, WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        mapping.offset = mapping.mapping.as_ptr().align_offset(align);
        mapping.length = length;
        mapping.advise(if pages == Pages::Pmd { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE })?;
        Ok(mapping)
    }

    /// The same of the default kind, as programs get it: nothing is asked of its pages.
    #[inline(always)]
    pub fn plain(bytes: usize) -> io::Result<Mapping> {
        Mapping::map(bytes, WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
    }

    /// The first `bytes` of a file, to read and, where `write`, to write.
    #[inline(always)]
    pub fn file(file: &OwnedFd, bytes: usize, sharing: Sharing, write: bool) -> io::Result<Mapping> {
        let flags = if sharing == Sharing::Shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
        Mapping::map(bytes, if write { WRITE } else { READ }, flags, file.as_raw_fd())
    }

    fn start(&self) -> *mut u8 {
        // SAFETY: the offset lies inside the mapping, by construction.
        unsafe { self.mapping.as_ptr().add(self.offset) }
    }

    /// Its length in bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    fn advise(&self, advice: libc::c_int) -> io::Result<()> {
        // SAFETY: the range is this mapping's own, and nobody holds a reference into it.
        match unsafe { libc::madvise(self.start().cast(), self.length, advice) } {
            0 => Ok(()),
            _ => Err(named("madvise", io::Error::last_os_error())),
        }
    }

    /// Tells the kernel that accesses come in no order, so that it reads nothing ahead.
    pub fn expect_random(&self) -> io::Result<()> {
        self.advise(libc::MADV_RANDOM)
    }

    /// Gives the pages back: the next access to each is its first again.
    pub fn give_back(&self) -> io::Result<()> {
        self.advise(libc::MADV_DONTNEED)
    }

    /// The same lazily: the kernel takes a page when it needs one, unless it has been written to since (MADV_FREE).
    pub fn give_back_lazily(&self) -> io::Result<()> {
        self.advise(libc::MADV_FREE)
    }

    /// Whether the kernel is to give it huge pages from now on.
    pub fn want_huge_pages(&self, wanted: bool) -> io::Result<()> {
        self.advise(if wanted { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE })
    }

    /// Makes huge pages of its base pages at once (Linux 6.1 and later).
    pub fn collapse(&self) -> io::Result<()> {
        self.advise(MADV_COLLAPSE)
    }

    /// Has its pages reclaimed now (Linux 5.4 and later): what they hold stays where it came from, or goes to swap.
    pub fn reclaim(&self) -> io::Result<()> {
        self.advise(MADV_PAGEOUT)
    }

    /// Lets the kernel reclaim its pages before others, once it needs memory (Linux 5.4 and later).
    pub fn deactivate(&self) -> io::Result<()> {
        self.advise(MADV_COLD)
    }

    /// How many of its pages memory holds, whether or not this process maps them: mincore(2).
    pub fn pages_in_memory(&self) -> io::Result<usize> {
        Ok(self.in_memory(0, self.length)?.into_iter().filter(|&is_held| is_held).count())
    }

    /// The same of each page of a part that begins with one: of memory that went to swap, also what the swap cache still holds.
    pub fn in_memory(&self, from: usize, bytes: usize) -> io::Result<Vec<bool>> {
        assert!(from <= self.length && bytes <= self.length - from);
        let mut held = vec![0_u8; bytes.div_ceil(Pages::Base.bytes())];
        // SAFETY: the range is of this mapping's own, and there is a byte for each of its pages.
        match unsafe { libc::mincore(self.start().add(from).cast(), bytes, held.as_mut_ptr()) } {
            0 => Ok(held.into_iter().map(|page| page & 1 == 1).collect()),
            _ => Err(named("mincore", io::Error::last_os_error())),
        }
    }

    /// Each multiple of `stride` below `until`, as far as the mapping goes.
    #[inline(always)]
    fn each(&self, stride: usize, until: usize, access: impl Fn(&AtomicU8)) {
        let mut offset = 0;
        while offset < until.min(self.length) {
            access(self.byte(offset));
            offset = offset.saturating_add(stride);
        }
    }

    /// A byte as several threads may access it. Where it is not writable, who stores to it ends the process.
    #[inline(always)]
    fn byte(&self, offset: usize) -> &AtomicU8 {
        assert!(offset < self.length);
        // SAFETY: inside the mapping, which is readable and lives as long as self; `bytes` borrows the mapping alone, so that nobody
        // accesses it in another way meanwhile.
        unsafe { AtomicU8::from_ptr(self.start().add(offset)) }
    }

    /// Loads a byte at each multiple of `stride` below `until`.
    #[inline(always)]
    pub fn read_every(&self, stride: usize, until: usize) {
        self.each(stride, until, load);
    }

    /// Loads a byte at each of `offsets`; those beyond the end are left out.
    #[inline(always)]
    pub fn read_at(&self, offsets: &[usize]) {
        offsets.iter().filter(|&&offset| offset < self.length).for_each(|&offset| load(self.byte(offset)));
    }

    /// Stores a byte at each multiple of `stride` below `until`. The mapping must be writable: the process dies of SIGSEGV
    /// otherwise.
    #[inline(always)]
    pub fn write_every(&self, stride: usize, until: usize) {
        self.each(stride, until, |byte| byte.store(1, Ordering::Relaxed));
    }

    /// Stores a byte at `offset`, which lies inside; else as the above.
    #[inline(always)]
    pub fn write_at(&self, offset: usize) {
        self.byte(offset).store(1, Ordering::Relaxed);
    }

    /// mprotect(2) of all of it.
    #[inline(always)]
    pub fn protect(&self, write: bool) -> io::Result<()> {
        // SAFETY: the range is this mapping's own, which stays readable, and nobody holds a reference into it.
        match unsafe { libc::mprotect(self.start().cast(), self.length, if write { WRITE } else { READ }) } {
            0 => Ok(()),
            _ => Err(named("mprotect", io::Error::last_os_error())),
        }
    }

    /// The memory, which nothing else is done to meanwhile.
    pub fn bytes(&mut self) -> &[u8] {
        // SAFETY: readable, and of a length that lies inside the mapping. What a file's mapping holds changes only by whoever
        // writes to the file, which is the caller's own.
        unsafe { std::slice::from_raw_parts(self.start(), self.length) }
    }

    /// Copies `contents` to its start. The mapping must be writable, as for [`Mapping::write_every`].
    pub fn fill(&mut self, contents: &[u8]) {
        assert!(contents.len() <= self.length);
        // SAFETY: writable and as long, and what is mapped here is borrowed by nobody else.
        unsafe { std::ptr::copy_nonoverlapping(contents.as_ptr(), self.start(), contents.len()) };
    }

    pub(crate) fn address(&self) -> *mut u8 {
        self.start()
    }
}

#[inline(always)]
fn load(byte: &AtomicU8) {
    std::hint::black_box(byte.load(Ordering::Relaxed));
}

impl Drop for Mapping {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what was mapped; no borrow outlives self.
        unsafe { libc::munmap(self.mapping.as_ptr().cast(), self.mapped) };
    }
}

// SAFETY: the mapping is nobody else's; what several threads do by it are atomic accesses and system calls.
unsafe impl Sync for Mapping {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;
    use hostmark_engine::prelude::sys::usage::thread_faults;

    use crate::workloads::storage::files;

    #[test]
    fn every_page_of_new_memory_faults_once_until_it_is_given_back() {
        let (page, pages) = (Pages::Base.bytes(), 100);
        let mapping = Mapping::anonymous(pages * page, Pages::Base).unwrap();
        let faults = || {
            let before = thread_faults().unwrap().minor;
            mapping.write_every(page, mapping.length());
            thread_faults().unwrap().minor - before
        };
        assert_eq!((faults(), faults()), (pages as u64, 0));
        mapping.give_back().unwrap();
        assert_eq!(faults(), pages as u64);
    }

    #[test]
    fn what_no_address_reaches_is_refused() {
        for pages in [Pages::Base, Pages::Pmd] {
            assert!([usize::MAX, isize::MAX as usize].iter().all(|&bytes| Mapping::anonymous(bytes, pages).is_err()));
        }
    }

    #[test]
    fn what_is_written_to_a_private_mapping_stays_out_of_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = files::unnamed(directory.path()).unwrap();
        let page = Pages::Base.bytes();
        files::write_at(&file, 0, &vec![7; 4 * page]).unwrap();
        let mut before = Mapping::file(&file, 4 * page, Sharing::Shared, false).unwrap();
        let mut private = Mapping::file(&file, 4 * page, Sharing::Private, true).unwrap();
        private.write_every(page, usize::MAX);
        assert_eq!((private.bytes()[page], before.bytes()[page]), (1, 7));
        private.give_back().unwrap();
        assert_eq!(private.bytes()[page], 7);
    }

    #[test]
    fn cold_pages_stay_and_are_no_longer_referenced() {
        let page = Pages::Base.bytes();
        let mapping = Mapping::anonymous(64 * page, Pages::Base).unwrap();
        let referenced_kib = || -> Option<u64> {
            let smaps = std::fs::read_to_string("/proc/self/smaps").ok()?;
            let at = smaps.find(&format!("{:x}-", mapping.address().addr()))?;
            let line = smaps[at..].lines().find(|line| line.starts_with("Referenced:"))?;
            line.split_whitespace().nth(1)?.parse().ok()
        };
        assert_eq!(mapping.pages_in_memory().unwrap(), 0);
        mapping.write_every(page, usize::MAX);
        assert_eq!(mapping.pages_in_memory().unwrap(), 64);
        let before = referenced_kib();
        // A kernel before 5.4 has no such advice.
        if mapping.deactivate().is_ok() {
            assert!(before.is_none() || referenced_kib() < before, "{before:?}");
            assert_eq!(mapping.pages_in_memory().unwrap(), 64);
        }
    }

    #[test]
    fn reclaimed_pages_of_a_file_leave_memory_and_come_back_as_they_were() {
        let directory = tempfile::tempdir().unwrap();
        let file = files::unnamed(directory.path()).unwrap();
        let page = Pages::Base.bytes();
        files::write_at(&file, 0, &vec![7; 64 * page]).unwrap();
        files::sync(&file).unwrap();
        let mut mapping = Mapping::file(&file, 64 * page, Sharing::Private, false).unwrap();
        mapping.read_every(page, usize::MAX);
        assert_eq!(mapping.pages_in_memory().unwrap(), 64);
        // A kernel before 5.4 has no such advice, and a filesystem in memory nowhere else to have pages.
        let kind = hostmark_engine::prelude::sys::regular::filesystem(directory.path()).unwrap();
        if mapping.reclaim().is_ok() && ["ext4", "xfs", "btrfs"].contains(&kind.as_str()) {
            let left = mapping.pages_in_memory().unwrap();
            // Pages that a CPU has just put into memory wait in a list of its own, where another cannot reclaim them.
            if left > 32 {
                skipped(&format!("the kernel kept {left} of 64 pages"));
            }
        }
        assert!(mapping.bytes().iter().all(|&byte| byte == 7));
    }

    #[test]
    fn protection_is_changed_and_changed_back() {
        let mut mapping = Mapping::plain(Pages::Base.bytes()).unwrap();
        mapping.protect(false).unwrap();
        mapping.read_at(&[0, usize::MAX]);
        mapping.protect(true).unwrap();
        mapping.write_every(1, 1);
        assert_eq!(mapping.bytes()[0], 1);
    }
}
