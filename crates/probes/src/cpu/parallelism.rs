//! Probe cpu.parallelism: how many operations of a kind the core has under way at once, from latency and throughput.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    unit: Unit::Ratio,
    better: Better::Higher,
    axes: &[super::TYPE, super::OP],
    measure: Measure::Derive { from: &[Source::whole("cpu.latency"), Source::whole("cpu.throughput")], derive },
    ..crate::texts::cpu::PARALLELISM
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
