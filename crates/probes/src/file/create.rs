//! Probe file.create: a file is made, written and closed, by size.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    related: &["file.delete", "syscall.open_close", "file.write"],
    axes: &[super::SMALL, crate::place::PLACE],
    limit: Limit::KernelEntry,
    replaces: &["lat_fs"],
    section: crate::section::FILES,
    measure: Measure::Run(measure),
    ..crate::texts::file::CREATE
};

fn measure(case: &mut Case) -> Result<()> {
    let (names, content) = super::small_files(case, super::FILES)?;
    case.timed(|clock| {
        let start = clock.start();
        names.create(&content)?;
        let took = clock.end().since(start);
        names.delete()?;
        Ok((took, names.count() as u64))
    })
    .time()
}
