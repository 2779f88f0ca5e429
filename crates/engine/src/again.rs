//! Outcomes made again: from the file of a run, as far as it carries what they are made of, or from its journal.

use std::collections::HashMap;

use hostmark_model::{
    CaseId, CaseRecord, Estimate, FlagKind, Gap, IntervalMethod, LostRound, Measured, Outcome, Params, Run, Text,
};
use hostmark_stats::descriptive as stats;

use crate::journal::PastRound;
use crate::outcomes::{self, Outcomes};
use crate::probe::{Catalogue, Entry, Limit, Measure, find};
use crate::quiet::Clocks;
use crate::record::{CaseRounds, Record, Round};

/// A case of a run file, as far as it can be estimated again.
struct Filed<'a> {
    rounds: CaseRounds,
    stored: &'a CaseRecord,
    /// What of it stands as it was.
    lacks: Vec<Lack>,
}

/// What a record lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lack {
    Imported,
    Probe,
    Fit,
    Rounds,
    Resolution,
    Further,
    Others,
}

impl Lack {
    /// Whether nothing of the case can be made again.
    fn is_whole(self) -> bool {
        matches!(self, Lack::Imported | Lack::Probe | Lack::Fit | Lack::Rounds)
    }

    fn text(self) -> Text<String> {
        let (en, zh) = match self {
            Lack::Imported => {
                ("another tool measured this: the case stands as it was", "由其他工具测得：该用例保持原样")
            }
            Lack::Probe => (
                "this hostmark has no probe of this name and revision, or not all that it is computed from: the case stands \
                 as it was",
                "本版 hostmark 没有该名称和修订号的探针，或缺少其计算所依据的探针：该用例保持原样",
            ),
            Lack::Fit => (
                "the file's samples and rounds do not fit each other: the case stands as it was",
                "文件中的样本与轮次不相符：该用例保持原样",
            ),
            Lack::Rounds => (
                "the file has none of the case's rounds: its outcome stands as it was",
                "文件中没有该用例的轮次：其结果保持原样",
            ),
            Lack::Resolution => (
                "the file lacks the clock's resolution, and each round's waits, switches and faults: the interval stands as \
                 it was, or is left out where the value has changed",
                "文件缺少时钟分辨率以及每轮的等待、切换和缺页次数：区间保持原样；数值有变的，不给出区间",
            ),
            Lack::Further => (
                "the file lacks what each round gave of further quantities and percentiles: these stand as they were",
                "文件缺少每轮的其他量和分位数的原始数据：它们保持原样",
            ),
            Lack::Others => (
                "a journal does not tell what others used of the CPUs: no round is marked as contended",
                "日志不记录他人占用 CPU 的情况：不标记受争用的轮次",
            ),
        };
        Text { en: en.into(), zh: zh.into() }
    }
}

/// The cases with each lack, in order.
#[derive(Default)]
struct Gaps(Vec<(Lack, String)>);

impl Gaps {
    fn add(&mut self, lack: Lack, case: &str) {
        self.0.push((lack, case.to_owned()));
    }

    fn told(mut self) -> Vec<Gap> {
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
    Record { seed: run.settings.seed, planned: run.settings.rounds, host: run.host.clone(), selected, cases }
}

/// The outcomes of a run whose file this is, and what could not be made again.
pub fn of_run(catalogue: Catalogue, run: &Run) -> (Outcomes, Vec<Gap>) {
    let known = known(catalogue, run);
    let entry_of = |probe: &str| known.iter().find(|entry| entry.id() == probe).copied();
    // What is computed from others has no rounds of its own in any file.
    let of_workers = run
        .cases
        .iter()
        .filter(|case| entry_of(&case.probe).is_some_and(|entry| entry.probe.measure.in_worker().is_some()));
    let is_old = of_workers.filter_map(CaseRecord::measured).any(is_without_raw);
    let mut lost: HashMap<&str, Vec<&LostRound>> = HashMap::new();
    run.lost_rounds.iter().for_each(|round| lost.entry(&round.case).or_default().push(round));
    let unknown = if run.imported.is_some() { Lack::Imported } else { Lack::Probe };
    let mut gaps = Gaps::default();
    let mut filed = Vec::new();
    for stored in &run.cases {
        match entry_of(&stored.probe).filter(|entry| entry.probe.measure.in_worker().is_some()) {
            Some(entry) => filed.push(case(entry, stored, lost.remove(&*stored.id).unwrap_or_default(), is_old)),
            None if entry_of(&stored.probe).is_none() => gaps.add(unknown, &stored.id),
            None => {}
        }
    }
    let record = record(run, known.clone(), filed.iter().map(|filed| filed.rounds.clone()).collect());
    let clocks = Clocks::of_run(&record.host, &record.cases);
    let again = |filed: &Filed| again(filed, &record, &clocks);
    let estimated = filed.iter().map(|filed| outcomes::case_record(&filed.rounds, again(filed))).collect();
    let Outcomes { cases, lost_rounds } = outcomes::judged(&record, estimated);
    let mut made: HashMap<&str, Vec<CaseRecord>> = HashMap::new();
    for entry in &known {
        let id = entry.id();
        let of_probe = cases.iter().filter(|case| case.probe == id).cloned().collect();
        if let Some(info) = run.probes.iter().find(|info| info.id == id) {
            made.insert(&info.id, of_probe);
        }
    }
    for Filed { stored, lacks, .. } in &filed {
        lacks.iter().for_each(|lack| gaps.add(*lack, &stored.id));
        // What stands as it was has the marks of the gate already.
        if lacks.iter().any(|lack| lack.is_whole())
            && let Some(case) = made.get_mut(&*stored.probe).into_iter().flatten().find(|case| case.id == stored.id)
        {
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
    (Outcomes { cases: all, lost_rounds }, gaps.told())
}

/// Whether a round of a measurement lacks what only newer files have.
fn is_without_raw(measured: &Measured) -> bool {
    measured.rounds.iter().any(|round| round.raw.is_none())
}

/// A case of a run file.
fn case<'a>(entry: Entry, stored: &'a CaseRecord, lost: Vec<&LostRound>, is_old: bool) -> Filed<'a> {
    let id = CaseId { probe: stored.probe.clone(), params: stored.params.clone() };
    let (mut rounds, mut lacks) = (Vec::new(), Vec::new());
    let mut skip = None;
    match &stored.outcome {
        Outcome::Measured(measured) => match of_file(measured) {
            Some(filed) => {
                rounds = filed;
                if is_without_raw(measured) {
                    lacks.push(Lack::Resolution);
                    let is_further = |name: &String| !is_of_value(&entry, name);
                    lacks.extend(measured.also.keys().any(is_further).then_some(Lack::Further));
                    rounds.extend(abstentions(measured));
                }
            }
            None => lacks.push(Lack::Fit),
        },
        Outcome::Failed { .. } if lost.is_empty() => lacks.push(Lack::Rounds),
        Outcome::Skipped { .. } if lost.is_empty() && is_old && is_voted(&entry) => lacks.push(Lack::Rounds),
        Outcome::Skipped { reason } if lost.is_empty() => skip = Some(reason.clone()),
        Outcome::Skipped { .. } | Outcome::Failed { .. } => {}
    }
    rounds.extend(lost.into_iter().map(Round::lost));
    Filed { rounds: CaseRounds { entry, id, rounds, skip }, stored, lacks }
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

fn is_voted(entry: &Entry) -> bool {
    matches!(entry.probe.limit, Limit::Voted | Limit::PowerOfTwo)
}

/// Whether a quantity is made of the value and the core's frequency alone.
fn is_of_value(entry: &Entry, name: &str) -> bool {
    entry.probe.also.iter().any(|quantity| quantity.name == name && quantity.is_of_value())
}

/// The rounds of a vote that abstained, of which an older file has only the share of those that agreed.
fn abstentions(measured: &Measured) -> Vec<Round> {
    let Some(agreement) = measured.estimate.agreement.filter(|agreement| *agreement > 0.0) else { return Vec::new() };
    let votes = measured.samples.iter().filter_map(|samples| stats::mode(samples));
    let agreeing = votes.filter(|vote| *vote == measured.estimate.median).count() as f64;
    // A run has some rounds of a case, and no more.
    let all = (agreeing / agreement).round().min(1e3) as usize;
    (measured.rounds.len()..all).map(|round| Round::empty(round as u32)).collect()
}

/// The outcome of a case, made again as far as its rounds carry it.
fn again(filed: &Filed, record: &Record, clocks: &Clocks) -> Outcome {
    let Filed { rounds, stored, lacks } = filed;
    if lacks.iter().any(|lack| lack.is_whole()) {
        return stored.outcome.clone();
    }
    let mut outcome = outcomes::of_case(rounds, record.planned, &record.host, clocks);
    if let (Outcome::Measured(fresh), Outcome::Measured(stored)) = (&mut outcome, &stored.outcome)
        && lacks.contains(&Lack::Resolution)
    {
        complete(&rounds.entry, fresh, stored);
    }
    outcome
}

/// Completes an estimate whose rounds lack some of what it is made of by what was estimated when they had it.
fn complete(entry: &Entry, fresh: &mut Measured, stored: &Measured) {
    keep_interval(&mut fresh.estimate, &stored.estimate);
    fresh.also.retain(|name, _| is_of_value(entry, name));
    for (name, also) in &mut fresh.also {
        match stored.also.get(name) {
            Some(stored) => keep_interval(&mut also.estimate, &stored.estimate),
            None => leave_out_interval(&mut also.estimate),
        }
    }
    for (name, also) in &stored.also {
        fresh.also.entry(name.clone()).or_insert_with(|| also.clone());
    }
    fresh.histogram.clone_from(&stored.histogram);
    for (fresh, stored) in fresh.rounds.iter_mut().zip(&stored.rounds) {
        fresh.raw.clone_from(&stored.raw);
    }
    let noise = &stored.noise;
    fresh.noise.run_delay_ns = noise.run_delay_ns;
    fresh.noise.involuntary_switches = noise.involuntary_switches;
    fresh.noise.faults = noise.faults;
    let is_resolved = |kind: FlagKind| kind != FlagKind::UnderResolution;
    fresh.flags.retain(|flag| is_resolved(flag.kind));
    for (place, flag) in stored.flags.iter().enumerate().filter(|(_, flag)| !is_resolved(flag.kind)) {
        fresh.flags.insert(place.min(fresh.flags.len()), flag.clone());
    }
}

/// Keeps the interval of a value that has not changed. Another value's cannot be told without the clock's resolution.
fn keep_interval(fresh: &mut Estimate, stored: &Estimate) {
    let is_same = fresh.median == stored.median && (fresh.n, fresh.rounds) == (stored.n, stored.rounds);
    match is_same {
        true => (fresh.ci_low, fresh.ci_high, fresh.method) = (stored.ci_low, stored.ci_high, stored.method),
        false => leave_out_interval(fresh),
    }
    // What it was without, or had by what the file lacks now.
    (fresh.quiet, fresh.leading, fresh.range) = (stored.quiet, stored.leading, stored.range);
}

fn leave_out_interval(fresh: &mut Estimate) {
    (fresh.ci_low, fresh.ci_high, fresh.method) = (None, None, IntervalMethod::None);
}

/// The outcomes of a run whose journal has these planned cases and these rounds. `skip`: why a case was not to be measured.
pub fn of_journal(
    catalogue: Catalogue,
    run: &Run,
    planned: &[String],
    rounds: Vec<PastRound>,
    skip: impl Fn(&str) -> Option<String>,
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
                let without = || rounds.is_empty().then(|| "interrupted".to_owned());
                let skip = skip(&id.to_string()).or_else(without);
                cases.push(CaseRounds { entry, id, rounds, skip });
            }
            None => unknown.push(id.clone()),
        }
    }
    let mut made = outcomes::of(&record(run, known, cases));
    for id in unknown {
        gaps.add(Lack::Probe, &id);
        made.cases.push(without_probe(id));
    }
    (made, gaps.told())
}

/// A case that was planned by a hostmark that had its probe.
fn without_probe(id: String) -> CaseRecord {
    let CaseId { probe, params } =
        id.parse().unwrap_or_else(|_| CaseId { probe: id.clone(), params: Params::default() });
    let outcome = Outcome::Skipped { reason: "this hostmark has no probe of this name and revision".into() };
    CaseRecord { id, probe, params, outcome }
}

#[cfg(test)]
#[path = "again_tests.rs"]
mod tests;
