//! Cases that fit the run's time: the plan in order of priority, as far as the profile's limit reaches.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use hostmark_model::{AxisKind, EACH_POINT, HostFacts, Params, Profile, Reason, ReasonCode};
use hostmark_say::say;

use crate::plan::time_budget::{SHARED_BY, TimeBudget};
use crate::plan::{Plan, PlannedCase, Priority};
use crate::probe::{Axis, Fill, Measure};

/// A case that is no point of a curve must be so many times cheaper, for each axis on which it is not at its default.
const OFF_CURVE: u32 = 4;

/// A pair of nodes may be so many times dearer than a point of a curve: no other case tells of memory beyond the caches.
const OF_NODES: u32 = 16;
/// The part of a shortened limit that one set-up may take, by forecast: half a second of ten.
const LARGEST_PART: u32 = 20;

impl Plan {
    /// Gives the plan the profile's time: cases by worth, of equal worth the cheaper first, until their forecast fills the limit; the rest
    /// is skipped. `first`: cells that people look at first; `cells`: those of other tables; [`EACH_POINT`]: every point of an axis.
    pub fn fit(&mut self, host: &HostFacts, first: &[TableCell], cells: &[TableCell]) {
        self.mark(first, Priority::First);
        self.mark(cells, Priority::Cell);
        for case in &mut self.cases {
            (case.set_up, case.first_touch) = of_round(host, case);
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

    /// The measurable cases, those that tell most first; of equal ones the cheap ones first, and points of curves before others.
    pub fn by_priority(&self) -> Vec<usize> {
        let measurable = self.cases.iter().enumerate().filter(|(_, case)| case.skip.is_none());
        let mut sequence: Vec<(Priority, Duration, usize)> =
            measurable.map(|(index, case)| (case.priority, self.toll(case), index)).collect();
        sequence.sort_unstable();
        sequence.into_iter().map(|(.., index)| index).collect()
    }

    /// Returns the cost of a round over its use: points off the curves of sizes and counts cost more, those of nodes less.
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
            let of_quick = Priority::Further(Profile::Quick);
            for case in self.cases.iter_mut().filter(|case| case.id.probe == probe) {
                let is_cell = match source {
                    Some(source) => case.priority == of_quick && source.needs(&case.id.params, &base),
                    None => is_wanted(&case.id.params),
                };
                if is_cell {
                    case.priority = case.priority.min(priority);
                }
            }
        }
    }
}

/// Time that each thread, and each further process, adds to a round: start, binding, the barrier.
const A_THREAD: Duration = Duration::from_micros(200);
const A_COPY: Duration = Duration::from_millis(1);
/// First touch of memory by one thread, bytes a second: the kernel clears pages, then the pattern is written.
const FILLED_PER_S: f64 = 2e9;
/// No machine is taken to touch memory slower than this.
const LEAST_TOUCHED_PER_S: f64 = 20e6;
/// The pattern alone, where a case before has touched the memory and left it to its worker.
const FILLED_AGAIN_PER_S: f64 = 6e9;
/// Number of threads of a node that fill it as fast as more.
const FILLING_THREADS_OF_A_NODE: usize = 16;
/// A chain over memory: it is filled, linked in random order and loaded once.
const CHAINED_PER_S: f64 = 2e9;

/// Forecasts the time of a round besides its samples, and the further time of the first round in a worker.
fn of_round(host: &HostFacts, case: &PlannedCase) -> (Duration, Duration) {
    let value = |axis: &Axis| case.id.params.get(axis.name)?.parse::<u64>().ok();
    let of_kind = |kind| case.entry.probe.axis_of(kind).and_then(value).unwrap_or(1);
    let (threads, copies) = (of_kind(AxisKind::Threads), of_kind(AxisKind::Copies));
    // Of a pair of nodes all CPUs of the first fill memory of the second.
    let parties = if case.entry.probe.axis_of(AxisKind::Nodes).is_some() { case.cpus.len() as u64 } else { threads };
    let nodes = if parties == threads { host.nodes.len().max(1) } else { 1 };
    let filling = (parties * copies).min((nodes * FILLING_THREADS_OF_A_NODE) as u64).max(1) as f64;
    // What one worker fills for all rounds, or for several cases, is touched once for them.
    let touch_s = touch_s(host);
    let fill_s = match case.entry.shares_worker {
        true => 1.0 / FILLED_AGAIN_PER_S,
        false => (1.0 / FILLED_PER_S).max(touch_s),
    };
    let bytes_of = |axis: &Axis| {
        let bytes = |of_unit: u64| (value(axis).unwrap_or(0).saturating_mul(of_unit).saturating_mul(copies)) as f64;
        match axis.fill {
            Fill::Nothing => 0.0,
            Fill::InAll(of_unit) => bytes(of_unit) / filling,
            Fill::EachThread(of_unit) => bytes(of_unit) * threads as f64 / filling,
            // The copies make theirs side by side.
            Fill::Chain => bytes(1) / filling.min(copies as f64),
        }
    };
    let of_axis = |axis: &Axis| {
        let fill_s = if matches!(axis.fill, Fill::Chain) { 1.0 / CHAINED_PER_S } else { fill_s };
        bytes_of(axis) * fill_s
    };
    let always = case.entry.probe.fills_bytes as f64;
    let filled = always * fill_s + case.entry.probe.axes.iter().map(of_axis).sum::<f64>();
    let started = A_THREAD * u32::try_from(threads).unwrap_or(u32::MAX).min(1 << 20)
        + A_COPY * u32::try_from(copies - 1).unwrap_or(u32::MAX).min(1 << 20);
    // A size that nobody can fill is skipped for want of memory, and takes no longer than a day here.
    let most = |seconds: f64| Duration::from_secs_f64(seconds.min(86_400.0));
    let touched = (always + case.entry.probe.axes.iter().map(bytes_of).sum::<f64>()) * touch_s;
    (
        TimeBudget::FIRST_OVERHEAD + started + most(filled),
        if case.entry.shares_worker { most(touched) } else { Duration::ZERO },
    )
}

/// Returns the time of a byte's first touch on one CPU, seconds, as a power of two, so that plans ignore noise. Zero without a look.
fn touch_s(host: &HostFacts) -> f64 {
    let rate = host.memory_look.as_ref().map_or(f64::INFINITY, |look| look.first_touch_bytes_per_s);
    if rate.is_finite() { 1.0 / rate.max(LEAST_TOUCHED_PER_S).log2().round().exp2() } else { 0.0 }
}

/// A case that a well-known table shows, by the axes on which it is not at its probe's default.
#[derive(Debug, Clone, Copy)]
pub struct TableCell {
    pub probe: &'static str,
    pub at: &'static [(&'static str, &'static str)],
}

pub(crate) fn no_time() -> Reason {
    ReasonCode::TimeBudget.because(say!("no time left"))
}

/// Returns the priority of a probe's case; `shorter`: the probe's cases in the profiles before the plan's own.
pub(super) fn of_case(
    params: &Params,
    base: &Params,
    shorter: &[(Profile, HashSet<Params>)],
    own: Profile,
) -> Priority {
    if params == base {
        return Priority::Default;
    }
    Priority::Further(shorter.iter().find(|(_, cases)| cases.contains(params)).map_or(own, |(profile, _)| *profile))
}

/// Expected time of a plan's rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Eta {
    /// Rounds of every case, at least: one whose set-up is cheap has more.
    pub rounds: u32,
    /// The same where the limit has no room for all of them.
    pub least_rounds: u32,
    pub samples: Duration,
    pub cases: usize,
    all: Duration,
    /// Time for all planned rounds, with the fewest samples worth taking.
    least: Duration,
    pub end: Duration,
}

impl Eta {
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

    /// Tells whether even the least time for all fits the limit.
    pub fn fits(&self) -> bool {
        self.least <= self.end
    }
}

#[cfg(test)]
#[path = "fit_tests.rs"]
mod tests;
