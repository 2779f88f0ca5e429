//! Contradictions in a run file: every number that a reader can recompute from the file's own samples and rounds is checked.
//!
//! Derived cases and other tools' values do not keep their inputs, nor do histograms and further quantities: of those only the bounds are
//! checked.

use hostmark_model::timestamp::Timestamp;
use hostmark_model::{
    Better, CaseRecord, DisturbanceFlags, Estimate, FlagKind, Histogram, Measured, Message, ProbeInfo, Run, Unit,
};
use hostmark_say::say;
use hostmark_stats::histogram::Percentile;
use hostmark_stats::{descriptive, interval};

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
        .or_else(|| of_rounds(measured, probe))
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
        return fault(say!("its undisturbed value lies outside its interval"));
    }
    let rounds = quiet.and_then(|quiet| Some((quiet.range?, quiet.value)));
    if rounds.is_some_and(|([least, most], value)| !is_within(least, value, most)) {
        return fault(say!("its undisturbed value lies outside of its rounds"));
    }
    if quiet.and_then(|quiet| quiet.at_hz).is_some_and(|hz| hz <= 0.0) {
        return fault(say!("the clock of its undisturbed value is none"));
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

/// The first number that the stored rounds do not give; none of what keeps no rounds.
pub(super) fn of_rounds(measured: &Measured, probe: Option<&ProbeInfo>) -> Option<Message> {
    let Measured { estimate, samples, rounds, .. } = measured;
    if rounds.is_empty() {
        return None;
    }
    let unit = probe.map(|probe| probe.unit);
    let (has, counted) = (rounds.len(), estimate.rounds);
    if samples.len() != has || counted as usize != has {
        let lists = samples.len();
        return fault(say!("it has {counted} rounds in its estimate, {has} records of rounds and samples of {lists}"));
    }
    if let Some((round, values)) =
        rounds.iter().zip(samples).find(|(round, of)| round.disturbance_flags.len() != of.len())
    {
        let (number, marks, values) = (round.round, round.disturbance_flags.len(), values.len());
        return fault(say!("round {number} has {values} samples and {marks} marks"));
    }
    let counting: Vec<Vec<f64>> = rounds
        .iter()
        .zip(samples)
        .map(|(round, values)| counting(values, &round.disturbance_flags, measured))
        .collect();
    let (n, count) = (estimate.n, counting.iter().map(Vec::len).sum::<usize>());
    if n != count as u64 {
        return fault(say!("it counts {n} samples, and has {count} that count"));
    }
    if estimate.agreement.is_some() {
        return of_votes(measured, unit);
    }
    for (round, values) in rounds.iter().zip(&counting) {
        let given = descriptive::median(values).unwrap_or(0.0);
        if !is_near(round.median, given, 0.0) {
            let number = round.round;
            return with_numbers([round.median, given], unit, |[says, given]| {
                say!("round {number} has the median {says}, and its samples give {given}")
            });
        }
    }
    let medians: Vec<f64> = rounds.iter().map(|round| round.median).collect();
    let all = counting.concat();
    of_typical(estimate, &medians, unit)
        .or_else(|| of_numbers(estimate, &all, &medians, probe))
        .or_else(|| of_sampled_interval(measured, &medians, unit))
}

/// The samples of a round that are in the estimate: of those that can be, undisturbed ones where disturbed ones were left out, unless most were.
fn counting(values: &[f64], disturbance_flags: &[u8], measured: &Measured) -> Vec<f64> {
    let disturbed = disturbance_flags.iter().filter(|&&flags| DisturbanceFlags(flags).is_disturbed()).count();
    let keeps_all = measured.noise.left_out == 0 || 2 * disturbed > disturbance_flags.len();
    let counts = |flags: DisturbanceFlags| flags.is_possible() && (keeps_all || !flags.is_disturbed());
    values
        .iter()
        .zip(disturbance_flags)
        .filter(|&(_, &flags)| counts(DisturbanceFlags(flags)))
        .map(|(&value, _)| value)
        .collect()
}

/// Checks that the value that rounds voted on is one of their samples.
fn of_votes(measured: &Measured, unit: Option<Unit>) -> Option<Message> {
    let votes: Vec<f64> = measured.samples.iter().filter_map(|samples| descriptive::mode(samples)).collect();
    let (says, given) = (measured.estimate.typical, descriptive::mode(&votes)?);
    (!is_near(says, given, 0.0)).then_some(())?;
    with_numbers([says, given], unit, |[says, given]| say!("its value is {says}, and its rounds vote for {given}"))
}

fn of_typical(estimate: &Estimate, medians: &[f64], unit: Option<Unit>) -> Option<Message> {
    let given = descriptive::median(medians)?;
    (!is_near(estimate.typical, given, 0.0)).then_some(())?;
    with_numbers([estimate.typical, given], unit, |[says, given]| {
        say!("the median is {says}, and its samples give {given}")
    })
}

fn of_numbers(estimate: &Estimate, all: &[f64], medians: &[f64], probe: Option<&ProbeInfo>) -> Option<Message> {
    let best = match probe.map(|probe| probe.better) {
        Some(Better::Lower) => descriptive::min(medians),
        Some(Better::Higher) => descriptive::max(medians),
        Some(Better::Neither) => Some(estimate.typical),
        None => Some(estimate.best_round),
    };
    let scale = all.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let numbers = [
        (say!("smallest sample"), estimate.min, descriptive::min(all)),
        (say!("largest sample"), estimate.max, descriptive::max(all)),
        (say!("mean"), estimate.mean, descriptive::mean(all)),
        (say!("standard deviation"), estimate.stddev, descriptive::stddev(all)),
        (say!("median absolute deviation"), estimate.mad, descriptive::mad(all)),
        (say!("best round"), estimate.best_round, best),
    ];
    let (name, says, given) = numbers.into_iter().find_map(|(name, says, given)| {
        let given = given.unwrap_or(0.0);
        // A spread is what is left of numbers that may be far larger.
        (!is_near(says, given, scale * 1e-3)).then_some((name, says, given))
    })?;
    with_numbers([says, given], probe.map(|probe| probe.unit), |[says, given]| {
        say!("the {name} is {says}, and its samples give {given}")
    })
}

/// The interval of the rounds' medians, which the clock's step may have widened, to both sides alike.
fn of_sampled_interval(measured: &Measured, medians: &[f64], unit: Option<Unit>) -> Option<Message> {
    let Measured { estimate, bounds, .. } = measured;
    let (low, high) = (estimate.ci_low?, estimate.ci_high?);
    let Some(interval::Interval { low: least, high: most, .. }) = interval::of_medians(medians, 0.0) else {
        return fault(say!("it has an interval, and {medians} rounds give none", medians = medians.len()));
    };
    let typical = estimate.typical;
    let is_wider =
        |end: f64, given: f64| (end - typical).abs() > (given - typical).abs() && !is_near(end, given, typical);
    let ends = [(low, least), (high, most)];
    let wider = ends.into_iter().filter(|&(end, given)| is_wider(end, given));
    let step = wider.map(|(end, _)| (end - typical).abs()).fold(0.0, f64::max);
    let ends = (least.min(typical - step), most.max(typical + step));
    // A round beside which the clock was low may lie where physics forbids, as may what the clock's step adds, and no end does.
    let (least, most) = bounds.map_or(ends, |bounds| bounds.held(ends, typical));
    let fits = is_near(low, least, typical) && is_near(high, most, typical);
    (!fits).then_some(())?;
    with_numbers([low, high, least, most], unit, |[low, high, least, most]| {
        say!("its interval is {low} … {high}, and its rounds give {least} … {most}")
    })
}
