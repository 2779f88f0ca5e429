//! Probe syscall.getpid: the process id, from the kernel by a function or by the bare instruction, and from the C library.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "getpid", zh: "取进程号 getpid" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "way=syscall makes the system call by a function that returns, as libraries do. way=bare executes the \
                 system-call instruction (syscall, svc) in the loop itself, without a function. way=libc calls the C \
                 library's function: some libraries answer from a cached copy, others make the same system call.",
            zh: "way=syscall 通过一个会返回的函数发出系统调用，与各种库相同；way=bare 在循环内直接执行系统调用指令（syscall、svc），\
                 没有函数；way=libc 调用 C 库函数，有的库用保存的副本回答，有的发出同样的系统调用。",
        },
        why: Text {
            en: "Old getpid figures differ a hundredfold between machines. Most of them only show whether the C \
                 library cached the pid (glibc did until 2.25). Beside each other, the ways show which part is the \
                 kernel's, and what the first return after the kernel costs: the way back can leave the core's \
                 predictor of returns empty or misled.",
            zh: "旧资料中各机器的 getpid 数字相差上百倍，多数只说明 C 库是否缓存了进程号（glibc 2.25 之前如此）。几种\
                 方式并列，才能看出哪些属于内核，以及离开内核后的第一次函数返回要付多少：返回用户态后，\
                 核心的返回地址预测器可能是空的，或被误导。",
        },
        reading: Text {
            en: "syscall costs as much as syscall.null, and so does libc if it asks the kernel; if it keeps a copy, it \
                 takes a few nanoseconds. bare is 1 or 2 ns lower on most machines. With some mitigations (Speculative \
                 Return Stack Overflow, safe RET) it is 40 to 80 ns lower: every program pays these at its first \
                 return after each call.",
            zh: "syscall 与 syscall.null 相当，libc 若询问内核也是如此；若有副本，则总共只要几纳秒。bare 在多数机器上低 1 到 2 \
                 ns；有些缓解措施（Speculative Return Stack Overflow 的 safe RET）会使它低 40 到 80 ns：每个程序在每次系统\
                 调用之后的第一次返回时都要付这些。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): bare 86 to 87 ns, glibc 88 to \
                 90, which asks the kernel since 2.25. Zen 3 with safe RET: bare 152 ns, syscall 213, glibc 210. A Core \
                 i5-2520M of 2011 with an older glibc: 6 ns, from the library's copy, beside 50 ns for getppid.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：bare 86 到 87 ns，glibc 88 到 90（2.25 起询问\
                 内核）。Zen 3 加 safe RET：bare 152 ns，syscall 213，glibc 210。2011 年的 Core i5-2520M \
                 配较旧的 glibc：6 ns，来自库中的副本，而 getppid 为 50 ns。",
        },
        causes: Text {
            en: "As for syscall.null. way=syscall cannot take a few nanoseconds: something other than the kernel \
                 answered.",
            zh: "同 syscall.null。way=syscall 不可能只有几纳秒：那说明作答的不是内核。",
        },
    },
    related: &["syscall.null", "syscall.read_zero"],
    differs: Some(Text {
        en: "lat_syscall null calls getppid precisely because C libraries cache the pid. hostmark shows the ways side \
             by side, so you can tell what old getpid figures measured.",
        zh: "lat_syscall null 之所以调用 getppid，正因为 C 库会保存 pid。这里几种方式并列，便于分辨旧的 getpid 数字。",
    }),
    axes: &[Axis::choice(
        "way",
        "syscall",
        Points::Listed { quick: &["syscall", "bare", "libc"], standard: &[], thorough: &[] },
    )],
    limit: Limit::CyclesPerOp,
    replaces: &["lat_syscall"],
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    match case.param::<String>("way")?.as_str() {
        "libc" => by(case, || std::process::id().into()),
        "bare" => by(case, workloads::bare_getpid),
        _ => by(case, workloads::getpid),
    }
}

/// The time of `ask`, unrolled.
#[inline(always)]
fn by(case: &mut Case, ask: impl Fn() -> u64) -> Result<()> {
    case.loops(|n| {
        for _ in 0..n {
            std::hint::black_box(ask());
        }
    })
    .time()
}
