//! Probe ipc.unix_bandwidth: how fast bytes go through a Unix stream socket, by message and placement.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: super::TAKEN_TURNS,
    related: &["ipc.pipe_bandwidth", "ipc.shared_memory_bandwidth", "net.tcp_bandwidth"],
    axes: &[super::MESSAGE, super::PLACEMENT],
    blocking: true,
    replaces: &["bw_unix"],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..crate::texts::ipc::UNIX_BANDWIDTH
};

fn measure(case: &mut Case) -> Result<()> {
    let writer = super::other_party(case)?;
    let message = case.buffer(case.param("message")?, Pages::Base, None)?;
    let mut block = case.buffer(super::BLOCK_BYTES, Pages::Base, None)?;
    let stream =
        workloads::handover::stream::Stream::by_socket_pair(message.bytes(), &writer).map_err(super::refused)?;
    case.note("send_buffer_bytes", stream.send_buffer_bytes());
    super::bytes_read(case, stream.writer(), |bytes| stream.read(bytes, block.bytes_mut()))
}
