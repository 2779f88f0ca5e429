//! Probe ipc.eventfd: a token to another process and back by two eventfds.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Eventfd round trip", zh: "eventfd 往返" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    explain: Explain {
        what: Text {
            en: "There are two eventfd counters. This process adds one to the first and reads the second, which blocks \
                 until it is above zero; its child does the opposite. Each call copies eight bytes, and nothing is \
                 queued. The value is one round trip. Percentiles as for ipc.pipe.",
            zh: "两个 eventfd 计数器：本进程给第一个加一，然后读第二个，读会阻塞到其大于零；子进程相反。每次调用复制八\
                 个字节，没有任何排队。数值是一次往返。分位数同 ipc.pipe。",
        },
        why: Text {
            en: "The cheapest descriptor for waking another process. Event loops, virtual machine monitors (ioeventfd, \
                 irqfd), vhost and io_uring use it.",
            zh: "唤醒另一个进程最便宜的描述符：事件循环、虚拟机监控程序（ioeventfd、irqfd）、vhost 和 io_uring 都用\
                 它。",
        },
        reading: Text {
            en: "A little below ipc.pipe, with the same switches but no buffer to fill. The gap to ipc.pipe is the \
                 cost of a pipe's buffer.",
            zh: "略低于 ipc.pipe，因为不必填充缓冲区；切换则相同。与 ipc.pipe 的差就是管道缓冲区的代价。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 2.5 µs on one CPU, 9 to 10.5 \
                 on two that share a cache.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：同一个 CPU 2.5 µs，共享缓存的两个 CPU 9 到 10.5。",
        },
        causes: Text { en: "As for ipc.pipe.", zh: "同 ipc.pipe。" },
    },
    related: &["ipc.pipe", "ipc.futex", "sched.wakeup"],
    axes: &[super::PLACEMENT],
    limit: Limit::HandOvers(2),
    blocking: true,
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    super::round_trip(case, workloads::handover::exchange::by_eventfd(&other))
}
