//! Probe ipc.unix_stream: a byte to another process and back over a connection to a socket file.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Unix stream round trip", zh: "Unix 流套接字往返" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    explain: Explain {
        what: Text {
            en: "Two processes hold the two ends of an AF_UNIX stream connection, made through a socket file in \
                 the scratch directory. This one writes a byte and reads the answer; its child reads it and \
                 writes one back; both block in read(2). The value is one round trip. cpus says where the two \
                 run. Percentiles as of \
                 ipc.pipe.",
            zh: "两个进程分别持有一条 AF_UNIX 流连接的两端，连接经由临时目录中的套接字文件建立。本进程写一个\
                 字节并读取回应；子进程读到后写回一个；双方都阻塞在 read(2) 中。数值是一次往返。cpus 表示双方\
                 所在的位置。分位数同\
                 ipc.pipe。",
        },
        why: Text {
            en: "Local databases, container runtimes, D-Bus, X11 and Wayland, sidecar proxies: all of them talk \
                 to their clients this way. A request costs at least this.",
            zh: "本机数据库、容器运行时、D-Bus、X11 与 Wayland、边车代理都这样与客户端通信。一次请求至少要花\
                 这么多。",
        },
        reading: Text {
            en: "One and a half to twice ipc.pipe on one CPU, 4 to 8 µs: each byte travels in a socket buffer \
                 that is allocated and freed, and memory control groups account for it. What is over this in an \
                 application is its own work. On two CPUs the wake-ups dominate as they do for a pipe.",
            zh: "同一个 CPU 上为 ipc.pipe 的一倍半到两倍，即 4 到 8 µs：每个字节都装在要分配和释放的套接字缓\
                 冲区里，内存 cgroup 还要记账。应用中超出的部分是它自己的工作。在两个 CPU 上与管道一样，唤醒\
                 占主导。",
        },
    },
    axes: &[super::PLACEMENT],
    cross: &[],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &["lat_unix"],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    let directory = case.scratch_dir()?;
    super::round_trip(case, sys::exchange::by_unix_stream(&other, &directory))
}
