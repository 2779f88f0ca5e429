//! Probe clock.loop: the cost of the loop around a measured body.

use hostmark_engine::prelude::*;

use crate::kernels::arith;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Empty loop", zh: "空循环" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "The engine times a body that does nothing, unrolled 64 times as the others are: what is left is the \
                 loop's decrement and branch, once in 64 iterations.",
            zh: "引擎测量一个什么也不做的循环体，与其他内核一样展开 64 次：剩下的只有每 64 次迭代一次的递减和跳转。",
        },
        why: Text {
            en: "It is the engine's self-check: what every other value may contain at most by the way it is measured. It \
                 is shown and never subtracted, because a loop's cost overlaps the body's.",
            zh: "这是引擎的自检：其他任何数值因测量方式而可能多含的部分不会超过它。它只展示、从不扣除，因为循环开销与循环体\
                 是重叠执行的。",
        },
        reading: Text {
            en: "Under 0.2 core cycles; about 1/64 cycle is usual. More means that the clock, the calibration or the \
                 machine is not steady enough to believe any value of this run to that extent.",
            zh: "应小于 0.2 个核心周期，通常约为 1/64 个周期。若更大，说明时钟、校准或机器不够稳定，本次运行的所有数值\
                 都须打同样的折扣。",
        },
    },
    axes: &[],
    cross: &[],
    limit: Limit::None,
    blocking: false,
    needs: &[],
    replaces: &["loop_o"],
    section: crate::section::CLOCKS,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    case.time_n(arith::empty)
}
