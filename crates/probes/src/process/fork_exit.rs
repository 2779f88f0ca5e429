//! Probe process.fork_exit: a child is made, ends at once, and is waited for.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 2,
    axes: &[Axis::choice("way", "syscall", Points::quick(&["syscall", "libc"])), Axis::copies(Profile::Standard)],
    limit: Limit::KernelEntry,
    blocking: true,
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
