//! What a clock can tell apart, and what reading it costs; measured in every worker.

use super::Clock;

/// A clock's precision, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Precision {
    /// The smallest step seen between two different readings.
    pub resolution_ns: f64,
    /// The cost of one start and one end with nothing between them.
    pub cost_ns: f64,
}

impl Precision {
    /// Measures `clock`: some microseconds for a counter.
    pub fn of(clock: &Clock) -> Precision {
        let mut cost_ns = f64::INFINITY;
        let mut resolution_ns = f64::INFINITY;
        let mut last = clock.start();
        for _ in 0..200 {
            let start = clock.start();
            let end = clock.end();
            cost_ns = cost_ns.min(clock.ns(end.since(start)));
            for (from, to) in [(last, start), (start, end)] {
                let step_ns = clock.ns(to.since(from));
                if step_ns > 0.0 {
                    resolution_ns = resolution_ns.min(step_ns);
                }
            }
            last = end;
        }
        let finite = |ns: f64| if ns.is_finite() { ns } else { 0.0 };
        Precision { resolution_ns: finite(resolution_ns), cost_ns: finite(cost_ns) }
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
    fn a_fake_clock_has_the_precision_it_was_given() {
        let precision = Precision::of(&Clock::Fake(FakeClock::new(25)));
        assert_eq!(precision, Precision { resolution_ns: 25.0, cost_ns: 25.0 });
        assert_eq!(precision.shortest_sample_ns(), 50_000.0);
    }
}
