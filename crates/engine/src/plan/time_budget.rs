//! Time budget: the time that a profile allows a run, the share of a further round, and the point when none is left.

use std::collections::HashSet;
use std::time::Duration;

use hostmark_model::{AxisKind, HostFacts, Inputs, Profile};

use super::{Plan, PlannedCase, Priority};

/// A set-up of so long, by forecast, is no cheap one.
const LONG_SET_UP: Duration = Duration::from_millis(25);
/// Rounds, or cases, that share what was touched, at least.
pub(super) const SHARED_BY: u32 = 5;

impl PlannedCase {
    /// Tells whether its memory takes long to fill, by forecast: it has only the rounds it needs, and shares the memory with its like.
    pub fn has_long_set_up(&self) -> bool {
        self.set_up + self.first_touch / SHARED_BY >= LONG_SET_UP
    }

    /// Tells whether a worker that fills for long is kept between replicates. CPU time of copies is known only when they have ended.
    pub fn keeps_worker(&self) -> bool {
        let copies = self.entry.probe.axis_of(AxisKind::Copies).and_then(|axis| self.id.params.get(axis.name));
        let is_alone = copies.is_none_or(|copies| copies == "1") && self.entry.probe.service().is_none();
        self.has_long_set_up() && self.entry.shares_worker && is_alone
    }

    /// Names the memory that it fills: the pages that it asks for, and the CPUs that touch them.
    pub fn region(&self) -> (Option<String>, Vec<usize>) {
        (self.id.params.get("page").map(str::to_owned), self.cpus.clone())
    }

    /// Returns the priority of its unit in the first replicate: memory that takes long to fill is filled once for defaults and cells.
    pub fn unit_priority(&self) -> Priority {
        if self.keeps_worker() { self.priority.max(Priority::Cell) } else { self.priority }
    }

    /// Tells whether it is a high-priority case that takes long to fill: these share the filled memory.
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

    /// Limits of this plan: those of its profile, or a share of them, and for a command no end.
    pub fn profile_limits(&self) -> ProfileLimits {
        limits_of(self.request.profile, &self.request.inputs)
    }

    /// Tells whether it has less time than the quick profile, or than its own: what takes a large part of that to fill comes last.
    pub(crate) fn is_short(&self) -> bool {
        self.request.profile == Profile::Glance || self.request.inputs.limit_s.is_some()
    }
}

/// Limits of a run of this profile and with these inputs, before it has a plan too.
pub fn limits_of(profile: Profile, inputs: &Inputs) -> ProfileLimits {
    let limits = profile_limits(profile);
    match (inputs.command.is_empty(), inputs.limit_s) {
        (false, _) => of_a_command(limits),
        (true, Some(limit)) => limits.within(Duration::from_secs(limit)),
        (true, None) => limits,
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

/// Least time in which a plan has its rounds.
const LEAST_LIMIT: Duration = Duration::from_secs(1);

/// Longest time for the rounds of a command in all: a week stands for no limit, as no wait can be endless.
const OF_A_COMMAND: Duration = Duration::from_secs(7 * 24 * 3600);

/// The limits of a command: each round is one execution however long it takes, and there is never one more.
fn of_a_command(limits: ProfileLimits) -> ProfileLimits {
    let rounds = limits.rounds;
    ProfileLimits { rounds, cheap_rounds: rounds, limit: OF_A_COMMAND, narrow: f64::INFINITY, ..limits }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProfileLimits {
    /// Rounds a case: fixed, never decided by looking at the result.
    pub rounds: u32,
    /// Rounds that a plan has to have time for, or it leaves the case out; on a machine that is slow for it a case may have no more.
    pub least_rounds: u32,
    /// Rounds of a case whose set-up is cheap.
    cheap_rounds: u32,
    /// The hard wall limit of the run.
    pub limit: Duration,
    /// Time for samples of one case, over all its rounds.
    pub case: Duration,
    /// Half of an interval over its value that is narrow enough: wider ones get the time that is left over.
    pub narrow: f64,
}

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

/// Share of the limit that is for measuring; the rest is for ending the last round, the estimates and the report.
const FOR_MEASURING: f64 = 0.95;
/// Time when measuring is stopped hard, as a share of the limit.
const HARD_STOP: f64 = 0.97;
/// Share of the limit in which the run's warm-up of its CPUs has to be done: 3 s of the quick profile.
const WARM_UP_SHARE: u32 = 20;
/// Share of the limit that the rounds of one worker may take: 3 s of the quick profile.
const UNIT_SHARE: u32 = 20;
/// Longest set-up that is forecast to end by then, in multiples of the patience.
const MOST_SET_UP: u32 = 2;
/// A set-up may always take this part of the patience: a second in the quick profile.
const LEAST_SET_UP_SHARE: u32 = 5;
/// A round that is not done this long after its time for samples has hung; in short runs, a share of the limit.
const PATIENCE: Duration = Duration::from_secs(20);
const PATIENCE_SHARE: u32 = 12;
/// Share of the time left that nobody promises: the cost of first rounds, trials of kernels above all, is known afterwards.
const UNFORESEEN: f64 = 0.1;
/// A round with less time for samples than this would measure noise.
const LEAST_SAMPLES: Duration = Duration::from_millis(10);
/// Time for samples of a round that a plan has room for: little more than the least, since rounds share what is left over. With more, a
/// forecast of the first touch that differs by a second would change which cases a run has.
const PLANNED_SAMPLES: Duration = Duration::from_millis(12);
/// Resident memory at most, so that a run is a small guest on any host.
const MOST_MEMORY: u64 = 256 << 20;
/// Divisor of the memory that may be filled in the longer profiles.
const MEMORY_SHARE: u64 = 2;

/// The time for the rounds that are still to come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeBudget {
    /// Time until measuring ends.
    left: Duration,
    rounds: usize,
    /// Time that they take besides samples.
    overhead: Duration,
    /// Samples of one round at most.
    most: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RoundDecision {
    /// Measure, with this long for samples.
    Sample(Duration),
    /// Round without time left for it.
    Drop,
    /// Run without time left for any round.
    Over,
}

/// The case whose round is next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Next {
    /// True at its probe's defaults with fewer rounds than the plan asks room for.
    pub is_default: bool,
    /// Number of rounds still to come, this one included.
    pub rounds: usize,
    /// Time of one round besides samples.
    pub overhead: Duration,
    /// Duration of the last round, in multiples of its grant.
    pub stretch: f64,
    /// Least time for the rounds of the other cases that come before any that is still to begin.
    pub others: Duration,
}

impl TimeBudget {
    /// The run's warm-up of a CPU takes at most 200 ms; one that takes this long has lost its CPU to others.
    pub const WARM_UP_LIMIT: Duration = Duration::from_secs(2);
    /// Usual time of a warm-up, with the start of its worker.
    const USUAL_WARM_UP: Duration = Duration::from_millis(40);
    /// Assumed time of a round besides samples before any is known.
    pub const FIRST_OVERHEAD: Duration = Duration::from_millis(15);

    /// The budget of a plan when `elapsed` is gone, `rounds` are to come, and they take `overhead` besides samples.
    pub fn new(plan: &Plan, elapsed: Duration, rounds: usize, overhead: Duration) -> TimeBudget {
        let end = plan.profile_limits().limit.mul_f64(FOR_MEASURING);
        TimeBudget { left: end.saturating_sub(elapsed), rounds, overhead, most: TimeBudget::most_a_round(plan) }
    }

    /// The time for rounds of a plan on CPUs that have yet to be warmed up, by forecast.
    pub fn for_rounds(plan: &Plan) -> Duration {
        let used: HashSet<usize> =
            plan.cases.iter().filter(|case| case.skip.is_none()).flat_map(|case| &case.cpus).copied().collect();
        let warm_up = (TimeBudget::USUAL_WARM_UP * used.len() as u32).min(TimeBudget::warm_up(plan));
        TimeBudget::time_for_more(plan, warm_up)
    }

    pub fn rounds(plan: &Plan) -> u32 {
        plan.profile_limits().rounds
    }

    pub fn most_a_round(plan: &Plan) -> Duration {
        let limits = plan.profile_limits();
        // A limit of few seconds comes from outside, and leaves a round less than is worth taking.
        (limits.case / limits.rounds).max(LEAST_SAMPLES)
    }

    /// Time when measuring is stopped hard, from the start of the command.
    pub fn hard_limit(plan: &Plan) -> Duration {
        plan.profile_limits().limit.mul_f64(HARD_STOP)
    }

    /// Longest time for all rounds of one worker: they are judged at once, and the last is decided before the first begins.
    pub fn of_unit(plan: &Plan) -> Duration {
        whole(plan) / UNIT_SHARE
    }

    /// Longest time of the run's warm-up.
    pub fn warm_up(plan: &Plan) -> Duration {
        // Of the profile's, also where a command has no limit.
        whole(plan) / WARM_UP_SHARE
    }

    /// Time after a round's samples from which on it has hung: long enough on a loaded machine, short beside the whole run.
    pub fn patience(plan: &Plan) -> Duration {
        match plan.request.inputs.command.is_empty() {
            true => PATIENCE.min(whole(plan) / PATIENCE_SHARE),
            // How long a command takes is what is asked.
            false => plan.profile_limits().limit,
        }
    }

    /// Longest set-up of a round: it reports progress, so that patience alone would not end it.
    pub fn set_up(plan: &Plan, elapsed: Duration) -> Duration {
        // Where little is left, enough for what every host fills in time: no begun case loses its last round.
        let patience = TimeBudget::patience(plan);
        (MOST_SET_UP * patience).min(TimeBudget::time_for_more(plan, elapsed)).max(patience / LEAST_SET_UP_SHARE)
    }

    /// Longest time for the rounds of a worker, each with this much for samples, if the last one hangs.
    pub fn silent(plan: &Plan, elapsed: Duration, grant: Duration) -> Duration {
        let last = grant + TimeBudget::set_up(plan, elapsed) + TimeBudget::patience(plan);
        TimeBudget::of_unit(plan) + last
    }

    /// Time left for rounds beyond the planned ones.
    pub fn time_for_more(plan: &Plan, elapsed: Duration) -> Duration {
        TimeBudget::new(plan, elapsed, 0, Duration::ZERO).left
    }

    /// Memory that a case may fill, bytes: never so much that the host swaps.
    pub fn memory_bytes(host: &HostFacts) -> u64 {
        host.fillable_bytes() / MEMORY_SHARE
    }

    /// The same when so much more time is gone.
    pub fn after(self, spent: Duration) -> TimeBudget {
        TimeBudget { left: self.left.saturating_sub(spent), ..self }
    }

    /// Expected time of the rounds to come.
    pub fn expected(&self) -> Duration {
        (self.share() * self.rounds as u32 + self.overhead).min(self.left)
    }

    /// Samples of each of the rounds to come, when all get the same.
    pub fn share(&self) -> Duration {
        let samples = self.left.saturating_sub(self.overhead);
        (samples / self.rounds.max(1) as u32).clamp(LEAST_SAMPLES, self.most)
    }

    /// Least time of rounds of `overhead` each, with the fewest samples worth taking.
    pub fn at_least(rounds: usize, overhead: Duration) -> Duration {
        (overhead + LEAST_SAMPLES) * rounds as u32
    }

    /// Planned time of a case's rounds, each of `overhead` besides its samples.
    pub fn planned(rounds: u32, overhead: Duration) -> Duration {
        (overhead + PLANNED_SAMPLES) * rounds
    }

    /// Decides on the next round. A default point is dropped only when no time at all is left.
    pub fn decide(&self, next: Next) -> RoundDecision {
        if self.left.is_zero() {
            return RoundDecision::Over;
        }
        if !next.is_default && next.others + TimeBudget::at_least(next.rounds, next.overhead) > self.left {
            return RoundDecision::Drop;
        }
        // On a loaded machine a round takes a multiple of its grant: no single one may take what the others are promised.
        let later = TimeBudget::at_least(next.rounds.saturating_sub(1), next.overhead);
        let room = self.left.saturating_sub(next.others + later).div_f64(next.stretch.max(1.0));
        let foreseen = TimeBudget { left: self.left.mul_f64(1.0 - UNFORESEEN), ..*self };
        RoundDecision::Sample(foreseen.share().min(room).max(LEAST_SAMPLES))
    }
}

/// The time of the profile, whatever this run has of it: of a glance, that of the quick profile.
fn whole(plan: &Plan) -> Duration {
    profile_limits(plan.request.profile.max(Profile::Quick)).limit
}

/// Memory that a case may fill on this host, bytes, for sizes that the plan settles.
pub fn may_fill_bytes(host: &HostFacts) -> u64 {
    TimeBudget::memory_bytes(host)
}

/// The largest buffer that a profile asks for, bytes.
pub fn largest_buffer(profile: Profile) -> u64 {
    match profile {
        Profile::Glance | Profile::Quick => MOST_MEMORY,
        Profile::Standard => 2 * MOST_MEMORY,
        Profile::Thorough => 4 * MOST_MEMORY,
    }
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
            // However little that is, a round has the least that is worth taking.
            let budget = TimeBudget::new(&plan, Duration::ZERO, 7, Duration::ZERO);
            assert!(budget.share() >= LEAST_SAMPLES && budget.expected() <= limits.limit, "{limit}");
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
