//! Loads and stores that do not wait for each other, at random places or in an order, and the numbers that order them (SplitMix64).

use std::arch::global_asm;
use std::marker::PhantomData;

use super::Refused;

/// Accesses in a block before the next one is entered: a turn of the engine's lengths.
const ACCESSES_A_BLOCK: u64 = 64;
/// The factor of a multiplicative generator with odd states (Knuth, MMIX); its high bits choose the word.
const FACTOR: u64 = 6_364_136_223_846_793_005;

/// Operation at a random place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

/// State of the loops, which know the offset of each field.
#[repr(C)]
struct Places {
    generators: [u64; 4],
    factor: u64,
    /// Bytes of a block less one word: the mask of an offset in it.
    mask: u64,
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
        let mut random = Random::new(seed);
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

// The loops, which the kernel module assembles too: 16 turns of four accesses in a block, one for each generator.
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
    fn hm_places_write(places: &mut Places, blocks: u64);
}

/// Unit of a place in the order, bytes.
const WORD_BYTES: usize = 8;

/// Lines of memory and an order of them, gone through over and over.
pub struct OrderedLoads<'a> {
    memory: &'a [u8],
    /// Number of each line's first word, in the order of the loads.
    words: Vec<u32>,
    next: usize,
}

impl<'a> OrderedLoads<'a> {
    /// Loads a word of each of these lines of `line_bytes`, in this order.
    pub fn new(memory: &'a [u8], line_bytes: usize, order: &[u32]) -> Result<Self, Refused> {
        if line_bytes == 0 || !line_bytes.is_multiple_of(WORD_BYTES) {
            return Err(Refused::Step { bytes: line_bytes });
        }
        if !memory.as_ptr().addr().is_multiple_of(WORD_BYTES) {
            return Err(Refused::Alignment { needed_bytes: WORD_BYTES });
        }
        let lines = memory.len() / line_bytes;
        let words = order.iter().map(|&line| {
            let word = line as usize * (line_bytes / WORD_BYTES);
            u32::try_from(word).ok().filter(|_| (line as usize) < lines).ok_or(Refused::Nodes { nodes: lines })
        });
        let words: Vec<u32> = words.collect::<Result<_, _>>()?;
        if words.is_empty() {
            return Err(Refused::Length { bytes: memory.len(), multiple_bytes: line_bytes });
        }
        Ok(OrderedLoads { memory, words, next: 0 })
    }

    /// Goes on through the order for `count` loads. Gives the last word loaded.
    pub fn load(&mut self, count: usize) -> u64 {
        let (mut left, mut last) = (count, 0);
        while left > 0 {
            let now = left.min(self.words.len() - self.next);
            last = load(self.memory, &self.words[self.next..self.next + now]);
            self.next = (self.next + now) % self.words.len();
            left -= now;
        }
        last
    }
}

/// Loads the words of these numbers, not none, all of them inside the memory; gives the last. One instruction does all loads: to
/// prefetchers that go by the address of the instruction, several would be as many streams, each far ahead of the others.
fn load(memory: &[u8], words: &[u32]) -> u64 {
    let last;
    // SAFETY: each number is one of a word inside the memory, by construction; nothing is written but declared registers; the loop
    // ends when its counter, the number of words, is zero.
    unsafe {
        asm_by_arch!(
            ".p2align 6",
            "2:",
            by_arch!(
                x86_64 {
                    "mov eax, [rsi]
                     add rsi, 4
                     mov rax, [rdi + rax * 8]"
                }
                aarch64 {
                    "ldr w6, [x1], #4
                     ldr x6, [x0, x6, lsl #3]"
                }
            ),
            count_down!(by_arch!(x86_64 { "rcx" } aarch64 { "x5" }), "2b");
            x86_64 {
                inout("rcx") words.len() => _, inout("rsi") words.as_ptr() => _, in("rdi") memory.as_ptr(), out("rax") last,
            }
            aarch64 {
                inout("x5") words.len() => _, inout("x1") words.as_ptr() => _, in("x0") memory.as_ptr(), out("x6") last,
            }
            options(readonly, nostack)
        );
    }
    last
}

/// A generator whose whole state is one 64-bit word.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Puts them in random order.
    pub(crate) fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            all.swap(last, self.below(last as u32 + 1) as usize);
        }
    }

    /// A number under `bound`; the bias is at most `bound` in 2^32, which no chain notices.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }
}

/// Makes `order` one random cycle (Sattolo): following `order[i]` from anywhere visits every index once.
pub(super) fn one_cycle(order: &mut [u32], random: &mut Random) {
    for (index, slot) in (0..).zip(order.iter_mut()) {
        *slot = index;
    }
    for last in (1..order.len()).rev() {
        order.swap(last, random.below(last as u32) as usize);
    }
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

    #[repr(align(64))]
    struct Memory([u8; 40 * 64]);

    fn memory() -> Box<Memory> {
        let mut memory = Box::new(Memory([0; _]));
        for (line, number) in memory.0.chunks_mut(64).zip(1_u64..) {
            line[..8].copy_from_slice(&number.to_ne_bytes());
        }
        memory
    }

    #[test]
    fn loads_follow_the_order_and_go_on_where_they_stopped() {
        let memory = memory();
        let order: Vec<u32> = (0..39).rev().collect();
        let mut loads = OrderedLoads::new(&memory.0, 64, &order).unwrap();
        // The lines from 38 down to 0, each with its number and one.
        assert_eq!([1, 2, 36, 1, 78, 0].map(|count| loads.load(count)), [39, 37, 1, 39, 39, 0]);
    }

    #[test]
    fn lines_outside_the_memory_are_refused() {
        let memory = memory();
        assert!(matches!(OrderedLoads::new(&memory.0, 64, &[40; 8]), Err(Refused::Nodes { .. })));
        assert!(matches!(OrderedLoads::new(&memory.0, 64, &[]), Err(Refused::Length { .. })));
        assert!(matches!(OrderedLoads::new(&memory.0, 60, &[1; 8]), Err(Refused::Step { .. })));
        assert!(matches!(OrderedLoads::new(&memory.0[4..], 64, &[1; 8]), Err(Refused::Alignment { .. })));
    }

    #[test]
    fn every_index_is_visited_once() {
        for length in [1usize, 2, 3, 64, 1000] {
            let mut order = vec![0; length];
            one_cycle(&mut order, &mut Random::new(7));
            let mut seen = vec![false; length];
            let mut at = 0;
            for _ in 0..length {
                assert!(!std::mem::replace(&mut seen[at], true), "index {at} twice in {length}");
                at = order[at] as usize;
            }
            assert_eq!(at, 0);
        }
    }

    #[test]
    fn bounds_are_kept_and_reached() {
        let mut random = Random::new(1);
        let mut seen = [false; 5];
        for _ in 0..1000 {
            seen[random.below(5) as usize] = true;
        }
        assert_eq!(seen, [true; 5]);
    }
}
