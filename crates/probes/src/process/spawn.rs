//! Probe process.spawn: a program is started without copying the parent, and waited for.

use hostmark_engine::prelude::*;

use crate::workloads::processes::program::{ChildStack, PreparedProgram};

pub static PROBE: Probe = Probe {
    revision: 2,
    axes: &[
        Axis::choice("way", "posix_spawn", Points::quick(&["posix_spawn"]).standard(&["vfork", "clone3"])),
        Axis::size("resident", "0", Points::quick(&["0"]).standard(&["268435456"])),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["way", "resident"] }],
    limit: Limit::KernelEntry,
    blocking: true,
    measure: Measure::Run(measure),
    ..crate::texts::process::SPAWN
};

fn measure(case: &mut Case) -> Result<()> {
    let resident: u64 = case.param("resident")?;
    let path = super::static_program(case)?;
    let program = PreparedProgram::new(&path, &[])?;
    let _resident = if resident > 0 { Some(case.buffer(resident, Pages::Base, None)?) } else { None };
    match case.param::<String>("way")?.as_str() {
        "vfork" => {
            let mut stack = ChildStack::new()?;
            super::by_way(case, || program.run_by_vfork(&mut stack))
        }
        "clone3" => super::by_way(case, || program.run_by_clone3()),
        _ => super::by_way(case, || program.run_by_posix_spawn()),
    }
}
