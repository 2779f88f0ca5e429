//! Evidence that a change beside the leading value is one of the case: seen each time, and without disturbance.

use hostmark_model::{Measured, Message, Run, Text, is_of_disturbed};
use hostmark_say::say;

use super::side::{By, RunCase, round_medians};
use super::{Aspect, Evidence, in_turn};
use crate::format::DISTURBED_SHARE;
use crate::neighbours;
use crate::words;

/// The runs of both sides, the first of one made in turn with the first of the other.
pub(super) type Sides<'a> = (&'a [Run], &'a [Run]);

/// A change repeats where it is seen in this share of all pairs of runs.
const EACH_TIME: f64 = 0.8;

/// Evidence of a change by `logarithm`: pairs measured in turn must agree on its direction; of runs made apart every round of one must lie
/// beyond the other's value. Disturbed values agree with nothing.
pub(super) fn evidence(by: By, logarithm: f64, old: &[RunCase], new: &[RunCase], pairs: Option<Sides>) -> Evidence {
    let is_beyond = |from: f64, to: f64| if logarithm > 0.0 { to > from } else { to < from };
    let is_disturbed = |found: &RunCase| found.measured().is_some_and(is_disturbed);
    let agrees = |(before, after): (&RunCase, &RunCase)| match (by.value(before), by.value(after)) {
        _ if is_disturbed(before) || is_disturbed(after) => false,
        (Some(from), Some(to)) if pairs.is_some() => is_beyond(from, to),
        (Some(from), Some(to)) => {
            let all = |ends: Option<[f64; 2]>, is_one: &dyn Fn(f64) -> bool| {
                ends.is_some_and(|ends| ends.into_iter().all(is_one))
            };
            all(rounds(by, before), &|one| is_beyond(one, to)) && all(rounds(by, after), &|one| is_beyond(from, one))
        }
        _ => false,
    };
    let [before, after] =
        [old, new].map(|side| side.iter().filter(|found| found.measured().is_some()).collect::<Vec<_>>());
    let all: Vec<(&RunCase, &RunCase)> = match pairs {
        Some(sides) => in_turn::pairs(sides, (old, new)).collect(),
        None => before.iter().flat_map(|one| after.iter().map(|other| (*one, *other))).collect(),
    };
    let agreeing = all.iter().filter(|pair| agrees(**pair)).count();
    if agreeing > 0 && agreeing as f64 >= EACH_TIME * all.len() as f64 {
        Evidence::Repeats
    } else if before.iter().chain(&after).any(|one| is_disturbed(one)) {
        Evidence::Disturbed
    } else {
        Evidence::Once
    }
}

/// The smallest and the largest value of a run's rounds; none where a file does not tell them.
fn rounds(by: By, found: &RunCase) -> Option<[f64; 2]> {
    let measured = found.measured()?;
    let ends = match by {
        By::Percentile(name) => measured.also.get(name)?.estimate.range,
        By::Typical | By::Quiet => {
            let medians = round_medians(measured);
            let [first, rest @ ..] = medians.as_slice() else { return None };
            Some(rest.iter().fold([*first; 2], |[low, high], one| [low.min(*one), high.max(*one)]))
        }
    };
    ends.map(|ends| ends.map(|end| end * found.scale))
}

/// Tells whether others, the hypervisor or a quota took time of the case's CPUs while it was measured, or its clock was not steady.
fn is_disturbed(measured: &Measured) -> bool {
    let noise = &measured.noise;
    is_of_disturbed(&measured.flags)
        || noise.others_share.is_some_and(|share| share > 0.0)
        || noise.steal_ns.is_some_and(|ns| ns > 0.0)
        || noise.shared.is_some_and(|share| share >= neighbours::SHARED)
        || noise.disturbed as f64 >= DISTURBED_SHARE * measured.taken().max(1) as f64
}

/// Remark on a change that is none of the case; none for one that is.
pub(super) fn remark(aspect: &Aspect) -> Option<Text<String>> {
    let change = (aspect.test.ratio - 1.0) * 100.0;
    let (name, change) = (&aspect.name, format!("{}{:.0} %", if change < 0.0 { '−' } else { '+' }, change.abs()));
    let name = if name == "typical" { term!("median").into() } else { Message::plain(name) };
    match aspect.evidence {
        Evidence::Repeats => None,
        Evidence::Disturbed => Some(words(say!("{name} {change}, and a side was disturbed: no verdict on it"))),
        Evidence::Once => Some(words(say!("{name} {change}, but not each time: no verdict on it"))),
    }
}
