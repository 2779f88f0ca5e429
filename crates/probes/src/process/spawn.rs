//! Probe process.spawn: a program is started without copying the parent, and waited for.

use hostmark_engine::prelude::*;

use crate::workloads::processes::program::{ChildStack, PreparedProgram};

pub static PROBE: Probe = Probe {
    title: Text { en: "Spawn a program", zh: "启动程序（spawn）" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "The static program of process.fork_exec (an ELF file that only exits) is started and waited for, and \
                 its exit status checked. way=vfork calls clone with CLONE_VM and CLONE_VFORK, as vfork does, then \
                 execve. way=posix_spawn calls the C library's function. way=clone3 calls clone3 with a pidfd, which \
                 copies page tables like fork, then execve, and waitid on the pidfd. resident is the memory that the \
                 parent has filled, in base pages, beyond its own few MiB.",
            zh: "启动 process.fork_exec 的静态程序（只会退出的 ELF 文件），等待它并检查退出状态。way=vfork：与 vfork 相同，以 CLONE_VM 和 CLONE_VFORK 调用 clone，再 execve；\
                 way=posix_spawn：C 库函数；way=clone3：带 pidfd 的 clone3，与 fork 一样复制页表，再 execve，并对 pidfd 调用 waitid。\
                 resident 是父进程在自身几 MiB 之外以基本页填充的内存。",
        },
        why: Text {
            en: "A large program that starts small ones should not pay for its own size. vfork and posix_spawn lend \
                 the child the parent's memory until it executes. fork, and clone3 used like it, copy page tables that \
                 exec discards at once.",
            zh: "大程序启动小程序时不该为自身的大小付出代价。vfork 与 posix_spawn 在执行之前把父进程的内存借给子进程；\
                 fork 以及同样用法的 clone3 复制的页表，一执行 exec 就被丢弃。",
        },
        reading: Text {
            en: "vfork is execve with a new address space, the exit and two switches; posix_spawn adds signal masks \
                 and a stack. clone3 copies the page tables and is close to process.fork_exec. At resident=256M vfork \
                 and posix_spawn should not change, while clone3 grows like process.fork_resident.",
            zh: "vfork 是 execve 建立新地址空间、退出以及两次切换；posix_spawn 再加信号掩码与栈。clone3 要复制页表，接近 process.fork_exec。\
                 resident 为 256 MiB 时，vfork 与 posix_spawn 应保持不变，而 clone3 随 process.fork_resident 增长。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): vfork 69 to 80 µs, \
                 posix_spawn 96 to 100, clone3 158, beside 148 of process.fork_exec.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：vfork 69 到 80 µs，posix_spawn 96 到 100，\
                 clone3 158，而 process.fork_exec 为 148。",
        },
        causes: Text {
            en: "As for process.fork_exec. A posix_spawn that grows with resident: the C library implements it with \
                 fork (glibc before 2.24).",
            zh: "同 process.fork_exec。若 posix_spawn 随 resident 增长，说明 C 库用 fork 实现它（glibc 2.24 之前）。",
        },
    },
    related: &["process.fork_exec", "process.fork_resident", "process.shell"],
    axes: &[
        Axis::choice(
            "way",
            "posix_spawn",
            Points::Listed { quick: &["posix_spawn"], standard: &["vfork", "clone3"], thorough: &[] },
        ),
        Axis::size("resident", "0", Points::Listed { quick: &["0"], standard: &["268435456"], thorough: &[] }),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["way", "resident"] }],
    limit: Limit::KernelEntry,
    blocking: true,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let resident: u64 = case.param("resident")?;
    let path = super::static_program(case)?;
    let program = PreparedProgram::new(&path, &[])?;
    let _resident = if resident > 0 { Some(case.buffer(resident, Pages::Base, None)?) } else { None };
    match case.param::<String>("way")?.as_str() {
        "vfork" => {
            let mut stack = ChildStack::new()?;
            super::by_way(case, || program.run_by_vfork(&mut stack))
        }
        "clone3" => super::by_way(case, || program.run_by_clone3()),
        _ => super::by_way(case, || program.run_by_posix_spawn()),
    }
}
