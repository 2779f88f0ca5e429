//! What the machine does when left alone: of cases of one thread whose samples are all of one length.
//!
//! What disturbs a guest lasts longer than its run, and mostly only adds. A fixed quantile, on the good side, of all samples that
//! nothing is known to have disturbed repeats where the median does not, and does not wander off as samples become more, as the
//! best of them does (docs/decisions/0027-typical-and-quiet.md has the evidence).

use hostmark_model::{Better, Leading, Quiet, Taint};
use hostmark_stats::{descriptive, interval};

use crate::probe::Entry;
use crate::record::Sampled;

/// Groups of which it is told: their values are the core's and the memory's, and nobody is waited for.
const GROUPS: [&str; 4] = ["cpu", "memory", "clock", "syscall"];
/// So much of the samples is better.
const QUANTILE: f64 = 0.1;
/// Samples of a round that nothing disturbed; of a round with fewer all are taken.
const LEAST_SAMPLES: usize = 3;

/// The quiet value of a case from its rounds; none of cases of which it is not told.
pub(crate) fn of(entry: &Entry, rounds: &[&Sampled], relative_resolution: f64) -> Option<Quiet> {
    let p = match entry.probe.better {
        Better::Lower => QUANTILE,
        Better::Higher => 1.0 - QUANTILE,
        Better::Neither => return None,
    };
    // The core's frequency is taken beside samples of one thread that the engine times, and those are all of one length.
    let is_told = GROUPS.contains(&entry.group) && !entry.probe.blocking;
    if !is_told || rounds.is_empty() || rounds.iter().any(|round| round.noise.core_hz.is_none()) {
        return None;
    }
    let rounds: Vec<Vec<f64>> = rounds.iter().map(|round| undisturbed(&round.values, &round.taints)).collect();
    let value = descriptive::quantile(&rounds.concat(), p)?;
    let of_rounds: Vec<f64> = rounds.iter().filter_map(|round| descriptive::quantile(round, p)).collect();
    let floor = value.abs() * relative_resolution;
    let interval = interval::of_medians(&of_rounds, floor).map(|interval| interval.floored(value, floor));
    Some(Quiet { value, low: interval.map(|interval| interval.low), high: interval.map(|interval| interval.high) })
}

/// Which value stands for the case.
pub(crate) fn leading(quiet: Option<Quiet>) -> Leading {
    quiet.map_or(Leading::Typical, |_| Leading::Quiet)
}

/// The samples that nothing is known to have disturbed, or all where hardly any is left.
fn undisturbed(values: &[f64], taints: &[u8]) -> Vec<f64> {
    let marked = values.iter().zip(taints);
    let kept: Vec<f64> = marked.filter(|(_, taint)| Taint(**taint).is_quiet()).map(|(value, _)| *value).collect();
    if kept.len() < LEAST_SAMPLES { values.to_vec() } else { kept }
}
