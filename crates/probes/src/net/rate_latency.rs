//! Probe net.rate_latency: small requests while a bulk flow fills the link (bufferbloat).

mod echo;

use hostmark_engine::prelude::*;

use super::tcp_bandwidth::{Direction, Flows, StreamOptions};
use crate::authenticated::connect;

pub static PROBE: Probe = Probe {
    title: Text { en: "TCP round trip under bulk load", zh: "大流量下的 TCP 往返" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P90, Quantity::P99, Quantity::P999, Quantity::MEAN, IDLE, ADDED, RATE],
    explain: Explain {
        what: Text {
            en: "As net.tcp, one byte to a server and back over its own connection (TCP_NODELAY), while further TCP \
                 connections to the same process carry messages of 64 KiB without pause. load sets their direction: to \
                 the client (receive), from it (send), or both at once. Each request follows 1 ms after the last \
                 answer, so it meets the load at a random moment. Each round first times up to 30 round trips without \
                 load (idle). It then starts the bulk flow, waits until that has reached its rate (3 s at most), and \
                 times round trips one by one. The value is their median; percentiles cover all. added is the \
                 difference of the two medians; rate is the rate of the bulk flow meanwhile.",
            zh: "与 net.tcp 一样，在一条单独的连接（TCP_NODELAY）上向服务器发送一个字节并收回，同时到同一进程的其他 \
                 TCP 连接不停地传输 64 KiB 的消息。load 表示方向：流向客户端（receive）、由客户端流出（send），或两者\
                 同时（both）。收到应答 1 ms 后才发下一个请求，因此请求会落在负载的任意时刻。每轮先在无负载时计时最多 \
                 30 次往返（idle），再启动大流量，等它达到其速率（最多 3 s），然后逐次计时：数值为中位数，分位数取自全\
                 部往返。added 是两个中位数之差；rate 是此时大流量的速率。",
        },
        why: Text {
            en: "A backup, a replica that catches up or a large download fills the queue of the slowest link, and \
                 every small request behind it waits for that whole queue. A link that is fast in separate tests may \
                 be slow in use.",
            zh: "备份、追赶中的副本或大文件下载会填满最慢链路前的队列，其后的每个小请求都要等整个队列排空。单独测试时很快的链路，使用中却可能很慢。",
        },
        reading: Text {
            en: "Over a link, added times the link's rate is the queue in bytes. A few milliseconds are normal; \
                 hundreds are bufferbloat (a large queue without active management). Loopback has no such queue: the \
                 bulk flow competes for the CPU, and added is the time that the scheduler makes a small request wait.",
            zh: "经过链路时，added 乘以链路速率就是队列的字节数：几毫秒是正常的，几百毫秒就是缓冲膨胀（没有主动管理的大队列）。环回接口上没有这样的队列：\
                 大流量争用 CPU，added 是调度器让小请求等待的时间。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Emerald Rapids, Linux 6.18), loopback, one CPU: 12 to 13 \
                 µs beside 2.2 to 2.4 GB/s, p90 14 to 90, without load 10 to 11; 94 to 145 µs on two that share a \
                 cache, without load 70 to 94. Over a link of 47 Mbit/s (tbf, 50 ms of queue): 6 ms, both ways 15, \
                 without load 0.03 to 0.09.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Emerald Rapids，Linux 6.18）上实测（环回接口、同一 CPU）：12 到 13 µs，同时大流量为 2.2 到 2.4 GB/s，\
                 p90 为 14 到 90，无负载时 10 到 11；共享缓存的两个 CPU 94 到 145 µs，无负载时 70 到 94。经过 47 Mbit/s 的链路（tbf，50 ms 队列）：6 ms，\
                 双向 15 ms，无负载时 0.03 到 0.09 ms。",
        },
        causes: Text {
            en: "Deep queues in network cards, routers, modems and rate limits (tbf, policies of clouds); no fq_codel, fq or cake at the \
                 bottleneck; a congestion control that fills queues (cubic, reno; bbr less); over loopback, both ends on one CPU.",
            zh: "网卡、路由器、调制解调器和限速（tbf、云厂商策略）中的深队列；瓶颈处没有 fq_codel、fq 或 cake；填满队列的拥塞控制（cubic、reno；bbr 较轻）；\
                 在环回接口上：两端位于同一 CPU。",
        },
    },
    related: &["net.tcp", "net.tcp_bandwidth", "net.open_loop"],
    axes: &[
        Axis::choice(
            "load",
            "receive",
            Points::Listed { quick: &["receive"], standard: &["send", "both"], thorough: &[] },
        )
        .of_links(),
        Axis::near_and_free("cpus"),
    ],
    blocking: true,
    section: crate::section::NETWORK,
    measure: Measure::Between { service: &echo::UNDER_LOAD, measure },
    ..Probe::PLAIN
};

const IDLE: Quantity = Quantity::given(
    "idle",
    Unit::Nanoseconds,
    Better::Lower,
    Text { en: "round trip without load", zh: "无负载时的往返" },
);
const ADDED: Quantity =
    Quantity::given("added", Unit::Nanoseconds, Better::Lower, Text { en: "added by the load", zh: "负载增加的时间" });
const RATE: Quantity = Quantity::given(
    "rate",
    Unit::BytesPerSecond,
    Better::Higher,
    Text { en: "rate of the bulk flow", zh: "大流量的速率" },
);

fn measure(case: &mut Case) -> Result<()> {
    let far = case.far_end()?.clone();
    let terms = StreamOptions::plain(case.param::<Direction>("load")?);
    let message = case.buffer(terms.message, Pages::Base, None)?;
    let control = connect(&far)?;
    let mut echo = echo::EchoClient::connect(&far)?;
    let (mut idle, mut loaded, mut carried) = (Vec::new(), Vec::new(), None);
    std::thread::scope(|scope| {
        let mut load = None;
        let mut control = Some(control);
        case.timed(|clock| {
            if let Some(control) = control.take() {
                idle = echo.idle(clock)?;
                let flows =
                    Flows::over(scope, &terms, message.bytes(), (std::slice::from_ref(&far), vec![control]), &[])?;
                let look = flows.settle(clock)?;
                load = Some((flows, look));
            }
            let ticks = echo.exchange(clock)?;
            echo::keep(&mut loaded, clock.ns(ticks));
            // What the bulk flow carried is looked at between exchanges; one that broke off has none.
            if let Some((flows, look)) = &mut load {
                carried = look.so_far(flows)?.or(carried);
            }
            Ok(ticks)
        })
        .singly()
        .time()?;
        load.map_or(Ok(()), |(flows, _)| flows.end().map(drop))
    })?;
    let added = median(&loaded).zip(median(&idle)).map(|(loaded, idle)| loaded - idle);
    case.also(IDLE.name, idle)?;
    case.also(ADDED.name, added)?;
    case.also(RATE.name, carried.map(|[received, sent]| (received + sent) * 1e9))
}
