//! Probe syscall.fstat: the status of an open file.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "fstat", zh: "查询已打开文件的状态 fstat" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "fstat is called on an open file, on a tmpfs or with place=scratch on \
                 the filesystem of --scratch (a note shows which).",
            zh: "对一个已打开的文件调用 fstat；文件在 tmpfs 上，place=scratch 时在 --scratch 所指目录的文件系统上，文件系统会记录。",
        },
        why: Text {
            en: "The difference to syscall.stat is the path walk. The difference to syscall.null is the descriptor \
                 lookup and the copy of 144 bytes to user memory.",
            zh: "与 syscall.stat 之差是路径查找；与 syscall.null 之差是查描述符表以及向用户内存复制 144 字节。",
        },
        reading: Text {
            en: "1.5 to 2.5 times syscall.null: the descriptor, the filesystem's own function, and 144 bytes copied to \
                 user memory. It hardly depends on the filesystem, unless that must ask a server.",
            zh: "为 syscall.null 的 1.5 到 2.5 倍：描述符、文件系统自己的函数，以及写往用户内存的 144 字节。几乎与文件系统无关，必须询问服务器的除外。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), ext4: 174 to 180 ns, twice \
                 syscall.null and a third of syscall.stat.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（ext4）：174 到 180 ns，为 syscall.null 的两倍、\
                 syscall.stat 的三分之一。",
        },
        causes: Text {
            en: "Security modules and auditing; a network filesystem whose attributes have to be fetched again.",
            zh: "安全模块与审计；需要重新取属性的网络文件系统。",
        },
    },
    related: &["syscall.stat", "syscall.null"],
    differs: Some(Text {
        en: "The same call as lat_syscall fstat; the filesystem is noted.",
        zh: "与 lat_syscall fstat 是同一调用，并注明文件系统。",
    }),
    axes: &[crate::place::PLACE],
    limit: Limit::KernelEntry,
    replaces: &["lat_syscall"],
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let path = crate::place::directory(case)?.join("file");
    workloads::storage::files::write(&path, b"x", 0o600)?;
    let file = workloads::storage::files::open(&path, false)?;
    case.calls(|| workloads::storage::path_ops::fstat(&file)).time()
}
