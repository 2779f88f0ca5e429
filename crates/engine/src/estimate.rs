//! Estimates: from the rounds of a case to its outcome, with values, marks, estimate, interval and flags.

use std::collections::BTreeMap;
use std::ops::Deref;

use hostmark_model::{
    Also, Better, DisturbanceFlags, Estimate, Flag, FlagKind, Histogram, IntervalMethod, Leading, Measured, Message,
    Noise, Outcome, Quiet, Reason, ReasonCode, RoundNoise, RoundRecord,
};
use hostmark_say::say;
use hostmark_stats::histogram::{Percentile, merged};
use hostmark_stats::{descriptive as stats, descriptive, interval};

use crate::estimate::quiet::CasePoint;
use crate::probe::{Entry, Limit, Quantity, ValueSource};
use crate::record::{Round, Sampled, contention};
use crate::sampling::counted::HARDWARE_GROUPS;

pub mod core_width;
pub(crate) mod gate;
pub mod outcomes;
pub(crate) mod quiet;

/// A disk that did less than this share of what was asked of it was not what was measured.
const LEAST_OF_DEVICE: f64 = 0.5;

struct RoundValues<'a> {
    round: &'a Round,
    sampled: &'a Sampled,
    /// The clock's step as a share of a sample.
    relative_resolution: f64,
}

impl Deref for RoundValues<'_> {
    type Target = Sampled;

    fn deref(&self) -> &Sampled {
        self.sampled
    }
}

impl RoundValues<'_> {
    fn is_mostly_disturbed(&self) -> bool {
        let disturbed = self.disturbance_flags.iter().filter(|&&flags| DisturbanceFlags(flags).is_disturbed()).count();
        2 * disturbed > self.disturbance_flags.len()
    }

    /// The values that count: all that can be, or those of them that nothing disturbed.
    fn counting(&self, values: &[f64], leave_out: bool) -> Vec<f64> {
        let keeps_disturbed = !leave_out || self.is_mostly_disturbed();
        let counts = |flags: DisturbanceFlags| flags.is_possible() && (keeps_disturbed || !flags.is_disturbed());
        values
            .iter()
            .zip(&self.disturbance_flags)
            .filter(|&(_, &flags)| counts(DisturbanceFlags(flags)))
            .map(|(&value, _)| value)
            .collect()
    }
}

/// The clock's step as a share of what it times; what no clock told has none.
fn relative(resolution_ns: f64, usual_ns: f64) -> f64 {
    match (resolution_ns, usual_ns) {
        (0.0, _) => 0.0,
        (_, 0.0) => 1.0,
        _ => resolution_ns / usual_ns.abs(),
    }
}

fn round_values(round: &Round) -> Option<RoundValues<'_>> {
    let sampled = round.sampled.as_ref()?;
    let relative_resolution = relative(sampled.noise.resolution_ns, sampled.sample_ns);
    Some(RoundValues { round, sampled, relative_resolution })
}

/// Returns the outcome of a case from its rounds in order. `planned`: the rounds that it was to have.
pub(crate) fn outcome(entry: &Entry, place: CasePoint, rounds: &[Round], planned: u32) -> Outcome {
    let mut failed: Vec<Reason> = rounds.iter().filter_map(|round| round.failed.clone()).collect();
    let skipped = rounds.iter().find_map(|round| round.skipped.clone());
    let measured: Vec<RoundValues> = rounds.iter().filter_map(round_values).collect();
    let is_voted = matches!(entry.probe.limit, Limit::Voted | Limit::PowerOfTwo);
    // What stood still once, beside rounds that did not, cost that round.
    let is_only = failed.len() == 1 && !measured.is_empty();
    let passed = failed.pop_if(|reason| is_only && reason.may_pass());
    // What went wrong is not hidden behind what was not available, nor behind a value.
    if let Some(reason) = failed.into_iter().next() {
        return Outcome::Failed { reason };
    }
    // What was available, and later was not, has been measured; a round that found no step abstains.
    if measured.is_empty() {
        let without = || Outcome::Failed { reason: ReasonCode::NoValue.because(say!("no round gave a finite value")) };
        return skipped.map_or_else(without, |reason| Outcome::Skipped { reason });
    }
    let mut result = combine(entry, place, &measured);
    if is_voted && let Err(reason) = elect(&mut result, rounds.len()) {
        return Outcome::Skipped { reason };
    }
    if !is_finite(&result) {
        return Outcome::Failed { reason: ReasonCode::NoValue.because(say!("the rounds came to no finite value")) };
    }
    if measured.len() < planned as usize || passed.is_some() {
        let of = rounds.len().max(planned as usize);
        let have = measured.len();
        let detail = match passed.or(skipped.filter(|_| !is_voted)) {
            Some(reason) => say!("{have} of {of:round}: {reason}"),
            None => say!("{have} of {of:round}"),
        };
        result.flags.push(Flag::new(FlagKind::RoundsLost, detail));
    }
    Outcome::Measured(Box::new(result))
}

/// Tells whether every number that readers compute with is finite.
pub(crate) fn is_finite(measured: &Measured) -> bool {
    let estimates = measured.also.values().map(|also| &also.estimate).chain([&measured.estimate]);
    let numbers = estimates.flat_map(|estimate| {
        let Estimate { confidence, min, max, mean, stddev, mad, best_round, .. } = estimate;
        let both = Leading::EACH.into_iter().filter_map(|by| estimate.by(by));
        let both = both.flat_map(|stated| {
            let (low, high) = stated.of_this_run.unwrap_or((stated.value, stated.value));
            [stated.value, low, high]
        });
        [*confidence, *min, *max, *mean, *stddev, *mad, *best_round].into_iter().chain(both)
    });
    let medians = measured.rounds.iter().map(|round| round.median);
    numbers.chain(medians).chain(measured.samples.iter().flatten().copied()).all(f64::is_finite)
}

fn combine(entry: &Entry, place: CasePoint, rounds: &[RoundValues]) -> Measured {
    let leave_out = HARDWARE_GROUPS.contains(&entry.group);
    let counting: Vec<Vec<f64>> = rounds.iter().map(|round| round.counting(&round.values, leave_out)).collect();
    let histogram = all_operations(rounds);
    let relative_resolution = rounds.iter().map(|round| round.relative_resolution).fold(0.0, f64::max);
    let sampled: Vec<(&Round, &Sampled)> = rounds.iter().map(|round| (round.round, round.sampled)).collect();
    let structure = if entry.probe.is_structure { of(&counting, entry.probe.better) } else { None };
    let (of_structure, remark) = structure.map_or((None, None), |(quiet, remark)| (Some(quiet), remark));
    let quiet = of_structure.or_else(|| quiet::of(entry, place, &sampled, relative_resolution));
    let typical = estimate(&counting, relative_resolution, entry.probe.better);
    let cpu = rounds.first().and_then(|round| round.round.cpus.first().copied());
    // Nothing leads that is not there: where no clock was timed, what was measured stands.
    let leading = match (of_structure, quiet) {
        (Some(_), _) => Leading::Quiet,
        (None, quiet) => quiet.map_or(Leading::Typical, |_| quiet::leading(entry, place, cpu)),
    };
    let estimate = Estimate { quiet, leading, ..typical };
    let of_one = middle_round(&counting, typical.typical);
    let also = also(entry, rounds, leave_out, relative_resolution, quiet.filter(|_| leading == Leading::Quiet), of_one);
    let mut flags = flags_of(rounds, &estimate, relative_resolution, leave_out);
    flags.extend(remark.or_else(|| of_structure.and_then(|_| beside_another(shared(rounds)))));
    flags.extend(also.get(Quantity::DEVICE_SHARE.name).and_then(|share| from_cache(share.estimate.typical)));
    Measured {
        also,
        samples: rounds.iter().map(|round| round.values.clone()).collect(),
        rounds: rounds
            .iter()
            .zip(&counting)
            .map(|(round, counting)| record(round, counting, histogram.as_ref()))
            .collect(),
        histogram,
        noise: noise_of(rounds, leave_out),
        notes: notes_of(rounds),
        estimate,
        flags,
        bounds: None,
    }
}

/// Returns the conversion of a value into cycles of the core's clock (hertz): a time in cycles, a rate over the clock.
fn in_cycles(quantity: &Quantity) -> Option<fn(f64, f64) -> f64> {
    match quantity.source {
        ValueSource::CoreCycles => Some(|value, core_hz| value * core_hz / 1e9),
        ValueSource::EachCoreCycle => Some(|value, core_hz| value / core_hz),
        _ => None,
    }
}

/// The same of what the machine does when left alone, where that is told at a clock.
fn quiet_in_cycles(quantity: &Quantity, quiet: Quiet) -> Option<Quiet> {
    let (core_hz, of) = (quiet.at_hz?, in_cycles(quantity)?);
    Some(quiet.map(|number| of(number, core_hz)))
}

/// Returns the round whose median lies nearest to the case's: percentiles and mean are taken from its operations, as
/// parts of one distribution. Percentiles of different rounds contradict each other where rounds differ.
fn middle_round(counting: &[Vec<f64>], typical: f64) -> usize {
    let apart = |round: &Vec<f64>| stats::median(round).map_or(f64::INFINITY, |median| (median - typical).abs());
    let rounds = counting.iter().map(apart).enumerate();
    rounds.min_by(|one, other| one.1.total_cmp(&other.1)).map_or(0, |(index, _)| index)
}

fn also(
    entry: &Entry,
    rounds: &[RoundValues],
    leave_out: bool,
    relative_resolution: f64,
    quiet: Option<Quiet>,
    of_one: usize,
) -> BTreeMap<String, Also> {
    let of_value = |quantity: &Quantity, round: &RoundValues| -> Option<Vec<f64>> {
        let (core_hz, of) = (round.noise.core_hz?, in_cycles(quantity)?);
        let values: Vec<f64> = round.values.iter().map(|&value| of(value, core_hz)).collect();
        Some(round.counting(&values, leave_out))
    };
    let estimated = |quantity: &Quantity| {
        let better = quantity.better;
        let estimate = if let Some(percentile) = Percentile::of_name(quantity.name) {
            of_percentile(percentile, rounds, better, of_one)
        } else if quantity.is_given_as(quantity.name) {
            // What a round did not give has no part in it; how exact the values are is known to the probe alone.
            let given: Vec<Vec<f64>> = rounds.iter().map(|round| given(quantity, round)).collect();
            let of_middle = given[of_one].first().copied();
            let given: Vec<Vec<f64>> = given.into_iter().filter(|values| !values.is_empty()).collect();
            let estimate = (!given.is_empty()).then(|| estimate(&given, 0.0, better));
            estimate.map(|estimate| match quantity.source {
                ValueSource::Mean => told_as(estimate, of_middle),
                ValueSource::Sustained => told_as(estimate, stats::mean(&given.concat())),
                _ => estimate,
            })
        } else {
            let rounds: Option<Vec<Vec<f64>>> = rounds.iter().map(|round| of_value(quantity, round)).collect();
            let quiet = quiet.and_then(|quiet| quiet_in_cycles(quantity, quiet));
            rounds.map(|rounds| estimate(&rounds, relative_resolution, better).led_by(quiet))
        };
        Some((quantity.name.to_owned(), Also { estimate: estimate? }))
    };
    entry.quantities().filter_map(estimated).collect()
}

/// The same estimate with another value than the median of its rounds: the middle round's, as of a mean, or the mean of all
/// rounds, which last equally long, as of a sustained rate, whose median would hide rounds that stalled.
fn told_as(estimate: Estimate, value: Option<f64>) -> Estimate {
    let typical = value.unwrap_or(estimate.typical);
    let (ci_low, ci_high) =
        (estimate.ci_low.map(|low| low.min(typical)), estimate.ci_high.map(|high| high.max(typical)));
    Estimate { typical, ci_low, ci_high, ..estimate }
}

/// A percentile of the middle round's operations, as far as those of all rounds together tell it, between those of the others.
fn of_percentile(percentile: Percentile, rounds: &[RoundValues], better: Better, of_one: usize) -> Option<Estimate> {
    let histograms = || rounds.iter().filter_map(|round| round.histogram.as_ref());
    let count: u64 =
        histograms().flat_map(|histogram| &histogram.counts).fold(0, |sum, &count| sum.saturating_add(count));
    let of_round = |histogram: &Histogram| Some(vec![percentile.of(&histogram.values, &histogram.counts)? as f64]);
    let values: Vec<Vec<f64>> = histograms().filter_map(of_round).collect();
    let usual = stats::median(&values.concat()).filter(|_| percentile.is_resolved_by(count))?;
    let resolution_ns = rounds.iter().map(|round| round.noise.resolution_ns).fold(0.0, f64::max);
    let relative_resolution = relative(resolution_ns, usual);
    let of_middle = rounds[of_one].histogram.as_ref().and_then(of_round).map(|of_round| of_round[0]);
    Some(told_as(estimate(&values, relative_resolution, better), of_middle))
}

fn all_operations(rounds: &[RoundValues]) -> Option<Histogram> {
    let histograms = rounds.iter().filter_map(|round| round.histogram.as_ref());
    let parts = histograms.map(|part| (part.values.as_slice(), part.counts.as_slice()));
    let (values, counts) = merged(parts);
    (!values.is_empty()).then_some(Histogram { values, counts })
}

/// The values of a quantity that a round's probe measured itself.
fn given(quantity: &Quantity, round: &RoundValues) -> Vec<f64> {
    round.also.get(quantity.name).cloned().unwrap_or_default()
}

/// The estimate of a value from the counting samples of its rounds; no round may be empty.
pub fn estimate(rounds: &[Vec<f64>], relative_resolution: f64, better: Better) -> Estimate {
    let medians: Vec<f64> = rounds.iter().filter_map(|round| stats::median(round)).collect();
    let all: Vec<f64> = rounds.iter().flatten().copied().collect();
    let median = stats::median(&medians).unwrap_or(0.0);
    let floor = median.abs() * relative_resolution;
    let interval = interval::of_medians(&medians, floor);
    let best_round = match better {
        Better::Lower => stats::min(&medians),
        Better::Higher => stats::max(&medians),
        Better::Neither => Some(median),
    };
    Estimate {
        typical: median,
        ci_low: interval.map(|interval| interval.low),
        ci_high: interval.map(|interval| interval.high),
        confidence: interval.map_or(interval::CONFIDENCE, |interval| interval.confidence),
        method: interval.map_or(IntervalMethod::None, |_| IntervalMethod::OrderStatistics),
        min: stats::min(&all).unwrap_or(0.0),
        max: stats::max(&all).unwrap_or(0.0),
        mean: stats::mean(&all).unwrap_or(0.0),
        stddev: stats::stddev(&all).unwrap_or(0.0),
        mad: stats::mad(&all).unwrap_or(0.0),
        best_round: best_round.unwrap_or(0.0),
        n: all.len() as u64,
        rounds: medians.len() as u32,
        range: stats::min(&medians).zip(stats::max(&medians)).map(|(low, high)| [low, high]),
        quiet: None,
        leading: Default::default(),
        repetition: None,
        agreement: None,
    }
}

fn flags_of(rounds: &[RoundValues], estimate: &Estimate, relative_resolution: f64, leave_out: bool) -> Vec<Flag> {
    let mut flags = Vec::new();
    let mut flag = |kind, detail: Message| flags.push(Flag::new(kind, detail));
    if estimate.rounds < interval::LEAST_ROUNDS as u32 {
        let (have, least) = (estimate.rounds, interval::LEAST_ROUNDS);
        flag(
            FlagKind::FewRounds,
            match have {
                1 => say!("an interval takes {least} rounds, and there is {have}"),
                _ => say!("an interval takes {least} rounds, and there are {have}"),
            },
        );
    }
    if relative_resolution >= 1.0 {
        flag(FlagKind::UnderResolution, say!("a sample is shorter than the clock's smallest step"));
    // Numbers of things are exact: none is a number as good as any.
    } else if estimate.typical < 0.0
        || estimate.typical == 0.0 && rounds.iter().any(|round| round.noise.resolution_ns > 0.0)
    {
        flag(FlagKind::UnderResolution, say!("the value does not stand out from the noise"));
    }
    let all = rounds.len();
    let mostly = rounds.iter().filter(|round| round.is_mostly_disturbed()).count();
    if leave_out && mostly > 0 {
        let detail = say!("in {mostly} of {all:round} over half of the samples were disturbed, and stay");
        flag(FlagKind::MostlyDisturbed, detail);
    }
    let unsettled = rounds.iter().filter(|round| !round.noise.settled).count();
    if unsettled > 0 {
        flag(FlagKind::Unsettled, say!("in {unsettled} of {all:round} the core's frequency did not settle"));
    }
    let throttled = rounds.iter().filter(|round| is_throttled(round)).count();
    if throttled > 0 {
        let detail = say!("in {throttled} of {all:round} a CPU quota stopped the process");
        flag(FlagKind::Throttled, detail);
    }
    if let Some(share) = others_share(rounds) {
        let (count, percent) = (contended(rounds).count(), share * 100.0);
        let detail = say!("in {count} of {all:round} others used {percent:.0} % of the time of a CPU");
        flag(FlagKind::Contended, detail);
    }
    flags
}

/// Flags a value whose disk did only a small share of the requested work.
fn from_cache(device_share: f64) -> Option<Flag> {
    let detail = || say!("the device did {percent:.0} % of what was asked of it", percent = device_share * 100.0);
    (device_share < LEAST_OF_DEVICE).then(|| Flag::new(FlagKind::FromCache, detail()))
}

/// Returns the CPU share that others used in each round that they disturbed.
fn contended<'a>(rounds: &'a [RoundValues]) -> impl Iterator<Item = f64> + 'a {
    let is_contended =
        |round: &&RoundValues| contention::is_contended(&round.round.cpus, round.round.others, round.noise.waited);
    rounds.iter().filter(is_contended).filter_map(|round| Some(round.round.others?.share))
}

fn others_share(rounds: &[RoundValues]) -> Option<f64> {
    stats::mean(&contended(rounds).collect::<Vec<_>>())
}

/// Tells whether a CPU quota stopped the round at any time.
fn is_throttled(round: &RoundValues) -> bool {
    round.noise.throttled.is_some_and(|throttled| throttled.periods > 0)
}

fn record(round: &RoundValues, counting: &[f64], histogram: Option<&Histogram>) -> RoundRecord {
    RoundRecord {
        round: round.round.round,
        median: stats::median(counting).unwrap_or(0.0),
        disturbance_flags: round.disturbance_flags.to_vec(),
        core_hz: round.noise.core_hz,
        cpus: round.round.cpus.clone(),
        iterations: round.noise.iterations,
        settled: round.noise.settled,
        steal_ns: round.noise.steal_ns,
        throttled: round.noise.throttled,
        waited: round.noise.waited,
        others: round.round.others,
        shared: round.noise.shared,
        far: round.round.far.clone(),
        raw: Some(round.raw(histogram)),
    }
}

fn noise_of(rounds: &[RoundValues], leave_out: bool) -> Noise {
    let disturbed = |round: &RoundValues| {
        round.disturbance_flags.iter().filter(|&&flags| DisturbanceFlags(flags).is_disturbed()).count() as u64
    };
    let steal: Vec<f64> = rounds.iter().filter_map(|round| round.noise.steal_ns).collect();
    let throttled: Vec<f64> = rounds.iter().filter_map(|round| Some(round.noise.throttled?.ns)).collect();
    let is_counted = !throttled.is_empty();
    // A run file may say anything.
    let all =
        |count: fn(&RoundNoise) -> u64| rounds.iter().map(|round| count(&round.noise)).fold(0, u64::saturating_add);
    let is_judged = rounds.iter().any(|round| round.round.others.is_some());
    Noise {
        disturbed: rounds.iter().map(disturbed).sum(),
        left_out: rounds.iter().filter(|round| leave_out && !round.is_mostly_disturbed()).map(disturbed).sum(),
        run_delay_ns: rounds.iter().map(|round| round.noise.run_delay_ns).sum(),
        steal_ns: (!steal.is_empty()).then(|| steal.iter().sum()),
        involuntary_switches: all(|noise| noise.involuntary_switches),
        faults: all(|noise| noise.faults),
        unsettled_rounds: rounds.iter().filter(|round| !round.noise.settled).count() as u32,
        throttled_rounds: is_counted.then(|| rounds.iter().filter(|round| is_throttled(round)).count() as u32),
        throttled_ns: is_counted.then(|| throttled.iter().sum()),
        contended_rounds: is_judged.then(|| contended(rounds).count() as u32),
        others_share: others_share(rounds),
        shared: shared(rounds),
    }
}

/// The share of looks at the core in which another thread ran on it too, on average over the rounds.
fn shared(rounds: &[RoundValues]) -> Option<f64> {
    stats::mean(&rounds.iter().filter_map(|round| round.noise.shared).collect::<Vec<_>>())
}

/// Collects the notes of the rounds; differing rounds are told apart, since a value made of both is not one thing.
fn notes_of(rounds: &[RoundValues]) -> BTreeMap<String, String> {
    let mut notes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (key, value) in rounds.iter().flat_map(|round| &round.round.notes) {
        let values = notes.entry(key.clone()).or_default();
        if !values.contains(value) {
            values.push(value.clone());
        }
    }
    notes.into_iter().map(|(key, values)| (key, values.join("; "))).collect()
}

/// Readings of one state lie within this part of each other.
const NEAR: f64 = 0.05;
/// Fewest readings that make a state, and their least share of all: fewer may be a search that was disturbed.
const LEAST_READINGS: usize = 2;
const LEAST_SHARE: f64 = 0.2;

/// Share of looks at a shared core from which on a case hardly saw all of a structure.
const MOSTLY_SHARED: f64 = 0.5;

/// The remark on a value of which all rounds say the same, where another thread ran on its core most of the time.
fn beside_another(shared: Option<f64>) -> Option<Flag> {
    let percent = shared.filter(|shared| *shared >= MOSTLY_SHARED)? * 100.0;
    let detail = say!("seen beside another thread, which ran on its core {percent:.0} % of the time");
    Some(Flag::new(FlagKind::PartlyUsed, detail))
}

/// The value from the samples of each round, and the remark where rounds saw different sizes; none without a best value.
pub(crate) fn of(rounds: &[Vec<f64>], better: Better) -> Option<(Quiet, Option<Flag>)> {
    let is_higher_better = match better {
        Better::Higher => true,
        Better::Lower => false,
        Better::Neither => return None,
    };
    let mut readings = rounds.concat();
    readings.sort_by(f64::total_cmp);
    if is_higher_better {
        readings.reverse();
    }
    let least = LEAST_READINGS.max((LEAST_SHARE * readings.len() as f64).ceil() as usize);
    let is_near = |one: f64, other: f64| (one - other).abs() <= NEAR * one.abs().max(other.abs());
    let is_better = |one: f64, other: f64| if is_higher_better { one > other } else { one < other };
    // Of readings that all differ none repeats: the one in the middle is as good as any.
    let state = readings.iter().enumerate().find_map(|(index, &best)| {
        let state: Vec<f64> = readings[index..].iter().copied().filter(|&reading| is_near(best, reading)).collect();
        (state.len() >= least).then_some(state)
    });
    let value = descriptive::median(state.as_ref().unwrap_or(&readings))?;
    let saw = |round: &&Vec<f64>| round.iter().any(|&reading| is_near(value, reading) || is_better(reading, value));
    let (with, without): (Vec<&Vec<f64>>, Vec<&Vec<f64>>) = rounds.iter().partition(saw);
    let of_round = |round: &&Vec<f64>| {
        let own: Vec<f64> = round.iter().copied().filter(|&reading| is_near(value, reading)).collect();
        descriptive::median(if own.is_empty() { round } else { &own })
    };
    let medians: Vec<f64> = with.iter().filter_map(of_round).collect();
    let own = interval::of_medians(&medians, 0.0).map(|interval| interval.floored(value, 0.0));
    let range = descriptive::min(&medians).zip(descriptive::max(&medians));
    let quiet = Quiet {
        value,
        low: own.map(|own| own.low),
        high: own.map(|own| own.high),
        range: range.map(|(low, high)| [low.min(value), high.max(value)]),
        at_hz: None,
    };
    let others =
        descriptive::median(&without.iter().filter_map(|round| descriptive::median(round)).collect::<Vec<f64>>());
    let flag = others.map(|others| {
        let (with, all, others) = (with.len(), rounds.len(), digits(others));
        Flag::new(FlagKind::PartlyUsed, say!("seen in {with} of {all:round}, and {others} in the others"))
    });
    Some((quiet, flag))
}

fn digits(number: f64) -> String {
    if number.abs() >= 100.0 || number.fract() == 0.0 { format!("{number:.0}") } else { format!("{number:.1}") }
}

/// Makes the estimate of a measurement a vote of its rounds, of which there were `rounds`: those without a sample abstain, and
/// so do those whose samples name two numbers equally often. Without a majority of all rounds there is no value.
fn elect(measured: &mut Measured, rounds: usize) -> Result<(), Reason> {
    let votes: Vec<f64> = measured.samples.iter().filter_map(|samples| descriptive::mode(samples)).collect();
    for (round, samples) in measured.rounds.iter_mut().zip(&measured.samples) {
        round.median = descriptive::mode(samples).unwrap_or(round.median);
    }
    let agreeing = |value: f64| votes.iter().filter(|&&vote| vote == value).count();
    let elected = descriptive::mode(&votes).filter(|&value| 2 * agreeing(value) > rounds);
    let Some(value) = elected else { return Err(without(&votes, rounds)) };
    let estimate = &mut measured.estimate;
    (estimate.typical, estimate.best_round) = (value, value);
    (estimate.ci_low, estimate.ci_high, estimate.method) = (None, None, IntervalMethod::None);
    estimate.agreement = Some(agreeing(value) as f64 / rounds as f64);
    // Every vote counts: a disturbed one that names another number does so beside others of its round.
    estimate.n = measured.samples.iter().map(|samples| samples.len() as u64).sum();
    measured.noise.left_out = 0;
    measured.flags.retain(|flag| flag.kind != FlagKind::FewRounds);
    Ok(())
}

fn without(votes: &[f64], rounds: usize) -> Reason {
    let mut named: Vec<f64> = votes.to_vec();
    named.sort_by(f64::total_cmp);
    named.dedup();
    let each: Vec<String> = named
        .iter()
        .map(|value| format!("{value} by {}", votes.iter().filter(|vote| *vote == value).count()))
        .collect();
    let text = match each.is_empty() {
        true => say!("none of {rounds:round} agreed with itself on a value"),
        false => say!("no value was found by most of {rounds:round}: {each}", each = each.join(", ")),
    };
    ReasonCode::Inconclusive.because(text)
}

#[cfg(test)]
#[path = "estimate_tests.rs"]
mod tests;
