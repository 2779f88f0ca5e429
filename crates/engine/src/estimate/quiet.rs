//! Undisturbed values of the machine, for cases of one thread whose samples are all of one length.
//!
//! What disturbs a guest lasts longer than its run, and mostly only adds. A fixed quantile, on the good side, of all samples that
//! nothing is known to have disturbed repeats where the median does not, and does not wander off as samples become more, as the
//! best of them does. What the core does by itself takes the same number of its cycles at whatever clock it has, and that clock
//! steps with the load of the whole package: such values are counted in cycles, and converted at the median clock of the case's
//! rounds, at which a typical value of as many cycles stands too (docs/decisions/0027-typical-and-quiet.md has the reasons). Cycles
//! are the quotient of two such quantiles, of the samples and of the clock beside them, and never a quantile of quotients: what is
//! wrong with the clock of one sample would make that the best of all (docs/decisions/0062-what-is-core-bound.md).

use hostmark_model::{AxisKind, Better, DisturbanceFlags, HostFacts, Leading, Params, Quiet};
use hostmark_stats::{descriptive, interval};

use crate::case::surroundings::Bind;
use crate::probe::{CoreBound, Entry};
use crate::quantity::Quantity;
use crate::record::{Round, Sampled};

/// Share of the samples that are better than the undisturbed value.
const QUANTILE: f64 = 0.1;
/// Samples that nothing disturbed; where there are fewer, all are taken.
const LEAST_SAMPLES: usize = 3;
/// Largest share of the second cache that surely stays in it whatever else the core has there.
const SHARE_OF_CACHE: f64 = 0.5;

/// Point of a case, and the host it was measured on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CasePoint<'a> {
    /// Parameters of the case.
    pub params: &'a Params,
    /// The machine.
    pub host: &'a HostFacts,
}

/// The quiet value of a case from its rounds; none of cases of which it is not told.
pub(crate) fn of(
    entry: &Entry,
    place: CasePoint,
    rounds: &[(&Round, &Sampled)],
    relative_resolution: f64,
) -> Option<Quiet> {
    if entry.probe.better == Better::Neither {
        return None;
    }
    if rounds.is_empty() || !has_quiet_value(entry) || !rounds.iter().all(|round| is_watched(entry, place, round)) {
        return None;
    }
    let cpu = rounds[0].0.cpus.first().copied();
    let at_hz = if is_of_core(entry, place, cpu) { median_clock(rounds) } else { None };
    let known = |is_kept: fn(DisturbanceFlags) -> bool| -> Vec<Vec<Timed>> {
        rounds.iter().map(|(_, sampled)| with_clock(sampled, at_hz.is_some(), is_kept)).collect()
    };
    let (all, mut rounds) = (known(|_| true), known(DisturbanceFlags::is_quiet));
    // A round that was disturbed from its first sample to its last says nothing of the machine left alone, where others do.
    let mut undisturbed = rounds.concat();
    for (round, all) in rounds.iter_mut().zip(all) {
        if round.len() < LEAST_SAMPLES {
            *round = all;
        }
    }
    if undisturbed.len() < LEAST_SAMPLES {
        undisturbed = rounds.concat();
    }
    let best = |samples: &[Timed]| best(samples, entry.probe.better, at_hz);
    let value = best(&undisturbed)?;
    let of_rounds: Vec<f64> = rounds.iter().filter_map(|round| best(round)).collect();
    let floor = value.abs() * relative_resolution;
    let interval = interval::of_medians(&of_rounds, floor).map(|interval| interval.floored(value, floor));
    let (low, high) = (interval.map(|interval| interval.low), interval.map(|interval| interval.high));
    let range = descriptive::min(&of_rounds).zip(descriptive::max(&of_rounds));
    Some(Quiet { value, low, high, range: range.map(|(least, most)| [least.min(value), most.max(value)]), at_hz })
}

/// The median over the rounds of the median clock beside a round's samples, hertz.
fn median_clock(rounds: &[(&Round, &Sampled)]) -> Option<f64> {
    let known = |sampled: &Sampled| sampled.core_hz().into_iter().filter(|hz| *hz > 0.0).collect::<Vec<f64>>();
    let of_rounds = rounds.iter().filter_map(|(_, sampled)| descriptive::median(&known(sampled)));
    descriptive::median(&of_rounds.collect::<Vec<f64>>())
}

/// Chooses the headline value of a case measured on `cpu`: the undisturbed one for operations of the core alone, where there is one.
/// Resources shared with others lead with what a program got.
pub(crate) fn leading(entry: &Entry, place: CasePoint, cpu: Option<usize>) -> Leading {
    if has_quiet_value(entry) && is_of_core(entry, place, cpu) { Leading::Quiet } else { Leading::Typical }
}

/// Tells whether such cases have an undisturbed value.
fn has_quiet_value(entry: &Entry) -> bool {
    !matches!(entry.probe.core_bound, CoreBound::No)
}

/// Tells whether disturbances of the core of this round are detected. The core's frequency is taken beside samples of one thread that the
/// engine times, and those are all of one length.
fn is_watched(entry: &Entry, place: CasePoint, (round, sampled): &(&Round, &Sampled)) -> bool {
    let is_of = |kind: AxisKind| entry.probe.axis_of(kind).and_then(|axis| place.params.get(axis.name));
    let is_seen = match is_of(AxisKind::Copies) {
        // Another copy may be the thread beside it.
        Some(copies) if copies != "1" => !sampled.noise.looks.is_empty(),
        // What two threads do to each other depends on where they lie, which no sample tells: most of the run has to.
        _ => {
            is_of(AxisKind::Placement).is_none()
                && (round.cpus.len() < 2 || Bind::of_case(place.params) == Some(Bind::Free))
        }
    };
    sampled.noise.core_hz.is_some() && is_seen
}

/// Tells whether the case uses only the core and its own caches.
fn is_of_core(entry: &Entry, place: CasePoint, cpu: Option<usize>) -> bool {
    match entry.probe.core_bound {
        CoreBound::No => false,
        CoreBound::Yes => true,
        CoreBound::Within(bytes) => {
            let cache = cpu.and_then(|cpu| place.host.cache(cpu, 2)).map(|cache| cache.size_bytes as f64);
            bytes(place.params).zip(cache).is_some_and(|(bytes, cache)| bytes <= SHARE_OF_CACHE * cache)
        }
    }
}

#[derive(Clone, Copy)]
struct Timed {
    value: f64,
    /// Overhead within it: the quantile of a difference would be of the samples whose overhead was disturbed.
    overhead: f64,
    /// The core's frequency beside it, hertz; 0 where it is not known.
    hz: f64,
}

/// The samples with these marks; without those beside which no clock is known, where any is needed.
fn with_clock(sampled: &Sampled, needs_clock: bool, is_kept: fn(DisturbanceFlags) -> bool) -> Vec<Timed> {
    let part = |of: Quantity| sampled.also.get(of.name).filter(|all| all.len() == sampled.values.len());
    let parts = part(Quantity::WHOLE).zip(part(Quantity::OVERHEAD));
    let timed = |(at, hz)| match parts {
        Some((whole, overhead)) => Timed { value: whole[at], overhead: overhead[at], hz },
        None => Timed { value: sampled.values[at], overhead: 0.0, hz },
    };
    let all = sampled.core_hz().into_iter().enumerate().zip(&sampled.disturbance_flags);
    let kept = all.filter(|&((_, hz), flags)| is_kept(DisturbanceFlags(*flags)) && (hz > 0.0 || !needs_clock));
    kept.map(|(sample, _)| timed(sample)).collect()
}

/// The tenth on the good side of these samples; told at the clock `at_hz` by the cycles that it takes at the tenth fastest clock beside
/// them.
fn best(samples: &[Timed], better: Better, at_hz: Option<f64>) -> Option<f64> {
    let is_rate = better == Better::Higher;
    let of = |part: fn(&Timed) -> f64, p: f64| descriptive::quantile(&samples.iter().map(part).collect::<Vec<_>>(), p);
    let p = if is_rate { 1.0 - QUANTILE } else { QUANTILE };
    let value = of(|timed| timed.value, p)? - of(|timed| timed.overhead, p)?;
    let Some(at_hz) = at_hz else { return Some(value) };
    let times = of(|timed| timed.hz, 1.0 - QUANTILE)? / at_hz;
    Some(if is_rate { value / times } else { value * times })
}

#[cfg(test)]
#[path = "quiet_tests.rs"]
mod tests;
