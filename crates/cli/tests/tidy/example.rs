//! Probe file.lookup: how long the kernel takes to find a file by its path, by depth.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    related: &["syscall.stat", "syscall.open_close"],
    axes: &[Axis::count(
        "depth",
        "4",
        Points::Listed { quick: &["1", "4", "16"], standard: &["2", "8"], thorough: &[] },
    )],
    section: Text { en: "Files", zh: "文件" },
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
