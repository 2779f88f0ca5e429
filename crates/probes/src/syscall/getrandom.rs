//! Probe syscall.getrandom: random bytes from the kernel, by how many are asked for.

use rustix::rand::{GetRandomFlags, getrandom};

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    related: &["syscall.null", "syscall.read_zero", "clock.read"],
    axes: &[Axis::size(
        "size",
        "16",
        Points::Listed { quick: &["16", "256", "4096"], standard: &["32", "1024"], thorough: &["65536"] },
    )],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::GETRANDOM
};

fn measure(case: &mut Case) -> Result<()> {
    let size: usize = case.param("size")?;
    case.may_fill(size as u64)?;
    let mut bytes = vec![0_u8; size];
    case.calls(|| {
        let fill = || getrandom(bytes.as_mut_slice(), GetRandomFlags::empty());
        let given = workloads::by_function(fill).call("getrandom")?;
        if given == size {
            Ok(())
        } else {
            Err(RoundError::failed(ReasonCode::CheckFailed, say!("getrandom gave too little")))
        }
    })
    .time()
}
