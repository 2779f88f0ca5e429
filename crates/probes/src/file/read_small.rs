//! Probe file.read_small: small files are opened, read and closed, one after another, by size and by how many there are.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    axes: &[
        super::SMALL,
        Axis::count("files", "200", Points::quick(&["200"]).standard(&["10000"]).thorough(&["1000"])),
        crate::place::PLACE,
    ],
    limit: Limit::KernelEntry,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::file::READ_SMALL
};

fn measure(case: &mut Case) -> Result<()> {
    let count = case.param("files")?;
    let (names, mut content) = super::small_files(case, count)?;
    names.create(&content)?;
    case.calls(|| names.read(&mut content)).each(count as u64).time()
}
