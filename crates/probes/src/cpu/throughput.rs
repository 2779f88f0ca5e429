//! Probe cpu.throughput: how many arithmetic operations a second one core does when none waits for another.

use hostmark_engine::prelude::*;

use crate::kernels::operation::INDEPENDENT;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Operation throughput", zh: "运算吞吐量" },
    revision: 1,
    unit: Unit::OperationsPerSecond,
    better: Better::Higher,
    also: &[Quantity::OPERATIONS_PER_CYCLE],
    explain: Explain {
        what: Text {
            en: "The operations of cpu.latency, 240 to a turn of the loop, going round 10 or 12 registers (24 vector \
                 registers on aarch64) so that none waits for the one before. Integer divisions and remainders share a \
                 dividend and a divisor and nothing else: each is one division, with the move that loads its dividend.",
            zh: "执行 cpu.latency 的各种运算，循环每圈 240 次，轮流使用 10 或 12 个寄存器（aarch64 的向量寄存器为 24 个），互不等待。整数除法与\
                 求余只共用被除数和除数：每次是一次除法，加上装入被除数的传送。",
        },
        why: Text {
            en: "Code with enough independent work, as most loops over arrays are, runs at this rate. It counts the core's \
                 units for an operation, or the width of its front end where that is narrower.",
            zh: "只要有足够多的独立工作（多数数组循环如此），代码就以这个速率运行。它反映核心中该运算的单元数；若前端更窄，则反映前端宽度。",
        },
        reading: Text {
            en: "Operations a cycle: integer add and bit 4 on Intel to Comet Lake and on AMD to Zen 4, 5 or 6 on later cores, \
                 3 to 8 on arm servers; integer mul 1 on Intel and AMD before the newest, 1 to 2 on arm; floating-point add and mul 2, \
                 4 on the widest arm cores. Dividers are hardly pipelined: one result in 3 to 5 cycles for floating-point \
                 values, in 4 to 20 for integers, over 20 for i64 on Intel before Ice Lake. Half of what the design gives \
                 means an SMT sibling at work.",
            zh: "每周期运算数：整数 add 与 bit 在 Comet Lake 及以前的 Intel、Zen 4 及以前的 AMD 上为 4，之后的核心为 5 或 6，arm 服务器为 3 到 8；\
                 整数 mul 在除最新者外的 Intel 和 AMD 上为 1，arm 为 1 到 2；浮点 add 与 mul 为 2，最宽的 arm 核心为 4。除法器几乎不能流水：浮点\
                 每 3 到 5 个周期一个结果，整数每 4 到 20 个周期，Ice Lake 以前的 Intel 做 i64 要超过 20 个。若只有设计值的一半，说明 SMT \
                 兄弟线程在工作。",
        },
    },
    axes: &[super::TYPE, super::OP],
    cross: &[Cross { from: Profile::Standard, axes: &["type", "op"] }],
    limit: Limit::None,
    blocking: false,
    needs: &[],
    replaces: &["par_ops"],
    section: crate::section::CORE,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let operation = super::operation(case)?;
    case.rate(INDEPENDENT, |turns| {
        std::hint::black_box(operation.independent(turns));
    })
}
