//! Probe ipc.pipe: a byte to another process and back through two pipes.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Pipe round trip", zh: "管道往返" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    explain: Explain {
        what: Text {
            en: "Two processes share two pipes. This process writes a byte to one and reads from the other; its \
                 child reads the byte and writes one back. Whoever waits blocks in read(2). The value is one round \
                 trip: four system calls, two wake-ups and, on one CPU, two context switches. cpus sets where the \
                 two run. For the percentiles, as many round trips as a sample has are timed one by one between two \
                 samples; each of these times includes one reading of the clock.",
            zh: "两个进程，两条管道：本进程写入一个字节后从另一条管道读；子进程读到该字节后再写回一个。等待的一方阻\
                 塞在 read(2) 中。数值是一次往返：四次系统调用、两次唤醒，在同一个 CPU 上还有两次上下文切换。cpus 表\
                 示双方所在的位置。在两个样本之间，另对与一个样本同样多的往返逐次计时，用来求分位数；每次计时都包含\
                 一次读取时钟的开销。",
        },
        why: Text {
            en: "The classic cost of waking another process. Shells, daemons with helper processes and event loops \
                 woken through a pipe pay it at every hand-over.",
            zh: "这是唤醒另一个进程的典型开销：shell、带辅助进程的守护进程、用管道唤醒的事件循环，每次交接都要承担。",
        },
        reading: Text {
            en: "On one CPU: two sched.context_switch and the four system calls. On two CPUs the wake-ups dominate: an \
                 interrupt to the other core, which may be in a deep idle state. In a guest both that interrupt and \
                 the idle CPU's halt are exits to the hypervisor (sched.wakeup).",
            zh: "同一个 CPU 上是系统调用与切换：两次 sched.context_switch 加四次调用。两个 CPU 上取决于唤醒：要用中断\
                 唤醒另一个核心，它可能处于较深的空闲状态；在虚拟机里，该中断和空闲 CPU 的停机都要退出到虚拟机监控程序\
                 （见 sched.wakeup）。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 2.74 to 2.77 µs on one CPU, \
                 9.5 to 12.5 µs on two that share a cache.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：同一个 CPU 2.74 到 2.77 µs，\
                 共享缓存的两个 CPU 9.5 到 12.5 µs。",
        },
        causes: Text {
            en: "Mitigations that flush at a switch or a kernel entry; deep idle states; a hypervisor with expensive \
                 interrupts and no halt polling; control groups with CPU limits; tracing of the scheduler.",
            zh: "在切换或进入内核时清空缓冲的漏洞缓解措施；较深的空闲状态；中断昂贵又没有 halt polling 的虚拟机监控\
                 程序；带 CPU 限制的 cgroup；对调度器的跟踪。",
        },
    },
    related: &["ipc.eventfd", "ipc.futex", "sched.context_switch", "sched.wakeup", "ipc.pipe_bandwidth"],
    differs: Some(Text {
        en: "The same round trip of one byte. Here both ends share one CPU unless the case says otherwise. lat_pipe \
             leaves the placement to the scheduler and jumps between the two values from run to run.",
        zh: "同样是一个字节的往返；除非用例另行指定，这里双方都在同一个 CPU 上；lat_pipe 把位置交给调度器，各次运行的结\
             果在两个数值之间跳动。",
    }),
    axes: &[super::PLACEMENT_NOTED],
    limit: Limit::HandOvers(2),
    blocking: true,
    replaces: &["lat_pipe"],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    super::round_trip(case, workloads::handover::exchange::by_pipe(&other))
}
