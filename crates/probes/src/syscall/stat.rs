//! Probe syscall.stat: the status of a file by its path.

use hostmark_engine::prelude::*;
pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    related: &["syscall.fstat", "syscall.open_close", "syscall.null"],
    axes: &[
        Axis::choice("call", "stat", Points::Listed { quick: &["stat"], standard: &["statx"], thorough: &[] }),
        super::DEPTH,
        crate::place::PLACE,
    ],
    limit: Limit::KernelEntry,
    replaces: &["lat_syscall"],
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::STAT
};

fn measure(case: &mut Case) -> Result<()> {
    let files = super::Files::below(case, 1)?;
    let path = files.first()?;
    match case.param::<String>("call")?.as_str() {
        "statx" => {
            path.statx().map_err(|error| RoundError::lacking(say!("this call is not available"), &error))?;
            case.calls(|| path.statx()).time()
        }
        _ => case.calls(|| path.stat()).time(),
    }
}
