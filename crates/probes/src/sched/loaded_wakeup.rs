//! Probe sched.loaded_wakeup: how long after they are due requests are begun, by load, as services hand them to their workers.

use std::time::Duration;

use crate::workloads::handover::request_queue::RequestQueues;
use crate::workloads::processes::hog::{self, Hog, Priority};
use crate::workloads::processes::program;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 2,
    also: &[Quantity::P90, Quantity::P99, Quantity::MEAN, WOKEN, Quantity::REQUESTS_DUE],
    axes: &[
        Axis::count("load", "20", Points::quick(&["20"]).thorough(&["50"])),
        Axis::count("messengers", "1", Points::quick(&["1"]).standard(&["2"])),
        Axis::count("workers", "2", Points::quick(&["2"]).standard(&["8"])),
        Axis::choice("hog", "none", Points::quick(&["none"]).standard(&["30"])),
        Axis::all_threads("cpus", Points::quick(&["all"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["load", "hog"] }],
    blocking: true,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::sched::LOADED_WAKEUP
};

/// The part of it that begins when a messenger wakes a worker.
const WOKEN: Quantity =
    Quantity::given("woken", Unit::Nanoseconds, Better::Lower, term!("from the messenger's call on"));

/// The share of a round's time in which workers show what they can do, and its limits.
const CAPACITY_SHARE: f64 = 0.15;
const LEAST_CAPACITY_NS: f64 = 20e6;
const MOST_CAPACITY_NS: f64 = 500e6;

fn measure(case: &mut Case) -> Result<()> {
    let (messengers, workers): (usize, usize) = (case.param("messengers")?, case.param("workers")?);
    let (load, hog) = (case.param::<f64>("load")?, hog::percent(&case.param::<String>("hog")?));
    let cpus = case.thread_cpus();
    let parties = messengers * (workers * cpus.len() + 1) + cpus.len();
    case.may_fill(parties as u64 * program::LEAST_BYTES)?;
    let none = |error| RoundError::lacking(say!("cannot start so many processes"), &error);
    let busy = if hog > 0 { &cpus[..] } else { &[] };
    let _hogs = Hog::on_each(busy, Priority::Nice(0), hog).map_err(none)?;
    let places: Vec<usize> = cpus.iter().map(|cpu| cpu.0).collect();
    let mut queues = RequestQueues::new(messengers, workers * cpus.len(), &places).map_err(none)?;
    let time_ns = (CAPACITY_SHARE * case.grant_ns()).clamp(LEAST_CAPACITY_NS, MOST_CAPACITY_NS);
    let rate = queues.capacity(Duration::from_nanos(time_ns as u64)) * load / 100.0;
    queues.open(rate)?;
    let mut woken_ns = Vec::new();
    case.timed(|clock| {
        let begun = queues.begun()?;
        woken_ns.push(begun.since_posted as f64);
        Ok(clock.ticks(begun.since_due as f64))
    })
    .singly()
    .time()?;
    case.also(WOKEN.name, median_in_place(&mut woken_ns))?;
    case.also(Quantity::REQUESTS_DUE.name, [rate])
}
