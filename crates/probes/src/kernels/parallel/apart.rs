//! Two chains in turn with instructions between: as long as the core holds all of them at once, the loads of both chains are under way
//! together.

use std::str::FromStr;

/// Instructions between two loads at most, a number that the loops spell out.
pub const MOST_FILLERS: usize = 1024;

/// What stands between the loads of the two chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filler {
    /// An instruction that does nothing.
    Nop,
    /// A load of a word in the first cache.
    Load,
    /// A store to a word in the first cache.
    Store,
    /// Of eight in turn three additions of integers, three operations on vectors and two nops apart from each other: no loads or stores,
    /// whose queues may be full first, no more registers than there are, and no two nops that might share an entry.
    Mixed,
}

impl FromStr for Filler {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "nop" => Ok(Self::Nop),
            "load" => Ok(Self::Load),
            "store" => Ok(Self::Store),
            "mixed" => Ok(Self::Mixed),
            _ => Err(()),
        }
    }
}

/// Follows `turns` links on each of two chains, with `fillers` instructions behind each load, besides the jump to the first of
/// them.
///
/// # Safety
/// Both must be addresses of nodes: 8 readable, aligned bytes that hold the address of a node.
pub(super) unsafe fn walk_apart(nodes: &mut [usize; 2], turns: u64, filler: Filler, fillers: usize) {
    if turns == 0 {
        return;
    }
    let (walk, fillers): (Walk, _) = (filler.walk(), fillers.min(MOST_FILLERS));
    // SAFETY: the caller's; there are turns, and as many fillers as the loops have.
    unsafe { walk(nodes, turns, fillers) };
}

/// Nodes, turns that are not zero, and no more fillers than there are.
type Walk = unsafe fn(&mut [usize; 2], u64, usize);

impl Filler {
    fn walk(self) -> Walk {
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
