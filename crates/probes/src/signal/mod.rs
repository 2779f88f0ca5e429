//! Group signal: installing handlers and running them.

crate::group!("signal": install = INSTALL handle = HANDLE round_trip = ROUND_TRIP);

use hostmark_engine::prelude::*;

use crate::workloads;

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Processes and system calls");

/// Probe signal.install: telling the kernel what to do with a signal.
pub static INSTALL: Probe = Probe {
    revision: 2,
    also: &[Quantity::CORE_CYCLES],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(|case| case.calls(workloads::machine::context::install).time()),
    ..crate::texts::signal::INSTALL
};

/// Probe signal.handle: a signal to oneself, and the return from its handler.
pub static HANDLE: Probe = Probe {
    revision: 2,
    also: &[SENDING, HANDLING],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure_handle),
    ..crate::texts::signal::HANDLE
};

const SENDING: Quantity = Quantity::given("sending", Unit::Nanoseconds, Better::Lower, term!("kill() alone"));
/// The value less that, as lmbench gives it.
const HANDLING: Quantity = Quantity::given("handling", Unit::Nanoseconds, Better::Lower, term!("handler alone"));

/// Number of signals of each kind in a sample.
const BATCH: u32 = 256;

fn measure_handle(case: &mut Case) -> Result<()> {
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

/// Probe signal.round_trip: a signal to another process and its answer by one.
pub static ROUND_TRIP: Probe = Probe {
    axes: &[crate::ipc::PLACEMENT],
    limit: Limit::HandOvers(2),
    blocking: true,
    section: crate::ipc::SECTION,
    measure: Measure::Run(measure_round_trip),
    ..crate::texts::signal::ROUND_TRIP
};

fn measure_round_trip(case: &mut Case) -> Result<()> {
    let other = crate::ipc::other_party(case)?;
    let mut pair = workloads::handover::SignalPair::start(&other)?;
    case.calls(|| pair.there_and_back()).time()?;
    Ok(pair.check()?)
}
