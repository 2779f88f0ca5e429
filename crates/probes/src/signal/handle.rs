//! Probe signal.handle: a signal to oneself, and the return from its handler.

use crate::workloads;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 2,
    also: &[SENDING, HANDLING],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure),
    ..crate::texts::signal::HANDLE
};

const SENDING: Quantity = Quantity::given("sending", Unit::Nanoseconds, Better::Lower, term!("kill() alone"));
/// The value less that, as lmbench gives it.
const HANDLING: Quantity = Quantity::given("handling", Unit::Nanoseconds, Better::Lower, term!("handler alone"));

/// Number of signals of each kind in a sample.
const BATCH: u32 = 256;

fn measure(case: &mut Case) -> Result<()> {
    let handler = workloads::machine::context::Handled::install()?;
    let (before, mut due) = (handler.handled(), 0);
    let (mut sending, mut handling) = (Vec::new(), Vec::new());
    case.search(|clock| {
        let mut sent = Ok(());
        let mut nothing_sent = Ok(());
        let both = clock.time(|| sent = (0..BATCH).try_for_each(|_| handler.send())) / f64::from(BATCH);
        let alone =
            clock.time(|| nothing_sent = (0..BATCH).try_for_each(|_| handler.send_nothing())) / f64::from(BATCH);
        sent.and(nothing_sent)?;
        due += u64::from(BATCH);
        sending.push(alone);
        handling.extend(Some(both - alone).filter(|&handling| handling >= 0.0));
        Ok(Some(both))
    })?;
    case.also(SENDING.name, sending)?;
    case.also(HANDLING.name, handling)?;
    match handler.handled() - before {
        handled if handled == due => Ok(()),
        handled => Err(RoundError::wrong(say!("{due} signals were sent and {handled} handled"))),
    }
}
