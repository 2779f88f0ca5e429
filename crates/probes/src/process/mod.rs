//! Group process: making processes and ending them.

mod exec;
mod fork_exit;
mod fork_resident;
mod spawn;
mod thread;

crate::group!("process": fork_exit exec fork_resident spawn thread);

use std::path::PathBuf;

use crate::workloads;
use crate::workloads::processes::small_parent::{self, LeftOut};
use hostmark_engine::prelude::*;

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Processes and system calls");

/// The smallest program there is, in the scratch directory.
fn static_program(case: &mut Case) -> Result<PathBuf> {
    let path = case.scratch_dir()?.join("exit");
    workloads::storage::files::write(&path, &workloads::processes::program::smallest_elf(), 0o755)?;
    Ok(path)
}

/// Times starting a program in some way; one that ends badly at its first run is the host's lack, not a cost.
fn by_way(case: &mut Case, mut run: impl FnMut() -> std::io::Result<()>) -> Result<()> {
    let _left_out = small_parent(case);
    run().map_err(|error| RoundError::lacking(say!("the program cannot be executed here"), &error))?;
    case.calls(run).time()
}

/// Makes this process cheaper to fork, as a small C program is, for children that do nothing but system calls, while the result lives.
fn small_parent(case: &mut Case) -> Option<LeftOut> {
    share_relocated(case);
    noted(case, LeftOut::libraries())
}

/// The same for children that need all libraries.
fn share_relocated(case: &mut Case) {
    noted(case, small_parent::share_relocated());
}

/// Notes the error where something forbids it.
fn noted<T>(case: &mut Case, made: std::io::Result<T>) -> Option<T> {
    made.inspect_err(|error| case.note("parent_not_small", error)).ok()
}
