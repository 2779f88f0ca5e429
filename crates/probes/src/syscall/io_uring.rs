//! Probe syscall.io_uring: an operation that does nothing through io_uring, by batch, called and polled.

use hostmark_engine::prelude::*;

use crate::workloads::storage::uring_nop::Nops;

pub static PROBE: Probe = Probe {
    title: Text { en: "io_uring, empty operation", zh: "io_uring 空操作" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "`batch` entries of IORING_OP_NOP are written to the submission queue and submitted; then their \
                 completions are read and checked. The value is the time per operation. submission=call executes one \
                 io_uring_enter per batch, which also waits for the batch. \
                 submission=polled leaves the entries to a kernel thread (SQPOLL), bound to the nearest other CPU, and \
                 spins until they complete. No library is used.",
            zh: "把 `batch` 个 IORING_OP_NOP 写入提交队列，提交，再读取并检查完成项；数值是一个操作的时间。submission=call：对整批执行一次 io_uring_enter 并等待完成；\
                 submission=polled：由绑定在最近的另一个 CPU 上的内核线程（SQPOLL）发现提交项，程序自旋到全部完成。不使用任何库。",
        },
        why: Text {
            en: "This is the cost of asynchronous I/O without the I/O. Each batch enters the kernel once: the value \
                 shows the gain over one system call per operation, and the cost of the operation itself in the ring.",
            zh: "这是去掉 I/O 之后异步 I/O 的代价。进入内核的代价每批只付一次，因此这里能看出相对于每个操作一次系统调用的收益，以及操作本身在环中的代价。",
        },
        reading: Text {
            en: "call with batch 1 is one system call with a request in it. batch 32 shares the call; what remains is \
                 the ring itself. polled replaces the call with two hand-overs between CPUs (cpu.core_to_core) and the \
                 thread's loop; it needs a separate CPU for the kernel thread.",
            zh: "call 的 batch 1 是一次带请求的系统调用；batch 32 分摊了这次调用，剩下的是环本身的代价。polled 用两次 CPU 间传递（cpu.core_to_core）\
                 和内核线程的循环代替系统调用；内核线程要独占一个 CPU。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): batch 1 takes 232 to 241 ns, \
                 2.6 times syscall.null; batch 32 takes 40 ns per operation; polled with batch 1 takes 543 to 613 ns.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：batch 1 为 232 到 241 ns，是 syscall.null 的 \
                 2.6 倍；batch 32 每个操作 40 ns；polled 的 batch 1 为 543 到 613 ns。",
        },
        causes: Text {
            en: "Skipped: containers and hardened kernels forbid it (kernel.io_uring_disabled, seccomp). polled in \
                 milliseconds: another task runs on the kernel thread's CPU, and the two alternate at scheduler ticks. \
                 That always happens to a program that binds itself but not that thread (sq_thread_cpu): since Linux \
                 6.2 the thread inherits its creator's binding. Otherwise seccomp and mitigations, as for \
                 syscall.null.",
            zh: "被跳过：容器和加固过的内核禁用它（kernel.io_uring_disabled、seccomp）。polled 达到毫秒级：内核线程所在的 CPU 上另有程序，双方按调度节拍轮流运行。\
                 只绑定自身而不用 sq_thread_cpu 绑定该线程的程序总是如此：自 Linux 6.2 起，该线程继承创建者的绑定。其余同 syscall.null：seccomp 与缓解措施。",
        },
    },
    related: &["syscall.null", "syscall.epoll", "cpu.core_to_core", "disk.read"],
    axes: &[
        Axis::count(
            "batch",
            "1",
            Points::Listed { quick: &["1"], standard: &["4", "32"], thorough: &["2", "8", "16"] },
        ),
        crate::submission::SUBMISSION,
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["batch", "submission"] }],
    limit: Limit::CyclesPerOp,
    core_bound: crate::submission::CORE_BOUND,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let batch: u32 = case.param("batch")?;
    let poller = crate::submission::poller(case, true)?;
    let mut nops =
        Nops::new(batch, poller).map_err(|error| RoundError::lacking("io_uring is not available", &error))?;
    case.calls(|| nops.submit_and_complete()).each(u64::from(batch)).time()
}
