//! How a run's time is shared: what one more round may take, and when there is none left.

use std::collections::HashSet;
use std::time::Duration;

use hostmark_model::{HostFacts, Profile};

use crate::plan::{Plan, profile_limits};

/// Share of the limit that is for measuring; the rest is for ending the last round, the estimates and the report.
const FOR_MEASURING: f64 = 0.95;
/// When measuring is stopped hard, as a share of the limit.
const HARD_STOP: f64 = 0.97;
/// Share of the limit in which the run's warm-up of its CPUs has to be done: 3 s of the quick profile.
const WARM_UP_SHARE: u32 = 20;
/// Share of the limit that the rounds of one worker may take: 3 s of the quick profile.
const UNIT_SHARE: u32 = 20;
/// How many times the patience a set-up may take that is forecast to end by then.
const MOST_SET_UP: u32 = 2;
/// A set-up may always take this part of the patience: a second in the quick profile.
const LEAST_SET_UP_SHARE: u32 = 5;
/// A round that is not done this long after its time for samples has hung; in short runs, a share of the limit.
const PATIENCE: Duration = Duration::from_secs(20);
const PATIENCE_SHARE: u32 = 12;
/// Share of the time left that nobody promises: what first rounds take beside their samples is known when they are over, trials of kernels above
/// all.
const UNFORESEEN: f64 = 0.1;
/// A round with less time for samples than this would measure noise.
const LEAST_SAMPLES: Duration = Duration::from_millis(10);
/// Time for samples of a round that a plan has room for: little more than the least, since rounds share what is left over. With more, a
/// forecast of the first touch that differs by a second would change which cases a run has.
const PLANNED_SAMPLES: Duration = Duration::from_millis(12);
/// Resident memory at most, so that a run is a small guest on any host.
const MOST_MEMORY: u64 = 256 << 20;
/// In the longer profiles, share of the memory that may be filled.
const MEMORY_SHARE: u64 = 2;

/// The time for the rounds that are still to come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeBudget {
    /// Time until measuring ends.
    left: Duration,
    /// Rounds still to come.
    rounds: usize,
    /// What they take besides samples.
    overhead: Duration,
    /// Samples of one round at most.
    most: Duration,
}

/// What becomes of one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RoundDecision {
    /// It has this long for samples.
    Sample(Duration),
    /// There is no time for it.
    Drop,
    /// There is no time for any.
    Over,
}

/// The case whose round is next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Next {
    /// Whether it stands at its probe's defaults, and has fewer rounds than the plan asks room for.
    pub is_default: bool,
    /// Its rounds still to come, this one among them.
    pub rounds: usize,
    /// What one of them takes besides samples.
    pub overhead: Duration,
    /// How many times its grant its last round took.
    pub stretch: f64,
    /// What the rounds of all cases that come before any that is still to begin take at least, this case's apart.
    pub others: Duration,
}

impl TimeBudget {
    /// The run's warm-up of a CPU takes at most 200 ms; one that takes this long has lost its CPU to others.
    pub const WARM_UP_LIMIT: Duration = Duration::from_secs(2);
    /// What it takes as a rule, with the start of its worker.
    const USUAL_WARM_UP: Duration = Duration::from_millis(40);
    /// What a round is thought to take besides samples before any is known.
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

    /// Rounds of every case.
    pub fn rounds(plan: &Plan) -> u32 {
        plan.profile_limits().rounds
    }

    /// Samples of one round at most.
    pub fn most_a_round(plan: &Plan) -> Duration {
        let limits = plan.profile_limits();
        limits.case / limits.rounds
    }

    /// When measuring is stopped hard, from the start of the command.
    pub fn hard_limit(plan: &Plan) -> Duration {
        plan.profile_limits().limit.mul_f64(HARD_STOP)
    }

    /// What the rounds of one worker may take together: who else used its CPUs is judged for all of them at once, and what was
    /// decided for the last was decided before the first.
    pub fn of_unit(plan: &Plan) -> Duration {
        whole(plan) / UNIT_SHARE
    }

    /// How long the run's warm-up may take.
    pub fn warm_up(plan: &Plan) -> Duration {
        // Of the profile's, also where a command has no limit.
        whole(plan) / WARM_UP_SHARE
    }

    /// How long after its time for samples a round has hung: long enough for a loaded machine, short enough that a few
    /// such rounds do not take the whole run's time.
    pub fn patience(plan: &Plan) -> Duration {
        match plan.request.inputs.command.is_empty() {
            true => PATIENCE.min(whole(plan) / PATIENCE_SHARE),
            // How long a command takes is what is asked.
            false => plan.profile_limits().limit,
        }
    }

    /// How long a round's set-up may take: it is told of on its way, so that patience alone would not end it.
    pub fn set_up(plan: &Plan, elapsed: Duration) -> Duration {
        // Where little is left, enough all the same for what every host fills in time: a case that has rounds by then is not
        // lost for the last of them.
        let patience = TimeBudget::patience(plan);
        (MOST_SET_UP * patience).min(TimeBudget::time_for_more(plan, elapsed)).max(patience / LEAST_SET_UP_SHARE)
    }

    /// How long the rounds of a worker, each with this much for samples, may take in all, the last one hung.
    pub fn silent(plan: &Plan, elapsed: Duration, grant: Duration) -> Duration {
        let last = grant + TimeBudget::set_up(plan, elapsed) + TimeBudget::patience(plan);
        TimeBudget::of_unit(plan) + last
    }

    /// What is left for rounds beyond the planned ones.
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

    /// What the rounds to come are expected to take.
    pub fn expected(&self) -> Duration {
        (self.share() * self.rounds as u32 + self.overhead).min(self.left)
    }

    /// Samples of each of the rounds to come, when all get the same.
    pub fn share(&self) -> Duration {
        let samples = self.left.saturating_sub(self.overhead);
        (samples / self.rounds.max(1) as u32).clamp(LEAST_SAMPLES, self.most)
    }

    /// What rounds of `overhead` each take at least, with as few samples as are worth taking.
    pub fn at_least(rounds: usize, overhead: Duration) -> Duration {
        (overhead + LEAST_SAMPLES) * rounds as u32
    }

    /// What the rounds of a case are planned to take, each of `overhead` besides its samples.
    pub fn planned(rounds: u32, overhead: Duration) -> Duration {
        (overhead + PLANNED_SAMPLES) * rounds
    }

    /// What becomes of the next round. A default point is dropped only when no time at all is left.
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
