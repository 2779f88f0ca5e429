//! The plausibility gate: no number that physics forbids is reported as good.

mod bounds;
mod relations;

use hostmark_model::{CaseRecord, Flag, FlagKind, HostFacts, Outcome};
use hostmark_stats::order as stats;

use crate::plan::PlannedCase;

/// Marks every value of a run that physics forbids, by itself or beside others. `records`: those of the planned cases.
pub(crate) fn mark(cases: &[PlannedCase], records: &mut [CaseRecord], host: &HostFacts) {
    let highest_hz = records.iter().filter_map(core_hz).fold(0.0, f64::max);
    let found: Vec<Option<String>> = (cases.iter().zip(&*records))
        .map(|(case, record)| {
            let core_hz = core_hz(record).or((highest_hz > 0.0).then_some(highest_hz));
            bounds::broken(case.entry.probe, record.measured()?, &record.params, core_hz, host)
        })
        .collect();
    for (record, detail) in records.iter_mut().zip(found) {
        if let Some(detail) = detail {
            flag(record, detail);
        }
    }
    relations::mark(cases, records, host);
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
