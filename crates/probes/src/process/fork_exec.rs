//! Probe process.fork_exec: a child is made, becomes another program, and is waited for.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Fork + exec", zh: "创建进程并执行（fork + exec）" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "clone(2) as in process.fork_exit, then the child calls execve with an empty environment. The parent \
                 waits and checks for exit status 0, so a failed exec cannot look fast. child=static is an ELF file of \
                 about 130 bytes that only exits; child=dynamic is /bin/true with its loader and C library.",
            zh: "如 process.fork_exit 先 clone(2)，随后子进程以空环境 execve；父进程等待并检查程序以状态 0 结束，因此\
                 失败的 exec 不会显得很快。child=static 是一个只会退出、约 130 字节的 ELF 文件；child=dynamic 是 \
                 /bin/true，含动态加载器与 C 库。",
        },
        why: Text {
            en: "Every command in a script, every compiler call of a build and every CGI request pays this.",
            zh: "脚本里的每条命令、构建中的每次编译调用、每个 CGI 请求都要付这个代价。",
        },
        reading: Text {
            en: "On top of process.fork_exit: a new address space, the program's pages, and the tear-down of both. The \
                 dynamic child maps and relocates its libraries; most of its cost is page faults.",
            zh: "在 process.fork_exit 之外：新的地址空间、程序的页，以及两者的拆除。动态子进程要映射并重定位各个库，代价主要是缺页。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): static 148 to 153 µs, \
                 dynamic 475 to 480. A Core i5-2520M of 2011, bare metal, a dynamic program that prints a line: 306 \
                 µs; lmbench in a published evaluation: 319 to 328.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：静态 148 到 153 µs，动态 475 到 480。2011 年的 \
                 Core i5-2520M（裸机），打印一行的动态程序：306 µs；某次公开评测中的 lmbench：319 到 328。",
        },
        causes: Text {
            en: "Expensive page faults (shadow paging, nested tables without huge pages); more and larger libraries; \
                 security modules that label and check every mapping; auditing of execve; a program on an overlay or \
                 network filesystem.",
            zh: "昂贵的缺页（影子页表、没有大页的嵌套页表）；更多更大的库；为每个映射打标签并检查的安全模块；对 execve 的审计；位于 overlay 或网络文件系统上的程序。",
        },
    },
    related: &["process.fork_exit", "process.spawn", "process.shell", "paging.fault"],
    differs: Some(Text {
        en: "The summary uses child=dynamic. lat_proc exec starts another small program from a parent with ten \
             libraries, which takes 2.5 times as long (docs/accuracy.md). If its program is missing, the child dies at \
             once and lat_proc still prints a plausible number. hostmark checks the exit status.",
        zh: "汇总表取 child=dynamic。lat_proc exec 由一个带十个库的父进程启动另一个小程序，耗时为 2.5 倍（见 docs/accuracy.md）；程序缺失时它也会打印看\
             似合理的数字：子进程立即死亡。这里检查退出状态。",
    }),
    axes: &[super::CHILD],
    limit: Limit::KernelEntry,
    blocking: true,
    replaces: &["lat_proc"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let path = super::child(case)?;
    let program = workloads::processes::program::PreparedProgram::new(&path, &[])?;
    super::run(case, &program)
}
