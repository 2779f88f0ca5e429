//! Which cases have the run's time: the plan in the order of what its cases tell, as far as the profile's limit reaches.

mod cost;

use std::collections::HashMap;
use std::time::Duration;

use hostmark_model::{AxisKind, EACH_POINT, HostFacts, Params, Profile};

use crate::plan::profile_limits::SHARED_BY;
use crate::plan::time_budget::TimeBudget;
use crate::plan::{Plan, PlannedCase, Priority, TableCell, no_time};
use crate::probe::Measure;

/// A case that is no point of a curve has to be so many times cheaper than one that is, for each axis on which it is not at
/// its default.
const OFF_CURVE: u32 = 4;

/// A pair of nodes may be so many times dearer than a point of a curve: memory beyond the caches is dear by itself, and no
/// other case tells of it.
const OF_NODES: u32 = 16;
/// The part of a shortened limit that one set-up may take, by forecast: half a second of ten.
const LARGEST_PART: u32 = 20;

impl Plan {
    /// Gives the plan the profile's time: cases are taken by worth, of one worth the cheaper first, until what they are
    /// forecast to take fills the limit, and what is left is skipped. `first` are the cells that people look at first, `cells` those of
    /// other tables that they know; [`EACH_POINT`] stands for every point of an axis.
    pub fn fit(&mut self, host: &HostFacts, first: &[TableCell], cells: &[TableCell]) {
        self.mark(first, Priority::First);
        self.mark(cells, Priority::Cell);
        for case in &mut self.cases {
            (case.set_up, case.first_touch) = cost::of_round(host, case);
            if !case.keeps_worker() {
                // Every replicate touches it.
                case.set_up += std::mem::take(&mut case.first_touch) / SHARED_BY;
            }
            if self.request.profile == Profile::Glance && case.has_long_set_up() {
                // What takes long to fill has what time the others leave.
                case.priority = case.priority.max(Priority::Cell);
            }
        }
        if !self.request.inputs.command.is_empty() {
            return;
        }
        let (mut left, mut touched) = (TimeBudget::for_rounds(self), HashMap::new());
        // A longer run begins more cases than may have all their rounds: where a machine has many CPUs, points of curves would be left out.
        let limits = self.profile_limits();
        let is_quick = self.request.profile <= Profile::Quick;
        // In less time than the profile has, what takes a large part of it to fill gives way to all others.
        let most = if self.is_short() { self.profile_limits().limit / LARGEST_PART } else { Duration::MAX };
        for index in self.by_priority() {
            let case = &mut self.cases[index];
            if case.set_up > most && !case.is_default {
                case.skip = Some(no_time());
                continue;
            }
            // What the worker that is kept has touched for a larger case is not touched again.
            let region = touched.entry(case.region()).or_insert(Duration::ZERO);
            let first_touch = case.first_touch.saturating_sub(*region);
            let rounds = match is_quick {
                true => TimeBudget::planned(limits.rounds, case.set_up),
                false => TimeBudget::at_least(limits.least_rounds as usize, case.set_up),
            };
            match left.checked_sub(rounds + first_touch) {
                Some(rest) => {
                    left = rest;
                    *region = case.first_touch.max(*region);
                }
                None if case.is_default => left = Duration::ZERO,
                None => case.skip = Some(no_time()),
            }
        }
    }

    /// The cases that can be measured, those that tell most first; of those that tell as much, what is cheap before what is
    /// dear, and points of curves before others.
    pub fn by_priority(&self) -> Vec<usize> {
        let measurable = self.cases.iter().enumerate().filter(|(_, case)| case.skip.is_none());
        let mut sequence: Vec<(Priority, Duration, usize)> =
            measurable.map(|(index, case)| (case.priority, self.toll(case), index)).collect();
        sequence.sort_unstable();
        sequence.into_iter().map(|(.., index)| index).collect()
    }

    /// What a round costs over what it tells.
    fn toll(&self, case: &PlannedCase) -> Duration {
        let cost = TimeBudget::at_least(1, case.set_up);
        let Some(base) = self.base(&case.id.probe) else { return cost };
        let pairs = case.id.params.0.iter().zip(&base.0);
        let off: Vec<&str> = pairs.filter(|(one, base)| one != base).map(|((axis, _), _)| axis.as_str()).collect();
        let kind = |name: &str| case.entry.probe.axes.iter().find(|axis| axis.name == name).map(|axis| axis.kind);
        let [axis] = off[..] else { return cost * OFF_CURVE * off.len().max(1) as u32 };
        match kind(axis) {
            Some(AxisKind::Nodes) => cost / OF_NODES,
            Some(AxisKind::Size | AxisKind::Count | AxisKind::Threads | AxisKind::Copies) => cost,
            _ => cost * OFF_CURVE,
        }
    }

    fn mark(&mut self, cells: &[TableCell], priority: Priority) {
        for cell in cells {
            let derived = self.derived.iter().find(|entry| entry.id() == cell.probe);
            // Of what is computed, the first source is what its value is made of.
            let source = derived.and_then(|entry| match entry.probe.measure {
                Measure::Derive { from, .. } => from.first(),
                Measure::Run(_) | Measure::Between { .. } => None,
            });
            let probe = source.map_or(cell.probe, |source| source.probe);
            let Some(base) = self.base(probe).cloned() else { continue };
            let each = |axis: &str| cell.at.iter().any(|&(each, value)| each == axis && value == EACH_POINT);
            let wanted = cell.at.iter().fold(base.clone(), |params, (axis, value)| params.with(axis, value));
            let is_wanted = |params: &Params| {
                let mut pairs = params.0.iter().zip(&wanted.0);
                params.0.len() == wanted.0.len() && pairs.all(|(own, wanted)| own == wanted || each(&own.0))
            };
            for case in self.cases.iter_mut().filter(|case| case.id.probe == probe) {
                let is_cell = match source {
                    Some(source) => is_of_quick(case) && source.needs(&case.id.params, &base),
                    None => is_wanted(&case.id.params),
                };
                if is_cell {
                    case.priority = case.priority.min(priority);
                }
            }
        }
    }
}

fn is_of_quick(case: &PlannedCase) -> bool {
    case.priority == Priority::Further(Profile::Quick)
}

#[cfg(test)]
#[path = "fit_tests.rs"]
mod tests;
