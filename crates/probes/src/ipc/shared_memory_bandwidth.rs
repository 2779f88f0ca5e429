//! Probe ipc.shared_memory_bandwidth: how fast bytes go through a ring in shared memory, by message and placement.

use hostmark_engine::prelude::*;

use crate::workloads;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Shared memory bandwidth", zh: "共享内存带宽" },
    revision: 2,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: super::TAKEN_TURNS,
    explain: Explain {
        what: Text {
            en: "A ring of 256 KiB lies in memory that two processes share. A child copies its message into it, \
                 at most 64 KiB before it tells; this process copies out at most 64 KiB at a time, and its rate \
                 is the value. Who finds the ring empty or full sleeps by a futex, the writer until half of it is \
                 free again. message is what the child's memory holds.",
            zh: "两个进程共享的内存中有一个 256 KiB 的环。子进程把消息复制进去，最多每 64 KiB 通知一次；本进\
                 程每次最多复制出 64 KiB，其速率即为数值。发现环空或满的一方用 futex 睡眠，写者睡到一半空出来\
                 为止。message 是子进程内存中消息的大小。",
        },
        why: Text {
            en: "What a pipe or a socket could give if the kernel copied for nothing: both copies are here too, \
                 made by the processes themselves. Databases, browsers and media servers share memory for this \
                 reason.",
            zh: "这是管道或套接字在内核不收费时所能达到的：两次复制同样都有，只是由进程自己做。数据库、浏览器\
                 和媒体服务器因此使用共享内存。",
        },
        reading: Text {
            en: "On one CPU below half of a copy inside the second-level cache, since each byte is copied twice and \
                 the two take turns. On two CPUs both copy at once, but every line crosses from one core's cache to \
                 the other's. Messages far beyond the caches fall to the rate of memory.",
            zh: "同一个 CPU 上不到二级缓存内复制速率的一半，因为每个字节复制两次，双方轮流。两个 CPU 上双方同时复制，但每个缓存行都要从一个核心的缓存移到另一个。远大于缓存\
                 的消息降到内存的速率。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 13 to 14 GB/s on one CPU, \
                 4.5 to 8 on two of one cache, 4.5 to 6 with 16 MiB: 2.4 times a pipe.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：同一个 CPU 13 到 14 GB/s，共享缓存的两个 CPU 4.5 到 \
                 8，16 MiB 4.5 到 6；为管道的 2.4 倍。",
        },
        causes: Text {
            en: "Two CPUs without a common cache; a second-level cache that the ring of 256 KiB does not fit; dear \
                 wake-ups; neighbours.",
            zh: "两个 CPU 没有共同的缓存；二级缓存装不下 256 KiB 的环；唤醒昂贵；邻居。",
        },
    },
    related: &["ipc.pipe_bandwidth", "ipc.unix_bandwidth", "memory.copy", "cpu.core_to_core"],
    differs: None,
    axes: &[super::MESSAGE, super::PLACEMENT],
    cross: &[],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &[],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let writer = super::other_party(case)?;
    let message = case.buffer(case.param("message")?, Pages::Base, None)?;
    let mut block = case.buffer(super::BLOCK_BYTES, Pages::Base, None)?;
    let ring = workloads::shm_ring::RingWriter::spawn(message.bytes(), &writer).map_err(super::refused)?;
    super::bytes_read(case, ring.writer(), |bytes| ring.read(bytes, block.bytes_mut()))
}
