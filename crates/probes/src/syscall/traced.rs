//! Probe syscall.traced: a null call of a process whose calls another one stops by ptrace.

use crate::workloads::processes::traced::Traced;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    related: &["syscall.null", "syscall.seccomp", "sched.context_switch", "ipc.round_trip"],
    axes: &[Axis::placements(
        "cpus",
        "same_cpu",
        Points::Listed {
            quick: &["same_cpu"],
            standard: &["same_cache"],
            thorough: &["smt_sibling", "other_cache", "same_package_other_node", "other_node"],
        },
    )],
    limit: Limit::HandOvers(4),
    blocking: true,
    section: crate::section::SYSTEM,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::TRACED
};

fn measure(case: &mut Case) -> Result<()> {
    let other = crate::ipc::other_party(case)?;
    let mut traced =
        Traced::start(&other).map_err(|error| RoundError::lacking(say!("a process cannot trace its child"), &error))?;
    case.calls(|| traced.call()).time()?;
    Ok(traced.check()?)
}
