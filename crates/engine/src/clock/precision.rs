//! What a clock can tell apart, and what reading it costs; measured in every worker.

use super::{Clock, Ticks};

/// Pairs of readings that a clock is judged by.
const READINGS: usize = 200;

/// The step in which a clock counts, from successive readings; none when it stood still.
///
/// A clock that is seen to repeat itself steps more slowly than it is read: its step is the smallest one seen. One that
/// never does is read more slowly than it steps: two steps that differ do so by whole steps of the clock.
pub fn smallest_step(readings: &[u64]) -> Option<u64> {
    let mut steps: Vec<u64> = readings.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    steps.sort_unstable();
    let smallest = steps.iter().copied().find(|&step| step > 0)?;
    if steps[0] == 0 {
        return Some(smallest);
    }
    let differences = steps.windows(2).map(|pair| pair[1] - pair[0]).filter(|&difference| difference > 0);
    Some(differences.min().unwrap_or(smallest).min(smallest))
}

/// A clock's precision, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Precision {
    /// The step in which the clock counts.
    pub resolution_ns: f64,
    /// The cost of one start and one end with nothing between them.
    pub cost_ns: f64,
}

impl Precision {
    /// Measures `clock`: some microseconds for a counter.
    pub fn of(clock: &Clock) -> Precision {
        let mut readings = [0; 2 * READINGS];
        for pair in readings.chunks_exact_mut(2) {
            pair[0] = clock.start().0;
            pair[1] = clock.end().0;
        }
        let cost = readings.chunks_exact(2).map(|pair| pair[1].saturating_sub(pair[0])).min();
        let ns = |ticks: Option<u64>| clock.ns(Ticks(ticks.unwrap_or(0)));
        Precision { resolution_ns: ns(smallest_step(&readings)), cost_ns: ns(cost) }
    }

    /// The shortest sample that this precision allows: a thousand times both, so that they cost under 0.1 %.
    pub fn shortest_sample_ns(&self) -> f64 {
        1000.0 * (self.resolution_ns + self.cost_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::FakeClock;

    #[test]
    fn a_clock_that_repeats_itself_steps_by_its_smallest_step() {
        assert_eq!(smallest_step(&[0, 0, 42, 42, 83, 125]), Some(41));
    }

    #[test]
    fn a_clock_that_never_repeats_itself_steps_by_what_its_steps_differ_by() {
        assert_eq!(smallest_step(&[0, 46, 92, 140, 190]), Some(2));
        assert_eq!(smallest_step(&[0, 50, 100]), Some(50));
    }

    #[test]
    fn a_clock_that_stands_still_has_no_step() {
        assert_eq!(smallest_step(&[7, 7, 7]), None);
        assert_eq!(smallest_step(&[]), None);
    }

    #[test]
    fn a_fake_clock_has_the_precision_it_was_given() {
        let precision = Precision::of(&Clock::Fake(FakeClock::new(25)));
        assert_eq!(precision, Precision { resolution_ns: 25.0, cost_ns: 25.0 });
        assert_eq!(precision.shortest_sample_ns(), 50_000.0);
    }
}
