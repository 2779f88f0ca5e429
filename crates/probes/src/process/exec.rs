//! Probe process.exec: a child is made, becomes another program, by itself or through the shell, and is waited for.

use std::path::Path;

use hostmark_engine::prelude::*;

use crate::workloads::processes::program::PreparedProgram;

pub static PROBE: Probe = Probe {
    revision: 2,
    axes: &[
        Axis::ways("way", "fork", Points::quick(&["fork", "shell"])),
        Axis::choice("child", "static", Points::quick(&["static", "dynamic"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Quick, axes: &["way", "child"] }],
    limit: Limit::KernelEntry,
    blocking: true,
    measure: Measure::Run(measure),
    ..crate::texts::process::EXEC
};

/// The dynamically linked program: every system has it, and it does nothing.
const DYNAMIC: &str = "/bin/true";

fn measure(case: &mut Case) -> Result<()> {
    let path = match case.param::<String>("child")?.as_str() {
        "dynamic" => DYNAMIC.into(),
        _ => super::static_program(case)?,
    };
    case.note("program", path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()));
    let program = match case.param::<String>("way")?.as_str() {
        "shell" => {
            if let Ok(shell) = std::fs::canonicalize("/bin/sh") {
                case.note("shell", shell.display());
            }
            PreparedProgram::new(Path::new("/bin/sh"), &["-c", &path.display().to_string()])?
        }
        _ => PreparedProgram::new(&path, &[])?,
    };
    super::by_way(case, || program.run())
}
