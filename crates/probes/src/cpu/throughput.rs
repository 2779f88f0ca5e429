//! Probe cpu.throughput: how many arithmetic operations a second one core does when none waits for another.

use hostmark_engine::prelude::*;

use crate::kernels::operation::INDEPENDENT;

pub static PROBE: Probe = Probe {
    title: Text { en: "Operation throughput", zh: "运算吞吐量" },
    revision: 1,
    unit: Unit::OperationsPerSecond,
    better: Better::Higher,
    also: &[Quantity::OPERATIONS_PER_CYCLE],
    explain: Explain {
        what: Text {
            en: "The operations of cpu.latency, 240 per turn of the loop, rotate over 10 or 12 registers (24 vector \
                 registers on aarch64), so none waits for another. Integer divisions and remainders share only \
                 dividend and divisor: each is one division, plus the move that loads its dividend.",
            zh: "执行 cpu.latency 的各种运算，循环每圈 240 次，轮流使用 10 或 12 个寄存器（aarch64 的向量寄存器为 24 个），互不等待。整数除法与\
                 求余只共用被除数和除数：每次是一次除法，加上装入被除数的传送。",
        },
        why: Text {
            en: "Code with enough independent work, like most loops over arrays, runs at this rate. It reveals the \
                 number of units for an operation, or the width of the front end if that is narrower.",
            zh: "只要有足够多的独立工作（多数数组循环如此），代码就以这个速率运行。它反映核心中该运算的单元数；若前端更窄，则反映前端宽度。",
        },
        reading: Text {
            en: "Operations per core cycle are the number of units for an operation, or the width of the front end if \
                 that is narrower. Dividers are hardly pipelined, so theirs is a fraction.",
            zh: "每核心周期的运算数就是该运算的执行单元数；若前端更窄，则为前端宽度。除法器几乎不能流水，因此只是几分之一。",
        },
        typical: Text {
            en: "From uops.info and Agner Fog's tables: integer add and bit 4 a cycle on Intel to Comet Lake and AMD \
                 to Zen 4, 5 or 6 on later cores, 3 to 8 on Arm servers; integer mul 1 (Arm 1 to 2); floating-point \
                 add and mul 2, 4 on the widest Arm cores; a floating-point div in 3 to 5 cycles, an integer one in 4 \
                 to 20, over 20 for i64 on Intel before Ice Lake. Measured with hostmark on a 2-CPU KVM guest \
                 (Cascade Lake, Linux 6.18): 4.0 adds, 1.0 mul, 2.0 f64 adds a cycle, an i64 div in 24 cycles.",
            zh: "据 uops.info 与 Agner Fog 指令表：整数 add 与 bit 在 Comet Lake 及以前的 Intel、Zen 4 及以前的 AMD 上每周期 4 次，之后的核\
                 心 5 或 6 次，Arm 服务器 3 到 8 次；整数 mul 1 次（Arm 1 到 2）；浮点 add 与 mul 2 次，最宽的 Arm 核心 4 次；浮点 div 每 3 到 \
                 5 个周期一次，整数每 4 到 20 个周期一次，Ice Lake 以前 Intel 的 i64 超过 20 个。用 hostmark 在双 CPU 的 KVM 虚拟机\
                 （Cascade Lake，Linux 6.18）上实测：每周期 4.0 次加法、1.0 次 mul、2.0 次 f64 加法，i64 div 24 个周期一次。",
        },
        causes: Text {
            en: "Half the design value: an SMT sibling uses the same units; a guest may not see it. A few per cent \
                 less: timer interrupts and steal. A lower rate with the same operations per cycle: the clock \
                 (cpu.frequency).",
            zh: "只有设计值的一半：SMT 兄弟线程在使用同样的单元，在虚拟机里可能看不见它。少几个百分点：定时器中断与 steal。若每周期运算数不变而速率较低，是频率的原因：见 \
                 cpu.frequency。",
        },
    },
    related: &["cpu.latency", "cpu.parallelism", "cpu.flops"],
    differs: Some(Text {
        en: "par_ops runs 1 to 16 dependent chains of C code and prints the best ratio to one chain, the parallelism, \
             but not the rate itself. hostmark times independent instructions directly; cpu.parallelism has the ratio.",
        zh: "par_ops 运行 1 到 16 条 C 写成的依赖链，打印对单链的最好比值，即并行度，不给出速率本身。这里直接测互不依赖的指令，比值由 cpu.parallelism 给出。",
    }),
    axes: &[super::TYPE, super::OP],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["type", "op"] }],
    limit: Limit::OperationsPerCycle(&[("", MOST_A_CYCLE)]),
    adds: Some(&[("type", "i64"), ("op", "add")]),
    replaces: &["par_ops"],
    core_bound: CoreBound::Yes,
    section: crate::section::CORE,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// More than the widest cores can start: those sold have up to 8 adders, and rename up to 10 instructions a cycle.
const MOST_A_CYCLE: u32 = 12;

fn measure(case: &mut Case) -> Result<()> {
    let operation = super::operation(case)?;
    case.loops(|turns| {
        std::hint::black_box(operation.independent(turns));
    })
    .rate(INDEPENDENT)
}
