//! Probe cpu.bogoflops: a small expression with one division, element by element.

use hostmark_engine::prelude::*;

use crate::kernels::bogoflops::Arrays;

pub static PROBE: Probe = Probe {
    title: Text { en: "Bogus flops", zh: "伪浮点运算（bogoflops）" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "y = (1 + x) (1.5 - x) / x is computed for each of 1000 elements from 1 to 2, in scalar instructions, \
                 from one array to another; both fit L1d. The value is the time per element.",
            zh: "对 1000 个 1 到 2 之间的元素逐个计算 y = (1 + x) (1.5 - x) / x，用标量指令，从一个数组写到另一个，两者都放得进一级缓存。数值为\
                 一个元素的时间。",
        },
        why: Text {
            en: "lmbench reports this expression as float and double bogo flops; it is here for comparison with old \
                 results. It does not measure floating-point power: see cpu.flops for that.",
            zh: "lmbench 以 float 和 double bogo 报告这样的表达式，便于与旧结果对照。它不代表浮点能力：那要看 cpu.flops。",
        },
        reading: Text {
            en: "The elements are independent, so the throughput of the division alone sets the pace.",
            zh: "各元素互不依赖，因此由除法的吞吐量决定快慢，表达式的其余部分都不显现。",
        },
        typical: Text {
            en: "The throughput of one division (uops.info): 3 core cycles for f32 and 4 for f64 on Intel since \
                 Skylake, 3 to 6 on AMD, 2 to 10 on Arm. Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, \
                 Linux 6.18): 3.1 and 4.0 cycles, 1.0 and 1.3 ns.",
            zh: "即一次除法的吞吐时间（uops.info）：Intel Skylake 以来 f32 为 3 个核心周期、f64 为 4 个，AMD 为 3 到 6，Arm 为 2 到 10。用 \
                 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：3.1 与 4.0 个周期，即 1.0 与 1.3 ns。",
        },
        causes: Text {
            en: "Much more than one division of cpu.throughput: an SMT sibling shares the divider. Right in cycles but \
                 wrong in time: the clock frequency.",
            zh: "比 cpu.throughput 的一次除法慢得多：SMT 兄弟线程共用除法器。周期数正确而时间不对：是频率。",
        },
    },
    related: &["cpu.flops", "cpu.latency", "cpu.throughput"],
    differs: Some(Text {
        en: "The same expression as lat_ops, but always in scalar instructions; lmbench's may become vectors, as the \
             compiler decides.",
        zh: "与 lat_ops 的表达式相同，但任何构建都用标量指令：lmbench 的是否变成向量全凭编译器。",
    }),
    axes: &[Axis::choice("type", "f64", Points::Listed { quick: &["f32", "f64"], standard: &[], thorough: &[] })],
    replaces: &["lat_ops"],
    core_bound: CoreBound::Yes,
    section: crate::section::CORE,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    match case.param::<String>("type")?.as_str() {
        "f32" => {
            let mut arrays = Arrays::<f32>::new();
            case.loops(|n| arrays.compute(n)).time()
        }
        _ => {
            let mut arrays = Arrays::<f64>::new();
            case.loops(|n| arrays.compute(n)).time()
        }
    }
}
