//! Probe ipc.shared_memory_bandwidth: how fast bytes go through a ring in shared memory, by message and placement.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Shared memory bandwidth", zh: "共享内存带宽" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: super::TAKEN_TURNS,
    explain: Explain {
        what: Text {
            en: "Two processes share a ring buffer of 256 KiB. A child copies its message into it and signals at least \
                 every 64 KiB; this process copies out at most 64 KiB at a time, and its rate is the value. A process \
                 that finds the ring empty or full sleeps on a futex, the writer until half the ring is free. message \
                 is the size of the child's source memory.",
            zh: "两个进程共享一个 256 KiB 的环形缓冲区。子进程把消息复制进去，至多每 64 KiB 通知一次；本进程每次最多复\
                 制出 64 KiB，其速率即为数值。发现环空或满的一方在 futex 上睡眠，写者睡到一半空出来为止。message 是子\
                 进程源内存的大小。",
        },
        why: Text {
            en: "What a pipe or a socket could reach if the kernel added no cost: the same two copies, made by the \
                 processes themselves. Databases, browsers and media servers share memory for this reason.",
            zh: "这是管道或套接字在内核没有额外开销时所能达到的速率：同样两次复制，只是由进程自己完成。数据库、浏览器\
                 和媒体服务器因此使用共享内存。",
        },
        reading: Text {
            en: "On one CPU, below half the rate of a copy within L2, since each byte is copied twice and the two take \
                 turns. On two CPUs both copy at once, but every line moves from one core's cache to the other's. \
                 Messages far larger than the caches fall to the rate of memory.",
            zh: "同一个 CPU 上不到二级缓存内复制速率的一半，因为每个字节复制两次，双方轮流。两个 CPU 上双方同时复制，但每个缓存行都要从一个核心的缓存移到另一个。远大于缓存\
                 的消息降到内存的速率。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 13 to 14 GB/s on one CPU, 4.5 \
                 to 8 on two that share a cache, 4.5 to 6 with 16 MiB: 2.4 times a pipe.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：同一个 CPU 13 到 14 GB/s，共享缓存的两个 CPU 4.5 到 \
                 8，16 MiB 4.5 到 6；为管道的 2.4 倍。",
        },
        causes: Text {
            en: "Two CPUs without a shared cache; an L2 that cannot hold the 256 KiB ring; expensive wake-ups; \
                 neighbours.",
            zh: "两个 CPU 没有共同的缓存；二级缓存装不下 256 KiB 的环；唤醒昂贵；邻居虚拟机。",
        },
    },
    related: &["ipc.pipe_bandwidth", "ipc.unix_bandwidth", "memory.copy", "cpu.core_to_core"],
    axes: &[super::MESSAGE, super::PLACEMENT],
    blocking: true,
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let writer = super::other_party(case)?;
    let message = case.buffer(case.param("message")?, Pages::Base, None)?;
    let mut block = case.buffer(super::BLOCK_BYTES, Pages::Base, None)?;
    let ring = workloads::handover::shm_ring::RingWriter::spawn(message.bytes(), &writer).map_err(super::refused)?;
    super::bytes_read(case, ring.writer(), |bytes| ring.read(bytes, block.bytes_mut()))
}
