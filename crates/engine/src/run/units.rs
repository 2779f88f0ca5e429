//! Which cases of a replicate one worker measures, one after the other.

use std::collections::HashMap;
use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use super::Runner;
use crate::plan::Priority;
use crate::plan::time_budget::{RoundDecision, TimeBudget};

/// Cases of one worker at most.
const MOST_CASES: usize = 32;

/// What the cases of one unit have in common.
#[derive(PartialEq, Eq, Hash)]
struct Common<'a> {
    group: &'static str,
    cpus: &'a [usize],
    has_long_set_up: bool,
    keeps_worker: bool,
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

    /// What a case has in common with those beside which one worker may measure it; none where it has a worker of its own.
    fn common(&self, index: usize, replicate: u32) -> Option<Common<'_>> {
        let case = &self.setting.plan.cases[index];
        let is_alone = !case.entry.shares_worker || case.entry.probe.service().is_some();
        (!is_alone).then(|| Common {
            group: case.entry.group,
            // What takes long to fill is filled for one thread and for several.
            cpus: if case.has_long_set_up() { &case.cpus[..case.cpus.len().min(1)] } else { &case.cpus },
            has_long_set_up: case.has_long_set_up(),
            keeps_worker: case.keeps_worker(),
            priority: (replicate == 0).then_some(case.unit_priority()),
        })
    }

    /// How many of a unit's cases one worker measures now, the first of them at least, and what each has for samples: as many
    /// as have time, and as a part of the run's limit holds. `budget`: what the first of them leaves.
    pub(super) fn together(
        &self,
        unit: &[usize],
        replicate: u32,
        remaining: &[usize],
        mut budget: TimeBudget,
        granted: Duration,
    ) -> (Vec<usize>, Duration) {
        let (mut together, mut granted) = (vec![unit[0]], granted);
        let mut left = TimeBudget::of_unit(self.setting.plan);
        for &index in &unit[1..] {
            let next = self.costs(index, remaining, replicate).0;
            let RoundDecision::Sample(grant) = budget.decide(next) else { break };
            left = left.saturating_sub(grant + next.overhead);
            budget = budget.after(grant + next.overhead);
            if left.is_zero() || !self.is_pending(index) || self.past_of(index, replicate).is_some() {
                break;
            }
            granted = granted.min(grant);
            together.push(index);
        }
        (together, granted)
    }
}
