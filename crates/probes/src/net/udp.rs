//! Probe net.udp: a datagram of one byte goes to a server, and one comes back.

pub(super) mod questions;

use std::io;

use hostmark_engine::prelude::*;
use questions::Question;

use crate::authenticated::receive;

pub static PROBE: Probe = Probe {
    title: Text { en: "UDP round trip", zh: "UDP 往返" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: questions::ALSO,
    explain: Explain {
        what: Text {
            en: "A client sends a datagram of one byte from a connected socket. The server, a separate process, \
                 receives it and sends it back to its source (recvfrom, sendto), and the client receives it. The \
                 datagrams use loopback; cpus sets where the two run. Each round trip is timed separately: the value \
                 is the median, and percentiles cover all. A request whose answer is late (4 times the longest so far, \
                 20 to 500 ms) is sent again. If only the second one is answered, the first counts as lost, and its \
                 time is in no value. No answer within 2 s fails the round.",
            zh: "客户端从已连接的套接字发送一个字节的数据报，作为独立进程的服务器收到后发回来源地址（recvfrom、\
                 sendto），客户端再收到它。数据报经由环回接口；cpus 表示双方运行的位置。每次往返单独计时：数值为中位\
                 数，分位数取自全部往返。应答迟到（超过至今最长往返的 4 倍，20 到 500 ms）时重新发送；若只有新的得到应\
                 答，则前一个算作丢失，其时间不计入任何数值。2 s 内没有应答则该轮失败。",
        },
        why: Text {
            en: "Name service, metrics, voice, games and QUIC send datagrams. UDP is also the thinnest protocol of the \
                 network stack, so the gap to net.tcp shows what TCP adds.",
            zh: "域名解析、指标上报、语音、游戏和 QUIC 都发送数据报；它也是协议最少的网络栈，与之对照即可看出 TCP 增加了多少。",
        },
        reading: Text {
            en: "Below net.tcp, which has acknowledgements, timers and windows. On the other hand the server must look \
                 up a route and an address for each datagram.",
            zh: "低于 net.tcp，后者有确认、定时器和窗口；但服务器要为每个数据报查路由和地址。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 6.5 to 6.6 µs on one CPU, a \
                 fifth below net.tcp; 14 to 20 µs on two that share a cache.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：同一 CPU 6.5 到 6.6 µs，比 net.tcp 低五分之一；共享\
                 缓存的两个 CPU 14 到 20 µs。",
        },
        causes: Text {
            en: "As for net.tcp. Loss: a full queue or a bad link on the way, or a receive buffer filled by other \
                 traffic. A failed round: a packet filter drops every datagram.",
            zh: "同 net.tcp。丢失：途中队列已满、链路不良，或接收缓冲区被别人填满。某一轮失败：包过滤丢弃了全部数据报。",
        },
    },
    related: &["net.tcp", "net.rpc_udp", "ipc.unix_dgram", "net.udp_bandwidth"],
    differs: Some(Text {
        en: "The same round trip as lat_udp. hostmark times each one separately, counts lost datagrams and sends them \
             again; lat_udp is killed by an alarm after 15 s.",
        zh: "与 lat_udp 是同样的往返；这里逐次计时，丢失的数据报计数后重新发问，而 lat_udp 在 15 s 后被 alarm 信号终\
             止。",
    }),
    axes: &[super::ENDS, Axis::copies(Profile::Standard)],
    limit: Limit::HandOvers(2),
    blocking: true,
    replaces: &["lat_udp"],
    section: crate::section::NETWORK,
    measure: Measure::Between { service: &ECHO, measure },
    ..Probe::PLAIN
};

/// Sends back each datagram.
static ECHO: Service = Service { name: "udp_echo", serve };

fn measure(case: &mut Case) -> Result<()> {
    questions::measure::<Byte>(case)
}

/// A datagram of one byte, the last of the question's number.
struct Byte;

impl Question for Byte {
    type Number = u8;

    fn numbered(count: u64) -> u8 {
        count as u8
    }

    fn write(number: u8) -> impl AsRef<[u8]> {
        [number]
    }

    fn read(answer: &[u8]) -> io::Result<u8> {
        if let &[number] = answer { Ok(number) } else { Err(super::wrong_answer()) }
    }
}

/// Sends each datagram of its client back to where it came from.
pub(super) fn serve(serving: &mut Serving) -> Result<()> {
    let admitted = receive(serving)?;
    // The longest that is asked, and one of 16 bytes would be the client's nonce.
    let mut datagram = [0; 32];
    loop {
        let (bytes, client) = admitted.receive(&mut datagram)?;
        admitted.socket().send_to(&datagram[..bytes], client).call("sendto")?;
    }
}
