//! What a plan is expected to take, before anything is measured.

use std::time::Duration;

use crate::plan::time_budget::TimeBudget;
use crate::plan::{Plan, PlannedCase};

/// What the rounds of a plan are expected to take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Eta {
    /// Rounds of every case, at least: one whose set-up is cheap has more.
    pub rounds: u32,
    /// The same where the limit has no room for all of them.
    pub least_rounds: u32,
    /// Samples of one round.
    pub samples: Duration,
    /// Cases that are to be measured.
    pub cases: usize,
    /// All rounds of all cases.
    all: Duration,
    /// As many as the plan asks room for, with as few samples as are worth taking.
    least: Duration,
    /// When measuring ends at the latest.
    pub end: Duration,
}

impl Eta {
    /// The eta of a plan.
    pub fn of(plan: &Plan) -> Eta {
        let rounds = TimeBudget::rounds(plan);
        let measured: Vec<(u32, Duration)> = plan
            .cases
            .iter()
            .filter(|case| case.skip.is_none())
            .map(|case| (plan.rounds_of(case), case.set_up))
            .collect();
        let set_up: Duration = measured.iter().map(|&(rounds, set_up)| set_up * rounds).sum();
        let all_rounds = measured.iter().map(|&(rounds, _)| rounds as usize).sum::<usize>();
        let end = TimeBudget::for_rounds(plan);
        let samples =
            TimeBudget::new(plan, TimeBudget::time_for_more(plan, Duration::ZERO) - end, all_rounds, set_up).share();
        let least_rounds = plan.profile_limits().least_rounds as usize;
        let least = measured.iter().map(|&(_, set_up)| TimeBudget::at_least(least_rounds, set_up)).sum();
        let all = samples * all_rounds as u32 + set_up;
        let least_rounds = if all <= end { rounds } else { plan.profile_limits().least_rounds };
        Eta { rounds, least_rounds, samples, cases: measured.len(), all, least, end }
    }

    /// All rounds of these cases.
    pub fn of_cases<'a>(&self, plan: &Plan, cases: impl IntoIterator<Item = &'a PlannedCase>) -> Duration {
        let measured = cases.into_iter().filter(|case| case.skip.is_none());
        measured.map(|case| (self.samples + case.set_up) * plan.rounds_of(case)).sum()
    }

    /// All rounds of the plan, as far as the limit has room for them.
    pub fn in_all(&self) -> Duration {
        self.all.min(self.end)
    }

    /// Whether the limit has room for the least of all.
    pub fn fits(&self) -> bool {
        self.least <= self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{CATALOGUE, MANY, planned};
    use hostmark_model::Profile;

    #[test]
    fn a_small_plan_has_what_a_case_may_take_and_a_large_one_shares_the_limit() {
        let plan = planned(CATALOGUE, &["net", "ipc.pipe@cpus=other_node"], Profile::Quick);
        let small = Eta::of(&plan);
        assert_eq!((small.cases, small.rounds, small.least_rounds), (2, 5, 5));
        assert_eq!(small.samples, Duration::from_millis(100));
        assert!(small.fits() && small.in_all() < Duration::from_secs(2));
        assert!(small.of_cases(&plan, &planned(CATALOGUE, &["net"], Profile::Quick).cases) <= small.in_all());
        let large = Eta::of(&planned(MANY, &[], Profile::Quick));
        assert_eq!(large.cases, 200);
        assert!(large.in_all() <= Duration::from_secs(57) && large.in_all() > Duration::from_secs(55));
    }
}
