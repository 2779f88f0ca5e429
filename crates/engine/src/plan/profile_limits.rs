//! What a profile allows a run, and what a command is allowed.

use std::time::Duration;

use hostmark_model::{AxisKind, Profile};

use super::{Plan, PlannedCase, Priority};

/// A set-up of so long, by forecast, is no cheap one.
const LONG_SET_UP: Duration = Duration::from_millis(25);
/// Rounds, or cases, that share what was touched, at least.
pub(super) const SHARED_BY: u32 = 5;

impl PlannedCase {
    /// Whether what it fills takes long, by forecast: it has no more rounds than it needs, and is measured beside its like, with
    /// which it shares what is filled.
    pub fn has_long_set_up(&self) -> bool {
        self.set_up + self.first_touch / SHARED_BY >= LONG_SET_UP
    }

    /// Tells whether a worker fills what takes long for it and for others, and is kept from replicate to replicate. CPU time of copies'
    /// processes is known when they have ended alone.
    pub fn keeps_worker(&self) -> bool {
        let copies = self.entry.probe.axis_of(AxisKind::Copies).and_then(|axis| self.id.params.get(axis.name));
        let is_alone = copies.is_none_or(|copies| copies == "1") && self.entry.probe.service().is_none();
        self.has_long_set_up() && self.entry.shares_worker && is_alone
    }

    /// Names the memory that it fills: the pages that it asks for, and the CPUs that touch them.
    pub fn region(&self) -> (Option<String>, Vec<usize>) {
        (self.id.params.get("page").map(str::to_owned), self.cpus.clone())
    }

    /// What the cases tell beside which a worker measures it in the first replicate: memory that takes long to fill is filled once for
    /// defaults and cells.
    pub fn unit_priority(&self) -> Priority {
        if self.keeps_worker() { self.priority.max(Priority::Cell) } else { self.priority }
    }

    /// Whether it is one of those that tell most of what takes long to fill: these share what is filled.
    pub fn is_filling_cell(&self) -> bool {
        self.keeps_worker() && self.priority <= Priority::Cell
    }
}

impl Plan {
    /// Rounds of a case: fixed before the first.
    pub fn rounds_of(&self, case: &PlannedCase) -> u32 {
        let limits = self.profile_limits();
        if case.has_long_set_up() { limits.rounds } else { limits.cheap_rounds }
    }

    /// What this plan is allowed: what its profile allows, or a share of it, and for a command no end.
    pub fn profile_limits(&self) -> ProfileLimits {
        let limits = profile_limits(self.request.profile);
        match (self.request.inputs.command.is_empty(), self.request.inputs.limit_s) {
            (false, _) => of_a_command(limits),
            (true, Some(limit)) => limits.within(Duration::from_secs(limit)),
            (true, None) => limits,
        }
    }
}

impl Plan {
    /// Tells whether it has less time than the quick profile, or than its own: what takes a large part of that to fill comes last.
    pub(crate) fn is_short(&self) -> bool {
        self.request.profile == Profile::Glance || self.request.inputs.limit_s.is_some()
    }
}

impl ProfileLimits {
    /// The same in less time: every case has its share of that too, and as many rounds.
    fn within(self, limit: Duration) -> ProfileLimits {
        let limit = limit.clamp(LEAST_LIMIT, self.limit.max(LEAST_LIMIT));
        let case = self.case.mul_f64(limit.as_secs_f64() / self.limit.as_secs_f64());
        ProfileLimits { limit, case, ..self }
    }
}

/// In less time than this no plan has its rounds.
const LEAST_LIMIT: Duration = Duration::from_secs(1);

/// How long the rounds of a command may take in all: a week stands for no limit, as no wait can be endless.
const OF_A_COMMAND: Duration = Duration::from_secs(7 * 24 * 3600);

/// The limits of a command: each round is one execution however long it takes, and there is never one more.
fn of_a_command(limits: ProfileLimits) -> ProfileLimits {
    let rounds = limits.rounds;
    ProfileLimits { rounds, cheap_rounds: rounds, limit: OF_A_COMMAND, narrow: f64::INFINITY, ..limits }
}

/// What a profile allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProfileLimits {
    /// Rounds a case: fixed, never decided by looking at the result.
    pub rounds: u32,
    /// Rounds that a plan has to have time for, or it leaves the case out; on a machine that is slow for it a case may have no more.
    pub least_rounds: u32,
    /// Rounds of a case whose set-up is cheap.
    pub cheap_rounds: u32,
    /// The hard wall limit of the run.
    pub limit: Duration,
    /// Time for samples of one case, over all its rounds.
    pub case: Duration,
    /// Half of an interval over its value that is narrow enough: wider ones get the time that is left over.
    pub narrow: f64,
}

/// The limits of a profile.
pub const fn profile_limits(profile: Profile) -> ProfileLimits {
    match profile {
        Profile::Glance => allow([5, 5, 5], 10, 500, 0.02),
        Profile::Quick => allow([3, 5, 7], 60, 500, 0.02),
        Profile::Standard => allow([5, 5, 7], 300, 3_000, 0.01),
        Profile::Thorough => allow([10, 10, 10], 1_800, 20_000, 0.005),
    }
}

/// Rounds: the least, those of every case, and those of a cheap one.
const fn allow(
    [least_rounds, rounds, cheap_rounds]: [u32; 3],
    limit_s: u64,
    case_ms: u64,
    narrow: f64,
) -> ProfileLimits {
    let (limit, case) = (Duration::from_secs(limit_s), Duration::from_millis(case_ms));
    ProfileLimits { rounds, least_rounds, cheap_rounds, limit, case, narrow }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{CATALOGUE, planned};
    use crate::plan::time_budget::TimeBudget;

    #[test]
    fn what_is_cheap_to_set_up_has_more_rounds() {
        let mut plan = planned(CATALOGUE, &["net"], Profile::Quick);
        plan.cases[0].set_up = Duration::from_millis(24);
        plan.cases[1].set_up = Duration::from_millis(25);
        assert_eq!((plan.rounds_of(&plan.cases[0]), plan.rounds_of(&plan.cases[1])), (7, 5));
    }

    #[test]
    fn a_share_of_the_time_is_shared_by_the_cases_and_is_never_more_than_the_profiles() {
        let mut plan = planned(CATALOGUE, &["net"], Profile::Quick);
        let whole = plan.profile_limits();
        for (limit, expected) in [(12, 12), (0, 1), (60, 60), (u64::MAX, 60)] {
            plan.request.inputs.limit_s = Some(limit);
            let limits = plan.profile_limits();
            assert_eq!(limits.limit, Duration::from_secs(expected));
            assert_eq!((limits.rounds, limits.least_rounds), (whole.rounds, whole.least_rounds));
            let share = limits.case.as_secs_f64() / whole.case.as_secs_f64();
            assert!((share - expected as f64 / 60.0).abs() < 1e-6, "{share}");
            assert!(TimeBudget::hard_limit(&plan) < Duration::from_secs(expected));
        }
    }

    #[test]
    fn a_command_has_its_own_rounds_and_neither_its_limit_nor_one_round_more() {
        let mut plan = planned(CATALOGUE, &["net"], Profile::Quick);
        let (limit, patience) = (TimeBudget::hard_limit(&plan), TimeBudget::patience(&plan));
        assert!(limit < Duration::from_secs(60) && patience <= Duration::from_secs(20));
        plan.request.inputs.command = vec!["make".into()];
        // As many as an interval takes.
        assert_eq!((TimeBudget::rounds(&plan), plan.rounds_of(&plan.cases[0])), (5, 5));
        assert!(TimeBudget::hard_limit(&plan) > Duration::from_secs(6 * 24 * 3600));
        assert_eq!(TimeBudget::patience(&plan), OF_A_COMMAND);
        // No interval is so wide that time left over would be spent on it.
        assert!(plan.profile_limits().narrow >= f64::INFINITY);
    }
}
