//! Probe ipc.unix_stream: a byte to another process and back over a connection to a socket file.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Unix stream round trip", zh: "Unix 流套接字往返" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    explain: Explain {
        what: Text {
            en: "Two processes hold the two ends of an AF_UNIX stream connection, made through a socket file in the \
                 scratch directory. This process writes a byte and reads the answer; its child reads the byte and \
                 writes one back. Both block in read(2). The value is one round trip. cpus sets where the two run. \
                 Percentiles as for ipc.pipe.",
            zh: "两个进程分别持有一条 AF_UNIX 流连接的两端，连接经由临时目录中的套接字文件建立。本进程写一个字节并读取\
                 回应；子进程读到后写回一个；双方都阻塞在 read(2) 中。数值是一次往返。cpus 表示双方所在的位置。分位数\
                 同 ipc.pipe。",
        },
        why: Text {
            en: "Local databases, container runtimes, D-Bus, X11 and Wayland, sidecar proxies: all of them talk \
                 to their clients this way. A request costs at least this.",
            zh: "本机数据库、容器运行时、D-Bus、X11 与 Wayland、边车代理都这样与客户端通信。一次请求至少要花\
                 这么多。",
        },
        reading: Text {
            en: "Twice ipc.pipe on one CPU: each byte travels in a socket buffer that the kernel allocates, accounts \
                 to the memory control group and frees. Anything above this in an application is its own work. On two \
                 CPUs the wake-ups dominate, as with a pipe.",
            zh: "同一个 CPU 上为 ipc.pipe 的两倍：每个字节都装在要分配和释放的套接字缓冲区里，内存 cgroup 还要记账。应用中超出的部分是它自己的工作。在两个 CPU 上\
                 与管道一样，唤醒占主导。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 5.5 to 5.7 µs on one CPU, 15 \
                 to 19 on two that share a cache.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：同一个 CPU 5.5 到 5.7 µs，共享缓存的两个 CPU 15 到 \
                 19。",
        },
        causes: Text {
            en: "Security modules, which check each message; memory control groups; BPF programs attached to sockets; \
                 and what makes ipc.pipe slow.",
            zh: "检查每条消息的安全模块；内存 cgroup；附加在套接字上的 BPF 程序；以及使 ipc.pipe 变慢的因素。",
        },
    },
    related: &["ipc.socketpair", "ipc.unix_dgram", "ipc.pipe", "net.tcp"],
    differs: Some(Text {
        en: "lat_unix uses a pair that never had a name (ipc.socketpair) and leaves the placement to the scheduler; \
             once connected, a socket with a name does the same.",
        zh: "lat_unix 使用从未有过名字的一对套接字（即 ipc.socketpair），位置交给调度器；连接之后，有名字的套接字所做的事相同。",
    }),
    axes: &[super::PLACEMENT],
    limit: Limit::HandOvers(2),
    blocking: true,
    replaces: &["lat_unix"],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    let directory = case.scratch_dir()?;
    super::round_trip(case, workloads::handover::exchange::by_unix_stream(&other, &directory))
}
