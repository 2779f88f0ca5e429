//! Probes that are computed from what others measured.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hostmark_model::{CaseId, CaseRecord, Outcome, ReasonCode};
use hostmark_say::say;

use crate::estimate;
use crate::probe::Entry;
use crate::round_error::panicked;

/// The records of a derived probe: however its function ends, there is at least one, and every number is finite.
pub(crate) fn derived(entry: &Entry, derive: impl FnOnce() -> Vec<CaseRecord>) -> Vec<CaseRecord> {
    let whole = |outcome: Outcome| {
        let id = CaseId { probe: entry.id(), params: entry.default_params() };
        vec![CaseRecord { id: id.to_string(), probe: id.probe, params: id.params, outcome }]
    };
    let mut records = match catch_unwind(AssertUnwindSafe(derive)) {
        Ok(records) if records.is_empty() => {
            return whole(Outcome::Skipped {
                reason: ReasonCode::MissingInput.because(say!("the input cases do not suffice to compute this")),
            });
        }
        Ok(records) => records,
        Err(panic) => return whole(Outcome::Failed { reason: panicked(&*panic) }),
    };
    for record in &mut records {
        if let Outcome::Measured(measured) = &mut record.outcome {
            // Its rounds are those of its sources, which have this.
            measured.rounds.iter_mut().for_each(|round| round.raw = None);
        }
        if record.measured().is_some_and(|measured| !estimate::is_finite(measured)) {
            record.outcome =
                Outcome::Failed { reason: ReasonCode::NoValue.because(say!("it came to no finite value")) };
        }
    }
    records
}
