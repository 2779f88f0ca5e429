//! Probe cpu.branch: what a conditional branch costs, by the length of the pattern that its directions repeat.

use hostmark_engine::prelude::*;

use crate::kernels::branch::BranchPattern;

/// The pattern of two directions in turn.
pub(super) const ALTERNATING: &str = "2";
/// A random pattern so long that no predictor holds it.
pub(super) const UNKNOWABLE: &str = "1048576";
/// Passes over a pattern before it is measured: what a predictor can learn of it, it has learnt by then.
const LESSONS: u64 = 16;

pub static PROBE: Probe = Probe {
    title: Text { en: "Branch", zh: "分支" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "A conditional branch in a loop follows the bytes of an array and jumps over one addition or not. The \
                 loop's own load, wrap and jump are part of the value. Each direction is loaded three branches ahead, \
                 so no prediction waits for it. pattern is the number of directions, drawn at random for each round \
                 and then repeated; the loop runs through it 16 times before measuring. pattern=2 alternates, in an \
                 array as long as the longest one, so memory costs the same.",
            zh: "循环中的一个条件分支按数组各字节的指示走，跳过一次加法或不跳过；循环自身的加载、回绕和跳转都计入数\
                 值。方向提前三次分支加载，预测不必等待它。pattern 是方向个数，每轮随机抽取，之后重复；测量前先走 16 \
                 遍。pattern=2 是两个方向交替，数组与最长者一样长，使内存代价相同。",
        },
        why: Text {
            en: "Branch predictors learn the history of branches, even of random ones that repeat. The length at which \
                 the cost rises shows how much history the core holds. Large interpreters and databases depend on it.",
            zh: "预测器会学习分支历史，即使是会重复的随机序列。代价开始上升的长度，说明核心能记住多少历史：大型解释器和数据库的快慢取决于此。",
        },
        reading: Text {
            en: "While the predictor knows the pattern, the loop runs at its own pace, as pattern=2 shows. With \
                 pattern=1048576 half of the predictions are wrong. The length in between at which the cost rises is \
                 the history that the predictor holds.",
            zh: "模式已知时循环按自身的节奏运行，见 pattern=2；pattern=1048576 时有一半猜错。两者之间代价开始上升的长度，就是预测器能记住的历史。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 3 core cycles per known \
                 branch and 13 to 15 per random one; the step lies between 2K and 4K directions (9 to 11 cycles at \
                 4096), as on Intel up to that design. Later Intel, AMD Zen and large Arm cores hold 10K to 40K (the \
                 predictors that Agner Fog's microarchitecture guide describes).",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：已知模式每分支 3 个核心周期，随机为 13 到 15，台阶在 2K 到 \
                 4K 个方向之间（4096 时 9 到 11 个周期），到这一代为止的 Intel 都如此。之后的 Intel、AMD Zen 和大型 Arm 核心可达 10K 到 40K（预测器\
                 见 Agner Fog 的微架构手册）。",
        },
        causes: Text {
            en: "An early or gradual step: a sibling thread shares the predictor, or it is flushed often (IBPB at \
                 switches between processes or guests, a busy host). A known pattern that costs over 4 cycles: the \
                 sibling shares the front end.",
            zh: "台阶过早或平缓：兄弟线程共用预测器，或预测器常被清空（进程或虚拟机切换时的 IBPB、宿主机繁忙）。已知模式超过 4 个周期：前端与兄弟线程共用。",
        },
    },
    related: &["cpu.misprediction", "cpu.sieve"],
    axes: &[Axis::count(
        "pattern",
        UNKNOWABLE,
        Points::Listed {
            quick: &[ALTERNATING, UNKNOWABLE],
            standard: &["1024", "2048", "4096", "8192", "16384", "32768", "65536", "131072", "262144"],
            thorough: &["1536", "3072", "6144", "12288", "24576", "49152"],
        },
    )],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    section: crate::section::CORE,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let length: u64 = case.param("pattern")?;
    case.may_fill(length)?;
    let longest = UNKNOWABLE.parse().unwrap_or(1 << 20);
    let mut pattern = match length {
        0..=2 => BranchPattern::alternating(longest),
        _ => BranchPattern::random(length as usize, case.seed()),
    };
    if length < longest as u64 {
        pattern.branch(LESSONS * length);
    }
    case.loops(|n| {
        std::hint::black_box(pattern.branch(n));
    })
    .time()
}
