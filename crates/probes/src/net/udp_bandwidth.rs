//! Probe net.udp_bandwidth: how fast datagrams come through, and how many are lost, by size and placement.

mod axes;
mod far;
mod messages;
mod near;
mod quantities;

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "UDP bandwidth", zh: "UDP 带宽" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: quantities::ALSO,
    explain: Explain {
        what: Text {
            en: "A process sends numbered datagrams of `datagram` bytes without pause (send on a connected socket), and the case receives \
                 them one by one (recv). The value is the rate of the bytes that came, without headers; loss is the share of the numbers \
                 that are missing. They go over loopback; cpus says where the two run. The receive buffer is the system's default.",
            zh: "一个进程不停地发送大小为 `datagram` 字节、带编号的数据报（在已连接的套接字上 send），本用例逐个接收（recv）。\
                 数值为到达字节的速率，不计报头；loss 为缺失编号所占的比例。数据报经由环回接口；cpus 表示双方运行的位置。接收缓冲区为系统默认值。",
        },
        why: Text {
            en: "Media, telemetry and name servers receive a datagram with each system call, and nothing slows down a sender that is too \
                 fast: what the receiver does not take in time is dropped where its buffer is full.",
            zh: "媒体、遥测和域名服务器每次系统调用接收一个数据报，且没有任何机制让过快的发送方慢下来：接收方来不及取走的，会在缓冲区满时被丢弃。",
        },
        reading: Text {
            en: "A datagram costs about the same whatever its size up to some KiB, so that the rate grows with it. On \
                 one CPU the two take turns, and what is sent beyond the buffer in one turn is lost, work and all. On \
                 two CPUs loss tells how much faster sending is than receiving; a larger buffer (net.core.rmem_max) \
                 delays loss and does not prevent it.",
            zh: "几 KiB 以内，一个数据报的代价与大小基本无关，因此速率随之增长。在同一 CPU 上双方轮流运行，一轮中超出缓冲区的部分连同所做的工作一并丢失。在两个 CPU 上，\
                 丢失率反映发送比接收快多少；更大的缓冲区（net.core.rmem_max）只能推迟而不能避免丢失。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 1472 bytes 0.14 to 0.19 GB/s \
                 on one CPU, 100 000 to 130 000 datagrams a second received and 60 % lost; 60 KiB 3.7 to 5.1 GB/s; \
                 0.19 to 0.21 GB/s on two of one cache.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：1472 字节同一 CPU 0.14 到 0.19 GB/s，即每秒收到 \
                 100 000 到 130 000 个数据报，丢失 60 %；60 KiB 3.7 到 5.1 GB/s；共享缓存的两个 CPU 0.19 到 0.21 GB/s。",
        },
        causes: Text {
            en: "A small receive buffer (net.core.rmem_default: 208 KiB hold some 90 datagrams of 1472 bytes, with \
                 their bookkeeping); packet filters; a receiver that is woken for each datagram.",
            zh: "接收缓冲区过小（net.core.rmem_default：208 KiB 连同记账只容约 90 个 1472 字节的数据报）；包过滤；每个数据报都要唤醒一次的接收者。",
        },
    },
    related: &["net.udp", "net.tcp_bandwidth"],
    differs: Some(Text {
        en: "bw_udp asks for 10 MB at a time, waits for ever if a datagram is lost, and sets what it still expects \
             only once, so that later passes receive nothing and count. Here sending never pauses, what came is the \
             value, and the loss stands beside.",
        zh: "bw_udp 一次要 10 MB，丢失一个数据报就一直等下去；它只设置一次还应接收的字节数，后面各遍什么都不收却照样计数。这里发送从不停顿，数值是收到的部分，并给出丢失率。",
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
    cross: &[
        Cross { from: Profile::Thorough, axes: &["direction", "rate_mbit"] },
        Cross { from: Profile::Thorough, axes: &["direction", "segmentation"] },
    ],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &["bw_udp"],
    section: crate::section::NETWORK,
    measure: Measure::Between { service: &far::SERVICE, measure },
};

fn measure(case: &mut Case) -> Result<()> {
    let (sends, flow) = axes::flow(|axis| case.param(axis))?;
    // A message that the kernel cuts or joins is no longer.
    case.may_fill(1 << 16)?;
    if sends { near::send(case, flow) } else { near::receive(case, flow) }
}
