//! What STREAM tells of a kernel: the rate of its best pass, and the times of all, from the rates of memory.stream or from
//! what STREAM itself printed.

use hostmark_model::{CaseRecord, Measured};

use crate::import::stream as imported;

/// The probe.
pub(crate) const PROBE: &str = "memory.stream";
/// Its axis of kernels.
pub(crate) const KERNEL: &str = "kernel";
/// These in STREAM's order, with the bytes that count for an element.
pub(crate) const KERNELS: [(&str, &str, f64); 4] =
    [("copy", "Copy:", 16.0), ("scale", "Scale:", 16.0), ("add", "Add:", 24.0), ("triad", "Triad:", 24.0)];

/// Rate of the best pass in units of 10^6 bytes/s, and times of all passes, s.
#[derive(Debug, PartialEq)]
pub(crate) struct Times {
    pub(crate) best: f64,
    pub(crate) mean: f64,
    pub(crate) least: f64,
    pub(crate) greatest: f64,
}

impl Times {
    /// Every sample is the rate of one pass; the first of each round is thrown away already, as STREAM's first is.
    pub(crate) fn of(measured: &Measured, bytes_per_element: f64) -> Option<Times> {
        if let [Some(mean), Some(least), Some(greatest)] = imported::TIMES.map(|name| measured.also.get(name)) {
            // Of several outputs of STREAM the best of each.
            let (mean, least, greatest) = (mean.estimate.min, least.estimate.min, greatest.estimate.max);
            let best = measured.estimate.max / 1e6;
            return Some(Times { best, mean: mean / 1e9, least: least / 1e9, greatest: greatest / 1e9 });
        }
        let bytes = number(measured, "elements")? * bytes_per_element;
        let rates: Vec<f64> = measured.samples.iter().flatten().copied().filter(|rate| *rate > 0.0).collect();
        let best = rates.iter().copied().reduce(f64::max)?;
        let worst = rates.iter().copied().reduce(f64::min)?;
        // The mean of the times: a mean of rates would be another, since slow passes last longer.
        let mean = rates.iter().map(|rate| bytes / rate).sum::<f64>() / rates.len() as f64;
        Some(Times { best: best / 1e6, mean, least: bytes / best, greatest: bytes / worst })
    }
}

/// A number among the notes of a case.
pub(crate) fn number(measured: &Measured, key: &str) -> Option<f64> {
    measured.notes.get(key)?.parse().ok()
}

/// The best rate, units of 10^6 bytes a second, and the mean time of a pass, s, of a case of one kernel.
pub(crate) fn best_rate_and_mean_time(case: &CaseRecord) -> Option<(f64, f64)> {
    let (_, _, bytes) = KERNELS.iter().find(|(kernel, ..)| case.params.get(KERNEL) == Some(*kernel))?;
    Times::of(case.measured()?, *bytes).map(|times| (times.best, times.mean))
}
