//! Probe sched.messaging: many processes that all send to one another.

use hostmark_engine::prelude::*;

use crate::workloads::handover::message_groups::{Crowd, Gathered, MessageChannel};
use crate::workloads::processes::fork;

pub static PROBE: Probe = Probe {
    title: Text { en: "Messages in a crowd", zh: "多进程互发消息" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "A group has 20 senders and 20 receivers, each a process. In a burst every sender sends 100 messages \
                 of 100 bytes to every receiver of its group, 40 000 in all, through one Unix stream socket (or pipe) \
                 per receiver. The value is the time of a burst, from the start of all senders until everything is \
                 read, divided by the number of messages. The processes start beforehand and run on all usable CPUs \
                 (cpus=free) or on one.",
            zh: "每组有 20 个发送者和 20 个接收者，各为一个进程；在一次突发中，每个发送者向本组每个接收者发送 100 条 100 字节的消息，共 40 000 条，每个接收者一个 Unix 流套接字（或管道）。\
                 数值是一次突发（从全部发送者开始到全部读完）的时间除以消息数。进程事先启动，可在所有可用 CPU 上运行（cpus=free），或只在一个 CPU 上。",
        },
        why: Text {
            en: "It loads the scheduler like a busy server: far more runnable processes than CPUs, wake-ups in both \
                 directions, full and empty queues. Kernel developers compare schedulers with this load (hackbench).",
            zh: "它像繁忙的服务器一样考验调度器：可运行的进程远多于 CPU，双向唤醒，队列时满时空。内核开发者用这种负载（hackbench）比较调度器。",
        },
        reading: Text {
            en: "About one write and one read of the channel, since messages go in batches and few need a switch. \
                 Several CPUs shorten it, by less than their number. It should hardly depend on groups. \
                 perf bench sched messaging times one burst of processes that have just been forked, until they have \
                 ended; per message that is 1.1 to 2 times this value with its 100 loops, and about the same with \
                 1000 (docs/accuracy.md).",
            zh: "约为通道的一次写加一次读，因为消息成批传递，很少需要切换；多个 CPU 能缩短它，但小于 CPU 数的倍数。它应基本不随 groups 变化。perf bench sched messaging 计时的是刚 fork 出的进程的一次突发，直到进程全部结束：\
                 折算到每条消息，100 次循环（默认）时为此值的 1.1 到 2 倍，1000 次时大致相同（见 docs/accuracy.md）。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), busy with other work: \
                 sockets 1.4 to 2.7 µs a message, pipes 0.8 to 1.2.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（机器另有负载）：套接字每条 1.4 到 2.7 µs，管道 0.8 到 \
                 1.2。",
        },
        causes: Text {
            en: "Growth with groups, or several CPUs no better than one: contention on the scheduler's queues, or \
                 expensive wake-ups (guests). Memory control groups, which account every socket message.",
            zh: "随 groups 增长，或多个 CPU 并不比一个快：调度队列中有争用，或唤醒很贵（虚拟机）。为套接字的每条消息记账的内存 cgroup。",
        },
    },
    related: &["ipc.unix_stream", "ipc.pipe", "sched.context_switch"],
    axes: &[
        Axis::count("groups", "1", Points::Listed { quick: &["1"], standard: &["4", "10"], thorough: &["20"] }),
        Axis::choice("channel", "socket", Points::Listed { quick: &["socket"], standard: &["pipe"], thorough: &[] }),
        Axis::placements("cpus", "free", Points::Listed { quick: &["free"], standard: &["same_cpu"], thorough: &[] }),
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["groups", "channel", "cpus"] }],
    blocking: true,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let channel = match case.param::<String>("channel")?.as_str() {
        "pipe" => MessageChannel::Pipe,
        _ => MessageChannel::Socket,
    };
    let crowd = Crowd { groups: case.param("groups")?, senders: 20, messages: 100, bytes: 100, channel };
    let members = crowd.groups as u64 * 2 * crowd.senders as u64;
    case.may_fill(members * fork::LEAST_BYTES)?;
    let cpus: Vec<usize> = case.thread_cpus().iter().map(|cpu| cpu.0).collect();
    let gathered =
        Gathered::new(crowd, &cpus).map_err(|error| RoundError::lacking("cannot start so many processes", &error))?;
    case.calls(|| gathered.burst()).each(crowd.total()).time()
}
