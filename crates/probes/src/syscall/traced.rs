//! Probe syscall.traced: a null call of a process whose calls another one stops by ptrace.

use hostmark_engine::prelude::*;

use crate::workloads::processes::traced::Traced;

pub static PROBE: Probe = Probe {
    title: Text { en: "Null call under ptrace", zh: "ptrace 跟踪下的空系统调用" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "A child calls getppid over and over, and its parent traces it (PTRACE_SEIZE, PTRACE_SYSCALL): the child stops \
                 before and after each call, and each time the parent waits for the stop by wait4 and lets it go on. The value is the \
                 time per call, both stops included; the parent reads nothing of the child. The child counts its calls, and \
                 they must be as many.",
            zh: "子进程反复调用 getppid，父进程跟踪它（PTRACE_SEIZE、PTRACE_SYSCALL）：子进程在每次调用前后各停一次，父进程每次用 wait4 等它停下，\
                 再让它继续。数值是每次调用的时间，含两次停顿；父进程不读取子进程的任何内容。子进程自己计数，次数必须相符。",
        },
        why: Text {
            en: "strace, gdb, some sandboxes and profilers work this way. A program under strace slows down by this for every call that it \
                 makes, even for those that are not printed.",
            zh: "strace、gdb、一些沙箱和剖析器都这样工作。程序在 strace 之下，每次系统调用都要多付这些，未打印的调用也不例外。",
        },
        reading: Text {
            en: "The tax is the ratio to syscall.null. Each stop is a switch to the parent and one back, so that the value is four \
                 hand-overs (sched.context_switch) and four system calls of the parent. On two CPUs each is a wake-up instead \
                 (ipc.futex).",
            zh: "代价是与 syscall.null 之比。每次停顿是切换到父进程再切换回来，因此数值是四次交接（sched.context_switch）加上父进程的四次系统\
                 调用。两者在不同 CPU 上时，每次交接变成一次唤醒（ipc.futex）。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18), three runs beside other load: 12.4 to 14.4 µs \
                 on one CPU, some eighty times syscall.null; 54 to 70 on two that share a cache and hardly idled.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4 (Genoa)，Linux 6.18）上实测，三次运行，另有其他负载：同一个 CPU 12.4 到 14.4 µs，\
                 约为 syscall.null 的八十倍；共享缓存且几乎不空闲的两个 CPU 54 到 70。",
        },
        causes: Text {
            en: "Skipped: Yama (kernel.yama.ptrace_scope=3), a seccomp filter or a container forbids tracing. Slow: expensive switches \
                 between processes, wake-ups of idle CPUs, mitigations.",
            zh: "被跳过：Yama（kernel.yama.ptrace_scope=3）、seccomp 过滤器或容器禁止跟踪。偏慢：进程切换昂贵、唤醒空闲 CPU、缓解措施。",
        },
    },
    related: &["syscall.null", "syscall.seccomp", "sched.context_switch", "ipc.futex"],
    axes: &[Axis::placements(
        "cpus",
        "same_cpu",
        Points::Listed {
            quick: &["same_cpu"],
            standard: &["same_cache"],
            thorough: &["smt_sibling", "other_cache", "same_package_other_node", "other_node"],
        },
    )],
    limit: Limit::HandOvers(4),
    blocking: true,
    section: crate::section::SYSTEM,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let other = crate::ipc::other_party(case)?;
    let mut traced =
        Traced::start(&other).map_err(|error| RoundError::lacking("a process cannot trace its child", &error))?;
    case.calls(|| traced.call()).time()?;
    Ok(traced.check()?)
}
