//! Probe process.shell: a program started through the shell.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Fork + /bin/sh -c", zh: "经 shell 执行程序" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "As process.fork_exec, but the child executes /bin/sh -c with the program's path, as system(3) and \
                 popen(3) do. The shell either starts the program or replaces itself with it. A note shows which shell \
                 /bin/sh is.",
            zh: "与 process.fork_exec 相同，但子进程执行 /bin/sh -c 加程序路径，如同 system(3) 与 popen(3)；由 shell \
                 启动该程序或直接变成它。/bin/sh 实际是哪个 shell 记入备注。",
        },
        why: Text {
            en: "system() and popen() hide in many programs, and each call costs as much as several processes.",
            zh: "许多程序里藏着 system() 与 popen()，每次都要付几个进程的代价。",
        },
        reading: Text {
            en: "process.fork_exec of the shell itself, which is dynamic, and of the program, unless the shell \
                 replaces itself with it. Then the shell's own start: its environment, its locale, its files.",
            zh: "先是 shell 本身（动态程序）的 process.fork_exec，再是该程序的（若 shell 不直接变成它）；另有 shell 自身的启动：环境、区域设置、文件。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), dash: 645 to 670 µs with the \
                 static program, 0.94 ms with the dynamic one, twice process.fork_exec of the same.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（dash）：静态程序 645 到 670 µs，动态程序 0.94 ms，为\
                 相同程序 process.fork_exec 的两倍。",
        },
        causes: Text {
            en: "Another shell (bash starts about half as fast as dash); start-up files by ENV or BASH_ENV; a PATH of \
                 network directories; otherwise as for process.fork_exec.",
            zh: "换了 shell（bash 的启动约慢一倍）；由 ENV 或 BASH_ENV 指定的启动文件；PATH 中有网络目录；其余同 process.fork_exec。",
        },
    },
    related: &["process.fork_exec", "process.spawn"],
    differs: Some(Text {
        en: "The summary takes child=dynamic. lat_proc shell does the same from a parent with ten libraries, in about \
             twice the time and with 24 % of spread (docs/accuracy.md). Which shell ran is noted here.",
        zh: "汇总表取 child=dynamic。lat_proc shell 由一个带十个库的父进程做同样的事，耗时约两倍，离散 24%（见 docs/accuracy.md）。这里注明实际运行的 \
             shell。",
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
    if let Ok(shell) = std::fs::canonicalize("/bin/sh") {
        case.note("shell", shell.display());
    }
    let program = workloads::processes::program::PreparedProgram::new(
        std::path::Path::new("/bin/sh"),
        &["-c", &path.display().to_string()],
    )?;
    super::run(case, &program)
}
