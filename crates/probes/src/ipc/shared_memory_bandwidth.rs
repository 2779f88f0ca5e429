//! Probe ipc.shared_memory_bandwidth: how fast bytes go through a ring in shared memory, by message and placement.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: super::TAKEN_TURNS,
    related: &["ipc.pipe_bandwidth", "ipc.unix_bandwidth", "memory.copy", "cpu.core_to_core"],
    axes: &[super::MESSAGE, super::PLACEMENT],
    blocking: true,
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..crate::texts::ipc::SHARED_MEMORY_BANDWIDTH
};

fn measure(case: &mut Case) -> Result<()> {
    let writer = super::other_party(case)?;
    let message = case.buffer(case.param("message")?, Pages::Base, None)?;
    let mut block = case.buffer(super::BLOCK_BYTES, Pages::Base, None)?;
    let ring = workloads::handover::shm_ring::RingWriter::spawn(message.bytes(), &writer).map_err(super::refused)?;
    super::bytes_read(case, ring.writer(), |bytes| ring.read(bytes, block.bytes_mut()))
}
