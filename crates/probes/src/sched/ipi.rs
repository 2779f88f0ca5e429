//! Probe sched.ipi: interrupting other CPUs and having their answer, by how many run.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hostmark_engine::prelude::*;

use crate::kernels::atomic::Lonely;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Interrupting other CPUs (IPI)", zh: "中断其他 CPU（IPI）" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P90, Quantity::P99],
    explain: Explain {
        what: Text {
            en: "membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) while `threads` threads of the process run, the caller among them, each on a CPU of its own: the \
                 kernel sends an interrupt to each other CPU, waits until all have executed a barrier, and returns. The others count, and each call is timed by itself, once all of them have been seen to run. \
                 threads=1 interrupts nobody: the call itself.",
            zh: "进程有 `threads` 个线程在运行（含调用者，各占一个 CPU）时执行 membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)：内核向每个其他 CPU 发送中断，\
                 等待它们都执行完内存屏障后返回。其他线程只是计数；确认它们都在运行之后，才对每次调用单独计时。threads=1 不中断任何 CPU，即调用本身。",
        },
        why: Text {
            en: "munmap, mprotect and page migration in programs with several threads (TLB shoot-downs), garbage collectors, user-space RCU and \
                 just-in-time compilers all interrupt every other CPU and wait; so does the kernel when it patches its code.",
            zh: "多线程程序的 munmap、mprotect 和页迁移（TLB 击落）、垃圾回收器、用户态 RCU 和即时编译器都要中断所有其他 CPU 并等待；内核修改自身代码时也一样。",
        },
        reading: Text {
            en: "One other CPU: 0.7 to 2 µs on bare metal, most of it the interrupt's way into a spinning CPU and out again; each further CPU of the package adds \
                 20 to 100 ns, another package 1 µs. A guest without posted interrupts (APICv, AVIC, GICv4.1) exits for each interrupt it \
                 sends and takes: 3 to 10 µs. If the other CPU was taken away by the hypervisor the caller waits until it runs \
                 again: milliseconds.",
            zh: "另一个 CPU：裸机上 0.7 到 2 µs，大半花在中断进入自旋的 CPU 再返回；同一插槽每多一个 CPU 增加 20 到 100 ns，跨插槽增加 1 µs。没有投递式中断（APICv、AVIC、GICv4.1）的虚拟机\
                 每次发送和接收中断都要退出：3 到 10 µs。若另一个 CPU 被虚拟机监控程序拿走，调用者要等到它再次运行：毫秒级。",
        },
    },
    axes: &[Axis { name: "threads", kind: AxisKind::Threads, default: "2", points: Points::OfHost(others) }],
    cross: &[],
    limit: Limit::None,
    blocking: false,
    needs: &[Need::Cpus(2)],
    replaces: &[],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
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
    let barrier = sys::membarrier::Barrier::register()
        .map_err(|error| Stop::skipped(format!("membarrier cannot be had: {error}")))?;
    let cpus = case.thread_cpus();
    let others = cpus.get(1..).unwrap_or_default();
    let (is_over, lost) = (AtomicBool::new(false), AtomicUsize::new(0));
    let beats: Vec<Lonely> = others.iter().map(|_| Lonely::default()).collect();
    std::thread::scope(|scope| {
        for (cpu, beat) in others.iter().zip(&beats) {
            let (is_over, lost) = (&is_over, &lost);
            scope.spawn(move || {
                if sys::affinity::bind(&[cpu.0]).is_err() {
                    lost.fetch_add(1, Ordering::Release);
                }
                while !is_over.load(Ordering::Relaxed) {
                    beat.0.fetch_add(1, Ordering::Release);
                }
            });
        }
        // One that does not run at the moment would not be interrupted, and the call would seem cheap.
        let all_run = || {
            for beat in &beats {
                let seen = beat.0.load(Ordering::Acquire);
                while beat.0.load(Ordering::Acquire) == seen {
                    std::hint::spin_loop();
                }
            }
        };
        all_run();
        let measured = match lost.load(Ordering::Acquire) {
            0 => case.tails(|clock| {
                all_run();
                let start = clock.start();
                barrier.everywhere()?;
                Ok(clock.end().since(start))
            }),
            lost => Err(Stop::skipped(format!("{lost} of the other CPUs cannot be had"))),
        };
        is_over.store(true, Ordering::Relaxed);
        measured
    })
}
