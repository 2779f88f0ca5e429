//! The state of the planned cases, what the rounds still to come cost, and which of them are worth what time is left.

use std::time::Duration;

use hostmark_model::{Choice, Event, Outcome, Profile, Reason, RoundNoise};
use hostmark_stats::interval::LEAST_ROUNDS;

use super::Runner;
use crate::plan::time_budget::{Next, TimeBudget};
use crate::plan::{PlannedCase, Priority};
use crate::record::RoundResult;
use crate::record::journal::Took;
use crate::sampling::sampler::MOST_ITERATIONS;

/// The state of one planned case.
#[derive(Default)]
pub(super) struct Progress {
    pub(super) rounds: Vec<RoundResult>,
    pub(super) last: Option<Cost>,
    /// Iterations of a sample that its rounds found.
    pub(super) iterations: Option<u64>,
    /// No more rounds: it was skipped or failed.
    pub(super) ended: bool,
    /// True where there is no time for as many rounds as an interval needs, so the others have its time.
    pub(super) dropped: bool,
}

impl Progress {
    /// Takes a round into account. One that came to no value is the last, unless it is the first such and forgiven.
    pub(super) fn add(&mut self, round: RoundResult, took: &Took, is_forgiven: bool) {
        let is_lost = |round: &RoundResult| round.ended_by().is_some();
        self.ended |= is_lost(&round) && (!is_forgiven || self.rounds.iter().any(is_lost));
        self.iterations = round.learned().or(self.iterations);
        let (trials, first_touch) = (round.chosen().map(|(_, trials)| trials), round.first_touch());
        self.rounds.push(round);
        // No later round has trials, or touches memory that is kept.
        let spent = took.spent.saturating_sub(trials.unwrap_or_default() + first_touch);
        let stretch = spent.as_secs_f64() / took.granted.as_secs_f64().max(1e-3);
        self.last = Some(Cost { overhead: spent.saturating_sub(took.granted), stretch });
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// Time that was not for samples: start, set-up, warm-up, journal.
    pub(super) overhead: Duration,
    /// All of its time over what was granted for samples.
    pub(super) stretch: f64,
}

impl RoundResult {
    /// The surroundings of a complete round.
    pub(super) fn noise(&self) -> Option<&RoundNoise> {
        if let Some(Event::Done { noise }) = self.events.last() { Some(noise) } else { None }
    }

    pub(super) fn ended_by(&self) -> Option<&Reason> {
        match self.events.last() {
            Some(Event::Skipped { reason } | Event::Failed { reason }) => Some(reason),
            _ => None,
        }
    }

    /// The way that it chose for all rounds, and how long that took.
    pub(super) fn chosen(&self) -> Option<(Choice, Duration)> {
        self.events.iter().find_map(|event| match event {
            Event::Chosen { scope, way, trials_ns } => {
                let choice = Choice { scope: scope.clone(), way: way.clone() };
                Some((choice, Duration::from_nanos(*trials_ns as u64)))
            }
            _ => None,
        })
    }

    /// Time in which it touched memory that later rounds find.
    fn first_touch(&self) -> Duration {
        let time = self.noise().and_then(|noise| noise.time);
        Duration::from_nanos(time.map_or(0, |time| time.first_touch_ns as u64))
    }

    /// Iterations of a sample; none of a journal that names more than any worker takes.
    fn learned(&self) -> Option<u64> {
        self.noise().map(|noise| noise.iterations).filter(|count| (1..=MOST_ITERATIONS).contains(count))
    }
}

/// Rounds that are promised to what is slow to fill: all others have theirs before it has another.
const LEAST_EXPENSIVE_ROUNDS: usize = 1;
/// Slow to fill is what takes so many times what was forecast of a fast machine, and more than this part of the profile's limit in
/// a round: half a second of the quick profile. Two seconds of it are slow whatever was forecast.
const SLOWER_THAN_FORECAST: u32 = 5;
const SLOW_TO_FILL: u32 = 120;
const SLOW_BY_ITSELF: u32 = 30;
/// A default whose filling is forecast to take this part of a round's start, or more, tells how slow filling is here.
const FILLING_SHARE: u32 = 2;

/// Returns the average time of rounds besides samples; the usual time where none is known.
fn mean(rounds: impl Iterator<Item = Cost>) -> Duration {
    let known: Vec<Duration> = rounds.map(|round| round.overhead).collect();
    match known.len() {
        0 => TimeBudget::FIRST_OVERHEAD,
        count => known.iter().sum::<Duration>() / count as u32,
    }
}

impl Runner<'_> {
    /// Returns the cost of the rounds still to come, `remaining` in this replicate and all that are pending in the
    /// later ones: those of the case `index`, how many share the time, and what these take besides samples.
    pub(super) fn costs(&self, index: usize, remaining: &[usize], replicate: u32) -> (Next, usize, Duration) {
        let usual = mean(self.states.iter().filter_map(|state| state.last));
        let last = |index: usize| self.states[index].last.or(self.states[self.defaults[index]].last);
        let cases = &self.setting.plan.cases;
        let overhead = |index: usize| self.overhead(index, usual);
        let own = TimeBudget::at_least(1, overhead(index));
        // An interval takes so many rounds. Where time is short, those beyond wait until all that have begun can have them.
        let had = |of: usize| self.states[of].rounds.len();
        let due = |of: usize, rounds: usize, wanted: usize| rounds.min(wanted.saturating_sub(had(of)));
        let to_come = self.to_come(remaining, replicate);
        // What goes beyond the least waits until all that have begun can have theirs, whatever these tell.
        let (is_beyond, is_slow) = (had(index) >= self.promised_rounds(index), self.is_slow_to_fill(index));
        let is_cell = |of: usize| cases[of].priority <= Priority::Cell;
        let wants_least = is_cell(index) && had(index) < self.least_rounds(index);
        let (mut others, mut all_rounds, mut all_overhead) = (Duration::ZERO, 0, Duration::ZERO);
        let planned = TimeBudget::rounds(self.setting.plan);
        for (of, &rounds) in to_come.iter().enumerate().filter(|(_, rounds)| **rounds > 0) {
            let overhead = overhead(of);
            // The rounds that every case has share the time; what is cheap has more of what they leave.
            let sharing =
                if replicate < planned { rounds.min((planned as usize).saturating_sub(had(of))) } else { rounds };
            all_rounds += sharing;
            all_overhead += overhead * sharing as u32;
            // What tells more comes first, then the plan's order, so that the last give way and not all lose the round that one lacks. What
            // has not begun lets much cheaper cases go first. Of the tables' cells all have their least before one has more.
            let has_priority = cases[of].priority < cases[index].priority;
            let has_same_priority = cases[of].priority == cases[index].priority;
            let is_ahead = match (had(of) > 0, had(index) > 0) {
                (true, true) => self.ranks[of] < self.ranks[index],
                (true, false) => true,
                (false, _) => 2 * TimeBudget::at_least(1, overhead) < own,
            };
            // What is slow to fill has no more than the least while any other has not begun.
            let is_first = is_beyond && (had(of) > 0 || is_slow && !self.is_slow_to_fill(of));
            let comes_first = has_priority || has_same_priority && is_ahead || is_first;
            let wanted = match (self.may_wait(of), self.may_wait(index)) {
                (true, false) => 0,
                (false, true) => self.promised_rounds(of),
                _ if comes_first && wants_least => self.least_rounds(of),
                _ if comes_first => self.promised_rounds(of),
                _ if !wants_least && has_same_priority && is_cell(of) => self.least_rounds(of),
                _ => 0,
            };
            if of != index {
                others += TimeBudget::at_least(due(of, rounds, wanted), overhead);
            }
        }
        let next = Next {
            is_default: cases[index].priority <= Priority::Default
                && had(index) < self.least_rounds(index)
                && !self.may_wait(index),
            rounds: self.least_rounds(index).saturating_sub(had(index)).clamp(1, self.later(index, replicate) + 1),
            overhead: overhead(index) + self.first_touch(index),
            stretch: last(index).map_or(1.0, |last| last.stretch),
            others,
        };
        (next, all_rounds, all_overhead)
    }

    /// Rounds still to come of each case.
    pub(super) fn to_come(&self, remaining: &[usize], replicate: u32) -> Vec<usize> {
        let mut to_come = vec![0; self.states.len()];
        remaining.iter().for_each(|&of| to_come[of] += 1);
        self.pending().into_iter().for_each(|of| to_come[of] += self.later(of, replicate));
        to_come
    }

    /// Returns the mean time besides samples of rounds that fill next to nothing: their start and end on this machine, busy as it is.
    fn usual_start(&self) -> Duration {
        let cases = &self.setting.plan.cases;
        let is_cheap = |index: &usize| !cases[*index].has_long_set_up();
        mean((0..self.states.len()).filter(is_cheap).filter_map(|index| self.states[index].last))
    }

    /// Returns the time of a case's round besides samples: that of its last one, and before its first the forecast, scaled by its probe's
    /// default here. `usual`: what rounds take, where that is unknown too.
    pub(super) fn overhead(&self, index: usize, usual: Duration) -> Duration {
        let cases = &self.setting.plan.cases;
        let (case, default) = (&cases[index], &cases[self.defaults[index]]);
        if let Some(last) = self.states[index].last {
            return last.overhead;
        }
        let of_default = self.states[self.defaults[index]].last;
        if case.is_filling_cell() {
            return case.set_up;
        }
        let Some(of_default) = of_default else { return usual };
        // Start and end of a round take as long whatever it fills; filling takes as many times its forecast as it took the default.
        let start = self.usual_start().min(of_default.overhead);
        let filling = |case: &PlannedCase| case.set_up.saturating_sub(TimeBudget::FIRST_OVERHEAD);
        let is_of_filling = filling(default) * FILLING_SHARE > TimeBudget::FIRST_OVERHEAD;
        match is_of_filling {
            true => {
                let slower = (of_default.overhead - start).as_secs_f64() / filling(default).as_secs_f64();
                start + filling(case).mul_f64(slower.max(1.0))
            }
            false => of_default.overhead + filling(case).saturating_sub(filling(default)),
        }
    }

    /// Forecast of the first touch of what the case fills, beyond what the worker that is kept has touched.
    fn first_touch(&self, index: usize) -> Duration {
        let cases = &self.setting.plan.cases;
        let own = cases[index].first_touch;
        if own.is_zero() || self.kept.is_none() {
            return own;
        }
        let region = cases[index].region();
        let has_touched = |(case, state): &(&PlannedCase, &Progress)| {
            !state.rounds.is_empty() && !case.first_touch.is_zero() && case.region() == region
        };
        let touched = cases.iter().zip(&self.states).filter(has_touched).map(|(case, _)| case.first_touch).max();
        own.saturating_sub(touched.unwrap_or_default())
    }

    /// Tells whether it only has the time that the others leave: in less time than the profile has, filling memory for long comes last.
    fn may_wait(&self, index: usize) -> bool {
        let plan = self.setting.plan;
        plan.is_short() && plan.cases[index].has_long_set_up()
    }

    /// Rounds promised to a case: one that fills memory for long has a range from fewer. A glance has as many of everything, or none.
    fn promised_rounds(&self, index: usize) -> usize {
        let is_glance = self.setting.plan.request.profile == Profile::Glance;
        if self.is_slow_to_fill(index) && !is_glance { LEAST_EXPENSIVE_ROUNDS } else { LEAST_ROUNDS }
    }

    /// Rounds without which a case has none: what tells most is rather known by a range than not at all.
    pub(super) fn least_rounds(&self, index: usize) -> usize {
        let plan = self.setting.plan;
        let promised = self.promised_rounds(index);
        match plan.cases[index].priority {
            Priority::First | Priority::Default | Priority::Cell => {
                promised.min(plan.profile_limits().least_rounds as usize)
            }
            Priority::Further(_) => promised,
        }
    }

    /// Tells whether a round of the case takes a large part of the run before its first sample.
    fn is_slow_to_fill(&self, index: usize) -> bool {
        let plan = self.setting.plan;
        let (case, last) = (&plan.cases[index], self.states[index].last);
        let limit = plan.profile_limits().limit;
        let least = (case.set_up * SLOWER_THAN_FORECAST).clamp(limit / SLOW_TO_FILL, limit / SLOW_BY_ITSELF);
        case.has_long_set_up() && last.is_some_and(|last| last.overhead > least)
    }

    /// Rounds of a case in the replicates after this one.
    pub(super) fn later(&self, index: usize, replicate: u32) -> usize {
        let plan = self.setting.plan;
        plan.rounds_of(&plan.cases[index]).saturating_sub(replicate.saturating_add(1)) as usize
    }

    /// The cases with the widest intervals for which there is still time; those without an interval are the widest.
    pub(super) fn widest_that_fit(&self) -> Vec<usize> {
        let plan = self.setting.plan;
        let open = (0..self.states.len()).filter(|&index| !self.states[index].ended);
        let mut widths: Vec<(f64, usize)> = open
            .filter_map(|index| Some((self.width(index)?, index)))
            .filter(|(width, _)| *width > plan.profile_limits().narrow)
            .collect();
        widths.sort_by(|one, other| other.0.total_cmp(&one.0));
        let mut left = TimeBudget::time_for_more(plan, self.wall.elapsed() + self.wall.report_delay());
        let mut chosen = Vec::new();
        for (_, index) in widths {
            let cost = self.costs(index, &[index], u32::MAX).0.overhead + TimeBudget::most_a_round(plan);
            if cost > left {
                break;
            }
            left -= cost;
            chosen.push(index);
        }
        chosen
    }

    /// The relative width of a case's interval; without one where rounds are missing, infinite.
    fn width(&self, index: usize) -> Option<f64> {
        let plan = self.setting.plan;
        if self.states[index].rounds.len() < plan.rounds_of(&plan.cases[index]) as usize {
            return Some(f64::INFINITY);
        }
        match self.outcome(index) {
            Outcome::Measured(measured) => measured.estimate.relative_half_width(),
            _ => None,
        }
    }
}
