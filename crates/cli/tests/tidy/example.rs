//! Probe file.lookup: how long the kernel takes to find a file by its path, by depth.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    title: Text { en: "Path lookup", zh: "路径查找" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "stat of a file that lies `depth` directories below the scratch directory; all of them are cached.",
            zh: "对临时目录下 `depth` 层目录中的文件执行 stat；各级目录均已在缓存中。",
        },
        why: Text {
            en: "Every open, stat and exec walks its path, one directory after the other.",
            zh: "每次 open、stat 和 exec 都要逐级遍历路径。",
        },
        reading: Text {
            en: "A fixed part for the call, and one for each directory: the slope over depth is the price of a level.",
            zh: "一部分是调用本身的固定代价，另一部分按目录计：随 depth 的斜率就是一级目录的代价。",
        },
        typical: Text {
            en: "Say the figures with their source: a published table, or what was measured on which class of machine.",
            zh: "写出数值及其出处：公开的表格，或在哪一类机器上实测所得。",
        },
        causes: Text {
            en: "Security modules that check each directory, auditing, and filesystems that have to ask others.",
            zh: "逐级检查目录的安全模块、审计，以及需要询问他方的文件系统。",
        },
    },
    related: &["syscall.stat", "syscall.open_close"],
    axes: &[Axis::count(
        "depth",
        "4",
        Points::Listed { quick: &["1", "4", "16"], standard: &["2", "8"], thorough: &[] },
    )],
    section: Text { en: "Files", zh: "文件" },
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let depth: usize = case.param("depth")?;
    let mut path = case.scratch_dir()?;
    path.extend(std::iter::repeat_n("directory", depth));
    std::fs::create_dir_all(&path)?;
    path.push("file");
    std::fs::write(&path, "")?;
    case.calls(|| std::fs::metadata(&path)).time()
}
