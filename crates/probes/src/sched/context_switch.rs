//! Probe sched.context_switch: from one process to the next, by their number and by the memory that each uses.

use hostmark_engine::prelude::*;

use crate::kernels::bandwidth::{self, ReadKernel};
use crate::workloads::handover::token_ring::{Member, Pipes, Ring};
use crate::workloads::processes::fork;

pub static PROBE: Probe = Probe {
    title: Text { en: "Context switch", zh: "上下文切换" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::WHOLE, Quantity::OVERHEAD],
    explain: Explain {
        what: Text {
            en: "Processes form a ring and pass a one-byte token through pipes, by default all on one CPU. Each blocks in read, \
                 sums its own memory of `footprint` bytes (8-byte loads) and writes the token on. The ring goes on without a \
                 pause, as in lat_ctx and a busy server. Before and after it a single process passes the token through as many \
                 pipes and sums one such memory after each: this is the overhead, and hostmark subtracts its median. The rest is \
                 the time of one switch: the scheduler, the change of address space, and the cache and TLB misses until the \
                 process has its footprint back. kind=thread uses threads of one process. cpus=same_cache places them alternately \
                 on two CPUs: each hand-over then wakes the other CPU instead of switching. cpus=free leaves the placement to the \
                 scheduler.",
            zh: "若干进程围成一圈，经管道传递一个字节的令牌，默认全部在同一个 CPU 上：每个进程阻塞在 read，随后对自己的 \
                 `footprint` 字节内存求和（8 字节加载），再 write 出去。环不停顿地运行，与 lat_ctx 和繁忙的服务器一样。\
                 在其之前和之后，单个进程让令牌经过同样多的管道，并在每次之后对一块同样大的内存求和：这就是开销，减去其\
                 中位数。剩下的是一次切换的时间：调度器、切换地址空间，以及进程取回其工作集时的缓存与 TLB 未命中。kind=thread \
                 用同一进程的线程。cpus=same_cache 把它们交替放在两个 CPU 上：此时每次交接都是唤醒另一个 CPU，而不是切换。\
                 cpus=free 由调度器决定位置。",
        },
        why: Text {
            en: "A program pays this whenever one process blocks and another runs; no useful work is done meanwhile. \
                 Refilling the caches after the switch, which a footprint adds, costs more than the switch itself if \
                 many processes use much memory.",
            zh: "每当一个进程阻塞、另一个进程运行，就要付这个代价，其间没有做任何有用的事。footprint 再加上切换之后\
                 重新填充缓存的代价；进程多、所用内存多时，它比切换本身更大。",
        },
        reading: Text {
            en: "Without a footprint: the scheduler, the change of address space, and the kernel's return to the \
                 next process. Threads save the change of address space. With a footprint, cache misses add up: each \
                 process reads back what the others evicted, from the level that holds all footprints. Since the \
                 subtracted overhead sums the same footprint, it contains L2 reads too once the footprint no longer \
                 fits L1d (32 or 48 KiB): the value at 64 KiB can therefore be lower than at 32 KiB. Between two \
                 CPUs nothing is switched: the value is the wake-up of the other CPU (sched.wakeup). free lies \
                 between the two, as the scheduler decides.",
            zh: "无工作集时是调度器、地址空间切换以及通往下一个进程的路径。线程省去地址空间切换。有工作集时再加上缓存\
                 未命中：每个进程要从容得下全部工作集的那一级读回被其他进程挤出的数据。若 L1d 只有 32 或 48 KiB，64 \
                 KiB 时开销本身也从 L2 读取，因此 64 KiB 的数值可能低于 32 KiB。两个 CPU 之间没有切换，数值是唤醒另一个 \
                 CPU 的时间（见 sched.wakeup）；free 介于两者之间，取决于调度器。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 1.04 to 1.13 µs with 2 \
                 processes, 1.75 with 8 and 16; 2 processes of 16 KiB 1.25 to 1.3 µs, 16 of 64 KiB 3.8 to 3.9; \
                 threads 0.9 to 1.1; free 1.2 to 1.7.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：2 个进程 1.04 到 1.13 µs，8 与 16 个 1.75；2 个 \
                 16 KiB 的进程 1.25 到 1.3 µs，16 个 64 KiB 的 3.8 到 3.9；线程 0.9 到 1.1；free 1.2 到 1.7。",
        },
        causes: Text {
            en: "Mitigations: page-table isolation, and branch predictors flushed at every switch (IBPB). Many \
                 control groups with CPU limits; tracing or accounting of switches; neighbours in a shared cache. In \
                 a guest with cpus=free or same_cache, a VM exit for each wake-up of another CPU.",
            zh: "漏洞缓解措施：页表隔离、每次切换都清空分支预测器（IBPB）；许多带 CPU 限制的 cgroup；对切换的跟踪或\
                 统计；占用共享缓存的邻居虚拟机。虚拟机里 cpus=free 或 same_cache 时，每次唤醒另一个 CPU 都要退出到虚\
                 拟机监控程序。",
        },
    },
    related: &["ipc.pipe", "sched.ucontext", "sched.wakeup", "memory.hierarchy"],
    differs: Some(Text {
        en: "The same ring as lat_ctx, which also measures the overhead of each footprint and subtracts it. Here all \
             processes share one CPU unless cpus says otherwise; lat_ctx leaves the placement to the scheduler, so \
             its values mix switches with wake-ups of other CPUs.",
        zh: "同样的环，也像 lat_ctx 那样为每种工作集测出开销并减去；但除非 cpus 另行指定，全部在同一个 CPU 上，而 \
             lat_ctx 把位置交给调度器，其数字混有对其他 CPU 的唤醒。",
    }),
    axes: &[
        Axis::count(
            "processes",
            "2",
            Points::Listed { quick: &["2", "8", "16"], standard: &["4", "24", "32", "64", "96"], thorough: &[] },
        ),
        Axis::size(
            "footprint",
            "0",
            Points::Listed { quick: &["0", "16384", "65536"], standard: &["4096", "32768"], thorough: &[] },
        ),
        Axis::choice("kind", "process", Points::Listed { quick: &["process"], standard: &["thread"], thorough: &[] }),
        Axis::placements(
            "cpus",
            "same_cpu",
            Points::Listed { quick: &["same_cpu"], standard: &["same_cache", "free"], thorough: &[] },
        ),
    ],
    full_factorial: &[FullFactorial { from: Profile::Quick, axes: &["processes", "footprint"] }],
    limit: Limit::Switch,
    blocking: true,
    replaces: &["lat_ctx"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// A member's work: it sums memory of its own, if any.
fn summing(memory: &Allotment, kernel: &'static ReadKernel) -> std::io::Result<impl FnMut() + use<>> {
    let memory = memory.map().map_err(std::io::Error::other)?;
    let has_footprint = !memory.bytes().is_empty();
    if has_footprint {
        kernel.run(memory.bytes(), 1).map_err(std::io::Error::other)?;
    }
    Ok(move || {
        if has_footprint {
            // It takes this memory, as it did above.
            let _ = kernel.run(memory.bytes(), 1);
        }
    })
}

fn measure(case: &mut Case) -> Result<()> {
    let members: usize = case.param("processes")?;
    let footprint: usize = case.param("footprint")?;
    case.may_fill((footprint as u64).saturating_add(fork::LEAST_BYTES).saturating_mul(members as u64))?;
    let memory = case.allot(members as u64 + 1, footprint as u64, Pages::Base, None)?;
    let cpus: Vec<usize> = case.thread_cpus().iter().map(|cpu| cpu.0).collect();
    let kernel = bandwidth::read("scalar")
        .ok_or_else(|| RoundError::failed(ReasonCode::Internal, "there is no scalar kernel"))?;
    let is_thread = case.param::<String>("kind")? == "thread";
    let member = if is_thread { Member::Thread } else { Member::Process };
    let none = |error| RoundError::lacking(format_args!("cannot build a ring of {members}"), &error);
    let pipes = Pipes::new(members).map_err(none)?;
    let is_free = case.param::<String>("cpus")? == "free";
    let place = |number: usize| if is_free { cpus.clone() } else { vec![cpus[number % cpus.len()]] };
    let of_members = memory.clone();
    let ring = Ring::new(member, members, place, move || summing(&of_members, kernel)).map_err(none)?;
    let work = std::cell::RefCell::new(summing(&memory, kernel).map_err(none)?);
    case.loops(|n| {
        let mut work = work.borrow_mut();
        (0..n).try_for_each(|_| {
            ring.tour()?;
            work();
            Ok::<(), RoundError>(())
        })
    })
    .beyond(|n| {
        let mut work = work.borrow_mut();
        (0..n).try_for_each(|_| pipes.tour(&mut *work))
    })
    .each(members as u64)
    .steady()
    .time()
}
