//! Probe net.udp: a datagram of one byte goes to a server, and one comes back.

use hostmark_engine::prelude::*;

use crate::door::{correspond, receive};

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "UDP round trip", zh: "UDP 往返" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    explain: Explain {
        what: Text {
            en: "A client sends a datagram of one byte from a connected socket, the server, a process of its own, receives it and sends \
                 it back to where it came from (recvfrom, sendto), and the client receives it. It goes over loopback; cpus says where \
                 the two run. Each round trip is timed by itself: the value is the median, the percentiles are over all. A datagram \
                 that does not come back within 2 s fails the round.",
            zh: "客户端从已连接的套接字发送一个字节的数据报，作为独立进程的服务器收到后发回来源地址（recvfrom、sendto），客户端再收到它。\
                 数据报经由环回接口；cpus 表示双方运行的位置。每次往返单独计时：数值为中位数，分位数取自全部往返。2 s 内未返回的数据报使该轮失败。",
        },
        why: Text {
            en: "Name service, metrics, voice, games and QUIC send datagrams; it is also the network stack with the least protocol, so that \
                 what TCP adds shows beside it.",
            zh: "域名解析、指标上报、语音、游戏和 QUIC 都发送数据报；它也是协议最少的网络栈，与之对照即可看出 TCP 增加了多少。",
        },
        reading: Text {
            en: "Below net.tcp, which has acknowledgements, timers and windows; against that a route and an address \
                 to be looked at for each datagram of the server.",
            zh: "低于 net.tcp，后者有确认、定时器和窗口；但服务器要为每个数据报查路由和地址。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 6.5 to 6.6 µs on one CPU, a \
                 fifth below net.tcp; 14 to 20 µs on two of one cache.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：同一 CPU 6.5 到 6.6 µs，比 net.tcp 低五分之一；共享\
                 缓存的两个 CPU 14 到 20 µs。",
        },
        causes: Text {
            en: "As of net.tcp. A failed round: a datagram was dropped, by a filter or a receive buffer that others \
                 filled.",
            zh: "同 net.tcp。某一轮失败：数据报被过滤器丢弃，或接收缓冲区被别人填满。",
        },
    },
    related: &["net.tcp", "net.rpc_udp", "ipc.unix_dgram", "net.udp_bandwidth"],
    differs: Some(Text {
        en: "The same round trip as lat_udp; each is timed by itself, and a datagram that is lost fails the round \
             after 2 s, where an alarm kills lat_udp after 15.",
        zh: "与 lat_udp 是同样的往返；这里逐次计时，丢失数据报则 2 s 后该轮失败，而 lat_udp 在 15 s 后被闹钟杀死。",
    }),
    axes: &[super::ENDS, Axis::copies(Profile::Standard)],
    cross: &[],
    limit: Limit::HandOvers(2),
    blocking: true,
    needs: &[],
    replaces: &["lat_udp"],
    section: crate::section::NETWORK,
    measure: Measure::Between { service: &ECHO, measure },
};

/// Sends back each datagram.
static ECHO: Service = Service { name: "udp_echo", serve };

fn measure(case: &mut Case) -> Result<()> {
    let socket = correspond(case.far_end()?)?;
    let mut sent = 0_u8;
    super::exchanges(case, || {
        sent = sent.wrapping_add(1);
        socket.send(&[sent]).call("sendto")?;
        let mut back = [0; 2];
        let bytes = socket.recv(&mut back).call("recvfrom")?;
        if back[..bytes] == [sent] { Ok(()) } else { Err(super::wrong_answer()) }
    })
}

/// Sends each datagram of its client back to where it came from.
pub(super) fn serve(serving: &mut Serving) -> Result<()> {
    let (socket, admitted) = receive(serving)?;
    let mut datagram = [0; 2];
    loop {
        let (bytes, client) = socket.recv_from(&mut datagram).call("recvfrom")?;
        if client == admitted {
            socket.send_to(&datagram[..bytes], client).call("sendto")?;
        }
    }
}
