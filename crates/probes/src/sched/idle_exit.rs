//! Probe sched.idle_exit: how much longer a wake-up takes on a CPU that has idled, by how long it has.

use crate::workloads::handover::request_queue::Sleeper;
use crate::workloads::machine::timer;
use crate::workloads::processes::hog::{Hog, Priority};
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 3,
    also: &[Quantity::WHOLE, Quantity::OVERHEAD],
    axes: &[
        Axis::count(
            "idle_us",
            "1000",
            Points::quick(&["1000"]).standard(&["10", "100", "10000"]).thorough(&["100000"]),
        ),
        Axis::placements(
            "cpus",
            "same_cpu",
            Points::quick(&["same_cpu"]).standard(&["smt_sibling", "same_cache", "other_cache", "other_node"]),
        ),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["idle_us", "cpus"] }],
    blocking: true,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::sched::IDLE_EXIT
};

/// Longest time for which a CPU is kept busy before its wake-up counts as the busy one's.
const BUSY_NS: u64 = 1_000_000;
/// Time in which the process that keeps it busy has gone to sleep.
const REST_NS: u64 = 200_000;

fn measure(case: &mut Case) -> Result<()> {
    let idle_ns = case.param::<u64>("idle_us")? * 1000;
    let [here] = case.cpus::<1>()?;
    let there = case.thread_cpus().last().copied().unwrap_or(here);
    let none = |error| RoundError::lacking(say!("cannot measure beside a process that yields to all others"), &error);
    let hog = Hog::spawn(there, Priority::Idle, 100).map_err(none)?;
    let mut by_call = match case.param::<String>("cpus")?.as_str() {
        "same_cpu" => None,
        _ => Sleeper::spawn("futex", &[there.0], false, &Clock::MonotonicRaw).map_err(none)?,
    };
    let _precise = timer::WithoutSlack::begin()?;
    let (mut whole, mut overhead) = (Vec::new(), Vec::new());
    let mut wake = |wait_ns: u64| -> Result<f64> {
        match &mut by_call {
            None => Ok(timer::Beat::every(wait_ns).overslept()? as f64),
            Some(sleeper) => {
                let begin = Clock::MonotonicRaw.start();
                while Clock::MonotonicRaw.start().since(begin) < Ticks(wait_ns) {
                    std::hint::spin_loop();
                }
                Ok(sleeper.wake(Clock::MonotonicRaw.start())?.0 as f64)
            }
        }
    };
    case.search(|_| {
        hog.set(true)?;
        let busy_ns = wake(idle_ns.min(BUSY_NS))?;
        hog.set(false)?;
        // The process that kept the CPU busy goes to sleep; idleness begins with the wake-up after that.
        wake(REST_NS)?;
        let idle_ns = wake(idle_ns)?;
        whole.push(idle_ns);
        overhead.push(busy_ns);
        Ok(Some(idle_ns - busy_ns))
    })?;
    hog.has_run().map_err(none)?;
    case.also(Quantity::WHOLE.name, whole)?;
    case.also(Quantity::OVERHEAD.name, overhead)
}
