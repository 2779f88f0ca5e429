//! Chains of dependent loads that are followed side by side: so many loads are under way at once as there are chains.

mod apart;
#[cfg(test)]
mod tests;
mod walks;

use std::marker::PhantomData;

use super::Refused;
use super::random::{Random, one_cycle};
pub use apart::{Filler, MOST_FILLERS};

/// Links that one turn follows on each chain: the loop's own cost hides under them.
pub const LINKS_A_TURN: u64 = 8;

/// Numbers of chains that there are loops for. On x86-64 the chains from the twelfth on are held in vector registers, which
/// costs them two or three cycles a link, and the last six of 32 in memory, which costs about five; on aarch64 the last eight of
/// 32 are held in vector registers.
pub const COUNTS: [usize; 8] = [1, 2, 4, 8, 12, 16, 24, 32];

/// Lines of memory that hold two links each: in the first word one cycle over all lines, in the second a cycle over the
/// chain's own part of them. Either way a walk of all nodes loads every line once.
pub struct Chains<'a> {
    /// The loop for this number of chains.
    walk: walks::Walk,
    /// Where the walk over all lines stands.
    one: usize,
    /// Where the chains stand.
    each: Vec<usize>,
    lines: u64,
    /// The memory stays borrowed, so that nothing can change a link.
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a> Chains<'a> {
    /// Builds `chains` random cycles over equal parts of the lines of `memory`, and one over all of these; what is left
    /// over after equal parts is not used.
    pub fn new(memory: &'a mut [u8], line_bytes: usize, chains: usize, seed: u64) -> Result<Self, Refused> {
        let walk = walks::walk(chains).ok_or(Refused::Chains { chains, built: &COUNTS })?;
        if line_bytes < 2 * size_of::<usize>() || !line_bytes.is_power_of_two() {
            return Err(Refused::Step { bytes: line_bytes });
        }
        if !memory.as_ptr().addr().is_multiple_of(line_bytes) {
            return Err(Refused::Alignment { needed_bytes: line_bytes });
        }
        let lines_each = memory.len() / line_bytes / chains;
        let lines = lines_each * chains;
        if lines == 0 {
            return Err(Refused::Length { bytes: memory.len(), multiple_bytes: line_bytes * chains });
        }
        if u32::try_from(lines).is_err() {
            return Err(Refused::Nodes { nodes: lines });
        }
        let mut random = Random::new(seed);
        let base = memory.as_ptr().addr();
        let mut order = vec![0; lines];
        one_cycle(&mut order, &mut random);
        for (line, &next) in memory.chunks_exact_mut(line_bytes).zip(&order) {
            write(&mut line[..8], base + next as usize * line_bytes);
        }
        let order = &mut order[..lines_each];
        let mut each = Vec::with_capacity(chains);
        for (part, lines) in memory.chunks_exact_mut(lines_each * line_bytes).take(chains).enumerate() {
            one_cycle(order, &mut random);
            let second_word = base + part * lines_each * line_bytes + 8;
            for (line, &next) in lines.chunks_exact_mut(line_bytes).zip(order.iter()) {
                write(&mut line[8..16], second_word + next as usize * line_bytes);
            }
            each.push(second_word);
        }
        // Exposed after the last write: from here on only the loops' instructions reach the memory.
        let one = memory.as_mut_ptr().expose_provenance();
        Ok(Self { walk, one, each, lines: lines as u64, memory: PhantomData })
    }

    /// Number of lines: a walk of so many links by one chain loads each once.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Follows [`LINKS_A_TURN`] links, `turns` times, along the one cycle over all lines.
    pub fn walk_one(&mut self, turns: u64) {
        // SAFETY: `one` is the first word of a line, and the links there form a cycle of such words inside the memory that
        // this borrows exclusively.
        unsafe { walks::walk_1(std::slice::from_mut(&mut self.one), turns) };
    }

    /// Follows [`LINKS_A_TURN`] links on each chain, `turns` times.
    pub fn walk_each(&mut self, turns: u64) {
        // SAFETY: as in `walk_one`, of the second words; the loop was chosen for this number of chains.
        unsafe { (self.walk)(&mut self.each, turns) };
    }

    /// Follows `turns` links on each of the first two chains, by turns, with so many fillers behind each. Where there is but one chain,
    /// it does nothing itself.
    pub fn walk_two_apart(&mut self, turns: u64, filler: Filler, fillers: usize) {
        if let Some(two) = self.each.first_chunk_mut() {
            // SAFETY: as in `walk_each`.
            unsafe { apart::walk_apart(two, turns, filler, fillers) };
        }
    }

    /// Offsets of the chains' places from the start of the memory `base`, for tests.
    #[cfg(test)]
    fn places(&self, base: usize) -> Vec<usize> {
        self.each.iter().chain([&self.one]).map(|node| node - base).collect()
    }
}

fn write(word: &mut [u8], link: usize) {
    if let Some(place) = word.first_chunk_mut() {
        *place = link.to_ne_bytes();
    }
}
