//! Probe signal.install: telling the kernel what to do with a signal.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Signal install", zh: "安装信号处理" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "rt_sigaction by the system-call instruction: the action of one signal is replaced and the former one handed back.",
            zh: "用系统调用指令执行 rt_sigaction：替换一个信号的处理方式，并取回原来的。",
        },
        why: Text {
            en: "Shells, debuggers and run-time systems change handlers around what they run; it is also one of the few system \
                 calls that copy a structure in and another out, and do little else.",
            zh: "shell、调试器和语言运行时在执行代码前后会更换处理函数；它也是少数只复制一个结构进、一个结构出的系统调用。",
        },
        reading: Text { en: "1.3 to 2 times syscall.null.", zh: "为 syscall.null 的 1.3 到 2 倍。" },
    },
    axes: &[],
    cross: &[],
    limit: Limit::CyclesPerOp,
    blocking: false,
    needs: &[],
    replaces: &["lat_sig"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    case.time(sys::signal::install)
}
