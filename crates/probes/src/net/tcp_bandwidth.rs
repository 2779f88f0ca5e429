//! Probe net.tcp_bandwidth: how fast bytes go through TCP connections, by direction, message, method, placement and streams.

mod account;
mod congestion;
mod direction;
mod far;
mod flows;
mod measure;
mod method;
mod quantities;
mod receiver;
mod settle;
mod terms;
mod window;

use hostmark_engine::prelude::*;
use measure::measure;
use quantities::ALSO;

pub use direction::Direction;
pub use far::StreamsFarEnd;
pub use flows::Flows;
pub use receiver::Receiver;
pub use terms::StreamOptions;

pub static PROBE: Probe = Probe {
    title: Text { en: "TCP bandwidth", zh: "TCP 带宽" },
    revision: 2,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: ALSO,
    explain: Explain {
        what: Text {
            en: "One process sends messages of `message` bytes over a TCP connection without pause; the other reads \
                 them, at most `block` bytes at a time. The value is the rate of received bytes, by the receiver's clock, over all of a \
                 round after the stream has reached its rate. Bytes count when they arrive, not when they are read. direction sets the sender: the far end (receive), this case (send; the far end reports on \
                 the same connection how much has arrived), or both at once over one connection each, whose rates \
                 are added. The connection uses loopback or goes to another host; Nagle's algorithm is on, as by \
                 default. method: write (send(2)), sendfile and splice (pages of a file in memory; splice goes \
                 through a pipe), zero_copy (MSG_ZEROCOPY; a note shows whether the kernel copied anyway). cpus sets \
                 where the two ends run. window sets SO_SNDBUF and SO_RCVBUF; by default the kernel tunes them, and \
                 a note shows the result. congestion is the sender's congestion control, by default the system's. \
                 With several streams both ends of each share a CPU, and the value is the sum; more streams than CPUs \
                 take these in turn, and a note shows how many share one. Before the first sample the stream has up \
                 to 3 s to reach its rate. TCP_INFO values come from the sender at the end: retransmits are summed, the others averaged.",
            zh: "一个进程在 TCP 连接上不停地发送 `message` 字节的消息，另一个读取，每次最多 `block` 字节。数值是收到\
                 的字节的速率，按接收方的时钟计，取流达到稳定速率之后的整轮；字节在到达时计入，而不是在读取时。direction 表示谁发送：远端（receive）、本用例（send；远端在同一连接\
                 上告知已收到多少），或两者同时各用一条连接（both），速率相加。经由环回接口，或连到另一台主机；Nagle \
                 算法开启，与未改动的套接字相同。method：write（send(2)）、sendfile 与 splice（内存文件的页面，\
                 splice 经由管道）、zero_copy（MSG_ZEROCOPY；会记录内核是否仍然复制）。cpus 表示两端运行的位置。\
                 window：SO_SNDBUF、SO_RCVBUF，默认由内核自动调节；会记录实际所得。congestion：发送方的拥塞控制，默\
                 认用系统的。有多个流时，每个流的两端共用一个 CPU；流多于 CPU 时依次分配，并记录几个流共用一个 CPU；数值为各流速率之和。第一个样本之\
                 前先等各流速率达到稳定，最多 3 s。TCP 自身的数据（TCP_INFO）取自发送方，在结束时读取：重传数为各连\
                 接之和，其余为平均值。",
        },
        why: Text {
            en: "This is the most that a local proxy, sidecar, replication or backup can move, and it shows the CPU \
                 time that moving data takes from the application. Over a network card each host does the work of \
                 one end, and its driver and interrupts come on top: if one CPU does both ends at 5 GB/s, a full 10 \
                 Gbit/s (1.25 GB/s) costs a quarter of a CPU for both hosts together, and more than half of that the \
                 receiver.",
            zh: "这是本机代理、sidecar、数据复制或备份搬运数据的速率上限，也反映搬运数据会从应用那里占去多少 CPU。经\
                 过网卡时，两台主机各承担一端的工作，另加驱动与中断：若一个 CPU 兼顾两端达到 5 GB/s，跑满 10 Gbit/s\
                 （1.25 GB/s）两台主机合计约需四分之一个 CPU，其中接收方占一半以上。",
        },
        reading: Text {
            en: "One CPU is shared by sending and receiving. On two, the wake-ups dominate, and the end that keeps \
                 about one CPU busy is the bottleneck. Over a link: retransmits mean loss; a large share of time \
                 limited by the receiver's window, a receive buffer that is too small for the round trip; one \
                 limited by the send buffer, a send buffer that is too small; the round trip under load minus the \
                 shortest one is the queue that the stream fills. If congestion=reno is much faster, the system's \
                 congestion control paces: it releases data by timers. A one-byte message costs a system call. \
                 sendfile and splice save the sender's copy. Above about 1 MiB a message leaves the cache before it \
                 is read.",
            zh: "同一 CPU 上收发共用该 CPU；两个 CPU 上取决于唤醒，占用 CPU 数接近一的那一端就是瓶颈。经过链路时：重\
                 传表示丢包，受接收窗口限制的时间份额大，表示接收缓冲区相对往返时间过小；受发送缓冲区限制的份额大，\
                 表示发送缓冲区过小；负载下的往返时间超过最短往返时间的部分，是流所填满的队列。若 congestion=reno 快\
                 得多，说明系统的拥塞控制在限速（pacing）：由定时器控制每次放出多少数据。消息只有一个字节时，每个字\
                 节都要付出一次系统调用。sendfile 与 splice 省去发送端的复制。约 1 MiB 以上的消息在被读取前已离开缓\
                 存。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), 64 KiB on one CPU: 4.3 to 4.5 \
                 GB/s, sendfile and splice 4.8 to 5.1, zero_copy 2.6 to 3.2, one-byte messages 1.3 MB/s; 0.8 to 2.1 \
                 GB/s on two that share a cache. On a Zen 5 guest whose system uses bbr: 3.2 to 3.5 GB/s, with reno \
                 7.8 to 9.6. A Celeron 1037U of 2013 by netcat: 1.07 GB/s.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（64 KiB、同一 CPU）：4.3 到 \
                 4.5 GB/s，sendfile 与 splice 4.8 到 5.1，zero_copy 2.6 到 3.2，单字节消息 1.3 MB/s；共享缓存的两个 \
                 CPU 0.8 到 2.1 GB/s。在系统使用 bbr 的 Zen 5 虚拟机上：3.2 到 3.5 GB/s，reno 为 7.8 到 9.6。2013 年\
                 的 Celeron 1037U 用 netcat：1.07 GB/s。",
        },
        causes: Text {
            en: "Packet filters and traffic capture; small socket buffers (net.ipv4.tcp_rmem, tcp_wmem); expensive \
                 wake-ups on two CPUs; busy memory; over loopback, a congestion control that paces (bbr); over a rate limit, a \
                 token bucket (tbf) whose burst lasts less than a millisecond, above all in both directions at once.",
            zh: "包过滤与抓包；套接字缓冲区过小（net.ipv4.tcp_rmem、tcp_wmem）；两个 CPU 上昂贵的唤醒；内存繁忙；在\
                 环回接口上限速的拥塞控制（bbr）；经过限速时，burst 不足一毫秒的令牌桶（tbf），双向同时尤甚。",
        },
    },
    related: &["net.rate_latency", "net.tcp_offload", "ipc.unix_bandwidth", "net.tcp", "net.udp_bandwidth"],
    differs: Some(Text {
        en: "bw_tcp requests socket buffers of 1 MiB, which switches off the kernel's tuning, sends with write only, \
             and leaves both ends to the scheduler. The summary uses its messages of 10 MiB. hostmark's messages are \
             64 KiB by default; it names the placement and shows the CPU time of both ends.",
        zh: "bw_tcp 要求 1 MiB 的套接字缓冲区，从而关闭内核的自动调节，只用 write，双方位置由调度器决定；汇总表取其 \
             10 MiB 的消息。这里默认 64 KiB，指明位置，并给出双方的 CPU 时间。",
    }),
    axes: &[
        Axis::size(
            "message",
            "65536",
            Points::Listed {
                quick: &["65536"],
                standard: &["1", "64", "1024", "4096", "16384", "131072", "262144", "1048576", "10485760"],
                thorough: &["8192", "32768", "4194304"],
            },
        ),
        direction::AXIS,
        method::AXIS,
        Axis::near_and_free("cpus"),
        Axis::threads("streams", Points::OfHost(streams)).sharing_cpus(flows::PER_CPU),
        window::AXIS,
        congestion::AXIS,
        window::BLOCK,
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Thorough, axes: &["message", "method"] },
        FullFactorial { from: Profile::Standard, axes: &["direction", "streams"] },
        FullFactorial { from: Profile::Thorough, axes: &["direction", "method"] },
        FullFactorial { from: Profile::Standard, axes: &["window", "cpus"] },
        FullFactorial { from: Profile::Standard, axes: &["congestion", "cpus"] },
        FullFactorial { from: Profile::Thorough, axes: &["window", "congestion"] },
    ],
    blocking: true,
    limit: Limit::Link,
    replaces: &["bw_tcp"],
    section: crate::section::NETWORK,
    measure: Measure::Between { service: &far::STREAMS, measure },
    ..Probe::PLAIN
};

/// How many streams, by profile: powers of two, and as many as there are CPUs.
fn streams(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let all = host.usable_cpus().len() as u64;
    let powers = (1..u64::BITS).map(|power| 1 << power).take_while(|&streams| streams < all);
    match profile {
        Profile::Quick => vec![1],
        _ => [1].into_iter().chain(powers).chain([all.max(1)]).collect(),
    }
}
