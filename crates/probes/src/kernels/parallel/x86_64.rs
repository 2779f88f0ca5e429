//! The walks along several chains in x86-64 instructions.

use std::arch::asm;

/// Follows as many chains as `nodes` has, [`super::LINKS_A_TURN`] links a turn; each node ends where its chain got to.
pub(super) type Walk = unsafe fn(nodes: &mut [usize], turns: u64);

/// A loop over chains in general registers, and in vector registers where there are more.
macro_rules! chains {
    ($name:ident: $($reg:ident)*) => {
        /// # Safety
        /// Every node must be the address of a link: 8 readable, aligned bytes that hold the address of a link.
        pub(super) unsafe fn $name(nodes: &mut [usize], turns: u64) {
            let [$($reg),*] = nodes else { return };
            if turns == 0 {
                return;
            }
            // SAFETY: by contract every address met is that of a link. Nothing is written but declared registers.
            unsafe {
                asm!(
                    ".p2align 6",
                    "2:",
                    ".rept 8",
                    $(concat!("mov {", stringify!($reg), "}, [{", stringify!($reg), "}]"),)*
                    ".endr",
                    "dec {turns}",
                    "jnz 2b",
                    turns = inout(reg) turns => _,
                    $($reg = inout(reg) *$reg,)*
                    options(readonly, nostack),
                );
            }
        }
    };
    ($name:ident: $($reg:ident)*; $($vector:ident)*) => {
        /// # Safety
        /// Every node must be the address of a link: 8 readable, aligned bytes that hold the address of a link.
        pub(super) unsafe fn $name(nodes: &mut [usize], turns: u64) {
            let [$($reg,)* $($vector),*] = nodes else { return };
            if turns == 0 {
                return;
            }
            // SAFETY: by contract every address met is that of a link. Nothing is written but declared registers.
            unsafe {
                asm!(
                    ".p2align 6",
                    "2:",
                    ".rept 8",
                    $(concat!("mov {", stringify!($reg), "}, [{", stringify!($reg), "}]"),)*
                    $(concat!("movq {at}, {", stringify!($vector), "}"),
                      concat!("movq {", stringify!($vector), "}, qword ptr [{at}]"),)*
                    ".endr",
                    "dec {turns}",
                    "jnz 2b",
                    turns = inout(reg) turns => _,
                    at = out(reg) _,
                    $($reg = inout(reg) *$reg,)*
                    $($vector = inout(xmm_reg) *$vector,)*
                    options(readonly, nostack),
                );
            }
        }
    };
}

/// The same with chains that no register is left for: each is kept in memory, at these offsets from the first of them.
macro_rules! more_chains {
    ($name:ident: $($reg:ident)*; $($vector:ident)*; $($offset:literal)*) => {
        /// # Safety
        /// Every node must be the address of a link: 8 readable, aligned bytes that hold the address of a link.
        pub(super) unsafe fn $name(nodes: &mut [usize], turns: u64) {
            let [$($reg,)* $($vector,)* kept @ ..] = nodes else { return };
            if turns == 0 || kept.len() != [$($offset),*].len() {
                return;
            }
            // SAFETY: by contract every address met is that of a link. Nothing is written but declared registers and the
            // nodes that are kept in memory, as many as there are offsets.
            unsafe {
                asm!(
                    ".p2align 6",
                    "2:",
                    ".rept 8",
                    $(concat!("mov {", stringify!($reg), "}, [{", stringify!($reg), "}]"),)*
                    $(concat!("movq {at}, {", stringify!($vector), "}"),
                      concat!("movq {", stringify!($vector), "}, qword ptr [{at}]"),)*
                    $(concat!("mov {at}, [{kept} + ", $offset, "]"),
                      "mov {at}, [{at}]",
                      concat!("mov [{kept} + ", $offset, "], {at}"),)*
                    ".endr",
                    "dec {turns}",
                    "jnz 2b",
                    turns = inout(reg) turns => _,
                    at = out(reg) _,
                    kept = in(reg) kept.as_mut_ptr(),
                    $($reg = inout(reg) *$reg,)*
                    $($vector = inout(xmm_reg) *$vector,)*
                    options(nostack),
                );
            }
        }
    };
}

chains!(walk_one: a);
chains!(walk_2: a b);
chains!(walk_4: a b c d);
chains!(walk_8: a b c d e f g h);
chains!(walk_12: a b c d e f g h i j k l);
chains!(walk_16: a b c d e f g h i j k; l m n o p);
chains!(walk_24: a b c d e f g h i j k; l m n o p q r s t u v w x);
more_chains!(walk_32: a b c d e f g h i j; k l m n o p q r s t u v w x y z; 0 8 16 24 32 40);

/// The loop for so many chains.
pub(super) fn walk(chains: usize) -> Option<Walk> {
    let walk: Walk = match chains {
        1 => walk_one,
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
