//! Probe cpu.parallelism: how many operations of a kind the core has under way at once, from latency and throughput.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Operation parallelism", zh: "运算并行度" },
    revision: 1,
    unit: Unit::Ratio,
    better: Better::Higher,
    also: &[],
    explain: Explain {
        what: Text {
            en: "cpu.latency times cpu.throughput, round by round, for every operation that both have measured: by Little's \
                 law the number of operations that are under way at once.",
            zh: "对两者都测过的每种运算，逐轮取 cpu.latency 与 cpu.throughput 之积：按利特尔法则，即同时在执行的运算数。",
        },
        why: Text {
            en: "So many independent chains does a loop need to keep the core busy, and so many times faster is it than one \
                 chain: the number of accumulators to unroll a sum with.",
            zh: "循环需要这么多条独立的依赖链才能让核心忙满，也就比单条链快这么多倍：展开求和时该用的累加器个数。",
        },
        reading: Text {
            en: "4 to 6 for integer add, 3 for mul of most x86 cores, 8 for floating-point add and mul of Intel from Skylake to Ice Lake, \
                 6 to 16 elsewhere; 1 to 5 for divisions: near 1 says that a divider takes nothing new before it is done.",
            zh: "整数 add 为 4 到 6，多数 x86 核心的 mul 为 3，Intel 从 Skylake 到 Ice Lake 的浮点 add 与 mul 为 8，其他为 6 到 16；除法为 1 到 5：接近 1 \
                 说明除法器完成前不接受新的运算。",
        },
    },
    axes: &[super::TYPE, super::OP],
    cross: &[],
    limit: Limit::None,
    blocking: false,
    needs: &[],
    replaces: &["par_ops"],
    section: crate::section::CORE,
    measure: Measure::Derive { from: &[Source::whole("cpu.latency"), Source::whole("cpu.throughput")], derive },
};

fn derive(cases: &[CaseRecord], _: &HostFacts) -> Vec<CaseRecord> {
    let of = |probe: &str| cases.iter().filter(move |case| case.probe == probe).collect::<Vec<_>>();
    let throughputs = of("cpu.throughput");
    let both = of("cpu.latency").into_iter().filter_map(|latency| {
        let throughput = throughputs.iter().find(|case| case.params == latency.params)?;
        let (ns, rate) = (latency.measured()?, throughput.measured()?);
        let at_once = super::by_round(&[ns, rate], |values| values[0] / 1e9 * values[1]);
        Some(super::derived("cpu.parallelism", latency.params.clone(), &[ns, rate], at_once, PROBE.better))
    });
    both.collect()
}

#[cfg(test)]
#[path = "parallelism_tests.rs"]
pub(super) mod tests;
