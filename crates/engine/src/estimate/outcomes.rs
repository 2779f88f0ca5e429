//! From the record of a run to its cases: estimates, what physics forbids, what is computed from others. A run that has just
//! been measured and one that was recorded long ago come the same way.

use hostmark_model::{CaseRecord, HostFacts, LostRound, Outcome};

use crate::estimate;
use crate::estimate::core_width;
use crate::estimate::derived::derived;
use crate::estimate::gate;
use crate::estimate::quiet::CasePoint;
use crate::probe::{Entry, Limit, Measure};
use crate::record::{CaseRounds, Record};

/// What a record comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcomes {
    /// Every case, in the order of the run, a probe's default first.
    pub cases: Vec<CaseRecord>,
    /// The rounds that are in no samples of these.
    pub lost_rounds: Vec<LostRound>,
    /// The share of looks at a core in which another thread ran on it too; none where no round tells.
    pub core_shared: Option<f64>,
}

/// Gives samples the marks that follow from all rounds together: on a shared core, and beyond what a machine can do.
pub(crate) fn mark(mut record: Record) -> Record {
    core_width::judge(&mut record.cases, &record.host);
    record.cases.iter_mut().for_each(|case| gate::mark_samples(case, &record.host));
    record
}

/// How the cases of a marked record ended.
pub fn of(record: &Record) -> Outcomes {
    let of_case = |case| of_case(case, record.planned, &record.host);
    let cases = record.cases.iter().map(|case| case_record(case, of_case(case))).collect();
    judged(record, cases)
}

/// The same of what was estimated.
pub(crate) fn judged(record: &Record, mut measured: Vec<CaseRecord>) -> Outcomes {
    let entries: Vec<Entry> = record.cases.iter().map(|case| case.entry).collect();
    gate::mark(&entries, &mut measured, &record.host, &record.peers);
    let mut cases = Vec::new();
    for entry in &record.selected {
        match entry.probe.measure {
            Measure::Derive { from, derive } => {
                let of_source = |record: &&CaseRecord| from.iter().any(|source| source.probe == record.probe);
                let sources: Vec<CaseRecord> = measured.iter().filter(of_source).cloned().collect();
                let mut derived = derived(entry, || derive(&sources, &record.host));
                // Of others the sources were held to what physics allows.
                if matches!(entry.probe.limit, Limit::Copies(_)) {
                    gate::mark(&vec![*entry; derived.len()], &mut derived, &record.host, &record.peers);
                }
                cases.extend(derived);
            }
            Measure::Run(_) | Measure::Between { .. } => {
                let id = entry.id();
                cases.extend(measured.iter().filter(|record| record.probe == id).cloned());
            }
        }
    }
    let rounds = record.cases.iter().flat_map(|case| case.rounds.iter().filter_map(|round| round.sampled.as_ref()));
    let seen_hz = rounds.flat_map(|round| round.core_hz().into_iter().chain(round.noise.core_hz));
    gate::mark_clocks(&record.selected, &mut cases, seen_hz);
    let lost = record.cases.iter().zip(&measured).flat_map(|(case, record)| case.lost(record.measured()));
    let lost_rounds = lost.collect();
    Outcomes { cases, lost_rounds, core_shared: core_width::core_shared(&record.cases) }
}

/// How a case ended.
pub(crate) fn of_case(case: &CaseRounds, planned: u32, host: &HostFacts) -> Outcome {
    match &case.skip {
        Some(reason) => Outcome::Skipped { reason: reason.clone() },
        None => {
            let place = CasePoint { params: &case.id.params, host };
            estimate::outcome(&case.entry, place, &case.rounds, planned)
        }
    }
}

pub(crate) fn case_record(case: &CaseRounds, outcome: Outcome) -> CaseRecord {
    CaseRecord { id: case.id.to_string(), probe: case.id.probe.clone(), params: case.id.params.clone(), outcome }
}
