//! Probe net.udp_bandwidth: how fast datagrams come through, and how many are lost, by size, direction and rate.

mod axes;
mod far;
mod messages;
mod near;
mod quantities;

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    title: Text { en: "UDP bandwidth", zh: "UDP 带宽" },
    revision: 2,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: quantities::ALSO,
    explain: Explain {
        what: Text {
            en: "One end sends numbered datagrams of `datagram` bytes (send on a connected socket); the other receives \
                 them one by one (recv). The value is the rate of the bytes that arrived, without headers, by the \
                 receiver's clock, over all of a round. direction: receive (the far end sends) or send (this case sends; the far end \
                 counts). rate_mbit is the number of megabits (10^6) of datagrams sent per second, in bursts of at \
                 most a millisecond; max sends without pause. segmentation=gso lets the kernel cut longer messages \
                 into the same datagrams (UDP_SEGMENT) and merge them for the receiver (UDP_GRO). loss is the share of \
                 datagrams that did not arrive, overrun the part of it for which the receive buffer had no room. held \
                 back is the share of time in which the kernel accepted no datagram from the sender. Datagrams use \
                 loopback unless a peer is named; cpus sets where the ends run. Buffers have the system's default \
                 size.",
            zh: "一端发送大小为 `datagram` 字节、带编号的数据报（在已连接的套接字上 send），另一端逐个接收（recv）。\
                 数值为整轮内到达字节的速率，不计报头，按接收方时钟计算。direction：receive（远端发送）或 send（本用例发送，远端计数）。\
                 rate_mbit：每秒发送的数据报兆比特数（10^6），突发不超过一毫秒；max 为不停地发送。segmentation：gso 由内核把较长的消息切成同样的数据报\
                 （UDP_SEGMENT），并为接收方合并（UDP_GRO）。loss 为未到达数据报的比例，overrun 为其中因接收缓冲区已满而丢失的部分；held back 为内核不接受发送方数据报的时间占比。\
                 若未指定对端，数据报经由环回接口；cpus 表示双方运行的位置。缓冲区为系统默认值。",
        },
        why: Text {
            en: "Media, telemetry and name servers receive one datagram per system call, and nothing slows a sender \
                 that is too fast. What the receiver does not read in time is dropped once its buffer is full.",
            zh: "媒体、遥测和域名服务器每次系统调用接收一个数据报，且没有任何机制让过快的发送方慢下来：接收方来不及取走的，会在缓冲区满时被丢弃。",
        },
        reading: Text {
            en: "Up to a few KiB a datagram costs about the same at any size, so the rate grows with the size. On one \
                 CPU the two take turns; whatever exceeds the buffer within a turn is lost, with the work spent on it. \
                 A buffer of some MiB (SO_RCVBUF, net.core.rmem_default) \
                 bridges such turns and wake-ups; where receiving stays slower than sending, it only delays loss. Over a link: held back near 1 without loss means a queue that \
                 makes the sender wait; loss without held back means a queue that drops. Either way the value is what \
                 the link carries.",
            zh: "几 KiB 以内，一个数据报的代价与大小基本无关，因此速率随之增长。在同一 CPU 上双方轮流运行，一轮中超出缓冲区的部分连同所做的工作一并丢失。数 MiB 的缓冲区（SO_RCVBUF、net.core.rmem_default）\
                 足以度过这样的轮换与唤醒；若接收始终慢于发送，则只能推迟丢失。经过链路时：held back 接近 1 而无丢失，\
                 说明队列让发送方等待；有丢失而不等待，说明队列在丢包；两种情况下数值都是链路所能承载的速率。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 1472 bytes 0.14 to 0.19 GB/s \
                 on one CPU, 100 000 to 130 000 datagrams a second received and 60 % lost; 60 KiB 3.7 to 5.1 GB/s; \
                 0.19 to 0.21 GB/s on two that share a cache. On a Zen 4 guest 50 to 60 % lost with the default \
                 buffer, 22 to 30 % with 1 MiB, and none with 4 or 16 MiB, on one CPU and on two.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：1472 字节同一 CPU 0.14 到 0.19 GB/s，即每秒收到 \
                 100 000 到 130 000 个数据报，丢失 60%；60 KiB 3.7 到 5.1 GB/s；共享缓存的两个 CPU 0.19 到 0.21 GB/s。在 Zen 4 虚拟机上：默认缓冲区丢失 50% 到 60%，1 MiB 丢失 22% 到 30%，\
                 4 或 16 MiB 不丢失，同一 CPU 与两个 CPU 均如此。",
        },
        causes: Text {
            en: "A small receive buffer (net.core.rmem_default: 208 KiB hold some 90 datagrams of 1472 bytes, with \
                 their bookkeeping); packet filters; a receiver that is woken for each datagram; a rate limit or full \
                 queues on the way; datagrams above the path MTU, of which one lost fragment loses all.",
            zh: "接收缓冲区过小（net.core.rmem_default：208 KiB 连同记账只容约 90 个 1472 字节的数据报）；包过滤；每个数据报都要唤醒一次的接收者；途中的限速或队列已满；数据报超过路径 MTU 而分片，丢一片即全丢。",
        },
    },
    related: &["net.udp", "net.tcp_bandwidth"],
    differs: Some(Text {
        en: "bw_udp requests 10 MB at a time and waits for ever if a datagram is lost. It sets what it still expects \
             only once, so later passes receive nothing and still count. hostmark sends without pause by default; the \
             value is what arrived, with loss, jitter and CPU time alongside.",
        zh: "bw_udp 一次要 10 MB，丢失一个数据报就一直等下去；它只设置一次还应接收的字节数，后面各遍什么都不收却照样计数。这里默认发送从不停顿，数值是收到的部分，并给出丢失率、抖动和 CPU 时间。",
    }),
    axes: &[
        Axis::size(
            "datagram",
            "1472",
            Points::Listed {
                quick: &["1472"],
                standard: &["64", "512", "8192", "32768", "61440"],
                thorough: &["16", "256", "1024", "4096", "16384"],
            },
        ),
        super::ENDS,
        axes::DIRECTION,
        axes::RATE,
        axes::SEGMENTATION,
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Thorough, axes: &["direction", "rate_mbit"] },
        FullFactorial { from: Profile::Thorough, axes: &["direction", "segmentation"] },
    ],
    blocking: true,
    limit: Limit::Link,
    replaces: &["bw_udp"],
    section: crate::section::NETWORK,
    measure: Measure::Between { service: &far::SERVICE, measure },
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let (sends, flow) = axes::flow(|axis| case.param(axis))?;
    // A message that the kernel cuts or joins is no longer.
    case.may_fill(1 << 16)?;
    if sends { near::send(case, flow) } else { near::receive(case, flow) }
}
