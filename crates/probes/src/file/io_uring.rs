//! Probe file.io_uring: blocks of a cached file by io_uring, with and without registered memory and file, beside a call for each.

use crate::workloads::storage::uring::{Asked, FileBatches, IoDirection};
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    axes: &[
        Axis::choice("op", "read", Points::quick(&["read"]).standard(&["write"])),
        Axis::choice("by", "ring", Points::quick(&["ring", "call", "registered"])),
        Axis::count("batch", "16", Points::quick(&["16"]).standard(&["1"]).thorough(&["64"])),
        crate::submission::SUBMISSION,
        PLACE,
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Standard, axes: &["by", "batch"] },
        FullFactorial { from: Profile::Standard, axes: &["op", "by"] },
    ],
    limit: Limit::CyclesPerOp,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::file::IO_URING
};

/// Directory of the file: on a filesystem of a device first, since a tmpfs has every request done by a worker thread.
const PLACE: Axis =
    Axis { default: "scratch", points: Points::quick(&["scratch"]).standard(&["tmpfs"]), ..crate::place::PLACE };

const BLOCK_BYTES: usize = 4096;
/// Size of the file: fits the second-level cache of most cores, and holds many batches of the largest size.
const FILE_BYTES: u64 = 1 << 20;

fn measure(case: &mut Case) -> Result<()> {
    let batch: u32 = case.param("batch")?;
    if u64::from(batch) * BLOCK_BYTES as u64 > FILE_BYTES {
        return Err(RoundError::not_applicable(say!("the file has 256 blocks: name a smaller batch")));
    }
    let direction = if super::is_write(case)? { IoDirection::Write } else { IoDirection::Read };
    let asked = match case.param::<String>("by")?.as_str() {
        "call" => Asked::Call,
        "registered" => Asked::Registered,
        _ => Asked::Ring,
    };
    let poller = crate::submission::poller(case, asked != Asked::Call)?;
    let directory = crate::place::directory(case)?;
    let file = crate::place::filled(case, &directory, FILE_BYTES)?;
    let mut batches = FileBatches::new((file, FILE_BYTES), (batch, BLOCK_BYTES), (direction, asked), poller)
        .or_lacking(|| say!("io_uring is not available"))?;
    case.calls(|| batches.transfer()).each(u64::from(batch)).time()
}
