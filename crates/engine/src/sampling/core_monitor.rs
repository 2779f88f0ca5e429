//! What the core did beside each sample of a round: its frequency, and whether another thread ran on it.

use hostmark_model::DisturbanceFlags;

use crate::clock::{Clock, CoreClock, CoreReading};
use crate::sampling::sample::Samples;

/// Two looks whose frequencies lie further apart than this had a change between them: nobody knows at which of the two the
/// samples between them ran.
const STEADY: f64 = 0.005;

/// Looks at the core between samples, and tells those since the last look what was seen.
pub(crate) struct CoreMonitor<'a> {
    clock: &'a Clock,
    core: Option<&'a mut CoreClock>,
    /// Adds a cycle of the core when no other thread runs on it; none while that is not known.
    whole_width: Option<f64>,
    last: Option<CoreReading>,
}

impl<'a> CoreMonitor<'a> {
    /// Looks before the first sample.
    pub(crate) fn begin(
        clock: &'a Clock,
        mut core: Option<&'a mut CoreClock>,
        whole_width: Option<f64>,
    ) -> CoreMonitor<'a> {
        let last = core.as_mut().map(|core| core.look(clock));
        CoreMonitor { clock, core, whole_width, last }
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
        let is_shared = self.whole_width.is_some_and(|width| now.is_shared(width) || before.is_shared(width));
        let first = samples.core_hz.len();
        samples.core_hz.resize(samples.ns.len(), hz);
        if is_shared {
            samples.disturbance_flags[first..].iter_mut().for_each(|flags| flags.0 |= DisturbanceFlags::SHARED);
        }
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

    fn beside(clock: &Clock, whole_width: Option<f64>) -> CoreMonitor<'_> {
        CoreMonitor { clock, core: None, whole_width, last: look(3.0, 5.0) }
    }

    #[test]
    fn samples_between_two_looks_ran_at_what_both_saw_or_at_nobody_knows_what() {
        let clock = Clock::MonotonicRaw;
        let (mut beside, mut two) = (beside(&clock, Some(5.0)), samples(2));
        beside.seen(look(3.006, 5.0), &mut two);
        assert_eq!(two.core_hz, [3.003e9, 3.003e9]);
        two.push(1.0, 1, 1.0);
        beside.seen(None, &mut two);
        assert_eq!(two.core_hz.len(), 2);
        beside.seen(look(3.2, 5.0), &mut two);
        assert_eq!(two.core_hz[2], 0.0);
        assert!(two.disturbance_flags.iter().all(|flags| flags.is_quiet()));
    }

    #[test]
    fn a_look_at_a_shared_core_marks_the_samples_on_both_sides_of_it_alone() {
        let clock = Clock::MonotonicRaw;
        let (mut beside, mut all) = (beside(&clock, Some(5.0)), samples(0));
        for width in [5.0, 2.6, 5.0, 5.0] {
            all.push(1.0, 1, 1.0);
            beside.seen(look(3.0, width), &mut all);
        }
        let marked: Vec<bool> = all.disturbance_flags.iter().map(|flags| !flags.is_quiet()).collect();
        assert_eq!(marked, [false, true, true, false]);
        // It costs time, and yet no sample has been kept from running.
        assert!(all.disturbance_flags.iter().all(|flags| !flags.is_disturbed()));
    }

    #[test]
    fn nothing_is_marked_while_the_width_of_the_core_is_not_known() {
        let clock = Clock::MonotonicRaw;
        let (mut beside, mut one) = (beside(&clock, None), samples(1));
        beside.seen(look(3.0, 0.5), &mut one);
        assert!(one.disturbance_flags[0].is_quiet());
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
