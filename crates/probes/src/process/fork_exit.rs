//! Probe process.fork_exit: a child is made, ends at once, and is waited for.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    related: &["process.fork_resident", "process.fork_exec", "process.thread", "paging.fault"],
    axes: &[
        Axis::choice("way", "syscall", Points::Listed { quick: &["syscall", "libc"], standard: &[], thorough: &[] }),
        Axis::copies(Profile::Standard),
    ],
    limit: Limit::KernelEntry,
    blocking: true,
    replaces: &["lat_proc"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..crate::texts::process::FORK_EXIT
};

fn measure(case: &mut Case) -> Result<()> {
    if let Some(bytes) = sys::process::resident_bytes() {
        case.note("parent_resident_bytes", bytes);
    }
    match case.param::<String>("way")?.as_str() {
        "libc" => {
            sys::process::only_one_thread()?;
            super::share_relocated(case);
            case.calls(workloads::processes::program::fork_exit_by_libc).time()
        }
        _ => {
            let _left_out = super::small_parent(case);
            case.calls(workloads::processes::program::fork_exit).time()
        }
    }
}
