//! Probe ipc.bandwidth: how fast bytes go to another process through a pipe, a Unix socket or shared memory.

use std::io;

use crate::context_switches::{ContextSwitches, SWITCHES, WAKE_UPS};
use crate::workloads::handover::stream::{PipeWriter, RingWriter, Stream};
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[SWITCHES, WAKE_UPS],
    axes: &[
        Axis::ways("by", "pipe", Points::quick(&["pipe", "unix_stream", "shared_memory"])),
        Axis::size(
            "message",
            "65536",
            Points::quick(&["4096", "65536", "1048576"])
                .standard(&["16384", "262144", "4194304", "16777216"])
                .thorough(&[
                    "8192",
                    "32768",
                    "131072",
                    "524288",
                    "2097152",
                    "8388608",
                    "33554432",
                    "67108864",
                    "134217728",
                ]),
        ),
        Axis::size("block", "65536", Points::quick(&["65536"]).standard(&["4096", "1048576"])),
        Axis::choice("capacity", "default", Points::quick(&["default", "1m"])),
        Axis::near("cpus"),
        Axis::copies(Profile::Standard),
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Quick, axes: &["message", "cpus"] },
        FullFactorial { from: Profile::Standard, axes: &["by", "message"] },
    ],
    blocking: true,
    measure: Measure::Run(measure),
    ..crate::texts::ipc::BANDWIDTH
};

/// Bytes that one iteration reads: several times what a pipe, a socket or a ring holds, and whole times of powers of two, so
/// that a sample takes what was written meanwhile and not what was there.
const STEP_BYTES: u64 = 1 << 20;

fn measure(case: &mut Case) -> Result<()> {
    let writer = super::other_party(case)?;
    let is_large = case.param::<String>("capacity")? == "1m";
    let message = case.buffer(case.param("message")?, Pages::Base, None)?;
    let mut block = case.buffer(case.param("block")?, Pages::Base, None)?;
    match case.param::<String>("by")?.as_str() {
        "unix_stream" => {
            let stream = Stream::by_socket_pair(message.bytes(), &writer).map_err(super::refused)?;
            case.note("send_buffer_bytes", stream.send_buffer_bytes());
            bytes_read(case, stream.writer(), |bytes| stream.read(bytes, block.bytes_mut()))
        }
        "shared_memory" => {
            let ring = RingWriter::spawn(message.bytes(), &writer).map_err(super::refused)?;
            bytes_read(case, ring.writer(), |bytes| ring.read(bytes, block.bytes_mut()))
        }
        _ => {
            let pipe = PipeWriter::spawn(message.bytes(), is_large.then_some(1 << 20), &writer)
                .map_err(|error| RoundError::lacking(say!("cannot make this pipe"), &error))?;
            case.note("capacity_bytes", pipe.capacity);
            bytes_read(case, pipe.writer(), |bytes| pipe.read(bytes, block.bytes_mut()))
        }
    }
}

/// The rate of `read`, which reads as many bytes as it is told of those that the process `writer` writes.
fn bytes_read(case: &mut Case, writer: u32, mut read: impl FnMut(u64) -> io::Result<()>) -> Result<()> {
    let turns = ContextSwitches::with(writer);
    case.loops(|steps| {
        turns.moved(steps * STEP_BYTES);
        read(steps * STEP_BYTES)
    })
    .rate(STEP_BYTES)?;
    turns.give(case)
}
