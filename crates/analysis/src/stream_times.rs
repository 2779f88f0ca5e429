//! STREAM's figures of a kernel, the rate of its best pass and all times, from memory.stream or STREAM's own output.

use hostmark_model::imported::stream as imported;
use hostmark_model::{CaseRecord, Measured};
use hostmark_stats::descriptive;

pub const PROBE: &str = "memory.stream";
pub const KERNEL: &str = "kernel";
/// These in STREAM's order, with the bytes that count for an element.
pub const KERNELS: [(&str, &str, f64); 4] =
    [("copy", "Copy:", 16.0), ("scale", "Scale:", 16.0), ("add", "Add:", 24.0), ("triad", "Triad:", 24.0)];

/// Rate of the best pass in units of 10^6 bytes/s, and times of all passes, s.
#[derive(Debug, PartialEq)]
pub struct Times {
    pub best: f64,
    pub mean: f64,
    pub least: f64,
    pub greatest: f64,
}

impl Times {
    /// Every sample is the rate of one pass; the first of each round is thrown away already, as STREAM's first is.
    pub fn of(measured: &Measured, bytes_per_element: f64) -> Option<Times> {
        Times::of_first(measured, bytes_per_element, usize::MAX)
    }

    /// Times of the first `passes` passes; of STREAM's own output, of all.
    fn of_first(measured: &Measured, bytes_per_element: f64, passes: usize) -> Option<Times> {
        if let [Some(mean), Some(least), Some(greatest)] = imported::TIMES.map(|name| measured.also.get(name)) {
            // Of several outputs of STREAM the best of each.
            let (mean, least, greatest) = (mean.estimate.min, least.estimate.min, greatest.estimate.max);
            let best = measured.estimate.max / 1e6;
            return Some(Times { best, mean: mean / 1e9, least: least / 1e9, greatest: greatest / 1e9 });
        }
        let bytes = number(measured, "elements")? * bytes_per_element;
        let rates: Vec<f64> = rates(measured).take(passes).collect();
        let best = rates.iter().copied().reduce(f64::max)?;
        let worst = rates.iter().copied().reduce(f64::min)?;
        // The mean of the times: a mean of rates would be another, since slow passes last longer.
        let mean = rates.iter().map(|rate| bytes / rate).sum::<f64>() / rates.len() as f64;
        Some(Times { best: best / 1e6, mean, least: bytes / best, greatest: bytes / worst })
    }
}

/// A number among the notes of a case.
pub fn number(measured: &Measured, key: &str) -> Option<f64> {
    measured.notes.get(key)?.parse().ok()
}

/// The rates of all passes, in the order in which they were made.
fn rates(measured: &Measured) -> impl Iterator<Item = f64> {
    measured.samples.iter().flatten().copied().filter(|rate| *rate > 0.0)
}

/// Number of passes of a case; none where its samples do not say.
pub fn passes(measured: &Measured) -> Option<usize> {
    let is_imported = imported::TIMES.iter().all(|name| measured.also.contains_key(*name));
    (!is_imported).then(|| rates(measured).count())
}

/// The best rate, in 10^6 bytes a second, and the mean time of a pass, s, of a kernel's case: of its first `passes` where known.
pub(crate) fn best_rate_and_mean_time(case: &CaseRecord, passes: Option<usize>) -> Option<(f64, f64)> {
    let (_, _, bytes) = KERNELS.iter().find(|(kernel, ..)| case.params.get(KERNEL) == Some(*kernel))?;
    let times = Times::of_first(case.measured()?, *bytes, passes.unwrap_or(usize::MAX))?;
    Some((times.best, times.mean))
}

/// The same of each of a case's rounds; none of what STREAM itself printed.
pub(crate) fn best_rate_and_mean_time_of_rounds(case: &CaseRecord) -> Vec<(f64, f64)> {
    let Some(measured) = case.measured().filter(|measured| passes(measured).is_some()) else { return Vec::new() };
    let of_round = |samples: &Vec<f64>| {
        let rates: Vec<f64> = samples.iter().copied().filter(|rate| *rate > 0.0).collect();
        let times: Vec<f64> = rates.iter().map(|rate| rate.recip()).collect();
        // A time of a byte: how far times lie apart does not depend on how many bytes a pass has.
        Some((descriptive::max(&rates)?, descriptive::mean(&times)?))
    };
    measured.samples.iter().filter_map(of_round).collect()
}
