//! Probe clock.loop: the cost of the loop around a measured body.

use hostmark_engine::prelude::*;

use crate::kernels::arith;

pub static PROBE: Probe = Probe {
    title: Text { en: "Empty loop", zh: "空循环" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "The engine times an empty body, unrolled 64 times like all others. What remains is the loop's \
                 decrement and branch, once per 64 iterations.",
            zh: "引擎测量一个什么也不做的循环体，与其他内核一样展开 64 次：剩下的只有每 64 次迭代一次的递减和跳转。",
        },
        why: Text {
            en: "This is the engine's self-check: the most that the method of measurement can add to any other value. \
                 hostmark shows it and never subtracts it, because a loop's cost overlaps that of its body.",
            zh: "这是引擎的自检：其他任何数值因测量方式而可能多含的部分不会超过它。它只展示、从不扣除，因为循环开销与循环体\
                 是重叠执行的。",
        },
        reading: Text {
            en: "One turn of the loop, a decrement and a branch in one core cycle, divided by its 64 iterations. The \
                 slope between two lengths has already removed the cost of the clock.",
            zh: "一圈循环是一次减一和一次跳转，共一个核心周期，分摊到其中的 64 次迭代。两种长度之差已经去掉了读时钟的\
                 代价。",
        },
        typical: Text {
            en: "1/64 of a core cycle, 0.0156, by the loop's construction; measured with hostmark on a 2-CPU KVM guest \
                 (Cascade Lake, Linux 6.18): 0.0156 cycle, 0.005 ns. This project's tests require under 0.2 cycle.",
            zh: "按循环的构造为 1/64 个核心周期，即 0.0156；用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：0.0156 个周\
                 期，即 0.005 ns。本项目自己的测试要求低于 0.2 个周期。",
        },
        causes: Text {
            en: "A clock that jumps or is calibrated wrongly, a core whose frequency changes during a sample, an \
                 emulated CPU (QEMU without KVM), or a machine so busy that every sample is disturbed. No other value \
                 of the run is more precise than this one.",
            zh: "时钟跳变或校准有误、样本中核心频率变化、模拟的 CPU（没有 KVM 的 QEMU），或机器繁忙到每个样本都受扰。\
                 本次运行的其他数值不会比它更精确。",
        },
    },
    related: &["clock.read", "clock.resolution", "cpu.frequency"],
    differs: Some(Text {
        en: "loop_o measures an empty C loop, to subtract it from other results. On every current core a loop's cost \
             overlaps that of its body, so subtracting it makes short operations look too fast. hostmark shows it and \
             subtracts nothing.",
        zh: "loop_o 给出一个 C 空循环的时间，用来从别的结果中减去。在今天的核心上循环的代价与循环体重叠，减去它会把短操作算得过快：hostmark 只展示，不减去。",
    }),
    replaces: &["loop_o"],
    core_bound: CoreBound::Yes,
    section: crate::section::CLOCKS,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    case.loops(arith::empty).time()
}
