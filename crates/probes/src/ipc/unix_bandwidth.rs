//! Probe ipc.unix_bandwidth: how fast bytes go through a Unix stream socket, by message and placement.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Unix socket bandwidth", zh: "Unix 套接字带宽" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: super::TAKEN_TURNS,
    explain: Explain {
        what: Text {
            en: "A child writes messages into one stream socket of a pair without pause. This process reads them, at \
                 most 64 KiB at a time; its rate is the value. message is the size of one write. The send buffer has \
                 the kernel's default size; a note shows it.",
            zh: "子进程不停地向一对流套接字中的一个写消息；本进程每次最多读 64 KiB，其速率即为数值。message \
                 是一次 write 的大小。发送缓冲区为内核默认大小，会记录。",
        },
        why: Text {
            en: "Local clients of databases, caches and display servers receive their results this way.",
            zh: "数据库、缓存和显示服务的本机客户端就这样传送结果。",
        },
        reading: Text {
            en: "Often above a pipe: the kernel moves up to 32 KiB per buffer, and the socket holds some 200 KiB, so \
                 the two take turns less often. Small messages pay for one buffer each. The writer reads messages far \
                 larger than the caches from memory, which then limits the rate.",
            zh: "常高于管道：内核一个缓冲区最多装 32 KiB，套接字可容约 200 KiB，双方轮换得更少。小消息每条都要付一个缓冲区的代价。远大于缓存的消息要由写者从内存读出，内\
                 存便成为上限。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 7.7 to 7.8 GB/s on one CPU, \
                 1.3 times ipc.pipe_bandwidth, 2 to 3.5 on two that share a cache.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：同一个 CPU 7.7 到 7.8 GB/s，为 \
                 ipc.pipe_bandwidth 的 1.3 倍；共享缓存的两个 CPU 2 到 3.5。",
        },
        causes: Text {
            en: "A small send buffer (net.core.wmem_default, noted); memory control groups; expensive wake-ups; memory \
                 too fragmented for buffers of 32 KiB.",
            zh: "发送缓冲区很小（net.core.wmem_default，备注中注明）；内存 cgroup；唤醒昂贵；内存碎片化，无法分配 32 \
                 KiB 的缓冲区。",
        },
    },
    related: &["ipc.pipe_bandwidth", "ipc.shared_memory_bandwidth", "net.tcp_bandwidth"],
    differs: Some(Text {
        en: "The same 64 KiB messages as bw_unix, whose writer waits after each 10 MB for a word through another \
             pipe; here it never stops, and the placement is named.",
        zh: "与 bw_unix 同为 64 KiB 的消息，但其写者每 10 MB 要等另一条管道传来一个字；这里从不停顿，并指明位置。",
    }),
    axes: &[super::MESSAGE, super::PLACEMENT],
    blocking: true,
    replaces: &["bw_unix"],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let writer = super::other_party(case)?;
    let message = case.buffer(case.param("message")?, Pages::Base, None)?;
    let mut block = case.buffer(super::BLOCK_BYTES, Pages::Base, None)?;
    let stream =
        workloads::handover::stream::Stream::by_socket_pair(message.bytes(), &writer).map_err(super::refused)?;
    case.note("send_buffer_bytes", stream.send_buffer_bytes());
    super::bytes_read(case, stream.writer(), |bytes| stream.read(bytes, block.bytes_mut()))
}
