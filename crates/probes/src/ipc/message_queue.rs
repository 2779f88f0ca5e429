//! Probe ipc.message_queue: a message of one byte to another process and back through two message queues.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Message queue round trip", zh: "消息队列往返" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    explain: Explain {
        what: Text {
            en: "Two message queues carry messages of one byte: this process sends to one and receives from the other; \
                 its child does the opposite. kind=posix uses mq_timedsend and mq_timedreceive on unlinked queues of \
                 one message each; kind=sysv uses msgsnd and msgrcv. The value is one round trip. Percentiles as for \
                 ipc.pipe.",
            zh: "两个消息队列，消息为一个字节：本进程向一个发送、从另一个接收，子进程相反。kind=posix：对已去掉名字、\
                 各容一条消息的队列执行 mq_timedsend 与 mq_timedreceive；kind=sysv：执行 msgsnd 与 msgrcv。数值是一次\
                 往返。分位数同 ipc.pipe。",
        },
        why: Text {
            en: "Real-time and older commercial software hands its work over in message queues, which keep \
                 messages apart and order them by priority or type.",
            zh: "实时软件和较老的商业软件用消息队列交接工作，它保持消息边界，并按优先级或类型排序。",
        },
        reading: Text {
            en: "Close to ipc.pipe on one CPU. The kernel hands a POSIX message straight to a waiting receiver, \
                 without queueing it. System V queues allocate memory for each message. Both count against an IPC \
                 namespace. Skipped if the kernel was built without them.",
            zh: "同一个 CPU 上与 ipc.pipe 接近。若接收者已在等待，内核会把 POSIX 消息直接交给它而不入队。System V 队列要为每条消息分配内存；两者都记在 IPC 命\
                 名空间的账上。内核未编入时跳过。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): posix 3.13 µs on one CPU and \
                 12 to 16 on two that share a cache, sysv 3.4 to 4.4 on one.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：posix 同一个 CPU 3.13 µs，共享缓存的两个 CPU 12 到 \
                 16；sysv 同一个 CPU 3.4 到 4.4。",
        },
        causes: Text {
            en: "Security modules, which check each message of System V; and what makes ipc.pipe slow.",
            zh: "检查每条 System V 消息的安全模块；以及使 ipc.pipe 变慢的因素。",
        },
    },
    related: &["ipc.pipe", "ipc.unix_dgram", "ipc.sysv_semaphore"],
    axes: &[
        Axis::choice("kind", "posix", Points::Listed { quick: &["posix"], standard: &["sysv"], thorough: &[] }),
        super::PLACEMENT,
    ],
    limit: Limit::HandOvers(2),
    blocking: true,
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    match case.param::<String>("kind")?.as_str() {
        "sysv" => super::round_trip(case, workloads::handover::sysv::by_queues(&other)),
        _ => super::round_trip(case, workloads::handover::message_queue::by_queues(&other)),
    }
}
