//! What a plan is expected to take, before anything is measured.

use std::time::Duration;

use crate::budget::Budget;
use crate::plan::Plan;

/// What the rounds of a plan are expected to take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// Rounds of every case.
    pub rounds: u32,
    /// Samples of one round.
    pub samples: Duration,
    /// What a round is thought to take besides; large buffers and slow hosts take more.
    pub overhead: Duration,
    /// Cases that are to be measured.
    pub cases: usize,
    /// When measuring ends at the latest.
    pub end: Duration,
}

impl Forecast {
    /// The forecast of a plan.
    pub fn of(plan: &Plan) -> Forecast {
        let rounds = Budget::rounds(plan);
        let cases = plan.cases.iter().filter(|case| case.skip.is_none()).count();
        let all = cases * rounds as usize;
        let overhead = Budget::FIRST_OVERHEAD;
        let samples = Budget::new(plan, Duration::ZERO, all, overhead * all as u32).share();
        Forecast { rounds, samples, overhead, cases, end: Budget::time_for_more(plan, Duration::ZERO) }
    }

    /// All rounds of so many cases.
    pub fn of_cases(&self, cases: usize) -> Duration {
        (self.samples + self.overhead) * self.rounds * cases as u32
    }

    /// All rounds of the plan, as far as the limit has room for them.
    pub fn in_all(&self) -> Duration {
        self.of_cases(self.cases).min(self.end)
    }

    /// Whether the limit has room for all.
    pub fn fits(&self) -> bool {
        self.of_cases(self.cases) <= self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{CATALOGUE, MANY, planned};
    use hostmark_model::Profile;

    #[test]
    fn a_small_plan_has_what_a_case_may_take_and_a_large_one_shares_the_limit() {
        let small = Forecast::of(&planned(CATALOGUE, &["net", "ipc.pipe@cpus=other_node"], Profile::Quick));
        assert_eq!((small.cases, small.rounds), (2, 3));
        assert_eq!(small.samples, Duration::from_millis(500) / 3);
        assert!(small.fits() && small.in_all() < Duration::from_secs(2));
        let large = Forecast::of(&planned(MANY, &[], Profile::Quick));
        assert_eq!(large.cases, 200);
        assert!(large.in_all() <= Duration::from_secs(57) && large.in_all() > Duration::from_secs(55));
    }
}
