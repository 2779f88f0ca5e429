//! Probe ipc.hand_over: one process hands over to another by two semaphores, or by record locks of a file.

use std::io;

use hostmark_engine::prelude::*;

use crate::workloads::handover::exchange::{Exchange, ExchangeStep};
use crate::workloads::handover::{exchange, sysv};

pub static PROBE: Probe = Probe {
    axes: &[Axis::ways("by", "sysv_semaphore", Points::quick(&["sysv_semaphore", "file_lock"])), super::PLACEMENT],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["by", "cpus"] }],
    limit: Limit::HandOvers(1),
    blocking: true,
    measure: Measure::Run(measure),
    ..crate::texts::ipc::HAND_OVER
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    match case.param::<String>("by")?.as_str() {
        "file_lock" => hand_over(exchange::by_file_locks(&other, &case.scratch_dir()?), case),
        _ => hand_over(sysv::by_semaphores(&other), case),
    }
}

/// Times one hand-over of an exchange: half of a round trip.
fn hand_over<T: ExchangeStep>(made: io::Result<Exchange<T>>, case: &mut Case) -> Result<()> {
    let mut exchange = made.map_err(super::refused)?;
    let mut owed = 0;
    case.loops(|hand_overs| -> io::Result<()> {
        // An odd number leaves one for the next time.
        owed += hand_overs;
        while owed >= 2 {
            exchange.there_and_back()?;
            owed -= 2;
        }
        Ok(())
    })
    .time()?;
    Ok(exchange.check()?)
}
