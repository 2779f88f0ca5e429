//! Probe sched.context_switch: from one process to the next, by their number and by the memory that each uses.

use hostmark_engine::prelude::sys::ring::{Member, Pipes, Ring};
use hostmark_engine::prelude::*;

use crate::kernels::bandwidth::{self, ReadKernel};

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Context switch", zh: "上下文切换" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::WHOLE, Quantity::OVERHEAD],
    explain: Explain {
        what: Text {
            en: "Processes in a ring hand a one-byte token on through pipes, all on one CPU: each waits in read, sums its own memory of \
                 `footprint` bytes (8-byte loads) and writes. In the same sample one process alone passes the token through as many pipes and sums \
                 one such memory after each: that is the overhead, and is taken away. What is left is the time of one switch: \
                 the scheduler, the change of address space, and the cache and TLB misses by which a process gets its footprint back. \
                 kind=thread: threads of one process. cpus=same_cache puts them in turn on two CPUs: nobody is switched away from then, and what takes \
                 the switch's place is the wake-up of another CPU. cpus=free leaves the placement to the scheduler.",
            zh: "若干进程围成一圈，经管道传递一个字节的令牌，全部在同一个 CPU 上：每个进程阻塞在 read，随后对自己的 `footprint` 字节内存求和（8 字节读取），再 write。\
                 在同一个样本内，单个进程让令牌经过同样多的管道，并在每次之后对一块同样大的内存求和：这就是开销，会被减去。剩下的是一次切换的时间：调度器、地址空间的更换，\
                 以及进程取回其工作集时的缓存与 TLB 未命中。kind=thread：同一进程的线程。cpus=same_cache 把它们轮流放在两个 CPU 上：此时不再有人被换下，取而代之的是唤醒另一个 CPU。\
                 cpus=free 由调度器决定位置。",
        },
        why: Text {
            en: "Whenever a process blocks and another runs, this is paid, and nothing useful is done meanwhile. The footprint shows the \
                 dearer half: what the switch itself does not cost, the cold caches after it do.",
            zh: "每当一个进程阻塞、另一个进程运行，就要付这个代价，其间没有做任何有用的事。footprint 揭示更贵的另一半：切换本身没有花掉的，\
                 之后的冷缓存会花掉。",
        },
        reading: Text {
            en: "2 processes, no footprint: 0.6 to 2 µs; page-table isolation, and branch predictors that are flushed at every switch \
                 (IBPB), add up to 3 µs. Threads cost 0.1 to 0.3 µs less. As long as all footprints fit the second-level cache, 16 KiB adds 0.3 to 1 µs and 64 KiB \
                 1 to 4 µs; beyond it every line comes from the next level. At 64 KiB the overhead itself reads from the second level where the \
                 first has 32 or 48 KiB, so that 64 KiB can cost less than 32 KiB. Between two CPUs 2 to 5 µs on bare metal, and 10 to 100 µs in a guest, which \
                 pays exits to the hypervisor for the interrupt and the halt of each wake-up. cpus=free lies between the two, as the scheduler likes.",
            zh: "2 个进程、无工作集：0.6 到 2 µs；页表隔离，以及每次切换都清空分支预测器（IBPB），最多再加 3 µs。线程少 0.1 到 0.3 µs。只要所有工作集都放得进二级缓存，\
                 16 KiB 增加 0.3 到 1 µs，64 KiB 增加 1 到 4 µs；超出后每一行都要从下一级取。若一级缓存只有 32 或 48 KiB，64 KiB 时开销本身也从二级缓存读取，\
                 因此 64 KiB 可能比 32 KiB 便宜。两个 CPU 之间，裸机为 2 到 5 µs；虚拟机为 10 到 100 µs，\
                 每次唤醒的中断与停机都要退出到虚拟机监控程序。cpus=free 介于两者之间，取决于调度器。",
        },
    },
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
    cross: &[Cross { from: Profile::Quick, axes: &["processes", "footprint"] }],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &["lat_ctx"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
};

/// A member's work: it sums memory of its own, if any.
fn summing(footprint: usize, kernel: &'static ReadKernel) -> std::io::Result<impl FnMut()> {
    let memory = Buffer::map(footprint, Pages::Base, None)?;
    if footprint > 0 {
        kernel.run(memory.bytes(), 1).map_err(std::io::Error::other)?;
    }
    Ok(move || {
        if footprint > 0 {
            // It takes this memory, as it did above.
            let _ = kernel.run(memory.bytes(), 1);
        }
    })
}

fn measure(case: &mut Case) -> Result<()> {
    let members: usize = case.param("processes")?;
    let footprint: usize = case.param("footprint")?;
    case.may_fill((members * footprint) as u64)?;
    let cpus: Vec<usize> = case.thread_cpus().iter().map(|cpu| cpu.0).collect();
    let kernel = bandwidth::read("scalar").ok_or_else(|| Stop::failed("there is no scalar kernel"))?;
    let member = match case.param::<String>("kind")?.as_str() {
        "thread" => Member::Thread,
        _ => Member::Process,
    };
    let none = |error| Stop::skipped(format!("no ring of {members} can be had: {error}"));
    let pipes = Pipes::new(members).map_err(none)?;
    let is_free = case.param::<String>("cpus")? == "free";
    let place = |number: usize| if is_free { cpus.clone() } else { vec![cpus[number % cpus.len()]] };
    let ring = Ring::new(member, members, place, move || summing(footprint, kernel)).map_err(none)?;
    let work = std::cell::RefCell::new(summing(footprint, kernel)?);
    case.time_beyond(
        members as u64,
        |n| {
            let mut work = work.borrow_mut();
            (0..n).try_for_each(|_| Ok(pipes.tour(&mut *work)?))
        },
        |n| {
            let mut work = work.borrow_mut();
            (0..n).try_for_each(|_| {
                ring.tour()?;
                work();
                Ok(())
            })
        },
    )
}
