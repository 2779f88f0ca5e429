//! Probe process.fork_exec: a child is made, becomes another program, and is waited for.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    revision: 2,
    axes: &[super::CHILD],
    limit: Limit::KernelEntry,
    blocking: true,
    measure: Measure::Run(measure),
    ..crate::texts::process::FORK_EXEC
};

fn measure(case: &mut Case) -> Result<()> {
    let path = super::child(case)?;
    let program = workloads::processes::program::PreparedProgram::new(&path, &[])?;
    super::run(case, &program)
}
