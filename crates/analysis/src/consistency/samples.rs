//! Checks of an estimate against its samples in the file.

use hostmark_model::{Better, DisturbanceFlags, Estimate, Measured, Message, ProbeInfo, Unit};
use hostmark_say::say;
use hostmark_stats::{descriptive, interval};

use super::{fault, is_near, with_numbers};

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
        .or_else(|| of_interval(measured, &medians, unit))
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
fn of_interval(measured: &Measured, medians: &[f64], unit: Option<Unit>) -> Option<Message> {
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
