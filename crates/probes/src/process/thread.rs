//! Probe process.thread: a thread is made, ends at once, and is joined.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Thread create + join", zh: "创建并汇合线程" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "pthread_create of the C library, with default attributes, creates a thread that does nothing (a stack \
                 from mmap or its cache, clone with everything shared), and pthread_join waits for its end. Both threads \
                 run on one CPU.",
            zh: "C 库的 pthread_create 以默认属性创建一个什么也不做的线程（用 mmap 或缓存取得栈，以共享一切的 clone 创建），pthread_join 等待其结束。\
                 两个线程在同一 CPU 上运行。",
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
            en: "Measured with hostmark on a 2-CPU KVM guest (Emerald Rapids, Linux 6.18): 9 to 10 µs, a seventh of \
                 process.fork_exit; 13 to 14 µs while a neighbour used the core.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Emerald Rapids，Linux 6.18）上实测：9 到 10 µs，为 process.fork_exit 的七分之一；邻居虚拟机占用该核心时\
                 为 13 到 14 µs。",
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
    case.calls(workloads::processes::thread::create_and_join).time()
}
