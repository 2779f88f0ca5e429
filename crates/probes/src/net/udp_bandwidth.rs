//! Probe net.udp_bandwidth: how fast datagrams come through, and how many are lost, by size and placement.

use std::io;
use std::net::UdpSocket;

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "UDP bandwidth", zh: "UDP 带宽" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity {
        name: "loss",
        unit: Unit::Ratio,
        better: Better::Lower,
        title: Text { en: "share of datagrams lost", zh: "数据报丢失率" },
    }],
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
            en: "0.3 to 1 million datagrams a second, whatever their size up to some KiB: 0.5 to 1.5 GB/s at 1472 bytes, the most that an \
                 Ethernet frame holds; 3 to 6 GB/s at 60 KiB, as loopback takes 64 KiB whole. On one CPU the two take turns, and what is \
                 sent beyond the buffer in one turn is lost, work and all. On two CPUs loss tells how much faster sending is than \
                 receiving; a larger buffer (net.core.rmem_max) delays loss and does not prevent it.",
            zh: "每秒 30 万到 100 万个数据报，几 KiB 以内与大小无关：1472 字节（一个以太网帧所能容纳的最大值）时为 0.5 到 1.5 GB/s；\
                 60 KiB 时为 3 到 6 GB/s，因为环回接口可整体通过 64 KiB。在同一 CPU 上双方轮流运行，一轮中超出缓冲区的部分连同所做的工作一并丢失。\
                 在两个 CPU 上，丢失率反映发送比接收快多少；更大的缓冲区（net.core.rmem_max）只能推迟而不能避免丢失。",
        },
    },
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
    ],
    cross: &[],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &["bw_udp"],
    section: crate::section::NETWORK,
    measure: Measure::Run(measure),
};

/// Datagrams of an iteration: two ends on one CPU take turns of some milliseconds, and an iteration has many of them.
const MOST: u64 = 1 << 12;
const LEAST: u64 = 1 << 8;
const STEP_BYTES: u64 = 4 << 20;

fn measure(case: &mut Case) -> Result<()> {
    let datagram: u64 = case.param("datagram")?;
    if datagram < size_of::<u64>() as u64 {
        return Err(Stop::skipped("a datagram has its number in it, 8 bytes"));
    }
    let mut message = vec![1; usize::try_from(datagram).map_err(Stop::skipped)?];
    let (socket, address) = super::receive()?;
    let mut block = message.clone();
    let _sender = super::far_end(case, move || send_for_ever(&socket, &mut message))?;
    let socket = super::correspond(address)?;
    socket.send(&[0])?;
    let count = (STEP_BYTES / datagram).clamp(LEAST, MOST);
    let (mut first, mut last, mut received) = (None, 0, 0_u64);
    let mut failed = None;
    case.rate(count * datagram, |steps| {
        for _ in 0..steps * count {
            match receive(&socket, &mut block) {
                Ok(number) => {
                    first = first.or(Some(number));
                    (last, received) = (number, received + 1);
                }
                Err(error) => return failed = Some(error),
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(super::unanswered(error));
    }
    let sent = last - first.unwrap_or(last) + 1;
    case.also("loss", [sent.saturating_sub(received) as f64 / sent as f64])
}

/// Receives one datagram, whole, and tells its number.
fn receive(socket: &UdpSocket, block: &mut [u8]) -> io::Result<u64> {
    match (socket.recv(block)?, block.first_chunk()) {
        (bytes, Some(number)) if bytes == block.len() => Ok(u64::from_le_bytes(*number)),
        _ => Err(super::wrong_answer()),
    }
}

/// Waits for a client, then sends it numbered copies of `message` until it is gone.
fn send_for_ever(socket: &UdpSocket, message: &mut [u8]) -> io::Result<()> {
    let (_, client) = socket.recv_from(&mut [0])?;
    socket.connect(client)?;
    for number in 0_u64.. {
        message[..8].copy_from_slice(&number.to_le_bytes());
        socket.send(message)?;
    }
    Ok(())
}
