//! Chains of dependent loads that are followed side by side: so many loads are under way at once as there are chains.

use std::marker::PhantomData;

use super::Refused;
use super::random_access::{Random, one_cycle};

/// Links that one turn follows on each chain: the loop's own cost hides under them.
pub const LINKS_A_TURN: u64 = 8;

/// Numbers of chains with a loop. On x86-64 chains from the twelfth on are in vector registers (two or three cycles a link), the last six
/// of 32 in memory (about five); on aarch64 the last eight of 32 are in vector registers.
pub const COUNTS: [usize; 8] = [1, 2, 4, 8, 12, 16, 24, 32];

/// Lines of memory that hold two links each: in the first word one cycle over all lines, in the second a cycle over the
/// chain's own part of them. Either way a walk of all nodes loads every line once.
pub struct Chains<'a> {
    /// The loop for this number of chains.
    walk: Walk,
    /// Position of the walk over all lines.
    one: usize,
    each: Vec<usize>,
    lines: u64,
    /// The memory stays borrowed, so that nothing can change a link.
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a> Chains<'a> {
    /// Builds `chains` random cycles over equal parts of the lines of `memory`, and one over all of these; a remainder is unused.
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

    /// Follows `turns` links on each of the first two chains in turn, each with fillers behind it. Does nothing with one chain.
    pub fn walk_two_apart(&mut self, turns: u64, filler: Filler, fillers: usize) {
        if let Some(two) = self.each.first_chunk_mut() {
            // SAFETY: as in `walk_each`.
            unsafe { walk_apart(two, turns, filler, fillers) };
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

/// Instructions between two loads at most, a number that the loops spell out.
pub const MOST_FILLERS: usize = 1024;

named! {
    /// Instructions between the loads of the two chains.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Filler {
        /// An instruction that does nothing.
        Nop = "nop",
        /// A load of a word in the first cache.
        Load = "load",
        /// A store to a word in the first cache.
        Store = "store",
        /// Eight in turn: three additions of integers, three operations on vectors and two nops apart from each other: no loads or stores,
        /// whose queues may be full first, no more registers than there are, and no two nops that might share an entry.
        Mixed = "mixed",
    }
}

/// Follows `turns` links on each of two chains, with `fillers` instructions behind each load, besides the jump to the first of
/// them.
///
/// # Safety
/// Both must be addresses of nodes: 8 readable, aligned bytes that hold the address of a node.
unsafe fn walk_apart(nodes: &mut [usize; 2], turns: u64, filler: Filler, fillers: usize) {
    if turns == 0 {
        return;
    }
    let (walk, fillers): (WalkOfTwo, _) = (filler.walk(), fillers.min(MOST_FILLERS));
    // SAFETY: the caller's; there are turns, and as many fillers as the loops have.
    unsafe { walk(nodes, turns, fillers) };
}

/// Nodes, turns that are not zero, and no more fillers than there are.
type WalkOfTwo = unsafe fn(&mut [usize; 2], u64, usize);

impl Filler {
    fn walk(self) -> WalkOfTwo {
        match self {
            Self::Nop => nops,
            Self::Load => loads,
            Self::Store => stores,
            Self::Mixed => mixed,
        }
    }
}

/// A loop with these instructions between the loads: so many in turn, all of so many bytes on x86-64.
macro_rules! apart {
    ($name:ident, 1024 = $rounds:literal of x86_64 $x86:literal $bytes:literal, aarch64 $arm:literal) => {
        unsafe fn $name([one, other]: &mut [usize; 2], turns: u64, fillers: usize) {
            let mut word = 0_u64;
            // SAFETY: by contract every address met is that of a node. The jumps lead among the fillers before their ends, as there are
            // so many. Nothing is written but declared registers and the word.
            unsafe {
                asm_by_arch!(
                    by_arch!(
                        x86_64 {
                            "lea r8, [rip + 6f]
                             lea r9, [rip + 8f]
                             sub r8, rax
                             sub r9, rax"
                        }
                        aarch64 {
                            "adr x3, 6f
                             adr x4, 8f
                             sub x3, x3, x0
                             sub x4, x4, x0"
                        }
                    ),
                    ".p2align 6",
                    "2:",
                    follow!(by_arch!(x86_64 { "rdi" } aarch64 { "x1" })),
                    by_arch!(x86_64 { "jmp r8" } aarch64 { "br x3" }),
                    concat!(".rept ", $rounds),
                    by_arch!(x86_64 { $x86 } aarch64 { $arm }),
                    ".endr",
                    "6:",
                    follow!(by_arch!(x86_64 { "rsi" } aarch64 { "x2" })),
                    by_arch!(x86_64 { "jmp r9" } aarch64 { "br x4" }),
                    concat!(".rept ", $rounds),
                    by_arch!(x86_64 { $x86 } aarch64 { $arm }),
                    ".endr",
                    "8:",
                    count_down!(by_arch!(x86_64 { "rcx" } aarch64 { "x5" }), "2b");
                    x86_64 {
                        inout("rcx") turns => _, inout("rdi") *one, inout("rsi") *other, in("rax") fillers * $bytes,
                        in("r11") &raw mut word, out("r8") _, out("r9") _, out("r10") _, out("xmm0") _,
                    }
                    aarch64 {
                        inout("x5") turns => _, inout("x1") *one, inout("x2") *other, in("x0") fillers * 4,
                        in("x7") &raw mut word, out("x3") _, out("x4") _, out("x6") _, out("v0") _,
                    }
                    options(nostack)
                );
            }
        }
    };
}

apart!(nops, 1024 = 1024 of x86_64 "nop" 1, aarch64 "nop");
apart!(loads, 1024 = 1024 of x86_64 "mov r10, [r11]" 3, aarch64 "ldr x6, [x7]");
apart!(stores, 1024 = 1024 of x86_64 "mov [r11], r10" 3, aarch64 "str x6, [x7]");
apart!(
    mixed,
    1024 = 128 of x86_64
    "add r10, rax
     xorps xmm0, xmm1
     add r10, rax
     nop dword ptr [rax]
     xorps xmm0, xmm1
     add r10, rax
     xorps xmm0, xmm1
     nop dword ptr [rax]"
    3,
    aarch64
    "add x6, x6, x0
     eor v0.16b, v0.16b, v1.16b
     add x6, x6, x0
     nop
     eor v0.16b, v0.16b, v1.16b
     add x6, x6, x0
     eor v0.16b, v0.16b, v1.16b
     nop"
);

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use hostmark_engine::prelude::Message;

    use super::*;

    const LINE: usize = 64;

    #[repr(align(4096))]
    struct Memory([u8; (32 * 9 + 3) * LINE]);

    #[test]
    fn every_chain_visits_its_own_part_once_and_comes_back() {
        for count in COUNTS {
            let mut memory = Box::new(Memory([0x5a; _]));
            let base = memory.0.as_ptr().addr();
            let mut chains = Chains::new(&mut memory.0, LINE, count, 7).unwrap();
            let lines_each = chains.lines() as usize / count;
            let begin = chains.places(base);
            chains.walk_each(0);
            chains.walk_one(0);
            assert_eq!(chains.places(base), begin, "no turn moves no chain");
            let mut seen: Vec<HashSet<usize>> = vec![HashSet::new(); count + 1];
            // Eight links a turn meet every line of a part where its number of lines is odd, as it mostly is here.
            for _ in 0..chains.lines() {
                for (seen, place) in seen.iter_mut().zip(chains.places(base)) {
                    seen.insert(place);
                }
                chains.walk_each(1);
                chains.walk_one(1);
            }
            let step = |cycle: usize| cycle / greatest_common_divisor(cycle, LINKS_A_TURN as usize);
            for (part, seen) in seen[..count].iter().enumerate() {
                assert_eq!(seen.len(), step(lines_each), "{count} chains, part {part}");
                let own = part * lines_each * LINE..(part + 1) * lines_each * LINE;
                assert!(seen.iter().all(|place| own.contains(place) && place % LINE == 8));
            }
            assert_eq!(seen[count].len(), step(lines_each * count), "{count} chains");
            assert!(seen[count].iter().all(|place| place % LINE == 0));
            assert_eq!(chains.places(base), begin, "a whole number of cycles ends where it began");
        }
    }

    fn greatest_common_divisor(one: usize, other: usize) -> usize {
        if other == 0 { one } else { greatest_common_divisor(other, one % other) }
    }

    #[test]
    fn what_cannot_be_built_is_refused() {
        let mut memory = Box::new(Memory([0x5a; _]));
        let refused = Chains::new(&mut memory.0, LINE, 10, 7).err().map(|refused| Message::from(refused).to_string());
        assert_eq!(
            refused.as_deref(),
            Some("cannot follow 10 chains: there are loops of 1, 2, 4, 8, 12, 16, 24, 32 chains")
        );
        assert!(matches!(Chains::new(&mut memory.0[..LINE], LINE, 2, 7), Err(Refused::Length { .. })));
        assert!(matches!(Chains::new(&mut memory.0[8..], LINE, 2, 7), Err(Refused::Alignment { .. })));
        assert!(matches!(Chains::new(&mut memory.0, 8, 2, 7), Err(Refused::Step { .. })));
    }

    #[test]
    fn two_chains_go_as_far_with_fillers_between_them() {
        let mut memory = Box::new(Memory([0x5a; _]));
        let base = memory.0.as_ptr().addr();
        let all = [Filler::Nop, Filler::Load, Filler::Store, Filler::Mixed];
        for (filler, fillers) in
            all.into_iter().flat_map(|filler| [0, 1, 511, MOST_FILLERS, usize::MAX].map(|n| (filler, n)))
        {
            let mut chains = Chains::new(&mut memory.0, LINE, 2, 7).unwrap();
            let begin = chains.places(base);
            chains.walk_each(2);
            let two = chains.places(base);
            let mut chains = Chains::new(&mut memory.0, LINE, 2, 7).unwrap();
            chains.walk_two_apart(0, filler, fillers);
            assert_eq!(chains.places(base), begin);
            chains.walk_two_apart(2 * LINKS_A_TURN, filler, fillers);
            assert_eq!(chains.places(base), two, "{filler:?} {fillers}");
        }
        let mut alone = Chains::new(&mut memory.0, LINE, 1, 7).unwrap();
        let begin = alone.places(base);
        alone.walk_two_apart(3, Filler::Nop, 1);
        assert_eq!(alone.places(base), begin);
    }
}
