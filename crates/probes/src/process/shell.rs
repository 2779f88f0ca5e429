//! Probe process.shell: a program started through the shell.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Fork + /bin/sh -c", zh: "经 shell 执行程序" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[],
    explain: Explain {
        what: Text {
            en: "As process.fork_exec, but the child executes /bin/sh -c with the program's path, as system(3) and popen(3) do; the \
                 shell starts the program, or becomes it, as shells see fit. Which shell /bin/sh is is noted.",
            zh: "与 process.fork_exec 相同，但子进程执行 /bin/sh -c 加程序路径，如同 system(3) 与 popen(3)；由 shell 启动该程序或直接变成它。 \
                 /bin/sh 实际是哪个 shell 会记录下来。",
        },
        why: Text {
            en: "system() and popen() hide in many programs, and cost several processes' worth of work each time.",
            zh: "许多程序里藏着 system() 与 popen()，每次都要付几个进程的代价。",
        },
        reading: Text {
            en: "One and a half to three times process.fork_exec with the dynamic child. dash starts twice as fast as bash.",
            zh: "约为 process.fork_exec（dynamic）的一倍半到三倍。dash 的启动比 bash 快一倍。",
        },
    },
    axes: &[super::CHILD],
    cross: &[],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &["lat_proc"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let path = super::child(case)?;
    if let Ok(shell) = std::fs::canonicalize("/bin/sh") {
        case.note("shell", shell.display());
    }
    let program = sys::program::Program::new(std::path::Path::new("/bin/sh"), &["-c", &path.display().to_string()])?;
    super::run(case, &program)
}
