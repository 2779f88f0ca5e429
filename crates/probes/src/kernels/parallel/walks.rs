//! The walks along several chains.

/// Follows as many chains as `nodes` has, [`super::LINKS_A_TURN`] links a turn; each node ends where its chain got to.
pub(super) type Walk = unsafe fn(nodes: &mut [usize], turns: u64);

/// A loop over chains in general registers; in vector registers where there are more, each by way of the register `at`; and
/// those that no register is left for, on x86-64, in memory, at these offsets from the first of them.
macro_rules! chains {
    ($name:ident: $($general:ident)* $(; by $at:ident: $($vector:ident)* $(; in $kept:ident: $($offset:literal)*)?)?) => {
        /// # Safety
        /// Every node must be the address of a link: 8 readable, aligned bytes that hold the address of a link.
        pub(super) unsafe fn $name(nodes: &mut [usize], turns: u64) {
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
pub(super) fn walk(chains: usize) -> Option<Walk> {
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
