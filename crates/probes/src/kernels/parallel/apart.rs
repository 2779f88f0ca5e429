//! Two chains in turn with instructions between that do nothing: as long as the core holds all of them at once, the loads of both chains
//! are under way together.

/// Instructions that do nothing between two loads at most, a number that the loop spells out.
pub const MOST_FILLERS: usize = 1024;

/// Follows `turns` links on each of two chains, with `fillers` instructions behind each load, besides the jump to the first of
/// them.
///
/// # Safety
/// Both must be addresses of nodes: 8 readable, aligned bytes that hold the address of a node.
pub(super) unsafe fn walk_apart([one, other]: &mut [usize; 2], turns: u64, fillers: usize) {
    if turns == 0 {
        return;
    }
    let fillers = fillers.min(MOST_FILLERS);
    // SAFETY: by contract every address met is that of a node. The jumps lead among the fillers before their ends, as there are so
    // many. Nothing is written but declared registers.
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
                     sub x3, x3, x0, lsl #2
                     sub x4, x4, x0, lsl #2"
                }
            ),
            ".p2align 6",
            "2:",
            follow!(by_arch!(x86_64 { "rdi" } aarch64 { "x1" })),
            by_arch!(x86_64 { "jmp r8" } aarch64 { "br x3" }),
            ".rept 1024",
            "nop",
            ".endr",
            "6:",
            follow!(by_arch!(x86_64 { "rsi" } aarch64 { "x2" })),
            by_arch!(x86_64 { "jmp r9" } aarch64 { "br x4" }),
            ".rept 1024",
            "nop",
            ".endr",
            "8:",
            count_down!(by_arch!(x86_64 { "rcx" } aarch64 { "x5" }), "2b");
            x86_64 {
                inout("rcx") turns => _, inout("rdi") *one, inout("rsi") *other, in("rax") fillers,
                out("r8") _, out("r9") _,
            }
            aarch64 {
                inout("x5") turns => _, inout("x1") *one, inout("x2") *other, in("x0") fillers,
                out("x3") _, out("x4") _,
            }
            options(readonly, nostack)
        );
    }
}
