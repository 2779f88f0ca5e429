//! Probe process.thread: a thread is made, ends at once, and is joined.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Thread create + join", zh: "创建并汇合线程" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "The C library creates a thread that does nothing (a stack from mmap or its cache, clone with \
                 everything shared), and the parent waits for its end. Both run on one CPU.",
            zh: "C 库创建一个什么也不做的线程（用 mmap 或缓存取得栈，以共享一切的 clone 创建），父线程等待其结束。两者在同一 CPU 上运行。",
        },
        why: Text {
            en: "Programs that start a thread for each request or parallel loop pay this every time; a thread pool \
                 pays it once.",
            zh: "每个请求或每个并行循环启动一个线程的程序每次都要付这一代价；线程池只付一次。",
        },
        reading: Text {
            en: "A third to a tenth of process.fork_exit, as no page tables are copied. What remains is the stack, \
                 the scheduler, the wake-up at the end and the page faults of a fresh stack.",
            zh: "由于不复制页表，为 process.fork_exit 的三分之一到十分之一。剩下的是栈、调度、结束时的唤醒以及新栈的缺页。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 23 to 24 µs, a quarter of \
                 process.fork_exit.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：23 到 24 µs，为 process.fork_exit 的四分之一。",
        },
        causes: Text {
            en: "A C library that maps a stack again each time (its cache is limited: 40 MiB in glibc); large stacks \
                 or guard pages; memory control groups; security modules; expensive page faults.",
            zh: "C 库每次重新映射栈（其缓存有上限：glibc 为 40 MiB）；栈或保护页很大；内存 cgroup；安全模块；昂贵的缺页。",
        },
    },
    related: &["process.fork_exit", "ipc.futex", "sched.context_switch"],
    limit: Limit::KernelEntry,
    blocking: true,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    case.calls(|| {
        std::thread::Builder::new()
            .spawn(|| ())
            .call("pthread_create")?
            .join()
            .map_err(|_| RoundError::failed("the thread panicked"))
    })
    .time()
}
