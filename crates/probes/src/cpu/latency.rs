//! Probe cpu.latency: how long one arithmetic operation takes when the next one waits for it.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Operation latency", zh: "运算延迟" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "A chain of one operation, each on the result of the one before, both operands in registers, 64 to a turn of \
                 the loop. bit is an exclusive or. Integer div is c / x, where the quotient is the next divisor; mod is \
                 x mod d + c, one addition that makes a dividend of the remainder again. div and mod divide 62 bits by 31 \
                 (i64) or 30 by 15 (i32); the small ones 12 bits by 6 or 7. Floating-point div divides by a full mantissa, \
                 div_small by one. On x86-64: add, imul, xor edx,edx and idiv, addss, mulss, divss and their double \
                 siblings; on aarch64: add, mul, sdiv, msub, fadd, fmul, fdiv. There is no instruction for the remainder \
                 of floating-point values.",
            zh: "一串同类运算，每次都以上一次的结果为操作数，两个操作数都在寄存器里，循环每圈 64 次。bit 是异或。整数 div 为 c / x，商作为\
                 下一次的除数；mod 为 x mod d + c，用一次加法把余数重新变成被除数。div 和 mod 为 62 位除以 31 位（i64）或 30 位除以 15 位\
                 （i32）；small 为 12 位除以 6 或 7 位。浮点 div 的除数尾数各位都用满，div_small 除以一。x86-64 上用 add、imul、xor edx,edx \
                 与 idiv、addss、mulss、divss 及其双精度指令；aarch64 上用 add、mul、sdiv、msub、fadd、fmul、fdiv。浮点求余没有对应指令。",
        },
        why: Text {
            en: "Sums over a list, hashes, random numbers and recurrences wait for one result after the other: their speed \
                 is this latency, however many units the core has.",
            zh: "累加、哈希、随机数和递推都要一个接一个地等待结果：无论核心有多少运算单元，它们的速度都取决于这个延迟。",
        },
        reading: Text {
            en: "A whole number of core cycles, the same on every machine of one design: 1 for bit and add, 3 for an integer \
                 mul (2 to 4 on arm), 4 for floating-point add and mul of Intel from Skylake to Ice Lake, 2 to 4 elsewhere; bit of \
                 floating-point values 1, on arm 2. Floating-point div: 10 or 11 (f32) and 13 to 15 (f64) on Intel and AMD, 7 to \
                 10 and 7 to 15 on arm. Integer division differs most: Intel before Ice Lake takes 26 or 27 for i32 but 40 to 95 \
                 for i64, whose microcode makes no whole number of it; later cores take 10 to 18. AMD since Zen 3 takes 7 to 20, arm \
                 5 to 20, growing with the quotient's length, which is why small operands are a case of their own. On x86 the chain of div \
                 has a register move in it, which a few cores (Ice Lake with current microcode) do not rename away, and \
                 that of mod has its addition: one cycle more. Elsewhere a value that is no whole number means a clock \
                 that moved during the run, an SMT sibling at work, or a divider whose time depends on the operands.",
            zh: "应为整数个核心周期，同一设计的机器都相同：bit 和 add 为 1，整数 mul 为 3（arm 为 2 到 4），Intel 从 Skylake 到 Ice Lake 的浮点 add 与 \
                 mul 为 4，其他为 2 到 4；浮点 bit 为 1，arm 上为 2。浮点 div：Intel 与 AMD 上 f32 为 10 或 11、f64 为 13 到 15，arm 上为 7 到 10 \
                 和 7 到 15。整数除法差别最大：Ice Lake 之前的 Intel，i32 为 26 或 27，i64 却要 40 到 95，且因微码而不是整数；之后的核心为 10 到 \
                 18。Zen 3 以来的 AMD 为 7 到 20，arm 为 5 到 20，随商的位数增长，因此小操作数单列一个用例。x86 上 div 的链里有一次寄存器传送，少数\
                 核心（使用现行微码的 Ice Lake）不能通过重命名消除它；mod 的链里有那次加法：多一个周期。除此之外若不是整数，说明运行中频率有变化、\
                 SMT 兄弟线程在工作，或除法器耗时取决于操作数。",
        },
    },
    axes: &[TYPE, OP],
    cross: &[Cross { from: Profile::Quick, axes: &["type", "op"] }],
    limit: Limit::CyclesPerOp,
    blocking: false,
    needs: &[],
    replaces: &["lat_ops"],
    section: crate::section::CORE,
    measure: Measure::Run(measure),
};

/// All that lmbench's four tables of operations show, in every profile.
const TYPE: Axis = Axis {
    points: Points::Listed { quick: &["i64", "f64", "i32", "f32"], standard: &[], thorough: &[] },
    ..super::TYPE
};
const OP: Axis = Axis {
    points: Points::Listed {
        quick: &["add", "mul", "div", "bit", "mod"],
        standard: &["div_small", "mod_small"],
        thorough: &[],
    },
    ..super::OP
};

fn measure(case: &mut Case) -> Result<()> {
    let operation = super::operation(case)?;
    case.time_n(|n| {
        std::hint::black_box(operation.chain(n));
    })
}
