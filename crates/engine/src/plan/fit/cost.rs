//! What a round is forecast to take besides its samples, before anything is measured: on a fast machine, since the run itself
//! drops what turns out to be dearer, and what the plan drops has no second chance.

use std::time::Duration;

use hostmark_model::{AxisKind, HostFacts};

use crate::plan::PlannedCase;
use crate::plan::time_budget::TimeBudget;
use crate::probe::{Axis, Fill};

/// What each thread, and each further process, adds to a round: start, binding, the barrier.
const A_THREAD: Duration = Duration::from_micros(200);
const A_COPY: Duration = Duration::from_millis(1);
/// First touch of memory by one thread, bytes a second: the kernel clears pages, then the pattern is written.
const FILLED_PER_S: f64 = 2e9;
/// The pattern alone, where a case before has touched the memory and left it to its worker.
const FILLED_AGAIN_PER_S: f64 = 6e9;
/// So many threads of a node fill it as fast as more.
const FILLING_THREADS_OF_A_NODE: usize = 16;
/// A chain over memory: it is filled, linked in random order and loaded once.
const CHAINED_PER_S: f64 = 2e9;

/// What a round of the case is forecast to take besides its samples.
pub(super) fn of_round(host: &HostFacts, case: &PlannedCase) -> Duration {
    let value = |axis: &Axis| case.id.params.get(axis.name)?.parse::<u64>().ok();
    let of_kind = |kind| case.entry.probe.axis_of(kind).and_then(value).unwrap_or(1);
    let (threads, copies) = (of_kind(AxisKind::Threads), of_kind(AxisKind::Copies));
    // Of a pair of nodes all CPUs of the first fill memory of the second.
    let parties = if case.entry.probe.axis_of(AxisKind::Nodes).is_some() { case.cpus.len() as u64 } else { threads };
    let nodes = if parties == threads { host.nodes.len().max(1) } else { 1 };
    let filling = (parties * copies).min((nodes * FILLING_THREADS_OF_A_NODE) as u64).max(1) as f64;
    let filled_per_s = if case.entry.shares_worker { FILLED_AGAIN_PER_S } else { FILLED_PER_S };
    let of_axis = |axis: &Axis| {
        let bytes = |of_unit: u64| (value(axis).unwrap_or(0).saturating_mul(of_unit).saturating_mul(copies)) as f64;
        match axis.fill {
            Fill::Nothing => 0.0,
            Fill::InAll(of_unit) => bytes(of_unit) / filled_per_s / filling,
            Fill::EachThread(of_unit) => bytes(of_unit) * threads as f64 / filled_per_s / filling,
            // The copies make theirs side by side.
            Fill::Chain => bytes(1) / CHAINED_PER_S / filling.min(copies as f64),
        }
    };
    let filled: f64 = case.entry.probe.axes.iter().map(of_axis).sum();
    let started = A_THREAD * u32::try_from(threads).unwrap_or(u32::MAX).min(1 << 20)
        + A_COPY * u32::try_from(copies - 1).unwrap_or(u32::MAX).min(1 << 20);
    // A size that nobody can fill is skipped for want of memory, and takes no longer than a day here.
    TimeBudget::FIRST_OVERHEAD + started + Duration::from_secs_f64(filled.min(86_400.0))
}
