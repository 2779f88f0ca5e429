//! Probe process.shell: a program started through the shell.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 2,
    axes: &[super::CHILD],
    limit: Limit::KernelEntry,
    blocking: true,
    measure: Measure::Run(measure),
    ..crate::texts::process::SHELL
};

fn measure(case: &mut Case) -> Result<()> {
    let path = super::child(case)?;
    if let Ok(shell) = std::fs::canonicalize("/bin/sh") {
        case.note("shell", shell.display());
    }
    let program = workloads::processes::program::PreparedProgram::new(
        std::path::Path::new("/bin/sh"),
        &["-c", &path.display().to_string()],
    )?;
    super::run(case, &program)
}
