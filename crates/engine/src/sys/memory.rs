//! Buffers of anonymous memory with a chosen page size, touched by the thread that maps them.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::ptr::NonNull;

/// madvise(2): gather base pages into huge ones. The libc crate leaves it out for musl.
const MADV_COLLAPSE: libc::c_int = 25;

/// The pages that a buffer asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// The kernel's base page (4 KiB on x86_64; 4, 16 or 64 KiB on aarch64).
    Base,
    /// The transparent huge page of the PMD level (2 MiB with 4 KiB base pages).
    Pmd,
}

/// A memory node's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node(pub usize);

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
    mapping: NonNull<u8>,
    mapped: usize,
    offset: usize,
    length: usize,
}

impl Buffer {
    /// Maps at least `bytes`, asks for `pages` and `node`, and fills it by the calling thread.
    pub fn map(bytes: usize, pages: Pages, node: Option<Node>) -> io::Result<Buffer> {
        let align = match pages {
            Pages::Base => rustix::param::page_size(),
            Pages::Pmd => pmd_bytes(),
        };
        let whole = bytes.max(1).next_multiple_of(align);
        let mapped = whole + if pages == Pages::Pmd { align } else { 0 };
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new private mapping at an address of the kernel's choice touches nothing that exists.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), mapped, protection, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mapping = NonNull::new(address.cast::<u8>()).ok_or_else(|| io::Error::other("mmap gave address 0"))?;
        let offset = mapping.as_ptr().align_offset(align);
        let mut buffer = Buffer { mapping, mapped, offset, length: bytes };
        buffer.advise(whole, if pages == Pages::Pmd { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE });
        if let Some(node) = node {
            buffer.bind(whole, node)?;
        }
        buffer.fill();
        if pages == Pages::Pmd {
            // Where fragmentation gave base pages, the kernel may still gather them (Linux 6.1 and later).
            buffer.advise(whole, MADV_COLLAPSE);
        }
        Ok(buffer)
    }

    fn start(&self) -> *mut u8 {
        // SAFETY: the offset lies inside the mapping, by construction.
        unsafe { self.mapping.as_ptr().add(self.offset) }
    }

    /// Advice is advice: what came of it is read back by [`Buffer::huge_fraction`].
    fn advise(&mut self, whole: usize, advice: libc::c_int) {
        // SAFETY: the range is this buffer's own mapping, and none of these advices changes its contents.
        let _ = unsafe { libc::madvise(self.start().cast(), whole, advice) };
    }

    fn bind(&mut self, whole: usize, node: Node) -> io::Result<()> {
        let bits = usize::BITS as usize;
        let mut mask = vec![0_usize; node.0 / bits + 1];
        mask[node.0 / bits] = 1 << (node.0 % bits);
        // The kernel reads one bit less than it is told.
        let mask_bits = mask.len() * bits + 1;
        // SAFETY: the range is this buffer's own mapping; the mask has the length given.
        let result = unsafe {
            libc::syscall(libc::SYS_mbind, self.start(), whole, libc::MPOL_BIND, mask.as_ptr(), mask_bits, 0)
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Varying non-zero data: some cores keep lines of zeros for nothing.
    fn fill(&mut self) {
        let mut word = 0x9e37_79b9_7f4a_7c15_u64;
        let mut chunks = self.bytes_mut().chunks_exact_mut(8);
        for chunk in &mut chunks {
            chunk.copy_from_slice(&word.to_ne_bytes());
            word = word.wrapping_add(0x9e37_79b9_7f4a_7c15) | 1;
        }
        chunks.into_remainder().fill(0x5a);
    }

    /// The memory.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `length` bytes from `start` lie inside the mapping, are initialised (by the kernel) and borrowed with self.
        unsafe { std::slice::from_raw_parts(self.start(), self.length) }
    }

    /// The memory, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as `bytes`, and borrowed mutably with self.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.length) }
    }

    /// The share of the buffer that huge pages back, as the kernel tells it now; none where it does not tell.
    pub fn huge_fraction(&self) -> Option<f64> {
        let smaps = BufReader::new(fs::File::open("/proc/self/smaps").ok()?);
        let first = self.start() as usize;
        let last = first + self.length.max(1);
        let (mut inside, mut huge_kib) = (false, None);
        for line in smaps.lines() {
            let line = line.ok()?;
            if let Some((from, to)) = range_of(&line) {
                inside = from < last && to > first;
            } else if inside && let Some(kib) = line.strip_prefix("AnonHugePages:") {
                let kib: u64 = kib.trim().trim_end_matches("kB").trim().parse().ok()?;
                huge_kib = Some(huge_kib.unwrap_or(0) + kib);
            }
        }
        Some((huge_kib? as f64 * 1024.0 / self.length.max(1) as f64).min(1.0))
    }

    /// The memory node of the first page, as move_pages(2) tells it.
    pub fn node(&self) -> Option<Node> {
        let pages = [self.start()];
        let mut status: libc::c_int = -1;
        // SAFETY: with a null list of nodes the call only asks; one page address and one status are given.
        let result = unsafe {
            libc::syscall(libc::SYS_move_pages, 0, 1, pages.as_ptr(), std::ptr::null::<i32>(), &raw mut status, 0)
        };
        (result == 0).then_some(())?;
        usize::try_from(status).ok().map(Node)
    }
}

fn range_of(line: &str) -> Option<(usize, usize)> {
    let (from, rest) = line.split_once('-')?;
    let (to, _) = rest.split_once(' ')?;
    Some((usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?))
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `map` mapped; no borrow outlives self.
        unsafe { libc::munmap(self.mapping.as_ptr().cast(), self.mapped) };
    }
}

// SAFETY: the mapping belongs to the buffer alone, like a Box.
unsafe impl Send for Buffer {}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn base_pages_are_never_huge() {
        let buffer = Buffer::map(8 << 20, Pages::Base, None).unwrap();
        assert_eq!(buffer.huge_fraction(), Some(0.0));
    }

    #[test]
    fn memory_bound_to_node_0_lies_there() {
        let buffer = match Buffer::map(1 << 20, Pages::Base, Some(Node(0))) {
            Ok(buffer) => buffer,
            // A container may forbid it, and an emulator or a kernel without NUMA has none.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) => return,
            Err(error) => panic!("{error}"),
        };
        assert!(matches!(buffer.node(), None | Some(Node(0))));
    }
}
