//! The runs of one side, as a comparison looks at them.

use std::collections::HashMap;

use hostmark_model::{CaseRecord, FlagKind, Histogram, Leading, Measured, Outcome, ProbeInfo, Reason, Run, Unit};
use hostmark_stats::histogram::Percentile;
use hostmark_stats::repetition::Deviation;
use hostmark_stats::{descriptive, interval};

use super::{OtherValues, Pool, RunName, Side, SideValue};
use crate::levels::{Level, place_of_size};
use crate::repetition;
use crate::{difference, format};

pub(super) fn named(pool: Pool) -> Side {
    let name = |run: &Run| RunName {
        id: run.id.clone(),
        name: run.name.clone(),
        started: run.started.clone(),
        host: run.host.hostname.clone(),
        kernel: run.host.kernel.named().unwrap_or_default(),
        profile: run.settings.profile,
        tool: run.tool.version.clone(),
        imported: run.imported.as_ref().map(|imported| imported.format.clone()),
        digest: run.tool.digest.clone(),
        place: run.place.clone(),
    };
    let mut disturbances = Vec::new();
    for disturbance in pool.runs.iter().flat_map(|run| &run.disturbances) {
        if !disturbances.contains(disturbance) {
            disturbances.push(disturbance.clone());
        }
    }
    Side { name: pool.name.to_owned(), runs: pool.runs.iter().map(name).collect(), disturbances }
}

/// The axis of a buffer's size, bytes.
pub(super) const SIZE: &str = "size";

/// One run's record of a case, with what its run says of the probe.
#[derive(Clone, Copy)]
pub(super) struct RunCase<'a> {
    pub(super) run: &'a Run,
    pub(super) record: &'a CaseRecord,
    pub(super) probe: Option<&'a ProbeInfo>,
    /// Factor of its values: 1, or where the case is compared in cycles the one that makes them the work of a cycle.
    pub(super) scale: f64,
    /// Level in which its buffer of memory lies, where both are known.
    pub(super) level: Option<&'static Level>,
}

impl<'a> RunCase<'a> {
    pub(super) fn measured(&self) -> Option<&'a Measured> {
        self.record.measured()
    }
}

/// The same records in cycles of their core's clock, where the core alone decides in all of them and all are of one kind of processor: a
/// clock wanders from run to run, and work in cycles does not. Between kinds a cycle is not the same thing.
pub(super) fn in_cycles<'a>(base: &[RunCase<'a>], new: &[RunCase<'a>]) -> Option<[Vec<RunCase<'a>>; 2]> {
    // Where the model is not known, one host is one kind.
    let kind = |found: &RunCase<'a>| {
        let host = &found.run.host;
        host.cpu.model.as_ref().unwrap_or(&host.hostname)
    };
    let first = base.iter().chain(new).next().map(kind)?;
    let of_side = |side: &[RunCase<'a>]| -> Option<Vec<RunCase<'a>>> {
        let told = |found: &RunCase<'a>| {
            let Some(measured) = found.measured() else { return Some(*found) };
            let scale = cycles_scale(measured, found.probe?.unit)?;
            (kind(found) == first).then_some(RunCase { scale, ..*found })
        };
        side.iter().map(told).collect()
    };
    let is_measured = |side: &[RunCase]| side.iter().any(|found| found.measured().is_some());
    if is_measured(base) && is_measured(new) { Some([of_side(base)?, of_side(new)?]) } else { None }
}

/// Factor that turns a value into cycles, or into the work of one cycle; none for values that are reported at no clock.
pub(super) fn cycles_scale(measured: &Measured, unit: Unit) -> Option<f64> {
    const NS_PER_S: f64 = 1e9;
    let hz = measured.estimate.leading_quiet()?.at_hz.filter(|hz| *hz > 0.0)?;
    match unit {
        Unit::Nanoseconds => Some(hz / NS_PER_S),
        Unit::BytesPerSecond | Unit::OperationsPerSecond => Some(hz.recip()),
        _ => None,
    }
}

/// The records of a pool by case id.
pub(super) struct Records<'a> {
    by_case: HashMap<&'a str, Vec<RunCase<'a>>>,
}

impl<'a> Records<'a> {
    pub(super) fn of(runs: &'a [Run]) -> Records<'a> {
        let mut by_case: HashMap<&str, Vec<RunCase>> = HashMap::new();
        for run in runs {
            let probes: HashMap<&str, &ProbeInfo> = run.probes.iter().map(|probe| (probe.id.as_str(), probe)).collect();
            let place_of_size = place_of_size(run);
            let level = |record: &CaseRecord| {
                let size = record.params.get(SIZE).filter(|_| record.probe.starts_with("memory."))?;
                place_of_size(size.parse().ok()?)?.level()
            };
            for record in &run.cases {
                let probe = probes.get(record.probe.as_str()).copied();
                let found = by_case.entry(&record.id).or_default();
                // A file that has a case twice is not made by this program; the first counts.
                if !found.iter().any(|known| std::ptr::eq(known.run, run)) {
                    found.push(RunCase { run, record, probe, scale: 1.0, level: level(record) });
                }
            }
        }
        Records { by_case }
    }

    /// Records of a case in the pool's runs; empty when none has it.
    pub(super) fn of_case(&self, id: &str) -> &[RunCase<'a>] {
        self.by_case.get(id).map_or(&[], Vec::as_slice)
    }
}

/// Case ids of both sides: the base's order, then what only the other side has, in its order.
pub(super) fn ids<'a>(base: &'a [Run], new: &'a [Run]) -> Vec<&'a str> {
    let mut seen = std::collections::HashSet::new();
    let all = base.iter().chain(new).flat_map(|run| &run.cases).map(|case| case.id.as_str());
    all.filter(|id| seen.insert(*id)).collect()
}

/// Value of a case that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The quiet value, where it leads on both sides.
    Quiet,
    /// The median of the round medians, where anything in the way of the work counts.
    Typical,
    /// A percentile of all operations, of cases that have them.
    Percentile(&'static str),
}

/// The percentiles that are compared, and how many times as far as typical values they lie apart between runs, by the recorded runs of
/// `docs/study`.
const PERCENTILES: [(&str, f64); 4] = [("p50", 2.0), ("p90", 4.0), ("p99", 6.0), ("p999", 6.0)];

impl By {
    /// Value compared first: the one that leads on both sides.
    pub(super) fn leading(base: &[RunCase], new: &[RunCase]) -> By {
        let mut all = base.iter().chain(new).filter_map(RunCase::measured);
        if all.all(|measured| measured.estimate.leading_quiet().is_some()) { By::Quiet } else { By::Typical }
    }

    /// Further values to compare: the typical one beside an undisturbed one, and the percentiles.
    pub(super) fn beside<'a>(self, base: &'a [RunCase], new: &'a [RunCase]) -> impl Iterator<Item = By> + 'a {
        let typical = (self == By::Quiet).then_some(By::Typical);
        let percentiles = By::percentiles().filter(move |by| {
            let mut all = base.iter().chain(new).filter_map(|found| Some((found, found.measured()?)));
            all.all(|(found, measured)| measured.histogram.is_some() && by.value(found).is_some())
        });
        typical.into_iter().chain(percentiles)
    }

    /// The percentiles that are compared.
    pub(super) fn percentiles() -> impl Iterator<Item = By> {
        PERCENTILES.iter().map(|(name, _)| By::Percentile(name))
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            By::Quiet => "quiet",
            By::Typical => "typical",
            By::Percentile(name) => name,
        }
    }

    /// Estimator; none of a percentile.
    pub(super) fn estimator(self) -> Option<Leading> {
        match self {
            By::Quiet => Some(Leading::Quiet),
            By::Typical => Some(Leading::Typical),
            By::Percentile(_) => None,
        }
    }

    /// Assumed deviation between runs, in multiples of the typical value's.
    fn times_as_far(self) -> f64 {
        let By::Percentile(name) = self else { return 1.0 };
        PERCENTILES.iter().find(|(known, _)| *known == name).map_or(1.0, |(_, times)| *times)
    }

    /// The value of one run, in cycles where it is compared in these.
    pub(super) fn value(self, found: &RunCase) -> Option<f64> {
        self.as_measured(found.measured()?).map(|value| value * found.scale)
    }

    /// The same as a run file has it.
    pub(super) fn as_measured(self, measured: &Measured) -> Option<f64> {
        match self {
            By::Percentile(name) => {
                measured.also.get(name).map(|also| also.estimate.value()).filter(|value| *value > 0.0)
            }
            By::Quiet => measured.estimate.leading_quiet().map(|quiet| quiet.value),
            By::Typical => Some(measured.estimate.typical),
        }
    }

    /// The standard error of that value's logarithm as the run's own rounds tell it; none of one round alone.
    fn own_error(self, measured: &Measured) -> Option<f64> {
        let quiet = measured.estimate.leading_quiet().filter(|_| self == By::Quiet);
        if let Some(interval) = quiet.and_then(|quiet| quiet.low.zip(quiet.high)) {
            return difference::error_of_interval(interval);
        }
        if let By::Percentile(name) = self {
            return error_of_percentile(name, measured.histogram.as_ref()?);
        }
        difference::typical_error(measured)
    }

    /// Errors of a case's value as estimated from one run. `None` where no run measured it.
    pub(super) fn of_one_run(self, found: &[&RunCase]) -> Option<OfOneRun> {
        let assumed =
            |record: &CaseRecord| repetition::assumed_deviation(record, self == By::Quiet) * self.times_as_far();
        let least = |one: &Measured| if self == By::Quiet { 0.0 } else { difference::between_rounds(one) };
        let of = |least: &dyn Fn(&Measured) -> f64| {
            difference::scatter(found.iter().map(|found| found.record), assumed, least, |one| self.own_error(one))
        };
        let (in_common, own) = of(&least)?;
        // How far a percentile may be off its histogram tells, and not that rounds differ.
        let assumed = if let By::Percentile(_) = self { in_common } else { of(&|_| 0.0)?.0 };
        let clock = self.clock(found);
        let rounds = found.iter().filter_map(|found| Some(found.measured()?.rounds.len() as f64));
        let rounds = descriptive::mean(&rounds.collect::<Vec<f64>>())?;
        let (assumed, in_common) = (assumed.hypot(clock), in_common.hypot(clock));
        Some(OfOneRun { assumed, in_common, own, freedom: freedom_of_rounds(rounds) })
    }

    /// Deviation of clocks between runs, for values that are reported at one and not in cycles.
    fn clock(self, found: &[&RunCase]) -> f64 {
        let is_at_a_clock = |found: &&&RunCase| {
            let quiet = found.measured().and_then(|measured| measured.estimate.leading_quiet());
            found.scale == 1.0 && quiet.is_some_and(|quiet| quiet.at_hz.is_some())
        };
        let told = found.iter().filter(|found| self == By::Quiet && is_at_a_clock(found));
        told.map(|found| repetition::clock_deviation(found.run)).fold(0.0, f64::max)
    }
}

/// The degrees of freedom of a difference between two runs of so many rounds each.
pub(super) fn freedom_of_rounds(rounds: f64) -> f64 {
    (2.0 * (rounds - 1.0)).max(1.0)
}

/// Errors of a value as estimated from one run.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfOneRun {
    /// Assumed standard deviation between runs, of the logarithms.
    pub(super) assumed: f64,
    /// The same of what it does with the other cases of its group: what disturbs them all lasts longer than a round, so that it is as
    /// much as rounds differ by, at least.
    pub(super) in_common: f64,
    /// The variance of the run's own, as its rounds tell it.
    pub(super) own: f64,
    /// The degrees of freedom of both together: those of the rounds. What is assumed is known no better.
    pub(super) freedom: f64,
}

impl OfOneRun {
    /// Both together, which what runs tell is drawn towards.
    pub(super) fn deviation(&self) -> Deviation {
        Deviation { sd: self.assumed.hypot(self.own.sqrt()), freedom: self.freedom, runs: 0 }
    }
}

/// The standard error of a percentile's logarithm, by the order statistics an error of its rank to both sides (binomial).
fn error_of_percentile(name: &str, histogram: &Histogram) -> Option<f64> {
    let Histogram { values, counts } = histogram;
    let all = counts.iter().sum::<u64>() as f64;
    let share = Percentile::of_name(name)?.share();
    let apart = (all * share * (1.0 - share)).sqrt();
    let at = |rank: f64| {
        let mut below = 0.0;
        values.iter().zip(counts).find_map(|(&value, &count)| {
            below += count as f64;
            (below >= rank).then_some(value as f64)
        })
    };
    let (low, high) = (at((all * share - apart).max(1.0))?, at((all * share + apart).min(all))?);
    (low > 0.0).then(|| (high / low).ln() / 2.0)
}

/// The medians of a case's rounds, as a run file has them.
pub(super) fn round_medians(measured: &Measured) -> Vec<f64> {
    measured.rounds.iter().map(|round| round.median).collect()
}

/// Tells whether rounds voted on the value.
pub(super) fn is_voted(measured: &Measured) -> bool {
    measured.estimate.agreement.is_some()
}

/// Tells whether the value is physically impossible.
pub(super) fn is_implausible(measured: &Measured) -> bool {
    measured.flags.iter().any(|flag| flag.kind == FlagKind::Implausible)
}

/// The value of a side; none where no run measured the case.
pub(super) fn value(found: &[RunCase], by: By) -> Option<SideValue> {
    let measured: Vec<&Measured> = found.iter().filter_map(RunCase::measured).collect();
    let values: Vec<f64> = found.iter().filter_map(|found| by.value(found)).collect();
    // Of numbers that were voted on a median may be one that nothing has.
    let is_voted = measured.iter().all(|measured| is_voted(measured));
    let value = if is_voted { descriptive::mode(&values).or(values.first().copied()) } else { middle(&values) }?;
    let (low, high) = match measured.as_slice() {
        [one] if by == By::Typical => (one.estimate.ci_low, one.estimate.ci_high),
        [one] => one.estimate.of_this_run().unzip(),
        _ if is_voted => (None, None),
        _ => interval::log_t(&values, 0.0).unzip(),
    };
    // That of several runs is of values that are scaled already.
    let scale = match measured.as_slice() {
        [_] => found.iter().find(|found| found.measured().is_some()).map_or(1.0, |found| found.scale),
        _ => 1.0,
    };
    Some(SideValue {
        value,
        low: low.map(|low| low * scale),
        high: high.map(|high| high * scale),
        runs: measured.len(),
        rounds: measured.iter().map(|measured| measured.rounds.len()).sum(),
        samples: measured.iter().map(|measured| measured.taken()).fold(0, u64::saturating_add),
        disturbed: measured.iter().map(|measured| measured.noise.disturbed).fold(0, u64::saturating_add),
        flags: measured.iter().flat_map(|measured| &measured.flags).map(|flag| flag.kind).collect(),
    })
}

/// Values of the estimator beside `by`, where they differ on one of the sides.
pub(super) fn other_values(old: &[RunCase], new: &[RunCase], by: Leading) -> Option<OtherValues> {
    let of_side = |side: &[RunCase], by: Leading| {
        let measured = side.iter().filter_map(|found| Some((found.scale, found.measured()?)));
        let all = measured.map(|(scale, measured)| Some(measured.estimate.by(by)?.value * scale));
        middle(&all.collect::<Option<Vec<f64>>>()?)
    };
    let estimator = by.other();
    let [base, new] = [old, new].map(|side| Some((of_side(side, estimator)?, of_side(side, by)?)));
    let (base, new) = (base?, new?);
    let is_shown = [base, new].into_iter().any(|(other, compared)| format::are_apart(other, compared));
    is_shown.then_some(OtherValues { estimator, base: base.0, new: new.0 })
}

/// Geometric mean of several runs, as changes are ratios; the median where a value has no logarithm.
fn middle(values: &[f64]) -> Option<f64> {
    match values {
        [one] => Some(*one),
        _ if values.iter().all(|value| *value > 0.0) => {
            descriptive::mean(&values.iter().map(|value| value.ln()).collect::<Vec<_>>()).map(f64::exp)
        }
        _ => descriptive::median(values),
    }
}

/// The same of the runs that a change is known by, with the interval over these.
pub(super) fn of_runs(value: &mut SideValue, runs: &[f64]) {
    if let (true, Some(middle)) = (runs.len() > 1, middle(runs)) {
        value.value = middle;
        (value.low, value.high) = interval::log_t(runs, 0.0).unzip();
    }
}

/// Reason why a side has no value, and whether it failed (true) or was skipped; the first run's.
pub(super) fn without_value<'a>(found: &[RunCase<'a>]) -> Option<(bool, &'a Reason)> {
    let reason = |outcome: &'a Outcome| match outcome {
        Outcome::Measured(_) => None,
        Outcome::Skipped { reason } => Some((false, reason)),
        Outcome::Failed { reason } => Some((true, reason)),
    };
    if found.iter().any(|one| one.measured().is_some()) {
        return None;
    }
    found.iter().find_map(|one| reason(&one.record.outcome))
}
