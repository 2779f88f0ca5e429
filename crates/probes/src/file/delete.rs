//! Probe file.delete: a file is removed by its name, by size.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    related: &["file.create", "syscall.open_close"],
    axes: &[super::SMALL, crate::place::PLACE],
    limit: Limit::KernelEntry,
    replaces: &["lat_fs"],
    section: crate::section::FILES,
    measure: Measure::Run(measure),
    ..crate::texts::file::DELETE
};

fn measure(case: &mut Case) -> Result<()> {
    let (names, content) = super::small_files(case, super::FILES)?;
    case.timed(|clock| {
        names.create(&content)?;
        let start = clock.start();
        names.delete()?;
        Ok((clock.end().since(start), names.count() as u64))
    })
    .time()
}
