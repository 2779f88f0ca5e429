//! Probe syscall.getpid: the process id, from the kernel and from the C library.

use hostmark_engine::prelude::*;

use crate::workloads;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "getpid", zh: "取进程号 getpid" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "way=syscall executes getpid by the system-call instruction. way=libc calls the C library's function; \
                 some libraries answer from a cached copy, others make the same system call.",
            zh: "way=syscall 用系统调用指令执行 getpid；way=libc 调用 C 库函数，有的库用保存的副本回答，有的发出同样的系统调用。",
        },
        why: Text {
            en: "Old getpid figures differ a hundredfold between machines. Most of them only show whether the C \
                 library cached the pid (glibc did until 2.25). Both ways side by side show which part is the \
                 kernel's.",
            zh: "旧资料中各机器的 getpid 数字相差上百倍，多数只说明 C 库是否缓存了进程号（glibc 2.25 之前如此）。两种\
                 方式并列，才能看出哪些属于内核。",
        },
        reading: Text {
            en: "The system call costs as much as syscall.null. The library function adds a nanosecond or two if it \
                 asks the kernel, and costs a few nanoseconds in all if it keeps a copy.",
            zh: "系统调用与 syscall.null 相当。库函数若询问内核，只多一两纳秒；若有副本，则总共只要几纳秒。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 86 to 87 ns by the call, 88 \
                 to 90 by glibc, which asks the kernel since 2.25. A Core i5-2520M of 2011 with an older glibc: 6 ns, \
                 from the library's copy, beside 50 ns for getppid.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：系统调用 86 到 87 ns，glibc 88 到 90（2.25 起询问\
                 内核）。2011 年的 Core i5-2520M 配较旧的 glibc：6 ns，来自库中的副本，而 getppid 为 50 ns。",
        },
        causes: Text {
            en: "As for syscall.null. way=syscall cannot take a few nanoseconds: something other than the kernel \
                 answered.",
            zh: "同 syscall.null。way=syscall 不可能只有几纳秒：那说明作答的不是内核。",
        },
    },
    related: &["syscall.null", "syscall.read_zero"],
    differs: Some(Text {
        en: "lat_syscall null calls getppid precisely because C libraries cache the pid. hostmark shows both ways side \
             by side, so you can tell what old getpid figures measured.",
        zh: "lat_syscall null 之所以调用 getppid，正因为 C 库会保存 pid。这里两种方式并列，便于分辨旧的 getpid 数字。",
    }),
    axes: &[Axis::choice(
        "way",
        "syscall",
        Points::Listed { quick: &["syscall", "libc"], standard: &[], thorough: &[] },
    )],
    limit: Limit::CyclesPerOp,
    replaces: &["lat_syscall"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    match case.param::<String>("way")?.as_str() {
        "libc" => case
            .loops(|n| {
                for _ in 0..n {
                    std::hint::black_box(std::process::id());
                }
            })
            .time(),
        _ => case
            .loops(|n| {
                for _ in 0..n {
                    std::hint::black_box(workloads::getpid());
                }
            })
            .time(),
    }
}
