//! Probe sched.ipi: interrupting other CPUs and having their answer, by how many run.

use hostmark_engine::prelude::*;

use crate::running::{Others, beside};
use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Interrupting other CPUs (IPI)", zh: "中断其他 CPU（IPI）" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P90, Quantity::P99, Quantity::MEAN],
    explain: Explain {
        what: Text {
            en: "The caller executes membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) while `threads` threads of its \
                 process run, itself included, each on its own CPU. The kernel interrupts each other CPU, waits until \
                 all have executed a barrier, and returns. The other threads only count; each call is timed \
                 separately, once all threads are known to run. threads=1 interrupts no CPU and shows the call alone.",
            zh: "进程有 `threads` 个线程在运行（含调用者，各占一个 CPU）时执行 membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)：内核向每个其他 CPU 发送中断，\
                 等待它们都执行完内存屏障后返回。其他线程只是计数；确认它们都在运行之后，才对每次调用单独计时。threads=1 不中断任何 CPU，即调用本身。",
        },
        why: Text {
            en: "munmap, mprotect and page migration in multi-threaded programs (TLB shootdowns), garbage collectors, \
                 user-space RCU and just-in-time compilers all interrupt every other CPU and wait. So does the kernel \
                 when it patches its own code.",
            zh: "多线程程序的 munmap、mprotect 和页迁移（TLB shootdown）、垃圾回收器、用户态 RCU 和即时编译器都要中断\
                 所有其他 CPU 并等待；内核修改自身代码时也一样。",
        },
        reading: Text {
            en: "threads=1 is the call alone. A second CPU adds the time of an interrupt into a spinning CPU and back. \
                 Each further CPU of the package adds little, as the kernel sends all interrupts at once and waits for \
                 them together; another package adds more.",
            zh: "threads=1 只是调用本身。另一个 CPU 加上中断进入自旋的 CPU 再返回的过程；同一插槽每多一个 CPU 增加很少，因为中断同时发出、一起等待；跨插槽更多。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 149 ns for the call alone, \
                 2.1 to 2.6 µs with one other CPU, p99 7.6 to 8.4 µs.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：仅调用 149 ns，另有一个 CPU 时 2.1 到 2.6 µs，\
                 p99 为 7.6 到 8.4 µs。",
        },
        causes: Text {
            en: "A guest without posted interrupts (APICv, AVIC, GICv4.1), which exits for each interrupt it sends or \
                 takes; a descheduled virtual CPU, for which the caller waits milliseconds; CPUs that keep interrupts \
                 off (drivers, firmware).",
            zh: "没有投递式中断（APICv、AVIC、GICv4.1）的虚拟机，每次发送和接收中断都要退出；虚拟 CPU 被宿主机换下：调\
                 用者要等它再次运行，达毫秒级；长时间关中断的 CPU（驱动、固件）。",
        },
    },
    related: &["paging.protect", "cpu.core_to_core", "sched.wakeup"],
    axes: &[Axis {
        name: "threads",
        kind: AxisKind::Threads,
        default: "2",
        points: Points::OfHost(others),
        at_a_glance: None,
        settled: None,
        fill: Fill::Nothing,
        is_of_links: false,
        threads_per_cpu: 1,
    }],
    limit: Limit::KernelEntry,
    needs: &[Need::Cpus(2)],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// One other; from the standard profile on none, powers of two, and all.
fn others(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let all = host.usable_cpus().len().max(2) as u64;
    match profile {
        Profile::Quick => vec![2],
        _ => (0..u64::BITS).map(|power| 1 << power).take_while(|&threads| threads < all).chain([2, all]).collect(),
    }
}

fn measure(case: &mut Case) -> Result<()> {
    let barrier = workloads::mappings::membarrier::Barrier::register()
        .map_err(|error| RoundError::lacking("membarrier is not available", &error))?;
    let interrupt = |clock: &Clock, others: &Others| -> Result<Ticks> {
        others.all_run();
        let start = clock.start();
        barrier.everywhere()?;
        Ok(clock.end().since(start))
    };
    beside(case, || {}, |case, others| case.timed(|clock| interrupt(clock, others)).singly().time())
}
