//! The plausibility gate: no number that physics forbids is reported as good.

mod bounds;
mod relations;

use hostmark_model::{CaseRecord, Flag, FlagKind, HostFacts, Outcome};
use hostmark_stats::descriptive as stats;

use crate::probe::Entry;

/// Marks every value of a run that physics forbids, by itself or beside others. `entries`: the probe of each record.
pub(crate) fn mark(entries: &[Entry], records: &mut [CaseRecord], host: &HostFacts) {
    // A case's own clock may have been timed while others had the core, which makes any value of the case look too fast.
    let fastest_hz = records.iter().filter_map(core_hz).max_by(f64::total_cmp);
    let found: Vec<Option<String>> = (entries.iter().zip(&*records))
        .map(|(entry, record)| bounds::broken(entry.probe, record.measured()?, &record.params, fastest_hz, host))
        .collect();
    for (record, detail) in records.iter_mut().zip(found) {
        if let Some(detail) = detail {
            flag(record, detail);
        }
    }
    relations::mark(entries, records, host);
}

/// The core's frequency beside a value; none where threads that the gate knows nothing of did the work.
fn core_hz(record: &CaseRecord) -> Option<f64> {
    let of_rounds: Vec<f64> = record.measured()?.rounds.iter().filter_map(|round| round.core_hz).collect();
    stats::median(&of_rounds).filter(|&hz| hz > 0.0)
}

fn flag(record: &mut CaseRecord, detail: String) {
    remark(record, FlagKind::Implausible, detail);
}

fn remark(record: &mut CaseRecord, kind: FlagKind, detail: String) {
    if let Outcome::Measured(measured) = &mut record.outcome {
        measured.flags.push(Flag { kind, detail });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{PLAIN, host, planned_case, record};
    use crate::probe::{Limit, Probe};

    #[test]
    fn a_clock_that_others_spoilt_makes_no_value_impossible() {
        static CHAIN: Probe = Probe { limit: Limit::DramLatency, ..PLAIN };
        let cases = ["memory.latency@size=1", "memory.latency@size=2"].map(|id| planned_case(&CHAIN, id));
        let clocks = |hz: [f64; 2]| {
            let mut records = cases.clone().map(|case| record(&case.id.to_string(), &[1.0; 3]));
            for (record, hz) in records.iter_mut().zip(hz) {
                let Outcome::Measured(measured) = &mut record.outcome else { unreachable!() };
                measured.rounds = vec![crate::fixture::round_at(hz)];
            }
            mark(&cases.clone().map(|case| case.entry), &mut records, &host());
            records.map(|record| record.measured().unwrap().flags.len())
        };
        // 4 cycles at 4 GHz; one by a clock that had to wait for the core.
        assert_eq!(clocks([4e9, 1e9]), [0, 0]);
        if cfg!(target_arch = "x86_64") {
            assert_eq!(clocks([1e9, 1e9]), [1, 1]);
        }
    }
}
