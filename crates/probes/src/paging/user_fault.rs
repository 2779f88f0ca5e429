//! Probe paging.user_fault: a page fault that another thread of the process serves (userfaultfd).

use hostmark_engine::prelude::*;

use crate::workloads::mappings::user_faults::{Becomes, ServedMemory};

pub static PROBE: Probe = Probe {
    title: Text { en: "Fault served by a thread", zh: "由线程处理的缺页" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P50, Quantity::P99, Quantity::MEAN],
    explain: Explain {
        what: Text {
            en: "A thread writes to base pages that are not there, one after another, and each fault waits for another thread of \
                 the process, which reads it from a userfaultfd and fills the page. by=copy fills it with a page of its own \
                 (UFFDIO_COPY), by=zeros with zeros (UFFDIO_ZEROPAGE). The value is the time of a write. After 64 pages \
                 all are given back (madvise(MADV_DONTNEED)), untimed, as the first 64 are: memory new to the process takes longer. \
                 server_delay_us makes the serving thread do nothing for so long before it fills a page: the value must rise by as much. \
                 Both sides must count as many faults.",
            zh: "一个线程依次写入尚不存在的基本页，每次缺页都等待同一进程的另一个线程：它从 userfaultfd 读到该缺页并填充此页。by=copy \
                 用自己的一页填充（UFFDIO_COPY），by=zeros 用零填充（UFFDIO_ZEROPAGE）。数值是一次写入的时间。64 页之后全部归还\
                 （madvise(MADV_DONTNEED)），不计时；最初的 64 页也不计时，因为新得到的内存更慢。server_delay_us \
                 让处理线程在填充之前空等这么久：数值必须增加同样多。双方的缺页次数必须相符。",
        },
        why: Text {
            en: "Live migration of virtual machines (post-copy), restoring of snapshots, and garbage collectors fetch pages this way. \
                 What the fault itself costs limits how fast a guest runs before its memory has come.",
            zh: "虚拟机热迁移（post-copy）、快照恢复和垃圾回收器都这样取页。缺页本身的代价决定了内存到达之前虚拟机能跑多快。",
        },
        reading: Text {
            en: "The fault (paging.fault), a switch to the serving thread, its read and its ioctl, and a switch back. On two CPUs each \
                 switch is a wake-up (ipc.futex). zeros saves a copy of 4 KiB, but maps the kernel's one page of zeros, so that the write \
                 faults once more, which takes longer.",
            zh: "缺页本身（paging.fault）、切换到处理线程、它的 read 与 ioctl，再切换回来。在两个 CPU 上，每次切换变成一次唤醒（ipc.futex）。\
                 zeros 省去 4 KiB 的复制，但映射的是内核唯一的零页，写入还要再缺页一次，反而更慢。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18): 8.2 to 8.4 µs on one CPU, 40 to 46 on two \
                 that share a cache; with a server that waits 100 µs 109, and with 1000 µs 1.01 ms.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4 (Genoa)，Linux 6.18）上实测：同一个 CPU 8.2 到 8.4 µs，\
                 共享缓存的两个 CPU 40 到 46；处理前空等 100 µs 时为 109，空等 1000 µs 时为 1.01 ms。",
        },
        causes: Text {
            en: "Skipped: a container's filter forbids userfaultfd, or the kernel is before 5.11 and needs a privilege \
                 (vm.unprivileged_userfaultfd). Slow: expensive wake-ups of idle CPUs, a virtual CPU that is not running.",
            zh: "被跳过：容器的过滤器禁止 userfaultfd，或内核早于 5.11 而需要特权（vm.unprivileged_userfaultfd）。偏慢：唤醒空闲 CPU 的代价高，\
                 虚拟 CPU 未在运行。",
        },
    },
    related: &["paging.fault", "ipc.futex", "sched.wakeup", "sched.context_switch"],
    axes: &[
        Axis::placements(
            "cpus",
            "same_cpu",
            Points::Listed {
                quick: &["same_cpu"],
                standard: &["same_cache"],
                thorough: &["smt_sibling", "other_cache", "same_package_other_node", "other_node"],
            },
        ),
        Axis::choice("by", "copy", Points::Listed { quick: &["copy"], standard: &["zeros"], thorough: &[] }),
        Axis::count("server_delay_us", "none", Points::Listed { quick: &["none"], standard: &[], thorough: &["100"] }),
    ],
    limit: Limit::HandOvers(2),
    blocking: true,
    section: crate::section::PAGING,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// Pages that fault before all are given back.
const PAGES: usize = 64;

fn measure(case: &mut Case) -> Result<()> {
    let becomes = if case.param::<String>("by")? == "zeros" { Becomes::Zeros } else { Becomes::Copy };
    let delay_ns = match case.param::<String>("server_delay_us")?.as_str() {
        "none" => 0,
        delay_us => delay_us.parse::<u64>()?.saturating_mul(1000),
    };
    let there = case.thread_cpus().last().copied();
    case.may_fill(((PAGES + 1) * Pages::Base.bytes()) as u64)?;
    let (memory, server) =
        ServedMemory::new(PAGES).map_err(|error| RoundError::lacking("userfaultfd is not available", &error))?;
    let (mut page, mut faults) = (PAGES, PAGES as u64);
    let measured = std::thread::scope(|scope| {
        let serve = move || {
            there.map_or(Ok(()), threads::bind)?;
            Ok(server.serve(becomes, delay_ns)?)
        };
        let serving = threads::start(scope, [serve])?;
        (0..PAGES).for_each(|page| memory.touch(page));
        let measured = case
            .timed(|clock| {
                if page == PAGES {
                    memory.give_back()?;
                    page = 0;
                }
                let start = clock.start();
                memory.touch(page);
                let took = clock.end().since(start);
                (page, faults) = (page + 1, faults + 1);
                Ok(took)
            })
            .singly()
            .time();
        memory.end();
        Ok::<_, RoundError>((threads::join(serving)?, measured))
    });
    let (served, measured) = measured?;
    measured?;
    match served.iter().sum::<u64>() {
        served if served == faults => Ok(()),
        served => {
            let text = format!("{faults} pages were touched, and {served} faults served");
            Err(RoundError::failed(ReasonCode::CheckFailed, text))
        }
    }
}
