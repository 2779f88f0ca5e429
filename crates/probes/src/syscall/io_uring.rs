//! Probe syscall.io_uring: an operation that does nothing through io_uring, by batch, called and polled.

use hostmark_engine::prelude::sys::uring_nop::Nops;
use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "io_uring, empty operation", zh: "io_uring 空操作" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[],
    explain: Explain {
        what: Text {
            en: "`batch` entries of IORING_OP_NOP are written into the submission queue, submitted, and their completions read and checked; the value is the time of one \
                 operation. submission=call: one io_uring_enter for the batch, which also waits for it, by the system-call instruction; submission=polled: a thread of \
                 the kernel (SQPOLL) finds the entries, and the program spins until they are completed. No library is used.",
            zh: "把 `batch` 个 IORING_OP_NOP 写入提交队列，提交，再读取并检查完成项；数值是一个操作的时间。submission=call：用系统调用指令对整批执行一次 io_uring_enter 并等待完成；\
                 submission=polled：由内核线程（SQPOLL）发现提交项，程序自旋到全部完成。不使用任何库。",
        },
        why: Text {
            en: "It is the cost of asynchronous I/O without the I/O. The entry into the kernel is paid once a batch, so that the gain over a system call for each operation \
                 shows here; and so does what the operation itself costs in the ring.",
            zh: "这是去掉 I/O 之后异步 I/O 的代价。进入内核的代价每批只付一次，因此这里能看出相对于每个操作一次系统调用的收益，以及操作本身在环中的代价。",
        },
        reading: Text {
            en: "call, batch 1: two to four times syscall.null, 150 to 400 ns; batch 32: 25 to 60 ns an operation, which is what remains of the ring itself. \
                 polled, batch 1: 200 to 800 ns, two hand-overs between CPUs (cpu.core_to_core) and the thread's loop; it needs a CPU of its own, and on a busy or single CPU \
                 it is slower by orders of magnitude. Containers and hardened kernels often forbid io_uring.",
            zh: "call，batch 1：syscall.null 的两到四倍，150 到 400 ns；batch 32：每个操作 25 到 60 ns，即环本身的代价。polled，batch 1：200 到 800 ns，\
                 包含两次 CPU 间传递（cpu.core_to_core）和内核线程的循环；它要独占一个 CPU，在繁忙或只有一个 CPU 的机器上会慢几个数量级。容器和加固过的内核常常禁用 io_uring。",
        },
    },
    axes: &[
        Axis::count(
            "batch",
            "1",
            Points::Listed { quick: &["1"], standard: &["4", "32"], thorough: &["2", "8", "16"] },
        ),
        Axis::choice("submission", "call", Points::Listed { quick: &["call"], standard: &["polled"], thorough: &[] }),
    ],
    cross: &[Cross { from: Profile::Thorough, axes: &["batch", "submission"] }],
    limit: Limit::CyclesPerOp,
    blocking: false,
    needs: &[],
    replaces: &[],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let batch: u32 = case.param("batch")?;
    let is_polled = case.param::<String>("submission")? == "polled";
    let mut nops =
        Nops::new(batch, is_polled).map_err(|error| Stop::skipped(format!("io_uring cannot be had: {error}")))?;
    case.time_each(u64::from(batch), || nops.submit_and_complete())
}
