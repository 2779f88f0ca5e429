//! Probe ipc.pipe: a byte to another process and back through two pipes.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Pipe round trip", zh: "管道往返" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    explain: Explain {
        what: Text {
            en: "Two processes and two pipes: this one writes a byte and reads from the other pipe; its child \
                 reads the byte and writes one back. Each blocks in read(2) meanwhile. The value is one round \
                 trip: four system calls, two wake-ups and, on one CPU, two context switches. cpus says where the \
                 two run. Between the samples as many \
                 round trips again are timed one by one, for the percentiles: those contain a reading of the clock.",
            zh: "两个进程，两条管道：本进程写入一个字节后从另一条管道读；子进程读到该字节后再写回一个。等待时\
                 双方都阻塞在 read(2) 中。数值是一次往返：四次系统调用、两次唤醒，在同一个 CPU 上还有两次上下\
                 文切换。cpus 表示双方所在的位置。样本之间另有同样多次往返\
                 逐一计时，用于分位数；其中各含一次读时钟。",
        },
        why: Text {
            en: "The classic cost of waking another process: shells, daemons with helper processes and event \
                 loops that are woken through a pipe pay it at each hand-over.",
            zh: "唤醒另一个进程的经典代价：shell、带辅助进程的守护进程、用管道唤醒的事件循环，每次交接都要付\
                 出。",
        },
        reading: Text {
            en: "On one CPU 2 to 5 µs, mostly system calls and switches; mitigations that flush at a switch add \
                 to it. On two CPUs 3 to 10 µs on bare metal: an interrupt wakes the other core, more where it \
                 sleeps deeply. In a guest that interrupt and the idle CPU's halt are exits to the hypervisor, \
                 and 20 to 100 µs are usual.",
            zh: "同一个 CPU 上为 2 到 5 µs，主要是系统调用与切换；在切换时清空缓冲的漏洞缓解措施会使其增加。\
                 两个 CPU 上，裸机为 3 到 10 µs：要用中断唤醒另一个核心，睡得越深越慢。在虚拟机里，该中断和空\
                 闲 CPU 的停机都要退出到虚拟机监控程序，常见 20 到 100 µs。",
        },
    },
    axes: &[super::PLACEMENT_TOLD],
    cross: &[],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &["lat_pipe"],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    super::round_trip(case, sys::exchange::by_pipe(&other))
}
