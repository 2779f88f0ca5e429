//! Arithmetic operations one at a time: in a chain, where each waits for the one before, and independent of each other.

use super::UNROLL;

/// Independent operations a turn: a multiple of their ten or twelve registers, and so many that the loop adds under half a percent.
pub const INDEPENDENT: u64 = 240;

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Type {
        /// 32-bit signed integers.
        I32 = "i32",
        /// 64-bit signed integers.
        I64 = "i64",
        /// Single precision.
        F32 = "f32",
        /// Double precision.
        F64 = "f64",
    }
}

named! {
    /// Computed operation. Divisions and remainders also come with short operands, for which some dividers need less time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Op {
        /// Exclusive or; of floating-point values too, as compilers flip a sign.
        Bit = "bit",
        Add = "add",
        Mul = "mul",
        /// Division: 62 bits by 31, 30 bits by 15, or by a full mantissa.
        Div = "div",
        /// Division: 12 bits by 6 or 7, or by 1.
        DivSmall = "div_small",
        Mod = "mod",
        ModSmall = "mod_small",
    }
}

/// Contents of the registers: bits of the type.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Registers {
    /// The first value of a chain, and of each independent register.
    start: u64,
    /// The second operand, in a register that no core can fold away.
    operand: u64,
    /// Dividend of an integer division; for a remainder, the number that makes a dividend of it again.
    constant: u64,
}

struct OperationKernel {
    /// Turns, rest, registers; gives the last value's bits.
    chain: fn(u64, u64, Registers) -> u64,
    /// Turns, registers; gives the sum of the registers' bits, or the last result of a division.
    independent: fn(u64, Registers) -> u64,
}

pub struct Operation {
    kernel: OperationKernel,
    registers: Registers,
}

impl Operation {
    /// The operation, or none where the machine has no instruction for it: the remainder of floating-point values.
    pub fn of(kind: Type, op: Op) -> Option<Operation> {
        Some(Operation { kernel: kernel(kind, op)?, registers: registers(kind, op) })
    }

    /// Executes the operation `n` times, each on the result of the one before. Gives the bits of the last result.
    ///
    /// Integers: x ^ a, x + a, x × a, c / x, x mod a + c; floating point: x ^ a, x + a, x × a, x / a.
    #[inline(never)]
    pub fn chain(&self, n: u64) -> u64 {
        (self.kernel.chain)(n / UNROLL, n % UNROLL, self.registers)
    }

    /// Executes `turns` × [`INDEPENDENT`] independent operations. Gives the registers' sum, for integer divisions the last result.
    #[inline(never)]
    pub fn independent(&self, turns: u64) -> u64 {
        if turns == 0 { 0 } else { (self.kernel.independent)(turns, self.registers) }
    }
}

/// Operands of each operation. Chains of them stay in their class: quotients alternate between two factors of the
/// dividend, remainders are lifted again, floating-point values move by a millionth or less an operation.
fn registers(kind: Type, op: Op) -> Registers {
    let integer = |start: u64, operand: u64, constant: u64| Registers { start, operand, constant };
    let single = |start: f32, operand: f32| integer(start.to_bits().into(), operand.to_bits().into(), 0);
    let double = |start: f64, operand: f64| integer(start.to_bits(), operand.to_bits(), 0);
    match (kind, op) {
        (Type::I32 | Type::I64, Op::Bit) => integer(0x1234_5678, 0x0f0f_3355, 0),
        (Type::I32 | Type::I64, Op::Add) => integer(1, 7, 0),
        (Type::I32 | Type::I64, Op::Mul) => integer(3, 0x9e37_79b1, 0),
        (Type::I32, Op::Div) => integer(27_449, 31_973, 27_449 * 31_973),
        (Type::I64, Op::Div) => integer(1_518_500_249, 1_900_000_097, 1_518_500_249 * 1_900_000_097),
        (Type::I32 | Type::I64, Op::DivSmall) => integer(57, 71, 57 * 71),
        (Type::I32, Op::Mod) => integer(877_600_001, 27_449, 877_600_001),
        (Type::I64, Op::Mod) => integer(2_885_000_000_000_000_011, 1_518_500_249, 2_885_000_000_000_000_011),
        (Type::I32 | Type::I64, Op::ModSmall) => integer(4_001, 57, 4_001),
        (Type::F32, Op::Bit) => single(1.5, -0.0),
        (Type::F64, Op::Bit) => double(1.5, -0.0),
        (Type::F32, Op::Add) => single(1.0, 1.000_000_1),
        (Type::F64, Op::Add) => double(1.0, 1.000_000_000_1),
        (Type::F32, Op::Mul | Op::Div) => single(1.234_567_9, 1.000_001_1),
        (Type::F64, Op::Mul | Op::Div) => double(1.234_567_890_123, 1.000_000_001_1),
        (Type::F32, Op::DivSmall | Op::Mod | Op::ModSmall) => single(1.5, 1.0),
        (Type::F64, Op::DivSmall | Op::Mod | Op::ModSmall) => double(1.5, 1.0),
    }
}

/// A chain through the first integer or vector register: 64 a turn, then the rest one by one.
macro_rules! chain {
    ($name:ident, integer, $x86:literal, $arm:literal) => {
        chain!($name, before "", by_arch!(x86_64 { $x86 } aarch64 { $arm }), after "");
    };
    ($name:ident, vector, $x86:literal, $arm:literal) => {
        chain!(
            $name,
            before by_arch!(x86_64 { "movq xmm0, rax; movq xmm1, r8" } aarch64 { "fmov d0, x0; fmov d1, x3" }),
            by_arch!(x86_64 { $x86 } aarch64 { $arm }),
            after by_arch!(x86_64 { "movq rax, xmm0" } aarch64 { "fmov x0, d0" })
        );
    };
    ($name:ident, before $before:expr, $op:expr, after $after:expr) => {
        fn $name(turns: u64, rest: u64, registers: Registers) -> u64 {
            let mut value = registers.start;
            // SAFETY: registers alone are read and written, all of them declared; both loops end when their counter is
            // zero; no divisor is ever zero, and no quotient too long.
            unsafe {
                asm_by_arch!(
                    $before,
                    by_arch!(x86_64 { unrolled!("rcx", "rsi", $op) } aarch64 { unrolled!("x1", "x2", $op) }),
                    $after;
                    x86_64 {
                        inout("rcx") turns => _,
                        inout("rsi") rest => _,
                        inout("rax") value,
                        in("r8") registers.operand,
                        in("r9") registers.constant,
                        out("rdx") _, out("r10") _, out("xmm0") _, out("xmm1") _,
                    }
                    aarch64 {
                        inout("x1") turns => _,
                        inout("x2") rest => _,
                        inout("x0") value,
                        in("x3") registers.operand,
                        in("x4") registers.constant,
                        out("x5") _, out("x6") _, out("v0") _, out("v1") _,
                    }
                    options(nomem, nostack)
                );
            }
            value
        }
    };
}

chain!(chain_bit_i32, integer, "xor eax, r8d", "eor w0, w0, w3");
chain!(chain_bit_i64, integer, "xor rax, r8", "eor x0, x0, x3");
chain!(chain_add_i32, integer, "add eax, r8d", "add w0, w0, w3");
chain!(chain_add_i64, integer, "add rax, r8", "add x0, x0, x3");
chain!(chain_mul_i32, integer, "imul eax, r8d", "mul w0, w0, w3");
chain!(chain_mul_i64, integer, "imul rax, r8", "mul x0, x0, x3");
// The quotient becomes the next divisor. On x86-64 only the first move is in the chain, and most cores rename it away.
chain!(chain_div_i32, integer, "mov r10d, eax; mov eax, r9d; xor edx, edx; idiv r10d", "sdiv w0, w4, w0");
chain!(chain_div_i64, integer, "mov r10, rax; mov rax, r9; xor edx, edx; idiv r10", "sdiv x0, x4, x0");
// The remainder becomes the next dividend. x86-64 lifts it by one addition of one cycle, which moves it to its register too; on
// AArch64 what lifts it is added beside the division, outside of the chain.
chain!(
    chain_mod_i32,
    integer,
    "xor edx, edx; idiv r8d; lea eax, [rdx + r9]",
    "sdiv w5, w0, w3; add w6, w0, w4; msub w0, w5, w3, w6"
);
chain!(
    chain_mod_i64,
    integer,
    "xor edx, edx; idiv r8; lea rax, [rdx + r9]",
    "sdiv x5, x0, x3; add x6, x0, x4; msub x0, x5, x3, x6"
);
chain!(chain_bit_f32, vector, "xorps xmm0, xmm1", "eor v0.8b, v0.8b, v1.8b");
chain!(chain_bit_f64, vector, "xorpd xmm0, xmm1", "eor v0.8b, v0.8b, v1.8b");
chain!(chain_add_f32, vector, "addss xmm0, xmm1", "fadd s0, s0, s1");
chain!(chain_add_f64, vector, "addsd xmm0, xmm1", "fadd d0, d0, d1");
chain!(chain_mul_f32, vector, "mulss xmm0, xmm1", "fmul s0, s0, s1");
chain!(chain_mul_f64, vector, "mulsd xmm0, xmm1", "fmul d0, d0, d1");
chain!(chain_div_f32, vector, "divss xmm0, xmm1", "fdiv s0, s0, s1");
chain!(chain_div_f64, vector, "divsd xmm0, xmm1", "fdiv d0, d0, d1");

/// 240 independent operations a turn: the lines before, the operations, those after; and each architecture's operands.
macro_rules! independent {
    ($name:ident, $registers:ident, $before:expr, $operations:expr, $after:expr, $result:ident;
     x86_64 { $($x86:tt)* } aarch64 { $($arm:tt)* }) => {
        fn $name(turns: u64, $registers: Registers) -> u64 {
            let $result: u64;
            // SAFETY: registers alone are read and written, all of them declared; the loop ends when its counter is zero; no
            // divisor is zero.
            unsafe {
                asm_by_arch!(
                    $before,
                    ".p2align 6",
                    "2:",
                    $operations,
                    count_down!(by_arch!(x86_64 { "rcx" } aarch64 { "x1" }), "2b"),
                    $after;
                    x86_64 { inout("rcx") turns => _, $($x86)* }
                    aarch64 { inout("x1") turns => _, $($arm)* }
                    options(nomem, nostack)
                );
            }
            $result
        }
    };
}

/// The integer registers that operations go round, ten on x86-64 and twelve on AArch64: their halves, or all of them.
macro_rules! accumulators {
    (32) => {
        by_arch!(
            x86_64 { ".irp acc,r8d,r9d,r10d,r11d,r12d,r13d,r14d,r15d,esi,edi\n" }
            aarch64 { ".irp acc,w4,w5,w6,w7,w8,w9,w10,w11,w12,w13,w14,w15\n" }
        )
    };
    (64) => {
        by_arch!(
            x86_64 { ".irp acc,r8,r9,r10,r11,r12,r13,r14,r15,rsi,rdi\n" }
            aarch64 { ".irp acc,x4,x5,x6,x7,x8,x9,x10,x11,x12,x13,x14,x15\n" }
        )
    };
}

/// Operations on integer registers.
macro_rules! independent_integer {
    ($name:ident, $bits:tt, $x86:literal, $arm:literal) => {
        independent!(
            $name, registers,
            concat!(accumulators!(64), by_arch!(x86_64 { "mov \\acc, rdx" } aarch64 { "mov \\acc, x2" }), "\n.endr"),
            concat!(
                by_arch!(x86_64 { ".rept 24\n" } aarch64 { ".rept 20\n" }),
                accumulators!($bits),
                by_arch!(x86_64 { $x86 } aarch64 { $arm }),
                "\n.endr\n.endr"
            ),
            concat!(
                by_arch!(x86_64 { "xor eax, eax\n" } aarch64 { "mov x0, xzr\n" }),
                accumulators!(64),
                by_arch!(x86_64 { "add rax, \\acc" } aarch64 { "add x0, x0, \\acc" }),
                "\n.endr"
            ),
            sum;
            x86_64 {
                inout("rax") registers.operand => sum,
                in("rdx") registers.start,
                out("r8") _, out("r9") _, out("r10") _, out("r11") _, out("r12") _,
                out("r13") _, out("r14") _, out("r15") _, out("rsi") _, out("rdi") _,
            }
            aarch64 {
                out("x0") sum,
                in("x2") registers.start,
                in("x3") registers.operand,
                out("x4") _, out("x5") _, out("x6") _, out("x7") _, out("x8") _, out("x9") _,
                out("x10") _, out("x11") _, out("x12") _, out("x13") _, out("x14") _, out("x15") _,
            }
        );
    };
}

/// Divisions, which share a dividend and a divisor and nothing else; on x86-64 the result is in a register given.
macro_rules! independent_division {
    ($name:ident, $x86:literal in $result:literal, $arm:literal) => {
        independent!(
            $name, registers,
            "",
            concat!(".rept 240\n", by_arch!(x86_64 { $x86 } aarch64 { $arm }), "\n.endr"),
            by_arch!(x86_64 { concat!("mov rax, ", $result) } aarch64 { "" }),
            result;
            x86_64 {
                out("rax") result,
                out("rdx") _,
                in("r8") registers.operand,
                in("r9") registers.constant,
            }
            aarch64 {
                out("x0") result,
                in("x3") registers.operand,
                in("x4") registers.constant,
                out("x5") _,
            }
        );
    };
}

/// Operations on vector registers: twelve on x86-64, and 24 on AArch64, whose wide cores start four a cycle, and each takes up
/// to five. `shape`: what the names of AArch64's registers begin and end with.
macro_rules! independent_vector {
    ($name:ident, $x86:literal, $arm:literal, shape $pre:literal $post:literal) => {
        independent!(
            $name, registers,
            by_arch!(
                x86_64 { "movq xmm12, rax\n.irp i,0,1,2,3,4,5,6,7,8,9,10,11\nmovq xmm\\i, rdx\n.endr" }
                aarch64 { concat!("fmov d24, x3\n.irp acc,", registers_24!("d", ""), "\nfmov \\acc, x2\n.endr") }
            ),
            by_arch!(
                x86_64 { concat!(".rept 20\n.irp i,0,1,2,3,4,5,6,7,8,9,10,11\n", $x86, " xmm\\i, xmm12\n.endr\n.endr") }
                aarch64 { concat!(".rept 10\n.irp acc,", registers_24!($pre, $post), "\n", $arm, "\n.endr\n.endr") }
            ),
            by_arch!(
                x86_64 { "xor eax, eax\n.irp i,0,1,2,3,4,5,6,7,8,9,10,11\nmovq rdx, xmm\\i\nadd rax, rdx\n.endr" }
                aarch64 { concat!("mov x0, xzr\n.irp acc,", registers_24!("d", ""), "\nfmov x4, \\acc\nadd x0, x0, x4\n.endr") }
            ),
            sum;
            x86_64 {
                inout("rax") registers.operand => sum,
                inout("rdx") registers.start => _,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _, out("xmm6") _,
                out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _,
            }
            aarch64 {
                out("x0") sum,
                in("x2") registers.start,
                in("x3") registers.operand,
                out("x4") _,
                clobber_abi("C"),
            }
        );
    };
}

independent_integer!(independent_bit_i32, 32, "xor \\acc, eax", "eor \\acc, \\acc, w3");
independent_integer!(independent_bit_i64, 64, "xor \\acc, rax", "eor \\acc, \\acc, x3");
independent_integer!(independent_add_i32, 32, "add \\acc, eax", "add \\acc, \\acc, w3");
independent_integer!(independent_add_i64, 64, "add \\acc, rax", "add \\acc, \\acc, x3");
independent_integer!(independent_mul_i32, 32, "imul \\acc, eax", "mul \\acc, \\acc, w3");
independent_integer!(independent_mul_i64, 64, "imul \\acc, rax", "mul \\acc, \\acc, x3");
independent_division!(independent_div_i32, "mov eax, r9d; xor edx, edx; idiv r8d" in "rax", "sdiv w0, w4, w3");
independent_division!(independent_div_i64, "mov rax, r9; xor edx, edx; idiv r8" in "rax", "sdiv x0, x4, x3");
independent_division!(
    independent_mod_i32,
    "mov eax, r9d; xor edx, edx; idiv r8d" in "rdx",
    "sdiv w5, w4, w3; msub w0, w5, w3, w4"
);
independent_division!(
    independent_mod_i64,
    "mov rax, r9; xor edx, edx; idiv r8" in "rdx",
    "sdiv x5, x4, x3; msub x0, x5, x3, x4"
);
independent_vector!(independent_bit_f32, "xorps", "eor \\acc, \\acc, v24.8b", shape "v" ".8b");
independent_vector!(independent_bit_f64, "xorpd", "eor \\acc, \\acc, v24.8b", shape "v" ".8b");
independent_vector!(independent_add_f32, "addss", "fadd \\acc, \\acc, s24", shape "s" "");
independent_vector!(independent_add_f64, "addsd", "fadd \\acc, \\acc, d24", shape "d" "");
independent_vector!(independent_mul_f32, "mulss", "fmul \\acc, \\acc, s24", shape "s" "");
independent_vector!(independent_mul_f64, "mulsd", "fmul \\acc, \\acc, d24", shape "d" "");
independent_vector!(independent_div_f32, "divss", "fdiv \\acc, \\acc, s24", shape "s" "");
independent_vector!(independent_div_f64, "divsd", "fdiv \\acc, \\acc, d24", shape "d" "");

/// The loops of an operation, if the machine has an instruction for it.
fn kernel(kind: Type, op: Op) -> Option<OperationKernel> {
    let both = |chain, independent| Some(OperationKernel { chain, independent });
    match (kind, op) {
        (Type::I32, Op::Bit) => both(chain_bit_i32, independent_bit_i32),
        (Type::I32, Op::Add) => both(chain_add_i32, independent_add_i32),
        (Type::I32, Op::Mul) => both(chain_mul_i32, independent_mul_i32),
        (Type::I32, Op::Div | Op::DivSmall) => both(chain_div_i32, independent_div_i32),
        (Type::I32, Op::Mod | Op::ModSmall) => both(chain_mod_i32, independent_mod_i32),
        (Type::I64, Op::Bit) => both(chain_bit_i64, independent_bit_i64),
        (Type::I64, Op::Add) => both(chain_add_i64, independent_add_i64),
        (Type::I64, Op::Mul) => both(chain_mul_i64, independent_mul_i64),
        (Type::I64, Op::Div | Op::DivSmall) => both(chain_div_i64, independent_div_i64),
        (Type::I64, Op::Mod | Op::ModSmall) => both(chain_mod_i64, independent_mod_i64),
        (Type::F32, Op::Bit) => both(chain_bit_f32, independent_bit_f32),
        (Type::F32, Op::Add) => both(chain_add_f32, independent_add_f32),
        (Type::F32, Op::Mul) => both(chain_mul_f32, independent_mul_f32),
        (Type::F32, Op::Div | Op::DivSmall) => both(chain_div_f32, independent_div_f32),
        (Type::F64, Op::Bit) => both(chain_bit_f64, independent_bit_f64),
        (Type::F64, Op::Add) => both(chain_add_f64, independent_add_f64),
        (Type::F64, Op::Mul) => both(chain_mul_f64, independent_mul_f64),
        (Type::F64, Op::Div | Op::DivSmall) => both(chain_div_f64, independent_div_f64),
        (Type::F32 | Type::F64, Op::Mod | Op::ModSmall) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPES: [Type; 4] = [Type::I32, Type::I64, Type::F32, Type::F64];
    const OPS: [Op; 7] = [Op::Bit, Op::Add, Op::Mul, Op::Div, Op::DivSmall, Op::Mod, Op::ModSmall];

    fn all() -> impl Iterator<Item = (Type, Op, Operation)> {
        let pairs = TYPES.into_iter().flat_map(|kind| OPS.map(|op| (kind, op)));
        pairs.filter_map(|(kind, op)| Some((kind, op, Operation::of(kind, op)?)))
    }

    /// The operation in Rust, on bits.
    fn once(kind: Type, op: Op, x: u64, with: Registers) -> u64 {
        let (xi, a, c) = (x as i64, with.operand as i64, with.constant as i64);
        let integer = match op {
            Op::Bit => xi ^ a,
            Op::Add => xi.wrapping_add(a),
            Op::Mul => xi.wrapping_mul(a),
            Op::Div | Op::DivSmall if xi != 0 => c / xi,
            Op::Mod | Op::ModSmall => xi % a + c,
            Op::Div | Op::DivSmall => panic!("a divisor became zero"),
        };
        let single = |f: fn(f32, f32) -> f32| f(f32::from_bits(x as u32), f32::from_bits(a as u32)).to_bits().into();
        let double = |f: fn(f64, f64) -> f64| f(f64::from_bits(x), f64::from_bits(a as u64)).to_bits();
        match (kind, op) {
            (Type::I64, _) | (Type::F64, Op::Bit) => integer as u64,
            (Type::I32, _) | (Type::F32, Op::Bit) => integer as u32 as u64,
            (Type::F32, Op::Add) => single(|x, a| x + a),
            (Type::F32, Op::Mul) => single(|x, a| x * a),
            (Type::F32, _) => single(|x, a| x / a),
            (Type::F64, Op::Add) => double(|x, a| x + a),
            (Type::F64, Op::Mul) => double(|x, a| x * a),
            (Type::F64, _) => double(|x, a| x / a),
        }
    }

    #[test]
    fn a_chain_does_its_operation_n_times() {
        // The remainder of floating-point values is no instruction.
        assert!(Operation::of(Type::F64, Op::Mod).is_none() && Operation::of(Type::F32, Op::ModSmall).is_none());
        assert_eq!(all().count(), 24);
        for (kind, op, operation) in all() {
            for n in [0, 1, 2, 63, 64, 65, 128, 1000] {
                let expected = (0..n).fold(operation.registers.start, |x, _| once(kind, op, x, operation.registers));
                assert_eq!(operation.chain(n), expected, "{kind:?} {op:?} {n}");
            }
        }
    }

    #[test]
    fn independent_operations_each_do_theirs() {
        for (kind, op, operation) in all() {
            let Registers { start, operand, constant } = operation.registers;
            for turns in [1, 3] {
                let is_integer = matches!(kind, Type::I32 | Type::I64);
                let expected = match op {
                    Op::Div | Op::DivSmall if is_integer => constant / operand,
                    Op::Mod | Op::ModSmall => constant % operand,
                    _ => {
                        let registers = match (is_integer, cfg!(target_arch = "aarch64")) {
                            (true, false) => 10,
                            (true, true) | (false, false) => 12,
                            (false, true) => 24,
                        };
                        let times = turns * INDEPENDENT / registers;
                        let one = (0..times).fold(start, |x, _| once(kind, op, x, operation.registers));
                        one.wrapping_mul(registers)
                    }
                };
                assert_eq!(operation.independent(turns), expected, "{kind:?} {op:?} {turns}");
            }
        }
    }

    #[test]
    fn operands_stay_in_their_class() {
        let bits = |x: u64| 64 - x.leading_zeros();
        let classes = [
            (Type::I64, Op::Div, 62, 31),
            (Type::I32, Op::Div, 30, 15),
            (Type::I64, Op::Mod, 62, 31),
            (Type::I32, Op::Mod, 30, 15),
            (Type::I64, Op::DivSmall, 12, 7),
            (Type::I32, Op::ModSmall, 12, 6),
        ];
        for (kind, op, dividend, divisor) in classes {
            let with = registers(kind, op);
            assert_eq!((bits(with.constant), bits(with.operand)), (dividend, divisor), "{kind:?} {op:?}");
            let mut x = with.start;
            for _ in 0..10_000 {
                x = once(kind, op, x, with);
                let is_div = matches!(op, Op::Div | Op::DivSmall);
                let expected = if is_div { divisor - 1..=divisor } else { dividend..=dividend };
                assert!(expected.contains(&bits(x)), "{kind:?} {op:?}: {x}");
            }
        }
    }

    #[test]
    fn floating_point_values_stay_normal_for_far_longer_than_a_sample() {
        for (kind, op) in [(Type::F32, Op::Mul), (Type::F32, Op::Div), (Type::F64, Op::Mul), (Type::F64, Op::Div)] {
            // A sample has at most some ten million operations of four cycles.
            let value = Operation::of(kind, op).unwrap().chain(20_000_000);
            let value = if kind == Type::F32 { f32::from_bits(value as u32).into() } else { f64::from_bits(value) };
            assert!((1e-30..1e30).contains(&value), "{kind:?} {op:?}: {value}");
        }
    }
}
