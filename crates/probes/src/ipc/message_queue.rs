//! Probe ipc.message_queue: a message of one byte to another process and back through two message queues.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    related: &["ipc.pipe", "ipc.unix_dgram", "ipc.sysv_semaphore"],
    axes: &[
        Axis::choice("kind", "posix", Points::Listed { quick: &["posix"], standard: &["sysv"], thorough: &[] }),
        super::PLACEMENT,
    ],
    limit: Limit::HandOvers(2),
    blocking: true,
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..crate::texts::ipc::MESSAGE_QUEUE
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    match case.param::<String>("kind")?.as_str() {
        "sysv" => super::round_trip(case, workloads::handover::sysv::by_queues(&other)),
        _ => super::round_trip(case, workloads::handover::message_queue::by_queues(&other)),
    }
}
