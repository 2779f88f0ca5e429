//! Probe cpu.bogoflops: a small expression with one division, element by element.

use hostmark_engine::prelude::*;

use crate::kernels::bogoflops::Arrays;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Bogus flops", zh: "伪浮点运算" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "y = (1 + x) (1.5 - x) / x for each of 1000 elements from 1 to 2, in scalar instructions, from one array to \
                 another that both fit the first-level cache. The value is the time of one element.",
            zh: "对 1000 个 1 到 2 之间的元素逐个计算 y = (1 + x) (1.5 - x) / x，用标量指令，从一个数组写到另一个，两者都放得进一级缓存。数值为\
                 一个元素的时间。",
        },
        why: Text {
            en: "lmbench reports such an expression as float and double bogo flops, so that results can be set beside old \
                 ones. It is no measure of floating-point power: for that there is cpu.flops.",
            zh: "lmbench 以 float 和 double bogo 报告这样的表达式，便于与旧结果对照。它不代表浮点能力：那要看 cpu.flops。",
        },
        reading: Text {
            en: "As the elements are independent of each other, the division's throughput sets the pace: 3 core cycles for \
                 f32 and 4 for f64 on Intel since Skylake, 3 to 6 on AMD, 2 to 10 on arm. Much more than cpu.throughput says of \
                 a division points to an SMT sibling that shares the divider.",
            zh: "各元素互不依赖，因此由除法的吞吐量决定快慢：Intel Skylake 以来 f32 为 3 个核心周期、f64 为 4 个，AMD 为 3 到 6，arm 为 2 到 10。\
                 若比 cpu.throughput 给出的除法慢得多，说明有 SMT 兄弟线程共用除法器。",
        },
    },
    axes: &[Axis::choice("type", "f64", Points::Listed { quick: &["f32", "f64"], standard: &[], thorough: &[] })],
    cross: &[],
    limit: Limit::None,
    blocking: false,
    needs: &[],
    replaces: &["lat_ops"],
    section: crate::section::CORE,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    match case.param::<String>("type")?.as_str() {
        "f32" => {
            let mut arrays = Arrays::<f32>::new();
            case.time_n(|n| arrays.compute(n))
        }
        _ => {
            let mut arrays = Arrays::<f64>::new();
            case.time_n(|n| arrays.compute(n))
        }
    }
}
