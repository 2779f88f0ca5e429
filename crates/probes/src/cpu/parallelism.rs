//! Probe cpu.parallelism: how many operations of a kind the core has under way at once, from latency and throughput.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    title: Text { en: "Operation parallelism", zh: "运算并行度" },
    revision: 1,
    unit: Unit::Ratio,
    better: Better::Higher,
    explain: Explain {
        what: Text {
            en: "cpu.latency times cpu.throughput, round by round, for every operation that both have measured. By \
                 Little's law this is the number of operations in flight.",
            zh: "对两者都测过的每种运算，逐轮取 cpu.latency 与 cpu.throughput 之积：按利特尔法则，即同时在执行的运算数。",
        },
        why: Text {
            en: "A loop needs this many independent chains to keep the core busy, and is then this many times faster \
                 than one chain. It is the number of accumulators with which to unroll a sum.",
            zh: "循环需要这么多条独立的依赖链才能让核心忙满，也就比单条链快这么多倍：展开求和时该用的累加器个数。",
        },
        reading: Text {
            en: "A sum needs this many accumulators. Near 1 a unit, mostly a divider, accepts nothing new until it is \
                 done.",
            zh: "求和需要这么多个累加器。接近 1 说明该单元（多为除法器）完成之前不接受新的运算。",
        },
        typical: Text {
            en: "Latency times throughput of the published tables (uops.info): integer add 4 to 6, mul of most x86 \
                 cores 3, floating-point add and mul 8 on Intel from Skylake to Ice Lake, 6 to 16 elsewhere, \
                 divisions 1 to 5. Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): add 4.0, \
                 mul 3.0, i64 div 1.75, f64 add 8.",
            zh: "按公开指令表（uops.info）的延迟乘以吞吐量：整数 add 4 到 6，多数 x86 核心的 mul 3，浮点 add 与 mul 在 Intel 从 Skylake 到 \
                 Ice Lake 为 8，其他 6 到 16，除法 1 到 5。用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：add \
                 4.0，mul 3.0，i64 div 1.75，f64 add 8。",
        },
        causes: Text {
            en: "It is a product of two probes: if it is off, one of them was disturbed. A busy SMT sibling halves the \
                 throughput but not the latency, and so halves this value.",
            zh: "它由两个探针相乘而得：若不对，必有其一受扰。繁忙的 SMT 兄弟线程使吞吐量减半而延迟不变，此值因而也减半。",
        },
    },
    related: &["cpu.latency", "cpu.throughput", "memory.parallelism"],
    differs: Some(Text {
        en: "par_ops searches for the number of chains beyond which C code gains no more. Little's law gives the same \
             number from two instruction-level probes, without a search and without the compiler.",
        zh: "par_ops 搜索 C 代码不再变快时的链数。利特尔法则从两个指令级探针得出同样的数，既不必搜索，也不经过编译器。",
    }),
    axes: &[super::TYPE, super::OP],
    replaces: &["par_ops"],
    section: crate::section::CORE,
    measure: Measure::Derive { from: &[Source::whole("cpu.latency"), Source::whole("cpu.throughput")], derive },
    ..Probe::PLAIN
};

fn derive(cases: &[CaseRecord], _: &HostFacts) -> Vec<CaseRecord> {
    let of = |probe: &str| cases.iter().filter(move |case| case.probe == probe).collect::<Vec<_>>();
    let throughputs = of("cpu.throughput");
    let both = of("cpu.latency").into_iter().filter_map(|latency| {
        let throughput = throughputs.iter().find(|case| case.params == latency.params)?;
        let (ns, rate) = (latency.measured()?, throughput.measured()?);
        let product = |values: &[f64]| values[0] / 1e9 * values[1];
        let at_once = (super::by_round(&[ns, rate], product), super::quiet_of([(ns, false), (rate, true)], product));
        Some(super::derived("cpu.parallelism", latency.params.clone(), &[ns, rate], at_once, PROBE.better))
    });
    both.collect()
}

#[cfg(test)]
#[path = "parallelism_tests.rs"]
pub(super) mod tests;
