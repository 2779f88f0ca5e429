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
/// No machine is taken to touch memory slower than this.
const LEAST_TOUCHED_PER_S: f64 = 20e6;
/// The pattern alone, where a case before has touched the memory and left it to its worker.
const FILLED_AGAIN_PER_S: f64 = 6e9;
/// So many threads of a node fill it as fast as more.
const FILLING_THREADS_OF_A_NODE: usize = 16;
/// A chain over memory: it is filled, linked in random order and loaded once.
const CHAINED_PER_S: f64 = 2e9;

/// What a round of the case is forecast to take besides its samples, and what the first in a worker takes beyond.
pub(super) fn of_round(host: &HostFacts, case: &PlannedCase) -> (Duration, Duration) {
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

/// What the first touch of a byte takes one CPU here, seconds, to a power of two: what is planned does not follow the noise of the look.
/// Nothing where nobody looked.
fn touch_s(host: &HostFacts) -> f64 {
    let rate = host.memory_look.as_ref().map_or(f64::INFINITY, |look| look.first_touch_bytes_per_s);
    if rate.is_finite() { 1.0 / rate.max(LEAST_TOUCHED_PER_S).log2().round().exp2() } else { 0.0 }
}
