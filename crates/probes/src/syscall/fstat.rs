//! Probe syscall.fstat: the status of an open file.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "fstat", zh: "查询已打开文件的状态 fstat" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "fstat by the system-call instruction on an open file, on a tmpfs or with place=scratch on the filesystem of the \
                 directory that --scratch names, which is noted.",
            zh: "用系统调用指令对一个已打开的文件执行 fstat；文件在 tmpfs 上，place=scratch 时在 --scratch 所指目录的文件系统上，文件系统会记录。",
        },
        why: Text {
            en: "The difference to syscall.stat is the walk along the path; the difference to syscall.null is the look into the \
                 descriptor table and the copy of 144 bytes to user memory.",
            zh: "与 syscall.stat 之差是路径查找；与 syscall.null 之差是查描述符表以及向用户内存复制 144 字节。",
        },
        reading: Text {
            en: "1.5 to 2.5 times syscall.null. It hardly depends on the filesystem, except on those that must ask a server.",
            zh: "为 syscall.null 的 1.5 到 2.5 倍，几乎与文件系统无关，必须询问服务器的文件系统除外。",
        },
    },
    axes: &[crate::place::PLACE],
    cross: &[],
    limit: Limit::CyclesPerOp,
    blocking: false,
    needs: &[],
    replaces: &["lat_syscall"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let path = crate::place::directory(case)?.join("file");
    std::fs::write(&path, "x")?;
    let file = sys::files::open(&path, false)?;
    case.time(|| sys::lookup::fstat(&file))
}
