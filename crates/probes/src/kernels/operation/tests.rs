//! Each operation gives what the same operation in Rust gives, as often as it is asked for.

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
