//! Probe ipc.pipe_bandwidth: how fast bytes go through a pipe, by message, read block, capacity and placement.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Pipe bandwidth", zh: "管道带宽" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: super::TAKEN_TURNS,
    explain: Explain {
        what: Text {
            en: "A child writes messages into a pipe without pause. The parent reads them, at most one block at a \
                 time; its rate is the value. message is the size of one write, block the size of one read, capacity \
                 the size of the pipe (default: 64 KiB on most kernels; a note shows it). cpus sets where writer and \
                 reader run.",
            zh: "子进程不停地向管道写消息；父进程每次最多读一个块，其速率即为数值。message 是一次 write 的大小，block \
                 是一次 read 请求的大小，capacity 是管道容量（default：多数内核为 64 KiB，见备注）。cpus 表示读写双方\
                 的位置。",
        },
        why: Text {
            en: "Shell pipelines, log shippers and worker pools move data this way. Every byte is copied twice, and \
                 each side sleeps and wakes whenever the pipe is full or empty.",
            zh: "shell 管道、日志传输和工作进程池都这样搬数据：每个字节复制两次，管道满或空时双方各自睡眠与唤醒。",
        },
        reading: Text {
            en: "Larger messages are faster until they fill the pipe. Beyond that, writer and reader take turns, and \
                 the rate falls or stays. One CPU means context switches but warm caches. On two CPUs the wake-ups of \
                 the other core cost most, above all in a guest, where each is an exit to the hypervisor. Messages \
                 larger than the caches are read from memory.",
            zh: "消息越大越快，直到填满管道容量；超过后读写双方轮流等待，速率下降或持平。同一 CPU 上有上下文切换但缓存是热的；两个 CPU 上要付唤醒另一核心的代价，在虚拟机里\
                 尤甚，因为每次唤醒都要退出到虚拟机监控程序。超出缓存的消息要从内存读出。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 5.8 GB/s with 64 KiB on one \
                 CPU, 3.9 to 4.5 with 4 KiB, 2.8 to 4.2 with 16 MiB, 0.6 to 2.3 on two that share a cache. A Core \
                 i5-2520M of 2011: 2.5 GB/s from 1 MiB on.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：64 KiB 同一个 CPU 5.8 GB/s，4 KiB 3.9 到 4.5，\
                 16 MiB 2.8 到 4.2，共享缓存的两个 CPU 0.6 到 2.3。2011 年的 Core i5-2520M：1 MiB 起为 2.5 GB/s。",
        },
        causes: Text {
            en: "Small writes or reads (block); expensive wake-ups; a capacity below the request because the user's \
                 quota of pipe pages is used up (fs.pipe-user-pages-soft; the note shows the real one); slow copies to \
                 and from user space.",
            zh: "写或读（block）的粒度太小；唤醒昂贵；用户的管道页配额用尽而容量被降低（fs.pipe-user-pages-soft，备注有实际所得）；用户复制很慢。",
        },
    },
    related: &["ipc.unix_bandwidth", "ipc.shared_memory_bandwidth", "ipc.pipe", "memory.copy"],
    differs: Some(Text {
        en: "The same 64 KiB messages as bw_pipe, with copies on both sides; on one CPU both reach the same rate \
             (docs/accuracy.md). lmbench leaves the placement to the scheduler, and its read buffer starts 128 bytes \
             off a page.",
        zh: "与 bw_pipe 同为 64 KiB 的消息，双方都复制；在同一 CPU 上两者持平（见 docs/accuracy.md）。lmbench 的位置交给调度器，读入的缓冲区与页错开 \
             128 字节。",
    }),
    axes: &[
        Axis::size(
            "message",
            "65536",
            Points::Listed {
                quick: &["4096", "65536", "1048576"],
                standard: &["16384", "262144", "4194304", "16777216"],
                thorough: &[
                    "8192",
                    "32768",
                    "131072",
                    "524288",
                    "2097152",
                    "8388608",
                    "33554432",
                    "67108864",
                    "134217728",
                ],
            },
        ),
        Axis::size(
            "block",
            "65536",
            Points::Listed { quick: &["65536"], standard: &["4096", "1048576"], thorough: &[] },
        ),
        Axis::choice("capacity", "default", Points::Listed { quick: &["default", "1m"], standard: &[], thorough: &[] }),
        Axis::near("cpus"),
        Axis::copies(Profile::Standard),
    ],
    full_factorial: &[FullFactorial { from: Profile::Quick, axes: &["message", "cpus"] }],
    blocking: true,
    replaces: &["bw_pipe"],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let message: u64 = case.param("message")?;
    let block: u64 = case.param("block")?;
    let capacity = match case.param::<String>("capacity")?.as_str() {
        "1m" => Some(1 << 20),
        _ => None,
    };
    let writer = super::other_party(case)?;
    let message = case.buffer(message, Pages::Base, None)?;
    let mut block = case.buffer(block, Pages::Base, None)?;
    let peer = workloads::handover::pipe::PipeWriter::spawn(message.bytes(), capacity, &writer)
        .map_err(|error| RoundError::lacking("cannot make this pipe", &error))?;
    case.note("capacity_bytes", peer.capacity);
    super::bytes_read(case, peer.writer(), |bytes| peer.read(bytes, block.bytes_mut()))
}
