//! Group clock: what reading the time costs and can tell apart.

crate::group!("clock", shares_worker true: read = READ resolution = RESOLUTION loop = LOOP sleep = SLEEP);

use std::time::Duration;

use hostmark_engine::prelude::*;

use crate::kernels::arith;
use crate::workloads::machine::timer::{ClockSource, Sleeper, slack_ns};

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Clocks");

/// Axis source: the kernel's clock as programs read it, and those beside it that have cases in the profiles named.
const fn sources(quick: &'static [&'static str], standard: &'static [&'static str]) -> Axis {
    Axis::choice("source", "monotonic", Points::quick(quick).standard(standard))
}

/// The clock that the case's axis `source` names.
fn source(case: &Case) -> Result<ClockSource> {
    let source: ClockSource = case.param("source")?;
    match source.is_readable() {
        true => Ok(source),
        false => {
            Err(RoundError::skipped(ReasonCode::Permission, say!("reading the counter is forbidden to this process")))
        }
    }
}

/// Probe clock.read: what one reading of a clock costs.
pub static READ: Probe = Probe {
    revision: 2,
    axes: &[sources(&["tsc", "monotonic", "syscall"], &["monotonic_raw"])],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure_read),
    ..crate::texts::clock::READ
};

fn measure_read(case: &mut Case) -> Result<()> {
    let source = source(case)?;
    // Told apart outside of the loop, so that only the reading is inside.
    match source {
        ClockSource::Counter => case.loops(|n| read_n(n, || ClockSource::Counter.read())).time(),
        ClockSource::Monotonic => case.loops(|n| read_n(n, || ClockSource::Monotonic.read())).time(),
        ClockSource::MonotonicRaw => case.loops(|n| read_n(n, || ClockSource::MonotonicRaw.read())).time(),
        ClockSource::Syscall => case.loops(|n| read_n(n, || ClockSource::Syscall.read())).time(),
    }
}

#[inline(always)]
fn read_n(n: u64, read: impl Fn() -> u64) {
    for _ in 0..n {
        std::hint::black_box(read());
    }
}

/// Probe clock.resolution: the smallest time that two readings of a clock tell apart.
pub static RESOLUTION: Probe = Probe {
    better: Better::Neither,
    axes: &[sources(&["tsc", "monotonic"], &["monotonic_raw", "syscall"])],
    measure: Measure::Run(measure_resolution),
    ..crate::texts::clock::RESOLUTION
};

fn measure_resolution(case: &mut Case) -> Result<()> {
    let source = source(case)?;
    let ns_a_step = match source {
        ClockSource::Counter => case.counter_ns_per_tick()?,
        _ => 1.0,
    };
    case.values(|| match source.step() {
        Some(step) => Ok(step as f64 * ns_a_step),
        None => Err(RoundError::wrong(say!("the clock stood still over 500 readings"))),
    })
}

/// Probe clock.loop: the cost of the loop around a measured body.
pub static LOOP: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    core_bound: CoreBound::Yes,
    measure: Measure::Run(|case| case.loops(arith::empty).time()),
    ..crate::texts::clock::LOOP
};

/// Probe clock.sleep: how much later than asked a sleeping thread runs again, by way of sleeping and by delay.
pub static SLEEP: Probe = Probe {
    also: &[Quantity::P90, Quantity::P99, Quantity::P999, Quantity::MEAN],
    axes: &[
        Axis::choice("way", "nanosleep", Points::quick(&["nanosleep", "timerfd"]).standard(&["poll", "epoll"])),
        Axis::count("delay_us", "100", Points::quick(&["100"]).standard(&["10", "1000", "10000"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["way", "delay_us"] }],
    blocking: true,
    measure: Measure::Run(measure_sleep),
    ..crate::texts::clock::SLEEP
};

fn measure_sleep(case: &mut Case) -> Result<()> {
    let way: String = case.param("way")?;
    let delay = Duration::from_micros(case.param("delay_us")?);
    let sleeper = Sleeper::of_name(&way).or_lacking(|| say!("{way} is not available"))?;
    let sleeper = sleeper.ok_or_else(|| RoundError::internal(say!("there is no way to sleep called '{way}'")))?;
    if let Ok(slack) = slack_ns() {
        case.note("timer_slack_ns", slack);
    }
    case.timed(|clock| {
        let asked = clock.ticks(delay.as_nanos() as f64);
        let start = clock.start();
        sleeper.sleep(delay)?;
        let away = clock.end().since(start);
        match away < asked {
            true => {
                Err(RoundError::wrong(say!("a sleep ended before its time: the kernel's clock and the run's differ")))
            }
            false => Ok(away.since(asked)),
        }
    })
    .singly()
    .time()
}
