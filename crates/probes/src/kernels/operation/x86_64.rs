//! The operations in x86-64 instructions: legacy encodings, which every CPU has.

use std::arch::asm;

use super::{Kernel, Op, Registers, Type};

/// A chain through `rax` or `xmm0`: 64 a turn, then the rest one by one.
macro_rules! chain {
    ($name:ident, before [$($before:expr),*], [$($op:expr),+], after [$($after:expr),*]) => {
        fn $name(turns: u64, rest: u64, registers: Registers) -> u64 {
            let mut value = registers.start;
            // SAFETY: registers alone are read and written, all of them declared; both loops end when their counter is
            // zero; no divisor is ever zero, and no quotient too long.
            unsafe {
                asm!(
                    $($before,)*
                    "test rcx, rcx",
                    "jz 3f",
                    ".p2align 6",
                    "2:",
                    ".rept 64",
                    $($op,)+
                    ".endr",
                    "dec rcx",
                    "jnz 2b",
                    "3:",
                    "test rsi, rsi",
                    "jz 5f",
                    ".p2align 4",
                    "4:",
                    $($op,)+
                    "dec rsi",
                    "jnz 4b",
                    "5:",
                    $($after,)*
                    inout("rcx") turns => _,
                    inout("rsi") rest => _,
                    inout("rax") value,
                    in("r8") registers.operand,
                    in("r9") registers.constant,
                    out("rdx") _,
                    out("r10") _,
                    out("xmm0") _,
                    out("xmm1") _,
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
        chain!($name, before ["movq xmm0, rax", "movq xmm1, r8"], [$($op),+], after ["movq rax, xmm0"]);
    };
}

chain!(chain_bit_i32, integer["xor eax, r8d"]);
chain!(chain_bit_i64, integer["xor rax, r8"]);
chain!(chain_add_i32, integer["add eax, r8d"]);
chain!(chain_add_i64, integer["add rax, r8"]);
chain!(chain_mul_i32, integer["imul eax, r8d"]);
chain!(chain_mul_i64, integer["imul rax, r8"]);
// The quotient becomes the next divisor. Only the first move is in the chain, and most cores rename it away.
chain!(chain_div_i32, integer ["mov r10d, eax", "mov eax, r9d", "xor edx, edx", "idiv r10d"]);
chain!(chain_div_i64, integer ["mov r10, rax", "mov rax, r9", "xor edx, edx", "idiv r10"]);
// The remainder becomes the next dividend, by one addition of one cycle, which moves it to its register too.
chain!(chain_mod_i32, integer ["xor edx, edx", "idiv r8d", "lea eax, [rdx + r9]"]);
chain!(chain_mod_i64, integer ["xor edx, edx", "idiv r8", "lea rax, [rdx + r9]"]);
chain!(chain_bit_f32, vector["xorps xmm0, xmm1"]);
chain!(chain_bit_f64, vector["xorpd xmm0, xmm1"]);
chain!(chain_add_f32, vector["addss xmm0, xmm1"]);
chain!(chain_add_f64, vector["addsd xmm0, xmm1"]);
chain!(chain_mul_f32, vector["mulss xmm0, xmm1"]);
chain!(chain_mul_f64, vector["mulsd xmm0, xmm1"]);
chain!(chain_div_f32, vector["divss xmm0, xmm1"]);
chain!(chain_div_f64, vector["divsd xmm0, xmm1"]);

/// 240 operations a turn on ten integer registers.
macro_rules! independent_integer {
    ($name:ident, 32, $op:literal) => {
        independent_integer!($name, "r8d,r9d,r10d,r11d,r12d,r13d,r14d,r15d,esi,edi", $op);
    };
    ($name:ident, 64, $op:literal) => {
        independent_integer!($name, "r8,r9,r10,r11,r12,r13,r14,r15,rsi,rdi", $op);
    };
    ($name:ident, $registers:literal, $op:literal) => {
        fn $name(turns: u64, registers: Registers) -> u64 {
            let sum: u64;
            // SAFETY: registers alone are read and written, all of them declared; the loop ends when its counter is zero.
            unsafe {
                asm!(
                    ".irp acc,r8,r9,r10,r11,r12,r13,r14,r15,rsi,rdi",
                    "mov \\acc, rdx",
                    ".endr",
                    ".p2align 6",
                    "2:",
                    ".rept 24",
                    concat!(".irp acc,", $registers),
                    $op,
                    ".endr",
                    ".endr",
                    "dec rcx",
                    "jnz 2b",
                    "xor eax, eax",
                    ".irp acc,r8,r9,r10,r11,r12,r13,r14,r15,rsi,rdi",
                    "add rax, \\acc",
                    ".endr",
                    inout("rcx") turns => _,
                    inout("rax") registers.operand => sum,
                    in("rdx") registers.start,
                    out("r8") _, out("r9") _, out("r10") _, out("r11") _, out("r12") _,
                    out("r13") _, out("r14") _, out("r15") _, out("rsi") _, out("rdi") _,
                    options(nomem, nostack),
                );
            }
            sum
        }
    };
}

/// 240 divisions a turn, which share a dividend and a divisor and nothing else.
macro_rules! independent_division {
    ($name:ident, [$($op:expr),+], $result:literal) => {
        fn $name(turns: u64, registers: Registers) -> u64 {
            let result: u64;
            // SAFETY: registers alone are read and written, all of them declared; the loop ends when its counter is zero;
            // the divisor is not zero.
            unsafe {
                asm!(
                    ".p2align 6",
                    "2:",
                    ".rept 240",
                    $($op,)+
                    ".endr",
                    "dec rcx",
                    "jnz 2b",
                    concat!("mov rax, ", $result),
                    inout("rcx") turns => _,
                    out("rax") result,
                    out("rdx") _,
                    in("r8") registers.operand,
                    in("r9") registers.constant,
                    options(nomem, nostack),
                );
            }
            result
        }
    };
}

/// 240 operations a turn on twelve vector registers.
macro_rules! independent_vector {
    ($name:ident, $op:literal) => {
        fn $name(turns: u64, registers: Registers) -> u64 {
            let sum: u64;
            // SAFETY: registers alone are read and written, all of them declared; the loop ends when its counter is zero.
            unsafe {
                asm!(
                    "movq xmm12, rax",
                    ".irp i,0,1,2,3,4,5,6,7,8,9,10,11",
                    "movq xmm\\i, rdx",
                    ".endr",
                    ".p2align 6",
                    "2:",
                    ".rept 20",
                    ".irp i,0,1,2,3,4,5,6,7,8,9,10,11",
                    concat!($op, " xmm\\i, xmm12"),
                    ".endr",
                    ".endr",
                    "dec rcx",
                    "jnz 2b",
                    "xor eax, eax",
                    ".irp i,0,1,2,3,4,5,6,7,8,9,10,11",
                    "movq rdx, xmm\\i",
                    "add rax, rdx",
                    ".endr",
                    inout("rcx") turns => _,
                    inout("rax") registers.operand => sum,
                    inout("rdx") registers.start => _,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
                    out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                    out("xmm12") _,
                    options(nomem, nostack),
                );
            }
            sum
        }
    };
}

independent_integer!(independent_bit_i32, 32, "xor \\acc, eax");
independent_integer!(independent_bit_i64, 64, "xor \\acc, rax");
independent_integer!(independent_add_i32, 32, "add \\acc, eax");
independent_integer!(independent_add_i64, 64, "add \\acc, rax");
independent_integer!(independent_mul_i32, 32, "imul \\acc, eax");
independent_integer!(independent_mul_i64, 64, "imul \\acc, rax");
independent_division!(independent_div_i32, ["mov eax, r9d", "xor edx, edx", "idiv r8d"], "rax");
independent_division!(independent_div_i64, ["mov rax, r9", "xor edx, edx", "idiv r8"], "rax");
independent_division!(independent_mod_i32, ["mov eax, r9d", "xor edx, edx", "idiv r8d"], "rdx");
independent_division!(independent_mod_i64, ["mov rax, r9", "xor edx, edx", "idiv r8"], "rdx");
independent_vector!(independent_bit_f32, "xorps");
independent_vector!(independent_bit_f64, "xorpd");
independent_vector!(independent_add_f32, "addss");
independent_vector!(independent_add_f64, "addsd");
independent_vector!(independent_mul_f32, "mulss");
independent_vector!(independent_mul_f64, "mulsd");
independent_vector!(independent_div_f32, "divss");
independent_vector!(independent_div_f64, "divsd");

pub(super) fn kernel(kind: Type, op: Op) -> Option<Kernel> {
    super::table!(kind, op)
}
