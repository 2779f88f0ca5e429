//! Probe net.tcp_connect: a TCP connection is made, accepted and closed.

use std::io::Read;

use hostmark_engine::prelude::*;

use crate::authenticated::{AuthenticatedListener, connect};
use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "TCP connect + close", zh: "TCP 建立并关闭连接" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    explain: Explain {
        what: Text {
            en: "A client creates a socket and connects to a server, a separate process, which accepts and closes the \
                 connection at once. The client reads the end of the stream and closes its socket. That is socket, two \
                 options, connect, read and close here, accept and close there, and two wake-ups. Waiting for the end \
                 keeps unaccepted connections from piling up: with a full queue the kernel drops the next request and \
                 retries only after a second. The client closes with a reset (SO_LINGER of 0 s), so neither end stays \
                 in TIME_WAIT and no round runs out of ports. The connection uses loopback; cpus sets where the two \
                 run. The value is the median; percentiles cover all.",
            zh: "客户端创建套接字并连接服务器（独立进程），服务器接受后立即关闭连接；客户端读到流的结束，再关闭自己的套接字：\
                 本端为 socket、两个选项、connect、read、close，对端为 accept 与 close，另有两次唤醒。等待流结束可避免未接受的连接堆积：\
                 服务器的队列一满，内核就丢弃下一个请求，整整一秒后才重发。客户端关闭时发送复位（SO_LINGER 为 0 s），\
                 因此两端都不会在 TIME_WAIT 中停留一分钟，也不会有哪一轮用尽端口。连接经由环回接口；cpus 表示双方运行的位置。\
                 数值为中位数，分位数取自全部连接。",
        },
        why: Text {
            en: "Clients without a connection pool, health checks and proxies pay this for every request, before TLS \
                 and before the first byte.",
            zh: "没有连接池的客户端、健康检查和代理在每个请求上都要付这一代价，而且是在 TLS 和第一个字节之前。",
        },
        reading: Text {
            en: "Three to four net.tcp round trips: the three segments of the handshake, the end and the reset. Both \
                 sides also create and free a socket, an inode and a descriptor. Over a network add one network round \
                 trip.",
            zh: "相当于三到四次 net.tcp 往返：握手的三个报文段、结束与复位，双方还要各自创建和释放套接字、inode 与描述符。跨网络时另加一次网络往返。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 25 to 26 µs on one CPU, p99 \
                 60 to 68; 32 to 47 µs on two that share a cache.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：同一 CPU 25 到 26 µs，p99 为 60 到 68；共享缓存的两\
                 个 CPU 32 到 47 µs。",
        },
        causes: Text {
            en: "Connection tracking (nf_conntrack) and packet filters; security modules; memory control groups; a \
                 table of connections in TIME_WAIT that other programs have filled.",
            zh: "连接跟踪（nf_conntrack）与包过滤；安全模块；内存 cgroup；其他程序留下的大量 TIME_WAIT 连接。",
        },
    },
    related: &["net.tcp", "net.http", "ipc.unix_connect"],
    differs: Some(Text {
        en: "lat_connect closes at once and waits for nothing. Unaccepted connections pile up and leave TIME_WAIT \
             behind, which is why its run is short. hostmark waits for the server's end, and its client resets.",
        zh: "lat_connect 连上即关闭、什么都不等，于是未接受的连接堆积并留下 TIME_WAIT，它因此只能短时运行；这里等待服务器一端结束，并由客户端复位。",
    }),
    axes: &[super::ENDS, Axis::copies(Profile::Standard)],
    limit: Limit::HandOvers(2),
    blocking: true,
    replaces: &["lat_connect"],
    section: crate::section::NETWORK,
    measure: Measure::Between { service: &SERVICE, measure },
    ..Probe::PLAIN
};

/// Accepts connections, and closes each at once.
static SERVICE: Service = Service { name: "tcp_connect", serve };

fn serve(serving: &mut Serving) -> Result<()> {
    let door = AuthenticatedListener::open(serving)?;
    let (_known, client) = door.admit()?;
    loop {
        door.accept_of(client)?;
    }
}

fn measure(case: &mut Case) -> Result<()> {
    let far = case.far_end()?;
    let (_known, address) = (connect(far)?, far.address);
    super::exchanges(case, || {
        let mut stream = workloads::network::socket::connect(address, super::PATIENCE)?;
        match received(|| stream.read(&mut [0]))? {
            0 => Ok(()),
            _ => Err(super::wrong_answer()),
        }
    })
}
