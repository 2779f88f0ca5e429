//! Probe syscall.stat: the status of a file by its path.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "stat", zh: "查询文件状态 stat" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "newfstatat by the system-call instruction, on a file `depth` directories deep in a directory on a tmpfs, or with \
                 place=scratch in the one that --scratch names. All of the path is cached, so that no device is asked; the \
                 filesystem is noted.",
            zh: "用系统调用指令对 tmpfs 上一个目录下 `depth` 层深处的文件执行 newfstatat；place=scratch 时则在 --scratch 所指的目录中。\
                 路径全部在缓存中，不访问设备；文件系统记录在备注中。",
        },
        why: Text {
            en: "Build systems, web servers and package managers ask for the status of thousands of files that they then do not \
                 open. It is the cost of the path walk: one directory after the other, with a permission check each.",
            zh: "构建系统、Web 服务器和包管理器会查询成千上万个并不打开的文件的状态。其代价在于路径查找：逐级目录，每级检查一次权限。",
        },
        reading: Text {
            en: "3 to 6 times syscall.null with one directory, and 15 to 40 ns for each further one. A local \
                 filesystem costs nearly what a tmpfs does, since the kernel's cache of names answers for both. Much more points \
                 to security modules, auditing, or an overlay or network filesystem that has to ask others.",
            zh: "一级目录时为 syscall.null 的 3 到 6 倍，每多一级再加 15 到 40 ns。本地文件系统与 tmpfs 相差无几，因为两者都由内核的名字缓存应答。明显更高则与安全模块、审计，或需要询问他方的 overlay、\
                 网络文件系统有关。",
        },
    },
    axes: &[super::DEPTH, crate::place::PLACE],
    cross: &[],
    limit: Limit::CyclesPerOp,
    blocking: false,
    needs: &[],
    replaces: &["lat_syscall"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let path = super::file_below(case)?;
    case.time(|| path.stat())
}
