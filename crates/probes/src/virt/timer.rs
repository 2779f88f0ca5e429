//! Probe virt.timer: what it costs to set the CPU's timer, which a guest does by leaving it.

use std::time::Duration;

use hostmark_engine::prelude::*;

use crate::workloads::machine::timer::Alarm;

pub static PROBE: Probe = Probe {
    also: &[CALL, Quantity::P90, Quantity::P99, Quantity::MEAN],
    limit: Limit::KernelEntry,
    measure: Measure::Run(measure),
    ..crate::texts::virt::TIMER
};

const CALL: Quantity = Quantity::given("call", Unit::Nanoseconds, Better::Lower, term!("the call alone"));

/// Distance of a timer that ends before the next tick of every usual rate, nine times of ten and more.
const NEXT: Duration = Duration::from_micros(100);
/// Distance of a timer that ends after everything that the kernel waits for.
const LATER: Duration = Duration::from_secs(3600);
/// Least distance of settings, ns. Settings within [`NEXT`] of a tick touch no hardware and are short: without a pace they would be many.
const PACE_NS: f64 = 60e3;

fn measure(case: &mut Case) -> Result<()> {
    let (later, next) = (Alarm::new()?, Alarm::new()?);
    let mut call_ns = Vec::new();
    let mut last = None;
    case.timed(|clock| {
        let mut start = clock.start();
        while last.is_some_and(|last| clock.ns(start.since(last)) < PACE_NS) {
            start = clock.start();
        }
        last = Some(start);
        let timed = |alarm: &Alarm, ahead| -> Result<Ticks> {
            let start = clock.start();
            alarm.set(ahead)?;
            Ok(clock.end().since(start))
        };
        call_ns.push(clock.ns(timed(&later, LATER)?));
        timed(&next, NEXT)
    })
    .singly()
    .time()?;
    case.also(CALL.name, call_ns)
}
