//! Arithmetic operations one at a time: in a chain, where each waits for the one before, and independent of each other.

mod loops;
#[cfg(test)]
mod tests;

use std::str::FromStr;

use super::assembly::UNROLL;

/// Operations that one turn of independent ones holds: a multiple of the ten or twelve registers that they go round, and
/// so many that the loop's own instructions are under half a percent of them.
pub const INDEPENDENT: u64 = 240;

/// What is computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// 32-bit signed integers.
    I32,
    /// 64-bit signed integers.
    I64,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

/// What is computed. Divisions and remainders come with long operands, and with short ones, for which some dividers
/// need less time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Exclusive or; of floating-point values too, as compilers flip a sign.
    Bit,
    /// Addition.
    Add,
    /// Multiplication.
    Mul,
    /// Division: 62 bits by 31, 30 bits by 15, or by a full mantissa.
    Div,
    /// Division: 12 bits by 6 or 7, or by 1.
    DivSmall,
    /// Remainder of the same.
    Mod,
    /// Remainder of the same.
    ModSmall,
}

impl FromStr for Type {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        let of = [("i32", Self::I32), ("i64", Self::I64), ("f32", Self::F32), ("f64", Self::F64)];
        of.into_iter().find(|(known, _)| *known == name).map(|(_, found)| found).ok_or(())
    }
}

impl FromStr for Op {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        let of = [
            ("bit", Self::Bit),
            ("add", Self::Add),
            ("mul", Self::Mul),
            ("div", Self::Div),
            ("div_small", Self::DivSmall),
            ("mod", Self::Mod),
            ("mod_small", Self::ModSmall),
        ];
        of.into_iter().find(|(known, _)| *known == name).map(|(_, found)| found).ok_or(())
    }
}

/// What the registers hold: bits of the type.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Registers {
    /// The first value of a chain, and of each independent register.
    start: u64,
    /// The second operand, in a register that no core can fold away.
    operand: u64,
    /// Of an integer division, the dividend; of a remainder, what makes a dividend of it again.
    constant: u64,
}

/// The instructions of one operation.
struct OperationKernel {
    /// Turns, rest, registers; gives the last value's bits.
    chain: fn(u64, u64, Registers) -> u64,
    /// Turns, registers; gives the sum of the registers' bits, or the last result of a division.
    independent: fn(u64, Registers) -> u64,
}

/// One operation on one type.
pub struct Operation {
    kernel: OperationKernel,
    registers: Registers,
}

impl Operation {
    /// The operation, or none where the machine has no instruction for it: the remainder of floating-point values.
    pub fn of(kind: Type, op: Op) -> Option<Operation> {
        Some(Operation { kernel: loops::kernel(kind, op)?, registers: registers(kind, op) })
    }

    /// Executes the operation `n` times, each on the result of the one before. Gives the bits of the last result.
    ///
    /// Integers: x ^ a, x + a, x × a, c / x, x mod a + c; floating point: x ^ a, x + a, x × a, x / a.
    #[inline(never)]
    pub fn chain(&self, n: u64) -> u64 {
        (self.kernel.chain)(n / UNROLL, n % UNROLL, self.registers)
    }

    /// Executes the operation `turns` × [`INDEPENDENT`] times, none waiting for the one before. Gives the sum of the
    /// registers' bits, for integer divisions and remainders the last result.
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
