//! Probe cpu.latency: how long one arithmetic operation takes when the next one waits for it.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    title: Text { en: "Operation latency", zh: "运算延迟" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "A chain of one operation, each on the result of the previous one, with both operands in registers, 64 \
                 per turn of the loop. bit is an exclusive or. Integer div is c / x, whose quotient is the next \
                 divisor; mod is x mod d + c, where the addition turns the remainder into the next dividend. div and \
                 mod divide 62 bits by 31 (i64) or 30 by 15 (i32); the small variants divide 12 bits by 6 or 7. \
                 Floating-point div divides by a full mantissa, div_small by one. x86-64 uses add, imul, xor edx,edx \
                 and idiv, addss, mulss, divss and their double versions; aarch64 uses add, mul, sdiv, msub, fadd, \
                 fmul, fdiv. No instruction computes floating-point remainders.",
            zh: "一串同类运算，每次都以上一次的结果为操作数，两个操作数都在寄存器里，循环每圈 64 次。bit 是异或。整数 div 为 c / x，商作为\
                 下一次的除数；mod 为 x mod d + c，用一次加法把余数重新变成被除数。div 和 mod 为 62 位除以 31 位（i64）或 30 位除以 15 位\
                 （i32）；small 为 12 位除以 6 或 7 位。浮点 div 的除数尾数各位都用满，div_small 除以一。x86-64 上用 add、imul、xor edx,edx \
                 与 idiv、addss、mulss、divss 及其双精度指令；aarch64 上用 add、mul、sdiv、msub、fadd、fmul、fdiv。浮点求余没有对应指令。",
        },
        why: Text {
            en: "Sums over a list, hashes, random numbers and recurrences wait for one result after the other. Their \
                 speed is this latency, however many units the core has.",
            zh: "累加、哈希、随机数和递推都要一个接一个地等待结果：无论核心有多少运算单元，它们的速度都取决于这个延迟。",
        },
        reading: Text {
            en: "A whole number of core cycles, the same on every machine of one design. On x86 the div chain contains \
                 a register move, which a few cores (Ice Lake with current microcode) do not eliminate, and the mod \
                 chain its addition: one cycle more. On AMD and Arm integer division grows with the length of the \
                 quotient, so small operands have their own cases.",
            zh: "应为整数个核心周期，同一设计的机器都相同。x86 上 div 的链里有一次寄存器传送，少数核心（使用现行微码的 Ice Lake）不能通过重命名消除它；mod 的链里有那\
                 次加法：多一个周期。AMD 与 Arm 的整数除法随商的位数增长，因此小操作数单列一个用例。",
        },
        typical: Text {
            en: "From uops.info, Agner Fog's tables and Arm's optimisation guides: bit and add 1; integer mul 3 (Arm \
                 2 to 4); floating-point add and mul 4 on Intel from Skylake to Ice Lake, 2 to 4 elsewhere; div 10 or \
                 11 (f32) and 13 to 15 (f64) on Intel and AMD, 7 to 10 and 7 to 15 on Neoverse N1. Integer div: Intel \
                 before Ice Lake 26 (i32) and 40 to 95 (i64), later 10 to 18; AMD since Zen 3 7 to 20, Arm 5 to 20. \
                 Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 1, 3, 4, 11, 14; 27 for i32 \
                 div and 42.7 for i64 div.",
            zh: "据 uops.info、Agner Fog 指令表与 Arm 优化指南：bit 和 add 为 1；整数 mul 为 3（Arm 为 2 到 4）；浮点 add 与 mul 在 \
                 Intel 从 Skylake 到 Ice Lake 为 4，其他为 2 到 4；浮点 div 在 Intel 与 AMD 上 f32 为 10 或 11、f64 为 13 到 15，\
                 Neoverse N1 为 7 到 10 和 7 到 15。整数 div：Ice Lake 之前的 Intel 为 26（i32）和 40 到 95（i64），之后 10 到 18；Zen \
                 3 以来的 AMD 为 7 到 20，Arm 为 5 到 20。用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：1、3、4、\
                 11、14；i32 div 27，i64 div 42.7。",
        },
        causes: Text {
            en: "Not a whole number: the clock changed during the run, an SMT sibling was busy, or the divider's time \
                 depends on its operands (i64 division on Intel before Ice Lake is microcode). All operations slow by \
                 one factor: see cpu.frequency.",
            zh: "不是整数：运行中频率有变化、SMT 兄弟线程在工作，或除法器的耗时取决于操作数（Ice Lake 之前 Intel 的 i64 由微码实现）。若所有运算都慢同一倍数，应看 \
                 cpu.frequency。",
        },
    },
    related: &["cpu.throughput", "cpu.parallelism", "cpu.frequency", "cpu.bogoflops"],
    differs: Some(Text {
        en: "lat_ops is C: the compiler folds its additions, whose column reads 0.00, and its bit takes under one \
             cycle; its mul and div loops include 1 to 3 per cent of loop overhead. hostmark's chains are hand-written \
             instructions, and a slope removes the loop. lmbench's 64-bit table never prints, because its summary \
             looks for another word.",
        zh: "lat_ops 是 C 程序：编译器把加法折叠掉，该列显示 0.00，bit 不足一个周期；mul 与 div 的循环带有 1 到 3% 的循环开销。这里每条链都由指令写成，并用斜\
             率去掉循环。lmbench 的 64 位表从不打印，因为其汇总脚本查找的是另一个词。",
    }),
    axes: &[TYPE, OP],
    full_factorial: &[FullFactorial { from: Profile::Quick, axes: &["type", "op"] }],
    limit: Limit::CyclesPerOp,
    replaces: &["lat_ops"],
    core_bound: CoreBound::Yes,
    section: crate::section::CORE,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
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
    case.loops(|n| {
        std::hint::black_box(operation.chain(n));
    })
    .time()
}
