//! Chains of dependent loads that are followed side by side: so many loads are under way at once as there are chains.

use std::marker::PhantomData;

use super::Refused;
use super::random_access::{Random, one_cycle};

mod apart;

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
    walk: Walk,
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
        let walk = walk(chains).ok_or(Refused::Chains { chains, built: &COUNTS })?;
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
        unsafe { walk_1(std::slice::from_mut(&mut self.one), turns) };
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

/// Follows as many chains as `nodes` has, [`LINKS_A_TURN`] links a turn; each node ends where its chain got to.
type Walk = unsafe fn(nodes: &mut [usize], turns: u64);

/// A loop over chains in general registers; in vector registers where there are more, each by way of the register `at`; and
/// those that no register is left for, on x86-64, in memory, at these offsets from the first of them.
macro_rules! chains {
    ($name:ident: $($general:ident)* $(; by $at:ident: $($vector:ident)* $(; in $kept:ident: $($offset:literal)*)?)?) => {
        /// # Safety
        /// Every node must be the address of a link: 8 readable, aligned bytes that hold the address of a link.
        unsafe fn $name(nodes: &mut [usize], turns: u64) {
            let [$($general,)* $($($vector,)* $($kept @ ..)?)?] = nodes else { return };
            if turns == 0 $($(|| $kept.len() != [$($offset),*].len())?)? {
                return;
            }
            // SAFETY: by contract every address met is that of a link. Nothing is written but declared registers, and the
            // nodes that are kept in memory, as many as there are offsets.
            unsafe {
                asm_by_arch!(
                    ".p2align 6",
                    "2:",
                    ".rept 8"
                    $(, follow!(concat!("{", stringify!($general), "}")))*
                    $($(, follow_vector!(stringify!($vector)))*
                      $($(, concat!("mov {at}, [{kept} + ", $offset, "]"),
                            "mov {at}, [{at}]",
                            concat!("mov [{kept} + ", $offset, "], {at}"))*)?)?,
                    ".endr",
                    count_down!("{turns}", "2b");
                    x86_64 { turns = inout(reg) turns => _, $($at = out(reg) _, $($kept = in(reg) $kept.as_mut_ptr(),)?)?
                             $($general = inout(reg) *$general,)* $($($vector = inout(xmm_reg) *$vector,)*)? }
                    aarch64 { turns = inout(reg) turns => _, $($at = out(reg) _,)?
                              $($general = inout(reg) *$general,)* $($($vector = inout(vreg) *$vector,)*)? }
                    options(nostack)
                );
            }
        }
    };
}

/// Follows the link that a vector register has.
macro_rules! follow_vector {
    ($vector:expr) => {
        by_arch!(
            x86_64 { concat!("movq {at}, {", $vector, "}\nmovq {", $vector, "}, qword ptr [{at}]") }
            aarch64 { concat!("fmov {at}, {", $vector, ":d}\nldr {", $vector, ":d}, [{at}]") }
        )
    };
}

chains!(walk_1: a);
chains!(walk_2: a b);
chains!(walk_4: a b c d);
chains!(walk_8: a b c d e f g h);
chains!(walk_12: a b c d e f g h i j k l);
by_arch! {
    x86_64 {
        chains!(walk_16: a b c d e f g h i j k; by at: l m n o p);
        chains!(walk_24: a b c d e f g h i j k; by at: l m n o p q r s t u v w x);
        chains!(walk_32: a b c d e f g h i j; by at: k l m n o p q r s t u v w x y z; in kept: 0 8 16 24 32 40);
    }
    aarch64 {
        chains!(walk_16: a b c d e f g h i j k l m n o p);
        chains!(walk_24: a b c d e f g h i j k l m n o p q r s t u v w x);
        chains!(walk_32: a b c d e f g h i j k l m n o p q r s t u v w x; by at: va vb vc vd ve vf vg vh);
    }
}

/// The loop for so many chains.
fn walk(chains: usize) -> Option<Walk> {
    let walk: Walk = match chains {
        1 => walk_1,
        2 => walk_2,
        4 => walk_4,
        8 => walk_8,
        12 => walk_12,
        16 => walk_16,
        24 => walk_24,
        32 => walk_32,
        _ => return None,
    };
    Some(walk)
}

#[cfg(test)]
mod tests;
