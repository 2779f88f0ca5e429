//! Probe ipc.pipe_bandwidth: how fast bytes go through a pipe, by message, read block, capacity and placement.

use crate::workloads;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: super::TAKEN_TURNS,
    related: &["ipc.unix_bandwidth", "ipc.shared_memory_bandwidth", "ipc.pipe", "memory.copy"],
    axes: &[
        Axis::size(
            "message",
            "65536",
            Points::Listed {
                quick: &["4096", "65536", "1048576"],
                standard: &["16384", "262144", "4194304", "16777216"],
                thorough: &[
                    "8192",
                    "32768",
                    "131072",
                    "524288",
                    "2097152",
                    "8388608",
                    "33554432",
                    "67108864",
                    "134217728",
                ],
            },
        ),
        Axis::size(
            "block",
            "65536",
            Points::Listed { quick: &["65536"], standard: &["4096", "1048576"], thorough: &[] },
        ),
        Axis::choice("capacity", "default", Points::Listed { quick: &["default", "1m"], standard: &[], thorough: &[] }),
        Axis::near("cpus"),
        Axis::copies(Profile::Standard),
    ],
    full_factorial: &[FullFactorial { from: Profile::Quick, axes: &["message", "cpus"] }],
    blocking: true,
    replaces: &["bw_pipe"],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..crate::texts::ipc::PIPE_BANDWIDTH
};

fn measure(case: &mut Case) -> Result<()> {
    let message: u64 = case.param("message")?;
    let block: u64 = case.param("block")?;
    let capacity = match case.param::<String>("capacity")?.as_str() {
        "1m" => Some(1 << 20),
        _ => None,
    };
    let writer = super::other_party(case)?;
    let message = case.buffer(message, Pages::Base, None)?;
    let mut block = case.buffer(block, Pages::Base, None)?;
    let peer = workloads::handover::pipe::PipeWriter::spawn(message.bytes(), capacity, &writer)
        .map_err(|error| RoundError::lacking(say!("cannot make this pipe"), &error))?;
    case.note("capacity_bytes", peer.capacity);
    super::bytes_read(case, peer.writer(), |bytes| peer.read(bytes, block.bytes_mut()))
}
