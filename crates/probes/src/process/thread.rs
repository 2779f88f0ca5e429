//! Probe process.thread: a thread is made, ends at once, and is joined.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Thread create + join", zh: "创建并汇合线程" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[],
    explain: Explain {
        what: Text {
            en: "The C library makes a thread (a stack by mmap or from its cache, clone with everything shared) that does nothing; \
                 the parent waits for its end. Both run on one CPU.",
            zh: "C 库创建一个什么也不做的线程（用 mmap 或缓存取得栈，以共享一切的 clone 创建），父线程等待其结束。两者在同一 CPU 上运行。",
        },
        why: Text {
            en: "Programs that start a thread for each request or each parallel loop pay this every time; a pool pays it once.",
            zh: "每个请求或每个并行循环启动一个线程的程序每次都要付这一代价；线程池只付一次。",
        },
        reading: Text {
            en: "A third to a tenth of process.fork_exit, as no page tables are copied: 8 to 30 µs. What remains is the stack, the \
                 scheduler, the wake-up at the end and the page faults of the fresh stack.",
            zh: "由于不复制页表，为 process.fork_exit 的三分之一到十分之一：8 到 30 µs。剩下的是栈、调度、结束时的唤醒以及新栈的缺页。",
        },
    },
    axes: &[],
    cross: &[],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &[],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    case.time(|| std::thread::Builder::new().spawn(|| ())?.join().map_err(|_| Stop::failed("the thread panicked")))
}
