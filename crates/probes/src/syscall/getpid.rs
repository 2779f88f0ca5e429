//! Probe syscall.getpid: the process id, from the kernel and from the C library.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "getpid", zh: "取进程号 getpid" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "way=syscall executes getpid by the system-call instruction; way=libc calls the C library's function, which \
                 some libraries answer from a stored copy and others by the same system call.",
            zh: "way=syscall 用系统调用指令执行 getpid；way=libc 调用 C 库函数，有的库用保存的副本回答，有的发出同样的系统调用。",
        },
        why: Text {
            en: "Old figures of getpid differ a hundredfold between machines, and most of them tell only whether the C \
                 library kept a copy (glibc did until 2.25). Side by side the two say what is the kernel and what is not.",
            zh: "旧资料中各机器的 getpid 数字相差上百倍，多数只说明 C 库是否保存了副本（glibc 2.25 之前如此）。两者并列才能看出\
                 哪些属于内核。",
        },
        reading: Text {
            en: "The system call costs as much as syscall.null. The library's function costs the same plus a nanosecond or \
                 two where it asks the kernel, and 1 to 6 ns where it keeps a copy.",
            zh: "系统调用与 syscall.null 相当。库函数若询问内核，则相同或多一两纳秒；若有副本，则为 1 到 6 ns。",
        },
    },
    axes: &[Axis::choice(
        "way",
        "syscall",
        Points::Listed { quick: &["syscall", "libc"], standard: &[], thorough: &[] },
    )],
    cross: &[],
    limit: Limit::CyclesPerOp,
    blocking: false,
    needs: &[],
    replaces: &["lat_syscall"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    match case.param::<String>("way")?.as_str() {
        "libc" => case.time_n(|n| {
            for _ in 0..n {
                std::hint::black_box(std::process::id());
            }
        }),
        _ => case.time_n(|n| {
            for _ in 0..n {
                std::hint::black_box(sys::getpid());
            }
        }),
    }
}
