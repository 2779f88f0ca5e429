//! Contradictions in a run file: every number that a reader can recompute from the file's own samples and rounds is checked.
//!
//! Derived cases and other tools' values do not keep their inputs, nor do histograms and further quantities: of those only the bounds are
//! checked.

mod samples;

use hostmark_model::timestamp::Timestamp;
use hostmark_model::{CaseRecord, Estimate, FlagKind, Histogram, Measured, Message, ProbeInfo, Run, Unit};
use hostmark_say::say;
use hostmark_stats::histogram::Percentile;

use crate::format::{amount, unit_name};

/// Largest relative difference between two computations of one number; relative to the largest term, as files hold every digit.
const ROUNDING: f64 = 1e-9;

/// Statement of a run file that cannot be true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// The case; none where the run itself contradicts itself.
    pub case: Option<String>,
    /// Description of the contradiction, a fragment.
    pub what: Message,
}

/// Lists a run's contradictions: first of the run itself, then the first one of each case, in the file's order.
pub fn contradictions(run: &Run) -> Vec<Contradiction> {
    let of_run = finished_early(run).map(|what| Contradiction { case: None, what });
    let of_cases = run.cases.iter().filter_map(|case| {
        let probe = run.probes.iter().find(|probe| probe.id == case.probe);
        Some(Contradiction { case: Some(case.id.clone()), what: of_case(case, probe)? })
    });
    of_run.into_iter().chain(of_cases).collect()
}

/// All of it in one sentence: the first contradiction, and how many more there are. None when everything fits.
pub fn sentence(run: &Run) -> Option<Message> {
    let found = contradictions(run);
    let (first, more) = found.split_first()?;
    let what = match &first.case {
        Some(case) => say!("{case}: {what}", case = run.typed_id(case), what = first.what),
        None => Message::from(&first.what),
    };
    Some(match more.len() {
        0 => what,
        more => say!("{what}; {more} more"),
    })
}

/// Warning for readers of a report that the run's file contradicts itself; none if it is consistent.
pub fn warning(run: &Run) -> Option<Message> {
    let what = sentence(run)?;
    Some(say!("the file of this run contradicts itself: {what}; measure again, or restore the file"))
}

/// The first thing of a case that does not fit; none when all does, and of cases without a value.
pub fn of_case(case: &CaseRecord, probe: Option<&ProbeInfo>) -> Option<Message> {
    let measured = case.measured()?;
    let unit = probe.map(|probe| probe.unit);
    of_estimate(&measured.estimate, unit)
        .or_else(|| negative(measured, unit))
        .or_else(|| samples::of_rounds(measured, probe))
        .or_else(|| of_also(measured, probe))
        .or_else(|| measured.histogram.as_ref().and_then(of_histogram))
        .or_else(|| of_percentiles(measured, probe))
}

/// The sentence of a contradiction.
fn fault(what: Message) -> Option<Message> {
    Some(what)
}

/// Tells whether two numbers are equal but for rounding; `scale` is the largest that either was made of.
pub(crate) fn is_near(one: f64, other: f64, scale: f64) -> bool {
    (one - other).abs() <= ROUNDING * scale.abs().max(one.abs()).max(other.abs())
}

/// Tells whether a number lies between two others, but for rounding.
fn is_within(low: f64, number: f64, high: f64) -> bool {
    let scale = low.abs().max(high.abs());
    (low <= number || is_near(low, number, scale)) && (number <= high || is_near(number, high, scale))
}

/// Numbers as the tables show them; with every digit where different ones would look the same.
fn shown<const N: usize>(numbers: [f64; N], unit: Option<Unit>) -> [Message; N] {
    let plain = |number: f64| match unit {
        Some(unit) => Message::joined([Message::plain(number), unit_name(unit).into()], " "),
        None => Message::plain(number),
    };
    let Some(known) = unit else { return numbers.map(plain) };
    let texts = numbers.map(|number| amount(number, known));
    let looks_same =
        |a: usize, b: usize| numbers[a].total_cmp(&numbers[b]) != std::cmp::Ordering::Equal && texts[a] == texts[b];
    let is_ambiguous = (0..N).any(|a| (0..a).any(|b| looks_same(a, b)));
    if is_ambiguous { numbers.map(plain) } else { texts }
}

/// A sentence with numbers in it.
fn with_numbers<const N: usize>(
    numbers: [f64; N],
    unit: Option<Unit>,
    what: impl Fn([Message; N]) -> Message,
) -> Option<Message> {
    Some(what(shown(numbers, unit)))
}

/// A clock that was set back meanwhile makes this true; the reader must know then too.
fn finished_early(run: &Run) -> Option<Message> {
    let finished = run.finished.as_deref()?;
    let started = run.started.as_str();
    (Timestamp::parse(finished)? < Timestamp::parse(started)?).then_some(())?;
    fault(say!("it finished ({finished}) before it started ({started})"))
}

/// Checks an estimate for values that no samples can give.
fn of_estimate(estimate: &Estimate, unit: Option<Unit>) -> Option<Message> {
    let Estimate { typical, ci_low, ci_high, confidence, min, max, mean, stddev, mad, n, rounds, agreement, .. } =
        *estimate;
    if !(confidence > 0.0 && confidence < 1.0) {
        return fault(say!("its confidence is {confidence}, and lies between 0 and 1"));
    }
    match (ci_low, ci_high) {
        (None, None) => {}
        (Some(low), Some(high)) if low > high => {
            return with_numbers([low, high], unit, |[low, high]| {
                say!("its interval begins at {low}, above its end {high}")
            });
        }
        (Some(low), Some(high)) if !is_within(low, typical, high) => {
            return with_numbers([typical, low, high], unit, |[typical, low, high]| {
                say!("the median {typical} lies outside its interval {low} … {high}")
            });
        }
        (Some(_), Some(_)) => {}
        _ => return fault(say!("its interval has one end")),
    }
    if min > max {
        return with_numbers([min, max], unit, |[min, max]| {
            say!("its smallest sample {min} is above its largest {max}")
        });
    }
    // A vote counts samples that the extremes leave out.
    let is_bounded = agreement.is_none();
    let numbers = [(say!("median"), typical), (say!("mean"), mean)];
    let out = numbers.into_iter().find(|&(_, number)| is_bounded && !is_within(min, number, max));
    if let Some((name, number)) = out {
        return with_numbers([number, min, max], unit, |[number, min, max]| {
            say!("the {name} {number} lies outside its samples {min} … {max}")
        });
    }
    if stddev < 0.0 || mad < 0.0 {
        return fault(say!("its spread is negative"));
    }
    if let Some(wrong) = of_leading(estimate) {
        return Some(wrong);
    }
    if agreement.is_some_and(|share| !(share > 0.0 && share <= 1.0)) {
        return fault(say!("the share of rounds that agree is no share"));
    }
    (u64::from(rounds) > n).then_some(())?;
    fault(say!("it has {rounds} rounds and {n} samples"))
}

/// Checks the undisturbed value, the range and the interval of repetition of an estimate.
fn of_leading(estimate: &Estimate) -> Option<Message> {
    let Estimate { typical, range, quiet, repetition, .. } = *estimate;
    if range.is_some_and(|[least, most]| !is_within(least, typical, most)) {
        return fault(say!("its value lies outside of its rounds"));
    }
    let ends = quiet.and_then(|quiet| Some((quiet.low?, quiet.value, quiet.high?)));
    if ends.is_some_and(|(low, value, high)| !is_within(low, value, high)) {
        return fault(say!("its quiet value lies outside its interval"));
    }
    let rounds = quiet.and_then(|quiet| Some((quiet.range?, quiet.value)));
    if rounds.is_some_and(|([least, most], value)| !is_within(least, value, most)) {
        return fault(say!("its quiet value lies outside of its rounds"));
    }
    if quiet.and_then(|quiet| quiet.at_hz).is_some_and(|hz| hz <= 0.0) {
        return fault(say!("the clock of its quiet value is none"));
    }
    let is_wrong =
        repetition.is_some_and(|known| known.deviation < 0.0 || !is_within(known.low, estimate.value(), known.high));
    is_wrong.then_some(())?;
    fault(say!("its interval of repetition does not hold its value"))
}

/// Differences may come out below zero, and say so by a flag; nothing else that is timed does.
fn negative(measured: &Measured, unit: Option<Unit>) -> Option<Message> {
    let typical = measured.estimate.typical;
    let name = match unit? {
        Unit::BytesPerSecond | Unit::OperationsPerSecond | Unit::Hertz => say!("rate"),
        Unit::Nanoseconds | Unit::CoreCycles | Unit::ReferenceCycles => say!("time"),
        Unit::Bytes | Unit::Count | Unit::Ratio | Unit::Joules => return None,
    };
    let is_flagged = measured.flags.iter().any(|flag| flag.kind == FlagKind::UnderResolution);
    (typical < 0.0 && !is_flagged).then_some(())?;
    with_numbers([typical], unit, |[it]| say!("the {name} {it} is negative"))
}

/// The further quantities, each by its bounds.
fn of_also(measured: &Measured, probe: Option<&ProbeInfo>) -> Option<Message> {
    measured.also.iter().find_map(|(name, also)| {
        let what = of_estimate(&also.estimate, unit_of(probe, name))?;
        Some(say!("{name}: {what}"))
    })
}

fn unit_of(probe: Option<&ProbeInfo>, name: &str) -> Option<Unit> {
    probe?.also.iter().find(|quantity| quantity.name == name).map(|quantity| quantity.unit)
}

fn of_histogram(histogram: &Histogram) -> Option<Message> {
    let Histogram { values, counts } = histogram;
    let fits = values.len() == counts.len() && values.windows(2).all(|pair| pair[0] < pair[1]);
    if fits { None } else { fault(say!("its histogram is out of order")) }
}

/// A higher percentile is no smaller.
fn of_percentiles(measured: &Measured, probe: Option<&ProbeInfo>) -> Option<Message> {
    let share = |name: &str| Percentile::of_name(name).map(|of| of.numerator as f64 / of.denominator as f64);
    let mut all: Vec<(f64, &str, f64)> = measured
        .also
        .iter()
        .filter_map(|(name, also)| Some((share(name)?, name.as_str(), also.estimate.typical)))
        .collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let wrong = all.windows(2).find(|pair| pair[0].2 > pair[1].2 && !is_near(pair[0].2, pair[1].2, 0.0))?;
    let ((_, lower, below), (_, higher, above)) = (wrong[0], wrong[1]);
    with_numbers([below, above], unit_of(probe, lower), |[below, above]| {
        say!("{lower} is {below}, above the {above} of {higher}")
    })
}
