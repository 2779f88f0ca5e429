//! Probe ipc.unix_connect: a connection to a socket file that is accepted and closed.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Unix connect + close", zh: "Unix 连接并关闭" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "A child listens on a socket file in the scratch directory, accepts each connection and closes it. \
                 This process creates a socket, connects, reads until the other end closes, and closes its own end. \
                 The value is one such connection.",
            zh: "子进程在临时目录的套接字文件上监听，接受每个连接并关闭它。本进程创建套接字、连接、读到对端关\
                 闭，然后关闭自己的一端。数值是一次这样的连接。",
        },
        why: Text {
            en: "Clients that connect for each request pay this before the first byte: name services, loggers, \
                 command-line tools of daemons.",
            zh: "每次请求都重新连接的客户端（名字服务、日志、守护进程的命令行工具）在第一个字节之前就要付出这\
                 些。",
        },
        reading: Text {
            en: "Two sockets are made and destroyed, a path is looked up, and both processes are woken: less than \
                 twice the round trip of a byte.",
            zh: "要创建并销毁两个套接字、查找路径、唤醒双方：不到一个字节往返的两倍。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 9.1 to 9.4 µs on one CPU, 1.7 \
                 times ipc.unix_stream, 17 to 25 on two that share a cache.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：同一个 CPU 9.1 到 9.4 µs，为 ipc.unix_stream \
                 的 1.7 倍；共享缓存的两个 CPU 17 到 25。",
        },
        causes: Text {
            en: "Security modules, which check each step; a long path, or one on an overlay filesystem; memory \
                 control groups; a listener whose queue is full, for which connect waits.",
            zh: "检查每一步的安全模块；很长或位于 overlay 文件系统上的路径；内存 cgroup；监听队列已满，connect 要等待。",
        },
    },
    related: &["ipc.unix_stream", "net.tcp_connect", "syscall.open_close"],
    differs: Some(Text {
        en: "lat_unix_connect closes as soon as it is connected and waits for nothing: its queue of unaccepted \
             connections may grow and become part of the time. hostmark reads each connection to its end before it \
             opens the next.",
        zh: "lat_unix_connect 一连上就关闭、什么都不等，未被接受的连接可能堆积并计入其中；这里每个连接都读到结束才开始下一个。",
    }),
    axes: &[super::PLACEMENT],
    limit: Limit::KernelEntry,
    blocking: true,
    replaces: &["lat_unix_connect"],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    let directory = case.scratch_dir()?;
    let mut listener = workloads::handover::listener::Listener::spawn(&other, &directory).map_err(super::refused)?;
    case.calls(|| listener.connect_and_close()).time()?;
    Ok(listener.check()?)
}
