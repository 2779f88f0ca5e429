//! Group process: making processes and ending them.

mod fork_exec;
mod fork_exit;
mod fork_resident;
mod shell;
mod spawn;
mod thread;

crate::group!("process": fork_exit fork_exec fork_resident spawn shell thread);

use std::path::PathBuf;

use crate::workloads;
use crate::workloads::processes::small_parent::{self, LeftOut};
use hostmark_engine::prelude::*;

/// Section of a report that shows the group.
pub(crate) const SECTION: Text = term!("Processes and system calls");

/// The dynamically linked program: every system has it, and it does nothing.
const DYNAMIC: &str = "/bin/true";

/// Axis child: what is executed.
const CHILD: Axis = Axis::choice("child", "static", Points::quick(&["static", "dynamic"]));

/// The program that the case's axis `child` names, noted.
fn child(case: &mut Case) -> Result<PathBuf> {
    let path = match case.param::<String>("child")?.as_str() {
        "dynamic" => PathBuf::from(DYNAMIC),
        _ => static_program(case)?,
    };
    case.note("program", path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()));
    Ok(path)
}

/// The smallest program there is, in the scratch directory.
fn static_program(case: &mut Case) -> Result<PathBuf> {
    let path = case.scratch_dir()?.join("exit");
    workloads::storage::files::write(&path, &workloads::processes::program::smallest_elf(), 0o755)?;
    Ok(path)
}

/// Times a program that must end well.
fn run(case: &mut Case, program: &workloads::processes::program::PreparedProgram) -> Result<()> {
    by_way(case, || program.run())
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
