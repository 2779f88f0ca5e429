//! What the core did beside each sample of a round: its frequency, and how much of its width the thread had.

use crate::clock::{Clock, CoreClock, CoreReading};
use crate::sampling::sample::Samples;

/// Two looks whose frequencies lie further apart than this had a change between them: nobody knows at which of the two the
/// samples between them ran.
const STEADY: f64 = 0.005;

/// Looks at the core between samples, and tells those since the last look what was seen.
pub(crate) struct CoreMonitor<'a> {
    clock: &'a Clock,
    core: Option<&'a mut CoreClock>,
    last: Option<CoreReading>,
}

impl<'a> CoreMonitor<'a> {
    /// Looks before the first sample.
    pub(crate) fn begin(clock: &'a Clock, mut core: Option<&'a mut CoreClock>) -> CoreMonitor<'a> {
        let last = core.as_mut().map(|core| core.look(clock));
        CoreMonitor { clock, core, last }
    }

    /// A sample is complete.
    pub(crate) fn add(&mut self, samples: &mut Samples) {
        let look = self.core.as_mut().and_then(|core| core.look_again(self.clock));
        self.seen(look, samples);
    }

    /// The round has no further sample.
    pub(crate) fn end(mut self, samples: &mut Samples) {
        if samples.core_hz.len() < samples.ns.len() {
            let look = self.core.as_mut().map(|core| core.look(self.clock));
            self.seen(look, samples);
        }
    }

    /// What a look saw holds for the samples since the one before.
    fn seen(&mut self, look: Option<CoreReading>, samples: &mut Samples) {
        let (Some(now), Some(before)) = (look, self.last) else { return };
        let is_steady = (now.hz / before.hz - 1.0).abs() <= STEADY;
        let hz = if is_steady { (now.hz + before.hz) / 2.0 } else { 0.0 };
        let first = samples.core_hz.len();
        samples.core_hz.resize(samples.ns.len(), hz);
        if samples.looks.is_empty() {
            samples.looks.push(before.after(0));
        }
        samples.looks.push(now.after(samples.ns.len() - first));
        self.last = Some(now);
    }
}

/// Frequencies of samples as a file has them: of so many in a row the mean, kHz; 0 where it is not known.
pub(crate) fn in_rows(core_hz: &[f64]) -> Vec<[u64; 2]> {
    let mut rows: Vec<(u64, f64)> = Vec::new();
    for &hz in core_hz {
        match rows.last_mut() {
            Some((count, mean)) if (*mean - hz).abs() <= ONE_ROW * *mean => {
                *count += 1;
                *mean += (hz - *mean) / *count as f64;
            }
            _ => rows.push((1, hz)),
        }
    }
    rows.into_iter().map(|(count, hz)| [count, (hz / 1e3).round() as u64]).collect()
}

/// A row goes on while its frequency lies this near its mean: what one look is off by, and far less than a step of any clock.
const ONE_ROW: f64 = STEADY / 2.0;

/// The frequency beside each sample, hertz, from the rows of a file; none where they are not of so many samples.
pub(crate) fn of_rows(rows: &[[u64; 2]], samples: usize) -> Option<Vec<f64>> {
    let mut all = Vec::new();
    for &[count, khz] in rows {
        let count = usize::try_from(count).ok().filter(|count| *count <= samples - all.len())?;
        all.resize(all.len() + count, khz as f64 * 1e3);
    }
    (all.len() == samples).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(count: usize) -> Samples {
        let mut samples = Samples::of_times(1);
        (0..count).for_each(|_| samples.push(1.0, 1, 1.0));
        samples
    }

    fn look(ghz: f64, width: f64) -> Option<CoreReading> {
        Some(CoreReading { hz: ghz * 1e9, width })
    }

    fn beside(clock: &Clock) -> CoreMonitor<'_> {
        CoreMonitor { clock, core: None, last: look(3.0, 5.0) }
    }

    #[test]
    fn samples_between_two_looks_ran_at_what_both_saw_or_at_nobody_knows_what() {
        let clock = Clock::MonotonicRaw;
        let (mut beside, mut two) = (beside(&clock), samples(2));
        beside.seen(look(3.006, 5.0), &mut two);
        assert_eq!(two.core_hz, [3.003e9, 3.003e9]);
        two.push(1.0, 1, 1.0);
        beside.seen(None, &mut two);
        assert_eq!(two.core_hz.len(), 2);
        beside.seen(look(3.2, 5.0), &mut two);
        assert_eq!(two.core_hz[2], 0.0);
    }

    #[test]
    fn each_look_is_kept_with_the_number_of_samples_before_it() {
        let clock = Clock::MonotonicRaw;
        let (mut beside, mut all) = (beside(&clock), samples(2));
        beside.seen(look(3.0, 2.6), &mut all);
        beside.seen(look(3.0, 4.9876), &mut all);
        all.push(1.0, 1, 1.0);
        beside.seen(look(3.0, f64::INFINITY), &mut all);
        assert_eq!(all.looks, [[0, 5000], [2, 2600], [0, 4988], [1, u64::MAX]]);
    }

    #[test]
    fn rows_report_the_frequency_of_each_sample_again() {
        let hz = [3e9, 3.0001e9, 0.0, 0.0, 2.9e9];
        let rows = in_rows(&hz);
        assert_eq!(rows, [[2, 3_000_050], [2, 0], [1, 2_900_000]]);
        assert_eq!(of_rows(&rows, 5).unwrap(), [3.00005e9, 3.00005e9, 0.0, 0.0, 2.9e9]);
        // A file may say anything.
        for samples in [0, 4, 6] {
            assert_eq!(of_rows(&rows, samples), None);
        }
        assert_eq!(of_rows(&[[u64::MAX, 1], [u64::MAX, 1]], 3), None);
    }
}
