//! Probe syscall.io_uring: an operation that does nothing through io_uring, by batch, called and polled.

use crate::workloads::storage::uring::Nops;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 2,
    axes: &[
        Axis::count("batch", "1", Points::quick(&["1"]).standard(&["4", "32"]).thorough(&["2", "8", "16"])),
        crate::submission::SUBMISSION,
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["batch", "submission"] }],
    limit: Limit::CyclesPerOp,
    core_bound: crate::submission::CORE_BOUND,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::IO_URING
};

fn measure(case: &mut Case) -> Result<()> {
    let batch: u32 = case.param("batch")?;
    let poller = crate::submission::poller(case, true)?;
    let mut nops =
        Nops::new(batch, poller).map_err(|error| RoundError::lacking(say!("io_uring is not available"), &error))?;
    case.calls(|| nops.submit_and_complete()).each(u64::from(batch)).time()
}
