//! Record of a run's cases: their rounds, from which alone outcomes are computed, now or later.

pub(crate) mod contention;
pub(crate) mod journal;

use std::collections::BTreeMap;

use hostmark_model::{
    CaseId, Event, FarUsage, Histogram, HostFacts, LostRound, Measured, Others, Peer, Raw, Reason, RoundNoise,
    RoundRecord,
};
use hostmark_stats::descriptive as stats;

use crate::probe::Entry;
use crate::sampling::sample;

#[derive(Debug, Clone, PartialEq)]
pub struct RoundResult {
    /// Number of the round, from 0.
    pub round: u32,
    pub cpus: Vec<usize>,
    pub events: Vec<Event>,
    /// CPU time that others used on its CPUs; `None` where unknown.
    pub others: Option<Others>,
}

/// Everything that the outcomes of a run's cases are made of.
#[derive(Clone)]
pub struct Record {
    pub seed: u64,
    /// Rounds that a case was to have.
    pub planned: u32,
    pub host: HostFacts,
    /// The other machines that took part, with the ways between.
    pub peers: Vec<Peer>,
    /// Every probe that was selected, in the order of the run.
    pub selected: Vec<Entry>,
    /// The cases that were measured in workers, those of a probe beside each other.
    pub cases: Vec<CaseRounds>,
}

#[derive(Clone)]
pub struct CaseRounds {
    pub entry: Entry,
    pub id: CaseId,
    pub rounds: Vec<Round>,
    /// Reason why it has no value: it was not measured.
    pub skip: Option<Reason>,
}

/// A round as estimates are made of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Round {
    /// Number of the round, from 0.
    pub round: u32,
    pub cpus: Vec<usize>,
    /// CPU time that others used on its CPUs; `None` where unknown.
    pub others: Option<Others>,
    pub failed: Option<Reason>,
    pub skipped: Option<Reason>,
    pub sampled: Option<Sampled>,
    /// Notes on how it was measured, in order.
    pub notes: Vec<(String, String)>,
    pub far: Vec<FarUsage>,
    /// Events from its worker, where they are still there.
    events: Vec<Event>,
}

/// The values of a round, and what was seen beside them.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampled {
    /// The value of each sample: at least one, all finite.
    pub values: Vec<f64>,
    pub disturbance_flags: Vec<u8>,
    /// Iterations of each; one number where all have the same.
    pub iterations: Vec<u64>,
    /// Bytes or operations an iteration; 0 of a time.
    pub amount: u64,
    /// The median of their times, ns.
    pub sample_ns: f64,
    pub noise: RoundNoise,
    /// Every operation, where single ones were timed.
    pub histogram: Option<Histogram>,
    /// Values of further quantities that the probe gave.
    pub also: BTreeMap<String, Vec<f64>>,
}

impl Round {
    /// A round of this run, or of its journal.
    pub fn of(result: RoundResult) -> Round {
        let RoundResult { round, cpus, events, others } = result;
        let mut own = Round { round, cpus, others, sampled: sampled(&events), ..Round::default() };
        for event in &events {
            match event {
                Event::Failed { reason } => own.failed = own.failed.or_else(|| Some(reason.clone())),
                Event::Skipped { reason } => own.skipped = own.skipped.or_else(|| Some(reason.clone())),
                Event::Note { key, value } => own.notes.push((key.clone(), value.clone())),
                Event::Served(usage) => own.far.push(*usage),
                _ => {}
            }
        }
        Round { events, ..own }
    }

    /// A round of a run file, with these samples and the histogram of its case. None where it is contradictory or incomplete.
    pub(crate) fn filed(record: &RoundRecord, samples: &[f64], histogram: Option<&Histogram>) -> Option<Round> {
        let is_usable = !samples.is_empty() && samples.len() == record.disturbance_flags.len();
        let raw = record.raw.clone()?;
        let noise = RoundNoise {
            core_hz: record.core_hz,
            core_khz: raw.core_khz,
            looks: raw.looks,
            shared: record.shared,
            resolution_ns: raw.resolution_ns,
            clock_cost_ns: raw.clock_cost_ns,
            settled: record.settled,
            iterations: record.iterations,
            run_delay_ns: raw.run_delay_ns,
            waited: record.waited,
            steal_ns: record.steal_ns,
            throttled: record.throttled,
            involuntary_switches: raw.involuntary_switches,
            faults: raw.faults,
            time: None,
        };
        let sampled = Sampled {
            values: samples.to_vec(),
            disturbance_flags: record.disturbance_flags.clone(),
            iterations: raw.iterations,
            amount: raw.amount,
            sample_ns: raw.sample_ns,
            noise,
            histogram: histogram.and_then(|all| part(all, &raw.counts)),
            also: raw.also,
        };
        let (round, cpus, others, far) = (record.round, record.cpus.clone(), record.others, record.far.clone());
        is_usable.then(|| Round { round, cpus, others, far, sampled: Some(sampled), ..Round::default() })
    }

    /// A round of a run file whose case has no value, or that has none beside others.
    pub(crate) fn lost(round: &LostRound) -> Round {
        let LostRound { round, cpus, others, events, .. } = round.clone();
        Round::of(RoundResult { round, cpus, events, others })
    }
}

/// The values of a round's events; none where it did not end well, or a value is no number.
fn sampled(events: &[Event]) -> Option<Sampled> {
    let (mut noise, mut histogram) = (None, None);
    let mut also: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for event in events {
        match event {
            Event::Done { noise: seen } => noise = noise.or(Some(seen)),
            Event::Histogram(counted) => histogram = histogram.or(Some(counted)),
            Event::Also { name, values } => also.entry(name.clone()).or_default().extend(values),
            _ => {}
        }
    }
    let noise = noise?;
    events.iter().find_map(|event| {
        let Event::Samples { ns, iterations, amount, disturbance_flags } = event else { return None };
        let value = |(&ns, &iterations): (&f64, &u64)| match amount {
            0 => ns / iterations as f64,
            _ => *amount as f64 * iterations as f64 * 1e9 / ns,
        };
        let values: Vec<f64> = ns.iter().zip(iterations).map(value).collect();
        let sample_ns = stats::median(ns)?;
        let is_usable = values.iter().all(|value| value.is_finite()) && disturbance_flags.len() == values.len();
        is_usable.then(|| Sampled {
            values,
            disturbance_flags: disturbance_flags.clone(),
            iterations: alike(iterations),
            amount: *amount,
            sample_ns,
            noise: noise.clone(),
            histogram: histogram.cloned(),
            also: also.clone(),
        })
    })
}

/// The numbers; one where all are the same.
fn alike(numbers: &[u64]) -> Vec<u64> {
    let all_alike = numbers.iter().all(|number| Some(number) == numbers.first());
    numbers[..if all_alike { numbers.len().min(1) } else { numbers.len() }].to_vec()
}

/// The operations of all that were one round's, which has these counts in its file.
fn part(all: &Histogram, counts: &[i64]) -> Option<Histogram> {
    let mut own = Histogram::default();
    let mut place: usize = 0;
    for &count in counts {
        match u64::try_from(count) {
            Ok(count) => {
                own.values.push(*all.values.get(place)?);
                own.counts.push(count);
                place += 1;
            }
            // As many values as a file can have are no more than these.
            Err(_) => place = place.checked_add(usize::try_from(count.unsigned_abs()).ok()?)?,
        }
    }
    (!counts.is_empty() && place == all.values.len()).then_some(own)
}

/// Counts the operations of a round at each of these values, as its file has it: most rounds lack most values of the others.
fn counts(values: &[u64], own: &Histogram) -> Vec<i64> {
    let own: BTreeMap<u64, u64> = own.values.iter().copied().zip(own.counts.iter().copied()).collect();
    let mut counts: Vec<i64> = Vec::new();
    for value in values {
        let count = own.get(value).map_or(0, |&count| i64::try_from(count).unwrap_or(i64::MAX));
        match counts.last_mut() {
            Some(none) if count == 0 && *none < 0 => *none -= 1,
            _ => counts.push(if count == 0 { -1 } else { count }),
        }
    }
    counts
}

impl Sampled {
    /// The core's frequency beside each sample, hertz; 0 where it is not known. That of the round where no more was recorded.
    pub(crate) fn core_hz(&self) -> Vec<f64> {
        let of_round = || vec![self.noise.core_hz.unwrap_or(0.0); self.values.len()];
        sample::of_rows(&self.noise.core_khz, self.values.len()).filter(|all| !all.is_empty()).unwrap_or_else(of_round)
    }

    /// Returns the raw data for a run file, beside its case's samples and histogram.
    pub(crate) fn raw(&self, all: Option<&Histogram>) -> Raw {
        Raw {
            resolution_ns: self.noise.resolution_ns,
            clock_cost_ns: self.noise.clock_cost_ns,
            sample_ns: self.sample_ns,
            iterations: self.iterations.clone(),
            amount: self.amount,
            core_khz: self.noise.core_khz.clone(),
            looks: self.noise.looks.clone(),
            run_delay_ns: self.noise.run_delay_ns,
            involuntary_switches: self.noise.involuntary_switches,
            faults: self.noise.faults,
            also: self.also.clone(),
            counts: all.zip(self.histogram.as_ref()).map_or_else(Vec::new, |(all, own)| counts(&all.values, own)),
        }
    }
}

impl CaseRounds {
    /// The rounds that are in no samples of the case's outcome; `measured`: where it has a value.
    pub(crate) fn lost(&self, measured: Option<&Measured>) -> Vec<LostRound> {
        let is_kept = |round: &&Round| measured.is_some() && round.sampled.is_some();
        let lost = self.rounds.iter().filter(|round| !is_kept(round) && !round.events.is_empty());
        let lost = lost.map(|round| LostRound {
            case: self.id.to_string(),
            round: round.round,
            cpus: round.cpus.clone(),
            others: round.others,
            events: round.events.clone(),
        });
        lost.collect()
    }
}

/// The seed of one round of one case: the same run seed gives the same, whatever else is selected (FNV-1a of the id).
pub(crate) fn round_seed(seed: u64, case: &str, round: u32) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let start = 0xcbf2_9ce4_8422_2325 ^ seed;
    case.bytes().chain(round.to_le_bytes()).fold(start, mix)
}
