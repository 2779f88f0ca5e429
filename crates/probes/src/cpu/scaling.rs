//! Probe cpu.scaling: how much more several copies of a probe get done than one, as the probes' `copies` axes show it.

use hostmark_engine::prelude::*;
mod line;
mod sources;
mod speed_up;

use line::{id, of_source, record};
use sources::{FROM, SOURCES};

/// The key of the number of copies that are not.
const WITHIN: &str = "within_5_percent";

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Ratio,
    better: Better::Higher,
    also: &[Quantity::given(WITHIN, Unit::Count, Better::Higher, term!("copies within 5 % of one"))],
    related: &["cpu.sieve", "cpu.frequency", "syscall.null", "memory.latency"],
    axes: &[
        Axis::choice("source", "syscall.null", Points::Listed { quick: SOURCES, standard: &[], thorough: &[] }),
        Axis::count("copies", "2", Points::Listed { quick: &["2"], standard: &[], thorough: &[] }),
    ],
    limit: Limit::Copies("copies"),
    section: crate::section::CORE,
    measure: Measure::Derive { from: FROM, derive },
    ..crate::texts::cpu::SCALING
};

fn derive(cases: &[CaseRecord], host: &HostFacts) -> Vec<CaseRecord> {
    let mut records: Vec<CaseRecord> = SOURCES.iter().flat_map(|source| of_source(cases, source)).collect();
    let default = id(SOURCES[0], 2);
    match records.iter().position(|record| record.id == default) {
        Some(index) => records[..=index].rotate_right(1),
        None => {
            let source = SOURCES[0];
            let (code, lack) = match host.usable_cpus().len() > 1 {
                true => (ReasonCode::MissingInput, say!("{source} was not measured with two copies")),
                false => (ReasonCode::TooFewCpus, say!("{source} needs two CPUs for two copies")),
            };
            let reason = code.because(lack);
            records.insert(0, record(SOURCES[0], 2, Outcome::Skipped { reason }));
        }
    }
    records
}

#[cfg(test)]
#[path = "scaling_tests.rs"]
mod tests;
