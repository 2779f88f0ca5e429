//! The register chains in AArch64 instructions.

use std::arch::asm;

pub(super) fn multiply_chain(turns: u64, rest: u64, start: u64, operand: u64) -> u64 {
    let mut value = start;
    // SAFETY: registers alone are read and written, all of them declared; both loops end when their counter is zero.
    unsafe {
        asm!(
            "cbz {turns}, 3f",
            ".p2align 6",
            "2:",
            ".rept 64",
            "mul {value}, {value}, {operand}",
            ".endr",
            "subs {turns}, {turns}, #1",
            "b.ne 2b",
            "3:",
            "cbz {rest}, 5f",
            ".p2align 4",
            "4:",
            "mul {value}, {value}, {operand}",
            "subs {rest}, {rest}, #1",
            "b.ne 4b",
            "5:",
            turns = inout(reg) turns => _,
            rest = inout(reg) rest => _,
            value = inout(reg) value,
            operand = in(reg) operand,
            options(nomem, nostack),
        );
    }
    value
}

pub(super) fn add_chain(turns: u64, rest: u64, start: u64, operand: u64) -> u64 {
    let mut value = start;
    // SAFETY: registers alone are read and written, all of them declared; both loops end when their counter is zero.
    unsafe {
        asm!(
            "cbz {turns}, 3f",
            ".p2align 6",
            "2:",
            ".rept 64",
            "add {value}, {value}, {operand}",
            ".endr",
            "subs {turns}, {turns}, #1",
            "b.ne 2b",
            "3:",
            "cbz {rest}, 5f",
            ".p2align 4",
            "4:",
            "add {value}, {value}, {operand}",
            "subs {rest}, {rest}, #1",
            "b.ne 4b",
            "5:",
            turns = inout(reg) turns => _,
            rest = inout(reg) rest => _,
            value = inout(reg) value,
            operand = in(reg) operand,
            options(nomem, nostack),
        );
    }
    value
}

pub(super) fn empty(turns: u64, rest: u64) {
    // SAFETY: registers alone are read and written, all of them declared; both loops end when their counter is zero.
    unsafe {
        asm!(
            "cbz {turns}, 3f",
            ".p2align 6",
            "2:",
            "subs {turns}, {turns}, #1",
            "b.ne 2b",
            "3:",
            "cbz {rest}, 5f",
            ".p2align 4",
            "4:",
            "subs {rest}, {rest}, #1",
            "b.ne 4b",
            "5:",
            turns = inout(reg) turns => _,
            rest = inout(reg) rest => _,
            options(nomem, nostack),
        );
    }
}
