//! Probe file.lookup: how long the kernel takes to find a file by its path, by depth.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    axes: &[Axis::count("depth", "4", Points::quick(&["1", "4", "16"]).standard(&["2", "8"]))],
    measure: Measure::Run(measure),
    ..crate::texts::file::LOOKUP
};

fn measure(case: &mut Case) -> Result<()> {
    let depth: usize = case.param("depth")?;
    let mut path = case.scratch_dir()?;
    path.extend(std::iter::repeat_n("directory", depth));
    std::fs::create_dir_all(&path).call("mkdir")?;
    path.push("file");
    std::fs::write(&path, "").call("open")?;
    case.calls(|| std::fs::metadata(&path)).time()
}
