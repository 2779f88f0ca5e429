//! Probe signal.install: telling the kernel what to do with a signal.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Signal install", zh: "安装信号处理" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "rt_sigaction is called: it replaces the action of one signal and \
                 returns the former one.",
            zh: "调用 rt_sigaction：替换一个信号的处理方式，并取回原来的。",
        },
        why: Text {
            en: "Shells, debuggers and run-time systems change handlers around what they run. It is also one of the \
                 few system calls that copy one structure in and another out, and do little else.",
            zh: "shell、调试器和语言运行时在执行代码前后会更换处理函数；它也是少数只复制一个结构进、一个结构出的系统调用。",
        },
        reading: Text {
            en: "1.3 to 2 times syscall.null: two copies of 32 bytes and a lock over the process' handlers.",
            zh: "为 syscall.null 的 1.3 到 2 倍：两次 32 字节的复制，以及对进程处理函数表加的锁。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 153 to 160 ns, 1.7 times \
                 syscall.null.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：153 到 160 ns，为 syscall.null 的 1.7 倍。",
        },
        causes: Text {
            en: "seccomp filters and mitigations, as for syscall.null; threads that change handlers at the same time.",
            zh: "同 syscall.null：seccomp 过滤器与缓解措施；同时修改处理函数的其他线程。",
        },
    },
    related: &["signal.handle", "syscall.null"],
    differs: Some(Text {
        en: "lat_sig install calls the C library's sigaction, which translates the structure; here it is the kernel's \
             call alone.",
        zh: "lat_sig install 调用 C 库的 sigaction，要转换结构；这里只有内核调用。",
    }),
    limit: Limit::KernelEntry,
    replaces: &["lat_sig"],
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    case.calls(workloads::machine::signal::install).time()
}
