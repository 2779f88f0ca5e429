//! Probe ipc.unix_dgram: a datagram of one byte to another process and back between two socket files.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Unix datagram round trip", zh: "Unix 数据报往返" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    explain: Explain {
        what: Text {
            en: "Two AF_UNIX datagram sockets, each bound to a file in the scratch directory and connected to the \
                 other's. This process writes a datagram of one byte and reads the answer; its child reads it and \
                 writes one back. The value is one round trip. Percentiles as for ipc.pipe.",
            zh: "两个 AF_UNIX 数据报套接字，各自绑定到临时目录中的一个文件，并连接到对方。本进程写一个一字节的数据报并\
                 读取回应；子进程读到后写回一个。数值是一次往返。分位数同 ipc.pipe。",
        },
        why: Text {
            en: "Logging (syslog, journald) and service notification use Unix datagrams: one message for each line \
                 that a daemon writes.",
            zh: "日志（syslog、journald）和服务通知都是 Unix 数据报：守护进程每写一行就是一条消息。",
        },
        reading: Text {
            en: "Close to ipc.unix_stream, mostly below it. A datagram is one buffer, handed over whole; a stream must \
                 track its position in a buffer. On the other hand a datagram carries its sender's address and wakes \
                 writers that wait for room.",
            zh: "与 ipc.unix_stream 接近，多半略低：数据报是整个交付的一个缓冲区，而流要记住在缓冲区中的位置；另一方面它带有发送者地址，并要唤醒等待空间的写者。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 4.6 to 4.9 µs on one CPU, 13 \
                 to 20 on two that share a cache.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：同一个 CPU 4.6 到 4.9 µs，共享缓存的两个 CPU 13 到 \
                 20。",
        },
        causes: Text {
            en: "A security module, packet filters attached to sockets, memory control groups; and what makes \
                 ipc.pipe slow.",
            zh: "安全模块、附加在套接字上的包过滤程序、内存 cgroup；以及使 ipc.pipe 变慢的因素。",
        },
    },
    related: &["ipc.unix_stream", "ipc.socketpair", "net.udp"],
    axes: &[super::PLACEMENT],
    limit: Limit::HandOvers(2),
    blocking: true,
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    let directory = case.scratch_dir()?;
    super::round_trip(case, workloads::handover::exchange::by_unix_datagram(&other, &directory))
}
