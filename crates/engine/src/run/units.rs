//! Which cases of a replicate one worker measures, one after the other.

use std::collections::HashMap;
use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use hostmark_stats::interval::LEAST_ROUNDS;

use super::Runner;
use crate::plan::Priority;
use crate::plan::time_budget::{RoundDecision, TimeBudget};

/// Cases of one worker at most.
const MOST_CASES: usize = 32;
/// Where filling memory for a unit takes by this part of the profile's limit longer than filling it again, the worker that has filled it
/// does all rounds: a second of the quick profile.
const FILLED_ONCE: u32 = 60;

/// A round that a case is to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Visit {
    /// The case, by its place in the plan.
    pub(super) case: usize,
    /// Which of its rounds, from 0.
    pub(super) round: u32,
}

/// What the cases of one unit have in common.
#[derive(PartialEq, Eq, Hash)]
struct Common<'a> {
    group: &'static str,
    cpus: &'a [usize],
    has_long_set_up: bool,
    /// In the first replicate, where what tells most comes first.
    priority: Option<Priority>,
}

impl Runner<'_> {
    /// The cases of a replicate by units, each for one worker, in seeded order; the cases of a unit are in seeded order too,
    /// but for the first replicate, in which those come first that tell most. In the others what takes long to fill comes last.
    pub(super) fn units(&self, mut cases: Vec<usize>, replicate: u32) -> Vec<Vec<usize>> {
        let seed = self.setting.plan.request.seed ^ u64::from(replicate).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        cases.shuffle(&mut random);
        let mut units: Vec<Vec<usize>> = Vec::new();
        let mut open: HashMap<Common, usize> = HashMap::new();
        for index in cases {
            let Some(common) = self.common(index, replicate) else {
                units.push(vec![index]);
                continue;
            };
            match open.get(&common) {
                Some(&unit) if units[unit].len() < MOST_CASES => units[unit].push(index),
                _ => {
                    open.insert(common, units.len());
                    units.push(vec![index]);
                }
            }
        }
        units.shuffle(&mut random);
        let cases = &self.setting.plan.cases;
        if replicate == 0 {
            units.iter_mut().for_each(|unit| unit.sort_by_key(|&index| cases[index].priority));
        } else {
            // What takes long to fill comes last: whatever time is left then is no other case's.
            units.sort_by_key(|unit| cases[unit[0]].has_long_set_up());
        }
        units
    }

    /// The rounds of a replicate, unit by unit. What takes long to fill is followed by the rounds of later replicates, for the worker that has
    /// filled it: whether it does them is seen when it has, since on one host memory is touched ten times as fast as on another.
    pub(super) fn visits(&self, units: &[Vec<usize>], replicate: u32) -> Vec<Vec<Visit>> {
        let plan = self.setting.plan;
        let cases = &plan.cases;
        let rounds_of = |unit: &[usize]| match replicate == 0 && cases[unit[0]].shares_filling() {
            true => unit.iter().map(|&case| plan.rounds_of(&cases[case])).max().unwrap_or(1),
            false => replicate + 1,
        };
        let of_unit = |unit: &Vec<usize>| -> Vec<Visit> {
            (replicate..rounds_of(unit)).flat_map(|round| unit.iter().map(move |&case| Visit { case, round })).collect()
        };
        units.iter().map(of_unit).collect()
    }

    /// Whether the worker that has filled memory for these first rounds does those of later replicates too: besides samples and trials they
    /// took so much longer than memory that was touched before takes, that touching it again in each replicate would take other cases' time.
    pub(super) fn is_filled_once(&self, first: &[Visit]) -> bool {
        let plan = self.setting.plan;
        let taken = first.iter().filter_map(|visit| self.states[visit.case].last).map(|last| last.overhead);
        let forecast = first.iter().map(|visit| plan.cases[visit.case].set_up);
        taken.sum::<Duration>() > forecast.sum::<Duration>() + plan.profile_limits().limit / FILLED_ONCE
    }

    /// Whether a round of a later replicate has time now: what is cheap to set up, and tells as much as a table's cell, loses none of the rounds
    /// that an interval needs.
    pub(super) fn has_time_now(&self, index: usize) -> bool {
        let plan = self.setting.plan;
        let usual = self.usual_overhead();
        let is_first =
            |index: &usize| plan.cases[*index].priority <= Priority::Cell && !plan.cases[*index].has_long_set_up();
        let due = |index: usize| LEAST_ROUNDS.saturating_sub(self.states[index].rounds.len());
        let reserved = |index: usize| TimeBudget::at_least(due(index), self.overhead(index, usual));
        let reserved = self.pending().into_iter().filter(is_first).map(reserved).sum::<Duration>();
        let own = TimeBudget::at_least(1, self.overhead(index, usual));
        reserved + own < TimeBudget::time_for_more(plan, self.wall.elapsed())
    }

    /// What a case has in common with those beside which one worker may measure it; none where it has a worker of its own.
    fn common(&self, index: usize, replicate: u32) -> Option<Common<'_>> {
        let case = &self.setting.plan.cases[index];
        let is_alone = !case.entry.shares_worker || case.entry.probe.service().is_some();
        (!is_alone).then(|| Common {
            group: case.entry.group,
            // What takes long to fill is filled for one thread and for several.
            cpus: if case.has_long_set_up() { &case.cpus[..case.cpus.len().min(1)] } else { &case.cpus },
            has_long_set_up: case.has_long_set_up(),
            priority: (replicate == 0).then_some(case.unit_priority()),
        })
    }

    /// How many of a unit's cases one worker measures now, the first of them at least, and what each has for samples: as many
    /// as have time, and as a part of the run's limit holds. `budget`: what the first of them leaves.
    pub(super) fn together(
        &self,
        unit: &[Visit],
        remaining: &[usize],
        mut budget: TimeBudget,
        granted: Duration,
    ) -> (Vec<Visit>, Duration) {
        let (mut together, mut granted) = (vec![unit[0]], granted);
        let plan = self.setting.plan;
        let mut left = TimeBudget::of_unit(plan, plan.cases[unit[0].case].has_long_set_up());
        for &visit in &unit[1..] {
            let next = self.costs(visit.case, remaining, visit.round).0;
            let RoundDecision::Sample(grant) = budget.decide(next) else { break };
            // Those of later replicates end when so much time is gone, whatever was forecast.
            if visit.round == unit[0].round {
                left = left.saturating_sub(grant + next.overhead);
                budget = budget.after(grant + next.overhead);
            }
            if left.is_zero() || !self.is_pending(visit.case) || self.has(visit.case, visit.round) {
                break;
            }
            granted = granted.min(grant);
            together.push(visit);
        }
        (together, granted)
    }
}
