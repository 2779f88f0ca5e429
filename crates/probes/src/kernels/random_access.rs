//! Loads and stores of single words at random places, many under way at once: no address depends on a load.

use std::arch::asm;

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

/// Memory in blocks, and where the last accesses stopped.
pub struct Blocks<'a> {
    memory: &'a mut [u8],
    /// Bytes of a block less one word: the mask of an offset in it.
    mask: u64,
    generators: [u64; 4],
    /// Offset of the block that is next.
    block: usize,
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
        Ok(Blocks { memory, mask: block_bytes as u64 - 8, generators, block: 0 })
    }

    /// Does `n` accesses, rounded up to whole blocks of 64.
    pub fn access(&mut self, access: Access, n: u64) {
        if n == 0 {
            return;
        }
        let blocks = n.div_ceil(ACCESSES_A_BLOCK);
        // SAFETY: `blocks` is not zero, and `block` is the offset of a whole block: each call ends at one.
        unsafe {
            match access {
                Access::Read => self.read(blocks),
                Access::Write => self.write(blocks),
            }
        }
    }
}

/// The loop over blocks, with 16 turns of four accesses in each, one for each generator.
macro_rules! accesses {
    ($name:ident, $x86_64:literal, $aarch64:literal) => {
        impl Blocks<'_> {
            /// # Safety
            /// `blocks` is not zero, and `self.block` is the offset of a whole block.
            unsafe fn $name(&mut self, blocks: u64) {
                let [mut a, mut b, mut c, mut d] = self.generators;
                let start = self.memory.as_mut_ptr();
                let mut at = start.wrapping_add(self.block);
                #[cfg(target_arch = "x86_64")]
                // SAFETY: each access is to a masked offset in the block at `at`, which goes from block to block, and from
                // the end back to the start.
                unsafe {
                    asm!(
                        ".p2align 6",
                        "2:",
                        "mov {turns:e}, 16",
                        ".p2align 4",
                        "3:",
                        "imul {a}, {factor}",
                        "mov {place}, {a}",
                        "shr {place}, 32",
                        "and {place}, {mask}",
                        $x86_64,
                        "imul {b}, {factor}",
                        "mov {place}, {b}",
                        "shr {place}, 32",
                        "and {place}, {mask}",
                        $x86_64,
                        "imul {c}, {factor}",
                        "mov {place}, {c}",
                        "shr {place}, 32",
                        "and {place}, {mask}",
                        $x86_64,
                        "imul {d}, {factor}",
                        "mov {place}, {d}",
                        "shr {place}, 32",
                        "and {place}, {mask}",
                        $x86_64,
                        "dec {turns:e}",
                        "jnz 3b",
                        "lea {at}, [{at} + {mask} + 8]",
                        "cmp {at}, {end}",
                        "cmove {at}, {start}",
                        "dec {blocks}",
                        "jnz 2b",
                        a = inout(reg) a,
                        b = inout(reg) b,
                        c = inout(reg) c,
                        d = inout(reg) d,
                        factor = in(reg) FACTOR,
                        place = out(reg) _,
                        mask = in(reg) self.mask,
                        at = inout(reg) at,
                        turns = out(reg) _,
                        blocks = inout(reg) blocks => _,
                        end = in(reg) start.wrapping_add(self.memory.len()),
                        start = in(reg) start,
                        options(nostack),
                    );
                }
                #[cfg(target_arch = "aarch64")]
                // SAFETY: as above.
                unsafe {
                    asm!(
                        ".p2align 6",
                        "2:",
                        "mov {turns:w}, #16",
                        ".p2align 4",
                        "3:",
                        "mul {a}, {a}, {factor}",
                        "and {place}, {mask}, {a}, lsr #32",
                        $aarch64,
                        "mul {b}, {b}, {factor}",
                        "and {place}, {mask}, {b}, lsr #32",
                        $aarch64,
                        "mul {c}, {c}, {factor}",
                        "and {place}, {mask}, {c}, lsr #32",
                        $aarch64,
                        "mul {d}, {d}, {factor}",
                        "and {place}, {mask}, {d}, lsr #32",
                        $aarch64,
                        "subs {turns:w}, {turns:w}, #1",
                        "b.ne 3b",
                        "add {at}, {at}, {mask}",
                        "add {at}, {at}, #8",
                        "cmp {at}, {end}",
                        "csel {at}, {start}, {at}, eq",
                        "subs {blocks}, {blocks}, #1",
                        "b.ne 2b",
                        a = inout(reg) a,
                        b = inout(reg) b,
                        c = inout(reg) c,
                        d = inout(reg) d,
                        factor = in(reg) FACTOR,
                        place = out(reg) _,
                        mask = in(reg) self.mask,
                        at = inout(reg) at,
                        turns = out(reg) _,
                        blocks = inout(reg) blocks => _,
                        end = in(reg) start.wrapping_add(self.memory.len()),
                        start = in(reg) start,
                        options(nostack),
                    );
                }
                self.generators = [a, b, c, d];
                self.block = at.addr() - start.addr();
            }
        }
    };
}

accesses!(read, "mov {place}, [{at} + {place}]", "ldr {place}, [{at}, {place}]");
accesses!(write, "mov [{at} + {place}], {factor}", "str {factor}, [{at}, {place}]");

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
        assert_eq!(blocks.block, accesses.div_ceil(64) as usize * block % bytes);
        (blocks.block, blocks.generators) = (0, [1, 3, 5, 7]);
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
