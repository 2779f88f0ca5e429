//! The walks along several chains in AArch64 instructions.

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
                    $(concat!("ldr {", stringify!($reg), "}, [{", stringify!($reg), "}]"),)*
                    ".endr",
                    "subs {turns}, {turns}, #1",
                    "b.ne 2b",
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
                    $(concat!("ldr {", stringify!($reg), "}, [{", stringify!($reg), "}]"),)*
                    $(concat!("fmov {at}, {", stringify!($vector), ":d}"),
                      concat!("ldr {", stringify!($vector), ":d}, [{at}]"),)*
                    ".endr",
                    "subs {turns}, {turns}, #1",
                    "b.ne 2b",
                    turns = inout(reg) turns => _,
                    at = out(reg) _,
                    $($reg = inout(reg) *$reg,)*
                    $($vector = inout(vreg) *$vector,)*
                    options(readonly, nostack),
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
chains!(walk_16: a b c d e f g h i j k l m n o p);
chains!(walk_24: a b c d e f g h i j k l m n o p q r s t u v w x);
chains!(walk_32: a b c d e f g h i j k l m n o p q r s t u v w x; va vb vc vd ve vf vg vh);

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
