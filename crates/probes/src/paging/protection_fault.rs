//! Probe paging.protection_fault: a store to a read-only page, beyond what handling its signal costs.

use crate::workloads::mappings::protection::Protected;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    also: &[RAW, HANDLER],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure),
    ..crate::texts::paging::PROTECTION_FAULT
};

/// Time from the store to the instruction behind it.
const RAW: Quantity = Quantity::given("raw", Unit::Nanoseconds, Better::Lower, term!("with its handler"));
const HANDLER: Quantity = Quantity::given("handler", Unit::Nanoseconds, Better::Lower, term!("handling a signal"));

/// Number of faults of each kind in a sample.
const BATCH: u32 = 64;

fn measure(case: &mut Case) -> Result<()> {
    let protected = Protected::install()?;
    let (before, mut due) = (protected.handled(), 0);
    let (mut raw, mut handler) = (Vec::new(), Vec::new());
    case.search(|clock| {
        let mut sent = Ok(());
        let each = |operation: &mut dyn FnMut()| clock.time(|| (0..BATCH).for_each(|_| operation())) / f64::from(BATCH);
        let fault = each(&mut || protected.fault());
        let signal = each(&mut || sent = std::mem::replace(&mut sent, Ok(())).and(protected.send()));
        let nothing = each(&mut || sent = std::mem::replace(&mut sent, Ok(())).and(protected.send_nothing()));
        sent?;
        due += 2 * u64::from(BATCH);
        if signal < nothing {
            return Ok(None);
        }
        raw.push(fault);
        handler.push(signal - nothing);
        Ok(Some(fault - (signal - nothing)))
    })?;
    case.also(RAW.name, raw)?;
    case.also(HANDLER.name, handler)?;
    match protected.handled() - before {
        handled if handled == due => Ok(()),
        handled => Err(RoundError::wrong(say!("{due} faults and signals were due and {handled} handled"))),
    }
}
