//! Mappings, protection, barriers.

pub mod mapping;
pub mod protection;

use std::io;
use std::ptr::NonNull;

use crate::workloads::call::named;

/// Blocks that are kept: more than an allocator keeps aside for a thread, few enough for a second-level cache.
const KEPT: usize = 1 << KEPT_BITS;
const KEPT_BITS: u32 = 10;
/// The least size, and twice it until its double is the limit of all, bytes: 16 to 4095.
const LEAST_BYTES: usize = 16;
const DOUBLINGS: u64 = 8;

/// A block; freed when dropped.
struct Block(NonNull<u8>);

impl Block {
    /// malloc(3), and a write to its first word, as whoever asks for memory does.
    #[inline(always)]
    fn new(bytes: usize) -> io::Result<Block> {
        // SAFETY: any size may be asked for.
        let block = NonNull::new(unsafe { libc::malloc(bytes) }.cast::<u8>());
        let block = block.ok_or_else(|| named("malloc", io::ErrorKind::OutOfMemory.into()))?;
        // SAFETY: a block has the bytes that were asked for, eight at least, and malloc aligns it for any word.
        unsafe { block.cast::<usize>().write_volatile(bytes) };
        Ok(Block(block))
    }
}

impl Drop for Block {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: of malloc, and freed once.
        unsafe { libc::free(self.0.as_ptr().cast()) };
    }
}

// SAFETY: the block is nobody else's, and any thread may free it.
unsafe impl Send for Block {}

/// Blocks of one thread, in no order.
pub struct Heap {
    blocks: Vec<Option<Block>>,
    /// Bits that look random: which block is next, and how large.
    state: u64,
}

impl Heap {
    /// Makes a heap with as many blocks as are kept; `party` tells whose.
    pub fn new(party: usize) -> io::Result<Heap> {
        let mut heap = Heap { blocks: (0..KEPT).map(|_| None).collect(), state: party as u64 };
        for place in 0..KEPT {
            let (_, bytes) = heap.draw();
            heap.blocks[place] = Some(Block::new(bytes)?);
        }
        Ok(heap)
    }

    /// Frees a block, whichever comes next, and allocates another in its place.
    #[inline(always)]
    pub fn replace(&mut self) -> io::Result<()> {
        let (place, bytes) = self.draw();
        let kept = &mut self.blocks[place];
        drop(kept.take());
        *kept = Some(Block::new(bytes)?);
        Ok(())
    }

    /// A place, and a size: each doubling of sizes as often as the others.
    #[inline(always)]
    fn draw(&mut self) -> (usize, usize) {
        // The multiplier of Knuth's MMIX; its upper bits are good.
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let least = LEAST_BYTES << ((self.state >> 40) % DOUBLINGS);
        let more = (self.state >> 28) as usize & (least - 1);
        ((self.state >> (u64::BITS - KEPT_BITS)) as usize, least + more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_all_sizes_are_replaced_all_over() {
        let mut heap = Heap::new(1).unwrap();
        let (mut places, mut doublings) = ([0_u32; KEPT], [0_u32; DOUBLINGS as usize]);
        for _ in 0..64 * KEPT {
            let (place, bytes) = heap.draw();
            places[place] += 1;
            doublings[(bytes / LEAST_BYTES).ilog2() as usize] += 1;
        }
        assert!(places.iter().all(|&times| (16..200).contains(&times)), "{places:?}");
        let even = 64 * KEPT as u32 / DOUBLINGS as u32;
        assert!(doublings.iter().all(|&times| times.abs_diff(even) < even / 10), "{doublings:?}");
        let addresses = |heap: &Heap| -> Vec<_> { heap.blocks.iter().flatten().map(|block| block.0).collect() };
        let before = addresses(&heap);
        (0..16 * KEPT).for_each(|_| heap.replace().unwrap());
        let mut after = addresses(&heap);
        let moved = before.iter().zip(&after).filter(|(one, other)| one != other).count();
        assert!(moved > KEPT / 2, "{moved}");
        after.sort_unstable();
        after.dedup();
        assert_eq!(after.len(), KEPT);
    }
}
