//! Mappings as measured operations: made, touched, protected, given up; and what the kernel tells of their pages.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};

use hostmark_engine::prelude::sys::mapped::{Mapped, READ_WRITE};
use rustix::fd::{AsRawFd, OwnedFd};

use crate::workloads::call::{named, returned};
use crate::workloads::memory::Pages;

/// Effect of writes to a file's mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    Shared,
    /// Copies of its pages, of this process alone.
    Private,
}

/// A mapping of this process, untouched until it is touched. Whatever is in it may be anything.
#[derive(Debug)]
pub struct Mapping {
    mapped: Mapped,
    offset: usize,
    length: usize,
}

/// Constants of the kernel's interface; not every C library names them.
const MADV_COLD: libc::c_int = 20;
const MADV_PAGEOUT: libc::c_int = 21;
const MADV_COLLAPSE: libc::c_int = 25;

impl Mapping {
    #[inline(always)]
    fn of(mapped: Mapped) -> Mapping {
        let length = mapped.bytes();
        Mapping { mapped, offset: 0, length }
    }

    /// Private memory that asks for `pages`; `bytes` is rounded up to them.
    pub fn anonymous(bytes: usize, pages: Pages) -> io::Result<Mapping> {
        let (align, page) = (pages.bytes(), Pages::Base.bytes());
        let length = bytes.max(1).checked_next_multiple_of(align);
        let mapped = length.and_then(|length| length.checked_add(align - page));
        let (Some(length), Some(mapped)) = (length, mapped) else {
            return Err(named("mmap", io::ErrorKind::OutOfMemory.into()));
        };
        let mapped = Mapped::anonymous(mapped, libc::MAP_PRIVATE)?;
        let mapping = Mapping { offset: mapped.start().align_offset(align), mapped, length };
        mapping.advise(if pages == Pages::Pmd { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE })?;
        Ok(mapping)
    }

    /// The same of the default kind, as programs get it: nothing is asked of its pages.
    #[inline(always)]
    pub fn plain(bytes: usize) -> io::Result<Mapping> {
        Ok(Mapping::of(Mapped::anonymous(bytes, libc::MAP_PRIVATE)?))
    }

    /// The first `bytes` of a file, to read and, where `write`, to write.
    #[inline(always)]
    pub fn file(file: &OwnedFd, bytes: usize, sharing: Sharing, write: bool) -> io::Result<Mapping> {
        let flags = if sharing == Sharing::Shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
        Ok(Mapping::of(Mapped::of_file(file.as_fd(), 0, bytes, access(write), flags)?))
    }

    fn start(&self) -> *mut u8 {
        // SAFETY: the offset lies inside the mapping, by construction.
        unsafe { self.mapped.start().add(self.offset) }
    }

    pub fn length(&self) -> usize {
        self.length
    }

    fn advise(&self, advice: libc::c_int) -> io::Result<()> {
        // SAFETY: the range is this mapping's own, and nobody holds a reference into it.
        returned("madvise", unsafe { libc::madvise(self.start().cast(), self.length, advice) }).map(drop)
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

    /// Sets whether the kernel is to give it huge pages from now on.
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

    /// Counts its pages that are in memory, whether or not this process maps them: mincore(2).
    pub fn pages_in_memory(&self) -> io::Result<usize> {
        Ok(self.in_memory(0, self.length)?.into_iter().filter(|&is_held| is_held).count())
    }

    /// The same of each page of a part that begins with one: of memory that went to swap, also what the swap cache still holds.
    pub fn in_memory(&self, from: usize, bytes: usize) -> io::Result<Vec<bool>> {
        assert!(from <= self.length && bytes <= self.length - from);
        let mut held = vec![0_u8; bytes.div_ceil(Pages::Base.bytes())];
        // SAFETY: the range is of this mapping's own, and there is a byte for each of its pages.
        returned("mincore", unsafe { libc::mincore(self.start().add(from).cast(), bytes, held.as_mut_ptr()) })?;
        Ok(held.into_iter().map(|page| page & 1 == 1).collect())
    }

    /// Accesses each multiple of `stride` below `until`, as far as the mapping goes.
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

    /// Stores a byte at each multiple of `stride` below `until`. Unless the mapping is writable, the process dies of SIGSEGV.
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
        returned("mprotect", unsafe { libc::mprotect(self.start().cast(), self.length, access(write)) }).map(drop)
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

#[inline(always)]
fn access(write: bool) -> libc::c_int {
    if write { READ_WRITE } else { libc::PROT_READ }
}

// SAFETY: the mapping is nobody else's; what several threads do by it are atomic accesses and system calls.
unsafe impl Sync for Mapping {}

const ENTRY_BYTES: usize = 8;
/// Set where the process maps no page but a place in swap, whatever the swap cache holds.
const IS_SWAPPED: u64 = 1 << 62;

/// Tells for each page of a mapping whether it is swapped out: the page table leads to swap, and no longer to memory.
pub fn swapped(mapping: &Mapping) -> io::Result<Vec<bool>> {
    let page = Pages::Base.bytes();
    let mut entries = vec![0_u8; mapping.length().div_ceil(page) * ENTRY_BYTES];
    let from = mapping.address().addr() / page * ENTRY_BYTES;
    let file = File::open("/proc/self/pagemap").map_err(|error| named("open", error))?;
    file.read_exact_at(&mut entries, from as u64).map_err(|error| named("read", error))?;
    Ok(entries.as_chunks().0.iter().map(|&entry| u64::from_ne_bytes(entry) & IS_SWAPPED != 0).collect())
}

/// A range of addresses whose base pages get memory when touched, with huge pages at places that share one memory.
#[derive(Debug)]
pub struct Sparse {
    mapped: Mapped,
    offset: usize,
    length: usize,
}

impl Sparse {
    /// Reserves `length` bytes of addresses whose pages are base pages.
    pub fn base(length: usize) -> io::Result<Sparse> {
        let sparse = Sparse::reserve(length, Pages::Base.bytes())?;
        // SAFETY: the range is this mapping's own, and the advice changes no contents.
        unsafe { libc::madvise(sparse.start().cast(), length, libc::MADV_NOHUGEPAGE) };
        Ok(sparse)
    }

    /// Reserves `length` bytes with a huge page at each of `places`, multiples of its size; `None` where shared memory has none.
    pub fn huge(length: usize, places: impl Iterator<Item = usize>) -> io::Result<Option<Sparse>> {
        let page = Pages::Pmd.bytes();
        let sparse = Sparse::reserve(length, page)?;
        // SAFETY: the name ends with zero, and the kernel keeps nothing of it.
        let file = returned("memfd_create", unsafe { libc::memfd_create(c"hostmark".as_ptr(), libc::MFD_CLOEXEC) })?;
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
            if unsafe { libc::mmap(at.cast(), page, READ_WRITE, flags, file.as_raw_fd(), 0) } == libc::MAP_FAILED {
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
        let mapped = Mapped::anonymous(mapped, libc::MAP_PRIVATE | libc::MAP_NORESERVE)?;
        Ok(Sparse { offset: mapped.start().align_offset(align), mapped, length })
    }

    fn start(&self) -> *mut u8 {
        // SAFETY: the offset lies inside the mapping, by construction.
        unsafe { self.mapped.start().add(self.offset) }
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

const DEVICES: &str = "/sys/bus/virtio/devices";
/// The device type of a memory balloon, and its feature bit for free page reporting (VIRTIO_BALLOON_F_REPORTING).
const BALLOON: u32 = 5;
const REPORTING: usize = 5;

/// Tells whether a balloon device takes reports of free pages.
pub fn reports_free_pages() -> bool {
    is_reporting(Path::new(DEVICES))
}

fn is_reporting(devices: &Path) -> bool {
    let reports = |device: &Path| {
        let text = |name| fs::read_to_string(device.join(name)).unwrap_or_default();
        let kind = text("device").trim().strip_prefix("0x").and_then(|kind| u32::from_str_radix(kind, 16).ok());
        // A character for each bit, the first bit first.
        kind == Some(BALLOON) && text("features").as_bytes().get(REPORTING) == Some(&b'1')
    };
    fs::read_dir(devices).is_ok_and(|all| all.flatten().any(|device| reports(&device.path())))
}

#[cfg(test)]
mod tests {
    use hostmark_engine::prelude::sys::usage::thread_faults;

    use super::*;
    use crate::skip::skipped;
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
        for bytes in [usize::MAX, isize::MAX as usize] {
            assert!([Pages::Base, Pages::Pmd].iter().all(|&pages| Mapping::anonymous(bytes, pages).is_err()));
        }
        assert!([usize::MAX, isize::MAX as usize - (1 << 30)].iter().all(|&bytes| Sparse::base(bytes).is_err()));
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

    #[test]
    fn pages_that_were_never_reclaimed_are_not_swapped() {
        let page = Pages::Base.bytes();
        let mapping = Mapping::anonymous(8 * page, Pages::Base).unwrap();
        mapping.write_every(page, 4 * page);
        let Ok(swapped) = swapped(&mapping) else { return skipped("nobody tells which pages are swapped out") };
        // What is short of memory may have swapped a page since.
        assert_eq!((swapped.len(), &swapped[4..]), (8, &[false; 4][..]));
    }

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
    fn a_balloon_that_takes_reports_is_distinguished_from_one_that_does_not_and_from_other_devices() {
        let found = |kind: &str, features: &str| {
            let root = tempfile::tempdir().unwrap();
            let device = root.path().join("virtio0");
            fs::create_dir(&device).unwrap();
            fs::write(device.join("device"), kind).unwrap();
            fs::write(device.join("features"), features).unwrap();
            is_reporting(root.path())
        };
        assert!(found("0x0005\n", "01100101000000000000000000000000100\n"));
        assert!(!found("0x0005\n", "01100001000000000000000000000000100\n"));
        assert!(!found("0x0002\n", "00100110011001000000000000000000100\n"));
        assert!(!found("", "") && !is_reporting(Path::new("/nowhere")));
    }
}
