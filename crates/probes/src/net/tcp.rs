//! Probe net.tcp: a byte goes to a server over a TCP connection, and one comes back.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use hostmark_engine::prelude::*;

use crate::authenticated::{AuthenticatedListener, connect};

pub static PROBE: Probe = Probe {
    title: Text { en: "TCP round trip", zh: "TCP 往返" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    explain: Explain {
        what: Text {
            en: "A client sends one byte over an established TCP connection (TCP_NODELAY). The server, a separate \
                 process, sends it back, and the client reads it: four system calls and two wake-ups. The connection \
                 uses loopback; cpus sets where the two run. Each round trip is timed separately: the value is the \
                 median, and percentiles cover all.",
            zh: "客户端在已建立的 TCP 连接（TCP_NODELAY）上发送一个字节，作为独立进程的服务器把它发回，客户端读到它：共四次系统调用、\
                 两次唤醒。连接经由环回接口；cpus 表示双方运行的位置。每次往返单独计时：数值为中位数，分位数取自全部往返。",
        },
        why: Text {
            en: "The minimum cost of every request to a local database, cache, proxy or sidecar. It is the protocol \
                 stack down and up on both sides and the scheduler in between, without any application work.",
            zh: "这是访问本机数据库、缓存、代理或 sidecar 的每个请求的下限：双方协议栈的下行与上行，加上其间的调度，不含应用自身的工作。",
        },
        reading: Text {
            en: "On one CPU: four passes through the protocol stack and two context switches. ipc.pipe and \
                 ipc.unix_stream have the same switches without the stack. On two CPUs the wake-up of the other CPU \
                 dominates (sched.wakeup).",
            zh: "同一 CPU 上是四次穿越协议栈加两次上下文切换；旁边的 ipc.pipe 与 ipc.unix_stream 有切换而没有协议栈。在两个 CPU 上取决于唤醒对方的代价（见 \
                 sched.wakeup）。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 8.1 to 8.4 µs on one CPU, p99 \
                 15 to 18, three times ipc.pipe; 18 to 25 µs on two that share a cache.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：同一 CPU 8.1 到 8.4 µs，p99 为 15 到 18，是 \
                 ipc.pipe 的三倍；共享缓存的两个 CPU 18 到 25 µs。",
        },
        causes: Text {
            en: "Packet filters (iptables, nftables), connection tracking, security modules and traffic capture, each \
                 of which adds to all four passes; deep idle states and expensive wake-ups. A p99 of milliseconds: \
                 other tasks had the CPU.",
            zh: "包过滤（iptables、nftables）、连接跟踪、安全模块和抓包，会加在四次穿越的每一次上；较深的空闲状态与昂贵的唤醒；p99 达到毫秒级：CPU 被别人占用。",
        },
    },
    related: &["net.udp", "net.rpc_tcp", "net.http", "ipc.unix_stream", "sched.wakeup"],
    differs: Some(Text {
        en: "The same round trip of one byte as lat_tcp. hostmark times each one separately, which gives percentiles, \
             sets TCP_NODELAY, and names the placement.",
        zh: "与 lat_tcp 同为一个字节的往返；这里逐次计时从而给出分位数，设置 TCP_NODELAY，并指明位置。",
    }),
    axes: &[super::ENDS, Axis::copies(Profile::Standard)],
    limit: Limit::HandOvers(2),
    blocking: true,
    replaces: &["lat_tcp"],
    section: crate::section::NETWORK,
    measure: Measure::Between { service: &ECHO, measure },
    ..Probe::PLAIN
};

/// Sends back each byte.
pub(super) static ECHO: Service = Service { name: "tcp_echo", serve };

fn measure(case: &mut Case) -> Result<()> {
    let mut stream = connect(case.far_end()?)?;
    let mut sent = 0_u8;
    super::exchanges(case, || {
        sent = sent.wrapping_add(1);
        stream.write_all(&[sent]).call("sendto")?;
        let mut back = [0];
        stream.read_exact(&mut back).call("recvfrom")?;
        if back == [sent] { Ok(()) } else { Err(super::wrong_answer()) }
    })
}

pub(super) fn serve(serving: &mut Serving) -> Result<()> {
    Ok(AuthenticatedListener::open(serving)?.serve(echo)?)
}

/// Sends back each byte until the client is gone.
pub(super) fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut byte = [0];
    loop {
        stream.read_exact(&mut byte).call("recvfrom")?;
        stream.write_all(&byte).call("sendto")?;
    }
}
