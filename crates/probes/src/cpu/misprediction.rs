//! Probe cpu.misprediction: what a branch costs that the core guessed wrongly.

use hostmark_engine::prelude::*;

/// Of branches that go either way at random, this share is guessed wrongly by whatever predictor.
const WRONG: f64 = 0.5;

pub static PROBE: Probe = Probe {
    title: Text { en: "Mispredicted branch", zh: "分支预测失败" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES, RANDOM, PREDICTED],
    explain: Explain {
        what: Text {
            en: "Computed from cpu.branch, round by round: the cost of a branch with a random pattern that no \
                 predictor can hold (pattern=1048576), less that of the same branch with an alternating pattern \
                 (pattern=2), divided by the half of the branches that are mispredicted. Both parts are shown too.",
            zh: "由 cpu.branch 逐轮得出：任何预测器都记不住的随机模式（pattern=1048576）下一次分支的代价，减去交替模式\
                 （pattern=2）下同一分支的代价，再除以其中预测失败的那一半分支。两个部分也一并列出。",
        },
        why: Text {
            en: "After a misprediction the core discards the work it has begun and fetches again. Searching, sorting, \
                 parsing and interpreting pay for it all the time. It decides whether a branch or a conditional move \
                 is faster.",
            zh: "猜错后核心要丢弃已开始的工作并重新取指：查找、排序、解析和解释执行一直在为此付出代价。它决定用分支快还是用条件传送快。",
        },
        reading: Text {
            en: "The cycles from the fetch of a wrong path to the first instruction of the right one; more with a \
                 deeper pipeline. A program pays more if the branch waits for a load that misses the caches, since all \
                 work on the wrong path is lost.",
            zh: "从错误的取指到第一条正确指令之间的周期。到分支单元的流水线越深越多。若分支要等待一次缓存未命中的加载，程序实际的代价更高，因为猜错之后的全部工作都白做了。",
        },
        typical: Text {
            en: "Agner Fog's microarchitecture guide has 15 to 20 cycles for Intel since Haswell and 18 for Zen; \
                 AMD's guide for Zen 3 11 to 18, mostly 13; Neoverse N1 has a pipeline of 11 stages. Measured with \
                 hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 20 cycles, 5 to 7 ns.",
            zh: "Agner Fog 的微架构手册：Haswell 以来的 Intel 为 15 到 20 个周期，Zen 为 18；AMD 的 Zen 3 指南为 11 到 18，多为 13；\
                 Neoverse N1 的流水线为 11 级。用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：20 个周期，5 到 7 \
                 ns。",
        },
        causes: Text {
            en: "A sibling thread that uses the front end meanwhile, or code that misses the micro-operation cache \
                 after each misprediction. As a difference of two cases it is as disturbed as the noisier one.",
            zh: "兄弟线程在此期间占用前端，或每次预测失败后微操作缓存未命中。它是两个用例之差，受扰程度等于噪声较大的\
                 那个。",
        },
    },
    related: &["cpu.branch", "cpu.latency"],
    section: crate::section::CORE,
    measure: Measure::Derive { from: &[Source::whole("cpu.branch")], derive },
    ..Probe::PLAIN
};

const RANDOM: Quantity = Quantity::given(
    "random",
    Unit::Nanoseconds,
    Better::Lower,
    Text { en: "a branch of random direction", zh: "随机方向的分支" },
);
const PREDICTED: Quantity = Quantity::given(
    "predicted",
    Unit::Nanoseconds,
    Better::Lower,
    Text { en: "a predicted branch", zh: "预测正确的分支" },
);

fn derive(cases: &[CaseRecord], _: &HostFacts) -> Vec<CaseRecord> {
    let measured = |pattern: &str| {
        let case = cases.iter().find(|case| case.params.get("pattern") == Some(pattern));
        case.and_then(CaseRecord::measured)
    };
    let (Some(random), Some(predicted)) = (measured(super::branch::UNKNOWABLE), measured(super::branch::ALTERNATING))
    else {
        return Vec::new();
    };
    let both = [random, predicted];
    let lost = |values: &[f64]| (values[0] - values[1]) / WRONG;
    let quiet = super::quiet_of(both.map(|source| (source, false)), lost);
    let values = (super::by_round(&both, lost), quiet);
    let mut record = super::derived("cpu.misprediction", Params::default(), &both, values, PROBE.better);
    if let Outcome::Measured(measured) = &mut record.outcome {
        let mut also = |name: &str, estimate: Estimate| measured.also.insert(name.to_owned(), Also { estimate });
        also(RANDOM.name, random.estimate.clone());
        also(PREDICTED.name, predicted.estimate.clone());
        // Each part in cycles of its own round's clock; what is quiet, in those of the clock that it is told at.
        if let Some(cycles) = super::cycles_by_round(&both, lost) {
            let at_the_clock = quiet.and_then(|quiet| {
                let ghz = quiet.at_hz? / 1e9;
                Some(quiet.map(|number| number * ghz))
            });
            also(Quantity::CORE_CYCLES.name, estimate(&cycles, 0.0, Better::Lower).led_by(at_the_clock));
        }
    }
    vec![record]
}

#[cfg(test)]
#[path = "misprediction_tests.rs"]
mod tests;
