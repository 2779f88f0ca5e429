//! Outcomes of a run's record, new or recorded long ago: estimates, checks against physics, and computed values.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hostmark_model::{
    CaseId, CaseRecord, Gap, HostFacts, LostRound, Measured, Outcome, Params, Reason, ReasonCode, Run, Text,
};
use hostmark_say::say;

use crate::estimate::quiet::CasePoint;
use crate::estimate::{self, core_width, gate};
use crate::probe::{Catalogue, Entry, Limit, Measure, find};
use crate::record::journal::PastRound;
use crate::record::{CaseRounds, Record, Round};
use crate::round_error::panicked;

/// Cases computed from a record.
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

/// Computes how the cases of a marked record ended.
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

/// The records of a derived probe: however its function ends, there is at least one, and every number is finite.
pub(crate) fn derived(entry: &Entry, derive: impl FnOnce() -> Vec<CaseRecord>) -> Vec<CaseRecord> {
    let whole = |outcome: Outcome| {
        let id = CaseId { probe: entry.id(), params: entry.default_params() };
        vec![CaseRecord { id: id.to_string(), probe: id.probe, params: id.params, outcome }]
    };
    let mut records = match catch_unwind(AssertUnwindSafe(derive)) {
        Ok(records) if records.is_empty() => {
            return whole(Outcome::Skipped {
                reason: ReasonCode::MissingInput.because(say!("needs other cases, which were not measured")),
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

/// A case of a run file, as far as it can be estimated again.
struct Filed<'a> {
    rounds: CaseRounds,
    stored: &'a CaseRecord,
    /// True where it can be computed; otherwise the case stays as it was.
    is_whole: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lack {
    Imported,
    Probe,
    Fit,
    Others,
}

impl Lack {
    fn text(self) -> Text<String> {
        let text = match self {
            Lack::Imported => term!("another tool measured this: the case stands as it was"),
            Lack::Probe => term!(
                "this hostmark has no probe of this name and revision, or not all that it is computed from: the case stands as it was"
            ),
            Lack::Fit => term!("the file's samples and rounds do not fit each other: the case stands as it was"),
            Lack::Others => {
                term!("a journal does not tell what others used of the CPUs: no round is marked as contended")
            }
        };
        text.to_owned_text()
    }
}

/// The cases with each lack, in order.
#[derive(Default)]
struct Gaps(Vec<(Lack, String)>);

impl Gaps {
    fn add(&mut self, lack: Lack, case: &str) {
        self.0.push((lack, case.to_owned()));
    }

    fn by_lack(mut self) -> Vec<Gap> {
        self.0.sort_by_key(|(lack, _)| *lack);
        let of_lack = |group: &[(Lack, String)]| Gap {
            what: group[0].0.text(),
            cases: group.iter().map(|(_, case)| case.clone()).collect(),
        };
        self.0.chunk_by(|one, other| one.0 == other.0).map(of_lack).collect()
    }
}

/// The probes of a run that mean the same in this catalogue, each with what it is computed from.
fn known(catalogue: Catalogue, run: &Run) -> Vec<Entry> {
    let same: Vec<Entry> = run
        .probes
        .iter()
        .filter_map(|info| find(catalogue, &info.id).filter(|entry| entry.probe.revision == info.revision))
        .filter(|_| run.imported.is_none())
        .collect();
    let is_there = |probe: &str| run.probes.iter().any(|info| info.id == probe);
    let is_same = |probe: &str| same.iter().any(|entry| entry.id() == probe);
    let has_sources = |entry: &&Entry| match entry.probe.measure {
        Measure::Derive { from, .. } => from.iter().all(|source| !is_there(source.probe) || is_same(source.probe)),
        Measure::Run(_) | Measure::Between { .. } => true,
    };
    same.iter().filter(has_sources).copied().collect()
}

fn record(run: &Run, selected: Vec<Entry>, cases: Vec<CaseRounds>) -> Record {
    let (host, peers) = (run.host.clone(), run.peers.clone());
    mark(Record { seed: run.settings.seed, planned: run.settings.rounds, host, peers, selected, cases })
}

/// The outcomes of a run whose file this is, and what could not be made again.
pub fn of_run(catalogue: Catalogue, run: &Run) -> (Outcomes, Vec<Gap>) {
    let known = known(catalogue, run);
    let entry_of = |probe: &str| known.iter().find(|entry| entry.id() == probe).copied();
    let mut lost: HashMap<&str, Vec<&LostRound>> = HashMap::new();
    run.lost_rounds.iter().for_each(|round| lost.entry(&round.case).or_default().push(round));
    let unknown = if run.imported.is_some() { Lack::Imported } else { Lack::Probe };
    let mut gaps = Gaps::default();
    let mut filed = Vec::new();
    for stored in &run.cases {
        // What is computed from others has no rounds of its own in any file.
        match entry_of(&stored.probe).filter(|entry| entry.probe.measure.in_worker().is_some()) {
            Some(entry) => filed.push(case(entry, stored, lost.remove(&*stored.id).unwrap_or_default())),
            None if entry_of(&stored.probe).is_none() => gaps.add(unknown, &stored.id),
            None => {}
        }
    }
    let record = record(run, known.clone(), filed.iter().map(|filed| filed.rounds.clone()).collect());
    let rounds_of = filed.iter().zip(&record.cases);
    let estimated = rounds_of.map(|(filed, case)| case_record(case, again(filed, case, &record))).collect();
    let Outcomes { cases, lost_rounds, core_shared } = judged(&record, estimated);
    let mut made: HashMap<&str, Vec<CaseRecord>> = HashMap::new();
    for entry in &known {
        let id = entry.id();
        let of_probe = cases.iter().filter(|case| case.probe == id).cloned().collect();
        if let Some(info) = run.probes.iter().find(|info| info.id == id) {
            made.insert(&info.id, of_probe);
        }
    }
    for Filed { stored, .. } in filed.iter().filter(|filed| !filed.is_whole) {
        gaps.add(Lack::Fit, &stored.id);
        // What stands as it was has the marks of the gate already.
        if let Some(case) = made.get_mut(&*stored.probe).into_iter().flatten().find(|case| case.id == stored.id) {
            case.clone_from(stored);
        }
    }
    let mut all = Vec::new();
    for probe in run.cases.chunk_by(|one, other| one.probe == other.probe) {
        match entry_of(&probe[0].probe) {
            Some(_) => all.extend(made.remove(&*probe[0].probe).unwrap_or_default()),
            None => all.extend(probe.iter().cloned()),
        }
    }
    let stay = run.lost_rounds.iter().filter(|round| lost.contains_key(&*round.case)).cloned();
    let lost_rounds = lost_rounds.into_iter().chain(stay).collect();
    (Outcomes { cases: all, lost_rounds, core_shared }, gaps.by_lack())
}

fn case<'a>(entry: Entry, stored: &'a CaseRecord, lost: Vec<&LostRound>) -> Filed<'a> {
    let id = CaseId { probe: stored.probe.clone(), params: stored.params.clone() };
    let sampled = match &stored.outcome {
        Outcome::Measured(measured) => of_file(measured),
        Outcome::Failed { .. } if lost.is_empty() => None,
        Outcome::Skipped { .. } | Outcome::Failed { .. } => Some(Vec::new()),
    };
    let skip = match &stored.outcome {
        Outcome::Skipped { reason } if lost.is_empty() => Some(reason.clone()),
        _ => None,
    };
    let is_whole = sampled.is_some();
    let rounds = sampled.into_iter().flatten().chain(lost.into_iter().map(Round::lost)).collect();
    Filed { rounds: CaseRounds { entry, id, rounds, skip }, stored, is_whole }
}

/// The rounds that have samples; none where the file contradicts itself.
fn of_file(measured: &Measured) -> Option<Vec<Round>> {
    let Measured { rounds, samples, histogram, notes, .. } = measured;
    let fit = !rounds.is_empty() && rounds.len() == samples.len();
    let filed = rounds.iter().zip(samples).map(|(round, samples)| Round::filed(round, samples, histogram.as_ref()));
    let mut filed: Vec<Round> = filed.collect::<Option<_>>().filter(|_| fit)?;
    // The notes of all rounds stand together.
    filed[0].notes = notes.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    Some(filed)
}

/// The outcome of a case, made again where its rounds carry it.
fn again(filed: &Filed, judged: &CaseRounds, record: &Record) -> Outcome {
    match filed.is_whole {
        true => of_case(judged, record.planned, &record.host),
        false => filed.stored.outcome.clone(),
    }
}

/// The outcomes of a run whose journal has these planned cases and these rounds. `skip`: why a case was not to be measured.
pub fn of_journal(
    catalogue: Catalogue,
    run: &Run,
    planned: &[String],
    rounds: Vec<PastRound>,
    skip: impl Fn(&str) -> Option<Reason>,
) -> (Outcomes, Vec<Gap>) {
    let known = known(catalogue, run);
    let mut of_case: HashMap<String, Vec<Round>> = HashMap::new();
    for past in rounds {
        of_case.entry(past.case).or_default().push(Round::of(past.round));
    }
    let (mut gaps, mut cases, mut unknown) = (Gaps::default(), Vec::new(), Vec::new());
    for id in planned {
        let parsed = id.parse::<CaseId>().ok();
        let entry = parsed.as_ref().and_then(|id| known.iter().find(|entry| entry.id() == id.probe));
        let rounds = of_case.remove(id).unwrap_or_default();
        match parsed.zip(entry) {
            Some((id, &entry)) => {
                if !rounds.is_empty() {
                    gaps.add(Lack::Others, &id.to_string());
                }
                let without = || rounds.is_empty().then(|| ReasonCode::Interrupted.because(say!("interrupted")));
                let skip = skip(&id.to_string()).or_else(without);
                cases.push(CaseRounds { entry, id, rounds, skip });
            }
            None => unknown.push(id.clone()),
        }
    }
    let mut made = of(&record(run, known, cases));
    for id in unknown {
        gaps.add(Lack::Probe, &id);
        made.cases.push(without_probe(id));
    }
    (made, gaps.by_lack())
}

/// A case that was planned by a hostmark that had its probe.
fn without_probe(id: String) -> CaseRecord {
    let CaseId { probe, params } =
        id.parse().unwrap_or_else(|_| CaseId { probe: id.clone(), params: Params::default() });
    let outcome = Outcome::Skipped {
        reason: ReasonCode::UnknownProbe.because(say!("this hostmark has no probe of this name and revision")),
    };
    CaseRecord { id, probe, params, outcome }
}

#[cfg(test)]
#[path = "outcomes_tests.rs"]
mod tests;
