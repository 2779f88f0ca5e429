//! Probe sched.timer_latency: how late a periodic thread is woken by its timer while others want the same CPU.

use crate::workloads::machine::timer;
use crate::workloads::processes::hog::{self, Hog, Priority};
use crate::workloads::processes::program;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 2,
    also: &[Quantity::P90, Quantity::P99, Quantity::MEAN],
    axes: &[
        Axis::choice("hog", "100", Points::quick(&["100"]).standard(&["none"]).thorough(&["30"])),
        Axis::count("delay_us", "1000", Points::quick(&["1000"]).thorough(&["200", "10000"])),
        Axis::threads("cpus", Points::OfHost(|host, _| vec![1, host.usable_cpus().len() as u64])),
    ],
    blocking: true,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::sched::TIMER_LATENCY
};

fn measure(case: &mut Case) -> Result<()> {
    let (hog, period_us) = (hog::percent(&case.param::<String>("hog")?), case.param::<u64>("delay_us")?);
    let cpus = if hog > 0 { case.thread_cpus() } else { Vec::new() };
    case.may_fill(cpus.len() as u64 * program::LEAST_BYTES)?;
    let _hogs = Hog::on_each(&cpus, Priority::Nice(0), hog)
        .map_err(|error| RoundError::lacking(say!("cannot start so many processes"), &error))?;
    let _precise = timer::WithoutSlack::begin()?;
    let mut beat = timer::Beat::every(period_us * 1000);
    case.timed(|clock| Ok(clock.ticks(beat.overslept()? as f64))).singly().time()
}
