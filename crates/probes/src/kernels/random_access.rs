//! Loads and stores of single words at random places, many under way at once: no address depends on a load.

use std::arch::global_asm;
use std::marker::PhantomData;

use super::Refused;

/// Accesses in a block before the next one is entered: a turn of the engine's lengths.
pub const ACCESSES_A_BLOCK: u64 = 64;
/// The factor of a multiplicative generator with odd states (Knuth, MMIX); its high bits choose the word.
const FACTOR: u64 = 6_364_136_223_846_793_005;

/// What is done at a random place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A load.
    Read,
    /// A store.
    Write,
}

/// What the loops work on; they know the offset of each field.
#[repr(C)]
struct Places {
    generators: [u64; 4],
    factor: u64,
    /// Bytes of a block less one word: the mask of an offset in it.
    mask: u64,
    /// The block that is next.
    at: *mut u8,
    end: *mut u8,
    start: *mut u8,
}

// SAFETY: the pointers lead into memory that `Blocks` borrows alone, as a slice would, which may go to another thread.
unsafe impl Send for Places {}

/// Memory in blocks, and where the last accesses stopped.
pub struct Blocks<'a> {
    places: Places,
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a> Blocks<'a> {
    /// `memory` in whole blocks of `block_bytes`, a power of two of at least a word.
    pub fn new(memory: &'a mut [u8], block_bytes: usize, seed: u64) -> Result<Blocks<'a>, Refused> {
        if !block_bytes.is_power_of_two() || !(8..=1 << 31).contains(&block_bytes) {
            return Err(Refused::Step { bytes: block_bytes });
        }
        if memory.is_empty() || !memory.len().is_multiple_of(block_bytes) {
            return Err(Refused::Length { bytes: memory.len(), multiple_bytes: block_bytes });
        }
        if !memory.as_ptr().addr().is_multiple_of(8) {
            return Err(Refused::Alignment { needed_bytes: 8 });
        }
        let mut random = super::random::Random::new(seed);
        let generators = std::array::from_fn(|_| random.next() | 1);
        let memory = memory.as_mut_ptr_range();
        let mask = block_bytes as u64 - 8;
        let places =
            Places { generators, factor: FACTOR, mask, at: memory.start, end: memory.end, start: memory.start };
        Ok(Blocks { places, memory: PhantomData })
    }

    /// Does `n` accesses, rounded up to whole blocks of 64.
    pub fn access(&mut self, access: Access, n: u64) {
        if n == 0 {
            return;
        }
        let blocks = n.div_ceil(ACCESSES_A_BLOCK);
        // SAFETY: `blocks` is not zero, and `at` is the start of a whole block, since each call ends at one. Each access is to
        // a masked offset in that block, which goes from block to block, and from the end back to the start.
        unsafe {
            match access {
                Access::Read => hm_places_read(&mut self.places, blocks),
                Access::Write => hm_places_write(&mut self.places, blocks),
            }
        }
    }
}

// The loops themselves, which the kernel module assembles as well: 16 turns of four accesses in a block, one for each
// generator.
global_asm!(
    #[cfg(target_arch = "x86_64")]
    include_str!("loops/random_x86_64.inc"),
    #[cfg(target_arch = "aarch64")]
    include_str!("loops/random_aarch64.inc"),
    ".pushsection .text.hm_places, \"ax\", %progbits",
    ".p2align 6",
    "hm_places_read:",
    "hostmark_random read",
    "ret",
    ".p2align 6",
    "hm_places_write:",
    "hostmark_random write",
    "ret",
    ".popsection",
    ".globl hm_places_read, hm_places_write",
    ".hidden hm_places_read, hm_places_write",
    ".type hm_places_read, %function",
    ".type hm_places_write, %function",
    #[cfg(target_arch = "x86_64")]
    options(att_syntax),
    options(raw)
);

unsafe extern "C" {
    /// Loads from `blocks` blocks, one after another.
    fn hm_places_read(places: &mut Places, blocks: u64);
    /// Stores to them.
    fn hm_places_write(places: &mut Places, blocks: u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of zeros with one page on either side that must stay as it is.
    fn written(bytes: usize, block: usize, accesses: u64) -> Vec<u64> {
        let mut memory = vec![0_u64; bytes / 8 + 1024];
        // SAFETY: any word is eight bytes.
        let inside = &mut unsafe { memory.align_to_mut::<u8>().1 }[4096..4096 + bytes];
        let mut blocks = Blocks::new(inside, block, 3).unwrap();
        blocks.access(Access::Read, accesses);
        let offset = blocks.places.at.addr() - blocks.places.start.addr();
        assert_eq!(offset, accesses.div_ceil(64) as usize * block % bytes);
        (blocks.places.at, blocks.places.generators) = (blocks.places.start, [1, 3, 5, 7]);
        blocks.access(Access::Write, accesses);
        let (before, rest) = memory.split_at(512);
        let (inside, behind) = rest.split_at(bytes / 8);
        assert!(before.iter().chain(behind).all(|&word| word == 0), "{bytes} {block}");
        inside.to_vec()
    }

    #[test]
    fn stores_reach_every_block_in_turn_and_nothing_else() {
        for (bytes, block) in [(8, 8), (1024, 1024), (65536, 1024), (65536, 65536), (3 * 512, 512)] {
            let blocks = bytes / block;
            for visits in [1, blocks, 2 * blocks + 1] {
                let words = written(bytes, block, 64 * visits as u64);
                let touched = words.chunks(block / 8).filter(|block| block.contains(&FACTOR)).count();
                assert_eq!(touched, visits.min(blocks), "{bytes} {block} {visits}");
                assert!(words.iter().all(|&word| word == 0 || word == FACTOR));
            }
        }
    }

    #[test]
    fn places_are_spread_evenly() {
        let words = written(1 << 20, 1 << 20, 131_072);
        let share = words.iter().filter(|&&word| word == FACTOR).count() as f64 / words.len() as f64;
        // As many accesses as words leave 1/e of them untouched.
        assert!((share - (1.0 - (-1.0_f64).exp())).abs() < 0.01, "{share}");
        let half = words[..words.len() / 2].iter().filter(|&&word| word == FACTOR).count() as f64 / words.len() as f64;
        assert!((half - share / 2.0).abs() < 0.01, "{half}");
    }

    #[test]
    fn unfit_memory_is_refused() {
        let mut memory = vec![0_u64; 64];
        // SAFETY: any word is eight bytes.
        let memory = unsafe { memory.align_to_mut::<u8>().1 };
        assert!(matches!(Blocks::new(memory, 48, 0), Err(Refused::Step { .. })));
        assert!(matches!(Blocks::new(memory, 4, 0), Err(Refused::Step { .. })));
        assert!(matches!(Blocks::new(memory, 1024, 0), Err(Refused::Length { .. })));
        assert!(matches!(Blocks::new(&mut memory[4..12], 8, 0), Err(Refused::Alignment { .. })));
    }
}
