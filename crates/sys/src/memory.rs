//! Buffers of anonymous memory with a chosen page size, touched by the thread that maps them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader};

use super::affinity::{BITS, mask_of, numbers_in};
use super::call::{named, returned};
use super::mapped::Mapped;

/// madvise(2): gather base pages into huge ones. The libc crate leaves it out for musl.
const MADV_COLLAPSE: libc::c_int = 25;
/// Pages of a buffer that are asked for their node.
const PAGES_ASKED: usize = 64;
/// The golden section's fraction of 2^64: its multiples are spread evenly, and in step with nothing.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// Flag of get_mempolicy(2) that asks which nodes may be used. The libc crate leaves it out.
const MPOL_F_MEMS_ALLOWED: libc::c_ulong = 4;
/// No kernel has more nodes.
const MOST_NODES: usize = 1024;

/// Share of huge pages below which a buffer did not get what it asked for.
const MOSTLY_HUGE: f64 = 0.9;

/// The pages that a buffer asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// The kernel's base page (4 KiB on x86_64; 4, 16 or 64 KiB on aarch64).
    Base,
    /// The transparent huge page of the PMD level (2 MiB with 4 KiB base pages).
    Pmd,
}

impl Pages {
    /// Returns the size of one in bytes, as the kernel tells it.
    pub fn bytes(self) -> usize {
        match self {
            Pages::Base => rustix::param::page_size(),
            Pages::Pmd => pmd_bytes(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node(pub usize);

/// The nodes of which this process may use the memory: get_mempolicy(2).
pub fn usable_nodes() -> io::Result<Vec<Node>> {
    let mut mask = [0_usize; MOST_NODES / BITS];
    // SAFETY: the kernel writes as many bits as it is told that the mask has, and no policy.
    let result = unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            std::ptr::null_mut::<libc::c_int>(),
            mask.as_mut_ptr(),
            MOST_NODES,
            std::ptr::null::<libc::c_void>(),
            MPOL_F_MEMS_ALLOWED,
        )
    };
    returned("get_mempolicy", result)?;
    Ok(numbers_in(&mask).into_iter().map(Node).collect())
}

/// Describes where memory lies, from [`Buffer::nodes`]: `0`, or `0 75 %, 1 25 %`.
pub fn shares(nodes: &BTreeMap<usize, usize>) -> String {
    let all: usize = nodes.values().sum();
    let share = |(node, pages): (&usize, &usize)| format!("{node} {:.0} %", *pages as f64 / all as f64 * 100.0);
    match nodes.keys().collect::<Vec<_>>().as_slice() {
        [] => "unknown".to_owned(),
        [node] => node.to_string(),
        _ => nodes.iter().map(share).collect::<Vec<_>>().join(", "),
    }
}

/// Bytes of memory that this machine has, and free ones without caches: sysinfo(2). None where it may not be asked.
pub fn of_machine() -> Option<(u64, u64)> {
    sysinfo(|info| (info.totalram, info.freeram))
}

/// The same of swap: both 0 where none is on.
pub fn swap_of_machine() -> Option<(u64, u64)> {
    sysinfo(|info| (info.totalswap, info.freeswap))
}

/// Two of its numbers, in bytes.
fn sysinfo(of: impl FnOnce(&libc::sysinfo) -> (libc::c_ulong, libc::c_ulong)) -> Option<(u64, u64)> {
    let mut info = std::mem::MaybeUninit::<libc::sysinfo>::zeroed();
    // SAFETY: the kernel writes one of these, which is valid as zeros too.
    let info = unsafe { (libc::sysinfo(info.as_mut_ptr()) == 0).then_some(info.assume_init()) }?;
    let bytes = |units: libc::c_ulong| u64::from(info.mem_unit).saturating_mul(units);
    let (all, free) = of(&info);
    Some((bytes(all), bytes(free)))
}

/// The huge page of the PMD level: the kernel's word, else that of 4 KiB base pages.
fn pmd_bytes() -> usize {
    fs::read_to_string("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .filter(|bytes: &usize| bytes.is_power_of_two())
        .unwrap_or(2 << 20)
}

/// Memory of its own mapping, filled with varying non-zero data; unmapped when dropped.
#[derive(Debug)]
pub struct Buffer {
    mapped: Mapped,
    /// Earliest start in its mapping.
    offset: usize,
    /// Bytes between that and its start now.
    shift: usize,
    length: usize,
    capacity: usize,
    /// Kind of the pages that it asked for: its capacity is whole pages of these.
    pages: Pages,
    longest: usize,
    /// Number of bytes filled from its start.
    filled: usize,
}

/// Returns the most that the kernel may take for a buffer of so many bytes: whole pages, and a base page on either side.
pub fn footprint_bytes(bytes: u64, pages: Pages) -> u64 {
    rounded(bytes, pages.bytes() as u64).saturating_add(2 * rustix::param::page_size() as u64)
}

fn rounded(bytes: u64, page_bytes: u64) -> u64 {
    bytes.max(1).checked_next_multiple_of(page_bytes).unwrap_or(u64::MAX)
}

/// The data of a buffer, as far as it is filled.
#[derive(Debug, Clone, Copy)]
pub struct FillPattern(u64);

impl FillPattern {
    pub const START: FillPattern = FillPattern(GOLDEN);
}

impl Buffer {
    /// Maps at least `bytes`, asks for `pages` and `node`, and fills it by the calling thread. For what is small; a probe
    /// gets its memory by the engine's `Allotment`, which asks before whether it can be spared.
    pub fn map(bytes: usize, pages: Pages, node: Option<Node>) -> io::Result<Buffer> {
        let mut buffer = Buffer::reserve(bytes, pages, node)?;
        buffer.fill(0, bytes, FillPattern::START);
        buffer.gather();
        Ok(buffer)
    }

    /// Asks the kernel to gather huge pages where fragmentation gave base pages instead (Linux 6.1 and later).
    pub fn gather(&mut self) {
        if self.pages == Pages::Pmd {
            self.advise(self.whole_bytes(), MADV_COLLAPSE);
        }
    }

    /// Maps at least `bytes`, asks for `pages` and `node`, and touches nothing: zero until the caller touches and fills all of it.
    pub fn reserve(bytes: usize, pages: Pages, node: Option<Node>) -> io::Result<Buffer> {
        Buffer::reserve_within(bytes, bytes, pages, node)
    }

    /// The same, and it can become as long as `capacity`, of which nothing is touched before.
    pub fn reserve_within(bytes: usize, capacity: usize, pages: Pages, node: Option<Node>) -> io::Result<Buffer> {
        let align = pages.bytes();
        let page = rustix::param::page_size();
        // So much that the sum of all cannot wrap.
        let most = (isize::MAX as usize).saturating_sub(2 * align + 2 * page);
        let whole = capacity.max(bytes).max(1).checked_next_multiple_of(align).filter(|whole| *whole <= most);
        let whole = whole.ok_or_else(|| named("mmap", io::ErrorKind::OutOfMemory.into()))?;
        // One page on either side is present as well. What a program touches seldom ends where its memory ends, and there
        // it pays: `rep stosb` looks one page ahead, and a page that is not there costs it 230 cycles a call on Cascade Lake.
        let bytes_mapped = whole + 2 * page + if pages == Pages::Pmd { align - page } else { 0 };
        // What can become longer is not counted as if it were.
        let uncounted = if capacity > bytes { libc::MAP_NORESERVE } else { 0 };
        let mapped = Mapped::anonymous(bytes_mapped, libc::MAP_PRIVATE | uncounted)?;
        // SAFETY: the second page lies inside the mapping, which has three at least.
        let offset = page + unsafe { mapped.start().add(page) }.align_offset(align);
        let mut buffer =
            Buffer { mapped, offset, shift: 0, length: bytes, capacity: whole, pages, longest: bytes, filled: 0 };
        // Also the pages on either side, which would be huge ones where the system gives those to all.
        // SAFETY: the range is this new mapping, of which nobody has a reference.
        let _ = unsafe { libc::madvise(buffer.mapped.start().cast(), bytes_mapped, libc::MADV_NOHUGEPAGE) };
        if pages == Pages::Pmd {
            buffer.advise(whole, libc::MADV_HUGEPAGE);
        }
        if let Some(node) = node {
            buffer.place(libc::MPOL_BIND, &[node])?;
        }
        buffer.touch_neighbours();
        Ok(buffer)
    }

    /// Returns the largest possible length, bytes.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns how many bytes have been filled since it was mapped, from the earliest start on, whatever they hold now.
    pub fn filled_bytes(&self) -> usize {
        self.filled
    }

    /// Makes it so long, within what it can become, and has it begin this part, 0 to 1, behind the earliest start that what was filled
    /// leaves room for, in whole pages: it holds what it held, as far as it was filled.
    pub fn resize(&mut self, bytes: usize, part: f64) {
        assert!(bytes <= self.capacity, "a buffer of {} bytes cannot have {bytes}", self.capacity);
        let page = self.pages.bytes();
        let places = self.filled.saturating_sub(bytes) / page + 1;
        self.shift = page * ((places as f64 * part) as usize).min(places - 1);
        self.length = bytes;
        self.longest = self.longest.max(bytes);
        self.touch_neighbours();
    }

    /// Returns its length in whole pages of the kind that it asked for, which is no more than its capacity.
    fn whole_bytes(&self) -> usize {
        self.length.max(1).next_multiple_of(self.pages.bytes()).min(self.capacity)
    }

    /// Locks a part of it into memory until it is dropped, so that it is neither swapped nor moved to other memory by
    /// swapping. Untouched memory of the part is touched by that.
    pub fn lock(&mut self, from: usize, to: usize) -> io::Result<()> {
        let part = &self.bytes()[from..to];
        // SAFETY: the range is of this buffer's own mapping; locking changes no contents.
        returned("mlock", unsafe { libc::mlock(part.as_ptr().cast(), part.len()) }).map(drop)
    }

    #[inline]
    fn start(&self) -> *mut u8 {
        // SAFETY: the offset lies inside the mapping, by construction, and what is filled behind the shift inside what it can become.
        unsafe { self.mapped.start().add(self.offset + self.shift) }
    }

    /// Advice is advice: what came of it is read back by [`Buffer::huge_fraction`].
    fn advise(&mut self, whole: usize, advice: libc::c_int) {
        // SAFETY: the range is this buffer's own mapping, and none of these advices changes its contents.
        let _ = unsafe { libc::madvise(self.start().cast(), whole, advice) };
    }

    /// Has its pages come from these nodes in turn; those that were touched before stay where they are.
    pub fn interleave(&mut self, nodes: &[Node]) -> io::Result<()> {
        self.place(libc::MPOL_INTERLEAVE, nodes)
    }

    fn place(&mut self, policy: libc::c_int, nodes: &[Node]) -> io::Result<()> {
        let mask = mask_of(nodes.iter().map(|node| node.0));
        // The kernel reads one bit less than it is told.
        let mask_bits = mask.len() * BITS + 1;
        // SAFETY: the range is this buffer's own mapping; the mask has the length given.
        let result =
            unsafe { libc::syscall(libc::SYS_mbind, self.start(), self.capacity, policy, mask.as_ptr(), mask_bits, 0) };
        returned("mbind", result).map(drop)
    }

    /// Makes the pages before and after the buffer present; those that were filled are.
    fn touch_neighbours(&mut self) {
        let whole = self.whole_bytes();
        // SAFETY: there is a page before the earliest start and one after what it can become, inside the mapping.
        unsafe {
            if self.shift == 0 {
                self.start().sub(1).write_volatile(1);
            }
            if self.shift + whole >= self.filled {
                self.start().add(whole).write_volatile(1);
            }
        }
    }

    /// Varying non-zero data in a part of it: some cores keep lines of zeros for nothing.
    pub fn fill(&mut self, from: usize, to: usize, FillPattern(mut word): FillPattern) -> FillPattern {
        // Whole words: a call for each to copy a slice takes five times as long.
        let (words, rest) = self.bytes_mut()[from..to].as_chunks_mut();
        for place in words {
            *place = word.to_ne_bytes();
            word = word.wrapping_add(GOLDEN) | 1;
        }
        rest.fill(0x5a);
        if self.shift + from <= self.filled {
            self.filled = self.filled.max(self.shift + to);
        }
        FillPattern(word)
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `length` bytes from `start` lie inside the mapping, are initialised (by the kernel) and borrowed with self.
        unsafe { std::slice::from_raw_parts(self.start(), self.length) }
    }

    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as `bytes`, and borrowed mutably with self.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.length) }
    }

    /// The share of the buffer that huge pages back, as the kernel tells it now; none where it does not tell.
    pub fn huge_fraction(&self) -> Option<f64> {
        let smaps = BufReader::new(fs::File::open("/proc/self/smaps").ok()?);
        let first = self.start() as usize - self.shift;
        let last = first + self.longest.max(1);
        let (mut inside, mut huge_kib) = (false, None);
        for line in smaps.lines() {
            let line = line.ok()?;
            if let Some((from, to)) = range_of(&line) {
                inside = from < last && to > first;
                // The kernel walks the pages of every mapping that is read here.
                if from >= last {
                    break;
                }
            } else if inside && let Some(kib) = line.strip_prefix("AnonHugePages:") {
                let kib: u64 = kib.trim().trim_end_matches("kB").trim().parse().ok()?;
                huge_kib = Some(huge_kib.unwrap_or(0) + kib);
            }
        }
        Some((huge_kib? as f64 * 1024.0 / self.longest.max(1) as f64).min(1.0))
    }

    /// Describes the pages that back the buffer.
    pub fn obtained(&self) -> String {
        if self.pages == Pages::Base {
            return "base".to_owned();
        }
        match self.huge_fraction() {
            Some(fraction) if fraction >= MOSTLY_HUGE => "pmd".to_owned(),
            Some(fraction) => format!("pmd {:.0} %, the rest base", fraction * 100.0),
            None => "unknown".to_owned(),
        }
    }

    /// Returns where the buffer lies, as move_pages(2) tells of up to [`PAGES_ASKED`] pages spread over it: each node
    /// met, and how many of the pages lie there; empty where the kernel does not tell.
    pub fn nodes(&self) -> BTreeMap<usize, usize> {
        let page = rustix::param::page_size();
        // One of each part of the buffer, and not at the same place of each: they could be on one node where pages come in turn.
        let all = self.length.div_ceil(page) as u128;
        let asked = all.min(PAGES_ASKED as u128) as u64;
        let place = |part: u64| (u128::from(part) << 64) | u128::from(part.wrapping_mul(GOLDEN));
        let spread = |part: u64| ((place(part) * all / u128::from(asked)) >> 64) as usize * page;
        let pages: Vec<*const u8> = (0..asked).map(|part| std::ptr::from_ref(&self.bytes()[spread(part)])).collect();
        let mut status = vec![-1 as libc::c_int; pages.len()];
        // SAFETY: with a null list of nodes the call only asks; there are as many page addresses and statuses as it is told.
        let result = unsafe {
            libc::syscall(
                libc::SYS_move_pages,
                0,
                pages.len(),
                pages.as_ptr(),
                std::ptr::null::<libc::c_int>(),
                status.as_mut_ptr(),
                0,
            )
        };
        let mut nodes = BTreeMap::new();
        if result == 0 {
            for node in status.into_iter().filter_map(|status| usize::try_from(status).ok()) {
                *nodes.entry(node).or_insert(0) += 1;
            }
        }
        nodes
    }
}

fn range_of(line: &str) -> Option<(usize, usize)> {
    let (from, rest) = line.split_once('-')?;
    let (to, _) = rest.split_once(' ')?;
    Some((usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?))
}

// SAFETY: the mapping belongs to the buffer alone, like a Box.
unsafe impl Send for Buffer {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;

    #[test]
    fn a_buffer_is_aligned_filled_and_writable() {
        for pages in [Pages::Base, Pages::Pmd] {
            let mut buffer = Buffer::map(100_003, pages, None).unwrap();
            assert_eq!(buffer.bytes().len(), 100_003);
            assert!((buffer.bytes().as_ptr() as usize).is_multiple_of(rustix::param::page_size()));
            assert!(buffer.bytes().chunks(64).all(|line| line.iter().any(|&byte| byte != 0)));
            buffer.bytes_mut()[100_002] = 7;
            assert_eq!(buffer.bytes()[100_002], 7);
        }
    }

    #[test]
    fn neighbours_lie_inside_the_mapping_whatever_the_length() {
        let page = Pages::Base.bytes();
        for (pages, capacity) in [(Pages::Base, 3 * page), (Pages::Pmd, 3 * Pages::Pmd.bytes())] {
            let mut buffer = Buffer::reserve_within(1, capacity, pages, None).unwrap();
            for bytes in [0, 1, page, page + 1, capacity] {
                buffer.resize(bytes, 0.0);
                assert!(buffer.offset > 0 && buffer.offset + buffer.whole_bytes() < buffer.mapped.bytes(), "{bytes}");
            }
            for bytes in [usize::MAX, usize::MAX - page, isize::MAX as usize] {
                assert!(Buffer::reserve(bytes, pages, None).is_err(), "{bytes}");
            }
        }
    }

    #[test]
    fn whole_pages_are_counted_as_the_kernel_rounds_them() {
        const MIB: u64 = 1 << 20;
        assert_eq!(rounded(5 * MIB, 2 * MIB), 6 * MIB);
        // Base pages of 16 and 64 KiB have huge ones of 32 and 512 MiB.
        assert_eq!(rounded(402 * MIB, 512 * MIB), 512 * MIB);
        assert_eq!(rounded(33 * MIB, 32 * MIB), 64 * MIB);
        assert_eq!((rounded(0, 4096), rounded(1, 65536), rounded(u64::MAX, 4096)), (4096, 65536, u64::MAX));
        let base = rustix::param::page_size() as u64;
        assert_eq!(footprint_bytes(5 * MIB, Pages::Base), 5 * MIB + 2 * base);
        assert_eq!(footprint_bytes(1, Pages::Pmd), Pages::Pmd.bytes() as u64 + 2 * base);
    }

    #[test]
    fn no_more_becomes_resident_than_is_counted() {
        for (bytes, pages) in [(5 << 20, Pages::Pmd), (5 << 20, Pages::Base), (1000, Pages::Pmd), (1000, Pages::Base)] {
            crate::process::in_a_child(|| {
                let resident = || {
                    let rollup = fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
                    let line = rollup.lines().find(|line| line.starts_with("Anonymous:")).map(str::to_owned);
                    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) << 10
                };
                let before = resident();
                let buffer = Buffer::map(bytes, pages, None)?;
                let taken = resident().saturating_sub(before);
                // The heap and the stack of this child grow by a few pages as well.
                assert!(
                    taken <= footprint_bytes(bytes as u64, pages) + (256 << 10),
                    "{taken} for {bytes} of {pages:?}"
                );
                drop(buffer);
                Ok(())
            });
        }
    }

    #[test]
    fn reserved_memory_is_untouched_and_zero() {
        let resident = || crate::process::resident_bytes().unwrap();
        let before = resident();
        let buffer = Buffer::reserve(64 << 20, Pages::Base, None).unwrap();
        // Other threads of the tests take memory meanwhile, but hardly as much.
        assert!(resident() < before + (48 << 20));
        assert!(buffer.bytes()[..1 << 20].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn memory_is_locked_where_the_limit_allows() {
        let mut buffer = Buffer::map(1 << 16, Pages::Base, None).unwrap();
        let locked = |text: String| text.lines().find(|line| line.starts_with("VmLck:")).map(str::to_owned);
        match buffer.lock(0, 1 << 16) {
            Ok(()) => {
                let line = locked(fs::read_to_string("/proc/self/status").unwrap()).unwrap();
                let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
                assert!(kib >= 64, "{line}");
            }
            Err(error) => {
                assert!(matches!(crate::call::errno(&error), Some(libc::ENOMEM | libc::EPERM | libc::EAGAIN)))
            }
        }
    }

    #[test]
    fn base_pages_are_never_huge() {
        let buffer = Buffer::map(8 << 20, Pages::Base, None).unwrap();
        assert_eq!(buffer.huge_fraction(), Some(0.0));
    }

    #[test]
    fn memory_is_interleaved_over_the_nodes_that_may_be_used() {
        let Ok(nodes) = usable_nodes() else { return skipped("the kernel, or what this runs in, tells of no nodes") };
        assert!(!nodes.is_empty());
        let bytes = 2 * nodes.len() * Pages::Pmd.bytes();
        let mut buffer = Buffer::reserve(bytes, Pages::Pmd, None).unwrap();
        if buffer.interleave(&nodes).is_ok() {
            buffer.fill(0, bytes, FillPattern::START);
            let on = buffer.nodes();
            let has_share = |node: &Node| on.get(&node.0).is_some_and(|pages| pages * 2 * nodes.len() >= PAGES_ASKED);
            assert!(on.is_empty() || nodes.iter().all(has_share), "{}", shares(&on));
            assert!(buffer.interleave(&[Node(MOST_NODES)]).is_err());
        }
        assert_eq!(shares(&BTreeMap::new()), "unknown");
        assert_eq!(shares(&BTreeMap::from([(3, 64)])), "3");
        assert_eq!(shares(&BTreeMap::from([(0, 48), (1, 16)])), "0 75 %, 1 25 %");
    }

    #[test]
    fn memory_bound_to_node_0_lies_there() {
        let buffer = match Buffer::map(1 << 20, Pages::Base, Some(Node(0))) {
            Ok(buffer) => buffer,
            // A container may forbid it, and an emulator or a kernel without NUMA has none.
            Err(error) if matches!(crate::call::errno(&error), Some(libc::EPERM | libc::ENOSYS)) => return,
            Err(error) => panic!("{error}"),
        };
        let nodes = buffer.nodes();
        assert!(nodes.is_empty() || nodes == BTreeMap::from([(0, PAGES_ASKED)]), "{nodes:?}");
    }
}
