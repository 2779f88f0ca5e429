//! Probes of wake-ups: how long after it is due a sleeping process or thread runs.

use std::time::Duration;

use hostmark_engine::prelude::*;

use crate::workloads::handover::request_queue::{RequestQueues, Sleeper};
use crate::workloads::machine::timer;
use crate::workloads::processes;
use crate::workloads::processes::hog::{self, Hog, Priority};

/// Probe sched.wakeup: how long a sleeping process that is woken takes to run, at a fixed rate, by placement.
pub static WAKEUP: Probe = Probe {
    also: &[Quantity::P90, Quantity::P99, Quantity::P999, Quantity::MEAN],
    axes: &[
        Axis::choice("by", "futex", Points::quick(&["futex"]).standard(&["eventfd"])),
        Axis::count("rate", "1000", Points::quick(&["1000"]).standard(&["100", "10000"])),
        Axis::placements(
            "cpus",
            "same_cache",
            Points::quick(&["same_cache"]).standard(&[
                "same_cpu",
                "smt_sibling",
                "other_cache",
                "same_package_other_node",
                "other_node",
                "free",
            ]),
        ),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["by", "rate", "cpus"] }],
    limit: Limit::KernelEntry,
    blocking: true,
    measure: Measure::Run(measure_wakeup),
    ..crate::texts::sched::WAKEUP
};

fn measure_wakeup(case: &mut Case) -> Result<()> {
    let (by, placement): (String, String) = (case.param("by")?, case.param("cpus")?);
    let period_ns = 1e9 / case.param::<f64>("rate")?;
    let cpus: Vec<usize> = case.thread_cpus().iter().map(|cpu| cpu.0).collect();
    // The waker is this process, on the first CPU; a sleeper that is placed has the last.
    let theirs = if placement == "free" { &cpus[..] } else { &cpus[cpus.len().saturating_sub(1)..] };
    let is_here = cpus.len() == 1 || placement == "same_cpu";
    let mut state: Option<(Sleeper, Ticks)> = None;
    case.timed(|clock| {
        let period = clock.ticks(period_ns);
        let (sleeper, due) = match &mut state {
            Some(state) => state,
            none => {
                let sleeper = Sleeper::spawn(&by, theirs, is_here, clock)
                    .or_lacking(|| say!("cannot make a sleeper that is woken by {by}"))?
                    .ok_or_else(|| RoundError::internal(say!("nothing wakes by '{by}'")))?;
                none.insert((sleeper, clock.start()))
            }
        };
        due.0 += period.0;
        while clock.start() < *due {
            std::hint::spin_loop();
        }
        Ok(sleeper.wake(*due)?)
    })
    .singly()
    .time()
}

/// Probe sched.loaded_wakeup: how long after they are due requests are begun, by load, as services hand them to their workers.
pub static LOADED_WAKEUP: Probe = Probe {
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
    measure: Measure::Run(measure_loaded_wakeup),
    ..crate::texts::sched::LOADED_WAKEUP
};

/// The part of it that begins when a messenger wakes a worker.
const WOKEN: Quantity =
    Quantity::given("woken", Unit::Nanoseconds, Better::Lower, term!("from the messenger's call on"));

/// The share of a round's time in which workers show what they can do, and its limits.
const CAPACITY_SHARE: f64 = 0.15;
const LEAST_CAPACITY_NS: f64 = 20e6;
const MOST_CAPACITY_NS: f64 = 500e6;

fn measure_loaded_wakeup(case: &mut Case) -> Result<()> {
    let (messengers, workers): (usize, usize) = (case.param("messengers")?, case.param("workers")?);
    let (load, hog) = (case.param::<f64>("load")?, hog::percent(&case.param::<String>("hog")?));
    let cpus = case.thread_cpus();
    let parties = messengers * (workers * cpus.len() + 1) + cpus.len();
    case.may_fill(parties as u64 * processes::LEAST_BYTES)?;
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

/// Probe sched.timer_latency: how late a periodic thread is woken by its timer while others want the same CPU.
pub static TIMER_LATENCY: Probe = Probe {
    revision: 2,
    also: &[Quantity::P90, Quantity::P99, Quantity::MEAN],
    axes: &[
        Axis::choice("hog", "100", Points::quick(&["100"]).standard(&["none"]).thorough(&["30"])),
        Axis::count("delay_us", "1000", Points::quick(&["1000"]).thorough(&["200", "10000"])),
        Axis::threads("cpus", Points::OfHost(|host, _| vec![1, host.usable_cpus().len() as u64])),
    ],
    blocking: true,
    from: Profile::Standard,
    measure: Measure::Run(measure_timer_latency),
    ..crate::texts::sched::TIMER_LATENCY
};

fn measure_timer_latency(case: &mut Case) -> Result<()> {
    let (hog, period_us) = (hog::percent(&case.param::<String>("hog")?), case.param::<u64>("delay_us")?);
    let cpus = if hog > 0 { case.thread_cpus() } else { Vec::new() };
    case.may_fill(cpus.len() as u64 * processes::LEAST_BYTES)?;
    let _hogs = Hog::on_each(&cpus, Priority::Nice(0), hog).or_lacking(|| say!("cannot start so many processes"))?;
    let _precise = timer::WithoutSlack::begin()?;
    let mut beat = timer::Beat::every(period_us * 1000);
    case.timed(|clock| Ok(clock.ticks(beat.overslept()? as f64))).singly().time()
}

/// Probe sched.idle_exit: how much longer a wake-up takes on a CPU that has idled, by how long it has.
pub static IDLE_EXIT: Probe = Probe {
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
    measure: Measure::Run(measure_idle_exit),
    ..crate::texts::sched::IDLE_EXIT
};

/// Longest time for which a CPU is kept busy before its wake-up counts as the busy one's.
const BUSY_NS: u64 = 1_000_000;
/// Time in which the process that keeps it busy has gone to sleep.
const REST_NS: u64 = 200_000;

fn measure_idle_exit(case: &mut Case) -> Result<()> {
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
