//! What a profile allows a run, and what a command is allowed.

use std::time::Duration;

use hostmark_model::Profile;

use super::Plan;

impl Plan {
    /// What this plan is allowed: what its profile allows, and for a command no end.
    pub fn profile_limits(&self) -> ProfileLimits {
        let limits = profile_limits(self.request.profile);
        if self.request.inputs.command.is_empty() { limits } else { of_a_command(limits) }
    }
}

/// How long the rounds of a command may take in all: a week stands for no limit, as no wait can be endless.
const OF_A_COMMAND: Duration = Duration::from_secs(7 * 24 * 3600);

/// The limits of a command: the profile's rounds, each of one execution however long it takes, and never one more.
fn of_a_command(profile: ProfileLimits) -> ProfileLimits {
    ProfileLimits { limit: OF_A_COMMAND, narrow: f64::INFINITY, ..profile }
}

/// What a profile allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProfileLimits {
    /// Rounds a case: fixed, never decided by looking at the result.
    pub rounds: u32,
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
        Profile::Quick => allow(3, 60, 500, 0.02),
        Profile::Standard => allow(5, 300, 3_000, 0.01),
        Profile::Thorough => allow(10, 1_800, 20_000, 0.005),
    }
}

const fn allow(rounds: u32, limit_s: u64, case_ms: u64, narrow: f64) -> ProfileLimits {
    ProfileLimits { rounds, limit: Duration::from_secs(limit_s), case: Duration::from_millis(case_ms), narrow }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{CATALOGUE, planned};
    use crate::time_budget::TimeBudget;

    #[test]
    fn a_command_has_the_profiles_rounds_and_neither_its_limit_nor_one_round_more() {
        let mut plan = planned(CATALOGUE, &["net"], Profile::Quick);
        let (limit, patience) = (TimeBudget::hard_limit(&plan), TimeBudget::patience(&plan));
        assert!(limit < Duration::from_secs(60) && patience <= Duration::from_secs(20));
        plan.request.inputs.command = vec!["make".into()];
        assert_eq!(TimeBudget::rounds(&plan), 3);
        assert!(TimeBudget::hard_limit(&plan) > Duration::from_secs(6 * 24 * 3600));
        assert_eq!(TimeBudget::patience(&plan), OF_A_COMMAND);
        // No interval is so wide that time left over would be spent on it.
        assert!(plan.profile_limits().narrow >= f64::INFINITY);
    }
}
