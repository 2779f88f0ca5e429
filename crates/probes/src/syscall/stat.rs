//! Probe syscall.stat: the status of a file, by its path or open.

use hostmark_engine::prelude::*;

use crate::workloads::storage::{files, path_ops};

pub static PROBE: Probe = Probe {
    revision: 2,
    also: &[Quantity::CORE_CYCLES],
    axes: &[
        Axis::ways("call", "stat", Points::quick(&["stat", "fstat"]).standard(&["statx"])),
        super::DEPTH,
        crate::place::PLACE,
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["call", "place"] }],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::STAT
};

fn measure(case: &mut Case) -> Result<()> {
    let call: String = case.param("call")?;
    if call == "fstat" {
        let path = crate::place::directory(case)?.join("file");
        files::write(&path, b"x", 0o600)?;
        let file = files::open(&path, false)?;
        return case.calls(|| path_ops::fstat(&file)).time();
    }
    let files = super::Files::below(case, 1)?;
    let path = files.first()?;
    match call.as_str() {
        "statx" => {
            path.statx().map_err(|error| RoundError::lacking(say!("this call is not available"), &error))?;
            case.calls(|| path.statx()).time()
        }
        _ => case.calls(|| path.stat()).time(),
    }
}
