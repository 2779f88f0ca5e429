//! Group process: making processes and ending them.

mod fork_exec;
mod fork_exit;
mod shell;
mod thread;

crate::group!("process": fork_exit fork_exec shell thread);

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use hostmark_engine::prelude::*;

/// The dynamically linked program: every system has it, and it does nothing.
const DYNAMIC: &str = "/bin/true";

/// Axis child: what is executed.
const CHILD: Axis =
    Axis::choice("child", "static", Points::Listed { quick: &["static", "dynamic"], standard: &[], thorough: &[] });

/// The program that the case's axis `child` names, noted.
fn child(case: &mut Case) -> Result<PathBuf> {
    let path = match case.param::<String>("child")?.as_str() {
        "dynamic" => PathBuf::from(DYNAMIC),
        _ => {
            let path = case.scratch_dir()?.join("exit");
            fs::write(&path, sys::program::smallest_elf())?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
            path
        }
    };
    case.note("program", path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()));
    Ok(path)
}

/// Times a program that must end well; one that ends otherwise at its first run is the host's lack, not a cost.
fn run(case: &mut Case, program: &sys::program::Program) -> Result<()> {
    program.run().map_err(|error| Stop::skipped(format!("the program cannot be executed here: {error}")))?;
    case.time(|| program.run())
}
