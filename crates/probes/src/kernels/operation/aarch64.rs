//! The operations in AArch64 instructions.

use std::arch::asm;

use super::{Kernel, Op, Registers, Type};

/// A chain through `x0` or `v0`: 64 a turn, then the rest one by one.
macro_rules! chain {
    ($name:ident, before [$($before:expr),*], [$($op:expr),+], after [$($after:expr),*]) => {
        fn $name(turns: u64, rest: u64, registers: Registers) -> u64 {
            let mut value = registers.start;
            // SAFETY: registers alone are read and written, all of them declared; both loops end when their counter is
            // zero.
            unsafe {
                asm!(
                    $($before,)*
                    "cbz x1, 3f",
                    ".p2align 6",
                    "2:",
                    ".rept 64",
                    $($op,)+
                    ".endr",
                    "subs x1, x1, #1",
                    "b.ne 2b",
                    "3:",
                    "cbz x2, 5f",
                    ".p2align 4",
                    "4:",
                    $($op,)+
                    "subs x2, x2, #1",
                    "b.ne 4b",
                    "5:",
                    $($after,)*
                    inout("x1") turns => _,
                    inout("x2") rest => _,
                    inout("x0") value,
                    in("x3") registers.operand,
                    in("x4") registers.constant,
                    out("x5") _,
                    out("x6") _,
                    out("v0") _,
                    out("v1") _,
                    options(nomem, nostack),
                );
            }
            value
        }
    };
    ($name:ident, integer [$($op:expr),+]) => {
        chain!($name, before [], [$($op),+], after []);
    };
    ($name:ident, vector [$($op:expr),+]) => {
        chain!($name, before ["fmov d0, x0", "fmov d1, x3"], [$($op),+], after ["fmov x0, d0"]);
    };
}

chain!(chain_bit_i32, integer["eor w0, w0, w3"]);
chain!(chain_bit_i64, integer["eor x0, x0, x3"]);
chain!(chain_add_i32, integer["add w0, w0, w3"]);
chain!(chain_add_i64, integer["add x0, x0, x3"]);
chain!(chain_mul_i32, integer["mul w0, w0, w3"]);
chain!(chain_mul_i64, integer["mul x0, x0, x3"]);
// The quotient becomes the next divisor.
chain!(chain_div_i32, integer["sdiv w0, w4, w0"]);
chain!(chain_div_i64, integer["sdiv x0, x4, x0"]);
// The remainder becomes the next dividend: what lifts it is added beside the division, outside of the chain.
chain!(chain_mod_i32, integer ["sdiv w5, w0, w3", "add w6, w0, w4", "msub w0, w5, w3, w6"]);
chain!(chain_mod_i64, integer ["sdiv x5, x0, x3", "add x6, x0, x4", "msub x0, x5, x3, x6"]);
chain!(chain_bit_f32, vector["eor v0.8b, v0.8b, v1.8b"]);
chain!(chain_bit_f64, vector["eor v0.8b, v0.8b, v1.8b"]);
chain!(chain_add_f32, vector["fadd s0, s0, s1"]);
chain!(chain_add_f64, vector["fadd d0, d0, d1"]);
chain!(chain_mul_f32, vector["fmul s0, s0, s1"]);
chain!(chain_mul_f64, vector["fmul d0, d0, d1"]);
chain!(chain_div_f32, vector["fdiv s0, s0, s1"]);
chain!(chain_div_f64, vector["fdiv d0, d0, d1"]);

/// 240 operations a turn on twelve integer registers.
macro_rules! independent_integer {
    ($name:ident, $op:literal) => {
        fn $name(turns: u64, registers: Registers) -> u64 {
            let sum: u64;
            // SAFETY: registers alone are read and written, all of them declared; the loop ends when its counter is zero.
            unsafe {
                asm!(
                    ".irp i,4,5,6,7,8,9,10,11,12,13,14,15",
                    "mov x\\i, x2",
                    ".endr",
                    ".p2align 6",
                    "2:",
                    ".rept 20",
                    ".irp i,4,5,6,7,8,9,10,11,12,13,14,15",
                    $op,
                    ".endr",
                    ".endr",
                    "subs x1, x1, #1",
                    "b.ne 2b",
                    "mov x0, xzr",
                    ".irp i,4,5,6,7,8,9,10,11,12,13,14,15",
                    "add x0, x0, x\\i",
                    ".endr",
                    out("x0") sum,
                    inout("x1") turns => _,
                    in("x2") registers.start,
                    in("x3") registers.operand,
                    out("x4") _, out("x5") _, out("x6") _, out("x7") _, out("x8") _, out("x9") _,
                    out("x10") _, out("x11") _, out("x12") _, out("x13") _, out("x14") _, out("x15") _,
                    options(nomem, nostack),
                );
            }
            sum
        }
    };
}

/// 240 divisions a turn, which share a dividend and a divisor and nothing else.
macro_rules! independent_division {
    ($name:ident, [$($op:expr),+]) => {
        fn $name(turns: u64, registers: Registers) -> u64 {
            let result: u64;
            // SAFETY: registers alone are read and written, all of them declared; the loop ends when its counter is zero.
            unsafe {
                asm!(
                    ".p2align 6",
                    "2:",
                    ".rept 240",
                    $($op,)+
                    ".endr",
                    "subs x1, x1, #1",
                    "b.ne 2b",
                    out("x0") result,
                    inout("x1") turns => _,
                    in("x3") registers.operand,
                    in("x4") registers.constant,
                    out("x5") _,
                    options(nomem, nostack),
                );
            }
            result
        }
    };
}

/// The names of 24 vector registers: repeated macros of the assembler leave no room for a suffix behind their own names.
macro_rules! registers {
    ($pre:literal, $post:literal) => {
        concat!(
            "", $pre, "0", $post, ",", $pre, "1", $post, ",", $pre, "2", $post, ",", $pre, "3", $post, ",", $pre, "4",
            $post, ",", $pre, "5", $post, ",", $pre, "6", $post, ",", $pre, "7", $post, ",", $pre, "8", $post, ",",
            $pre, "9", $post, ",", $pre, "10", $post, ",", $pre, "11", $post, ",", $pre, "12", $post, ",", $pre, "13",
            $post, ",", $pre, "14", $post, ",", $pre, "15", $post, ",", $pre, "16", $post, ",", $pre, "17", $post, ",",
            $pre, "18", $post, ",", $pre, "19", $post, ",", $pre, "20", $post, ",", $pre, "21", $post, ",", $pre, "22",
            $post, ",", $pre, "23", $post
        )
    };
}

/// 240 operations a turn on 24 vector registers: wide cores start four a cycle, and each takes up to five.
macro_rules! independent_vector {
    ($name:ident, $pre:literal, $post:literal, $op:literal) => {
        fn $name(turns: u64, registers: Registers) -> u64 {
            let sum: u64;
            // SAFETY: registers alone are read and written, all of them declared; the loop ends when its counter is zero.
            unsafe {
                asm!(
                    "fmov d24, x3",
                    ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23",
                    "fmov d\\i, x2",
                    ".endr",
                    ".p2align 6",
                    "2:",
                    ".rept 10",
                    concat!(".irp acc,", registers!($pre, $post)),
                    $op,
                    ".endr",
                    ".endr",
                    "subs x1, x1, #1",
                    "b.ne 2b",
                    "mov x0, xzr",
                    ".irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23",
                    "fmov x4, d\\i",
                    "add x0, x0, x4",
                    ".endr",
                    out("x0") sum,
                    inout("x1") turns => _,
                    in("x2") registers.start,
                    in("x3") registers.operand,
                    out("x4") _,
                    clobber_abi("C"),
                    options(nomem, nostack),
                );
            }
            sum
        }
    };
}

independent_integer!(independent_bit_i32, "eor w\\i, w\\i, w3");
independent_integer!(independent_bit_i64, "eor x\\i, x\\i, x3");
independent_integer!(independent_add_i32, "add w\\i, w\\i, w3");
independent_integer!(independent_add_i64, "add x\\i, x\\i, x3");
independent_integer!(independent_mul_i32, "mul w\\i, w\\i, w3");
independent_integer!(independent_mul_i64, "mul x\\i, x\\i, x3");
independent_division!(independent_div_i32, ["sdiv w0, w4, w3"]);
independent_division!(independent_div_i64, ["sdiv x0, x4, x3"]);
independent_division!(independent_mod_i32, ["sdiv w5, w4, w3", "msub w0, w5, w3, w4"]);
independent_division!(independent_mod_i64, ["sdiv x5, x4, x3", "msub x0, x5, x3, x4"]);
independent_vector!(independent_bit_f32, "v", ".8b", "eor \\acc, \\acc, v24.8b");
independent_vector!(independent_bit_f64, "v", ".8b", "eor \\acc, \\acc, v24.8b");
independent_vector!(independent_add_f32, "s", "", "fadd \\acc, \\acc, s24");
independent_vector!(independent_add_f64, "d", "", "fadd \\acc, \\acc, d24");
independent_vector!(independent_mul_f32, "s", "", "fmul \\acc, \\acc, s24");
independent_vector!(independent_mul_f64, "d", "", "fmul \\acc, \\acc, d24");
independent_vector!(independent_div_f32, "s", "", "fdiv \\acc, \\acc, s24");
independent_vector!(independent_div_f64, "d", "", "fdiv \\acc, \\acc, d24");

pub(super) fn kernel(kind: Type, op: Op) -> Option<Kernel> {
    super::table!(kind, op)
}
