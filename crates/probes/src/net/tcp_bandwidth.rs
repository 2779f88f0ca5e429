//! Probe net.tcp_bandwidth: how fast bytes go through TCP connections, by message, method, placement and streams.

mod congestion;
mod quantities;
mod sender;
mod streams;
mod window;

use hostmark_engine::prelude::*;
use quantities::ALSO;
use sender::Sent;
use window::Window;

pub use sender::Receiver;

use crate::door::connect;
use crate::turns::Turns;
use crate::workloads::busy::Busy;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "TCP bandwidth", zh: "TCP 带宽" },
    revision: 2,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: ALSO,
    explain: Explain {
        what: Text {
            en: "A process sends messages over a TCP connection without pause; the case reads them, at most `block` bytes at a time, and \
                 its rate is the value. The connection goes over loopback; Nagle's algorithm is on, as in \
                 a socket that nobody changes. Methods: write (send), sendfile and \
                 splice (pages of a file in memory, splice by way of a pipe), zero_copy (MSG_ZEROCOPY; whether the kernel copied all the \
                 same is noted). cpus says where the two ends run. window: the send and receive buffers (SO_SNDBUF, SO_RCVBUF), the \
                 kernel's own tuning by default; what was obtained is noted. congestion: the sender's congestion control, the system's by \
                 default. With several streams each has a receiving thread and a sending process on a CPU of their own, and the value is \
                 the sum. The CPUs that each end kept busy are the process' CPU time over the time that passed, of one stream.",
            zh: "一个进程在 TCP 连接上不停地发送消息；本用例每次最多读 `block` 字节，其速率即为数值。连接经由环回接口，Nagle 算法开启，与未改动的套接字相同。\
                 方式：write（send）、sendfile 与 splice（内存文件的页面，splice 经由管道）、zero_copy（MSG_ZEROCOPY；会记录内核是否仍然复制）。\
                 cpus 表示两端运行的位置。window：发送与接收缓冲区（SO_SNDBUF、SO_RCVBUF），默认由内核自动调节；会记录实际所得。congestion：\
                 发送方的拥塞控制，默认用系统的。多个流时，每个流的接收线程与发送进程同在自己的 CPU 上，数值为总和。\
                 各端占用的 CPU 数是该进程的 CPU 时间除以经过的时间，仅对单个流给出。",
        },
        why: Text {
            en: "The most that a local proxy, sidecar, replica or backup can move, and the CPU that it takes from the application; over a \
                 network card the same work is done on each host, so that a host which reaches 5 GB/s here spends about half of a CPU \
                 on a full 10 Gbit/s.",
            zh: "这是本机代理、sidecar、副本或备份所能搬运的上限，以及从应用手中拿走的 CPU；经过网卡时每台主机要做同样的工作，\
                 因此这里达到 5 GB/s 的主机，跑满 10 Gbit/s 约需半个 CPU。",
        },
        reading: Text {
            en: "On one CPU sending and receiving share it; on two the wake-ups decide, and the end whose busy CPUs \
                 come to one is the limit. Where congestion=reno is much faster, the system's congestion control paces: it \
                 lets data go by timers. A message of one byte \
                 costs a system call. sendfile and splice save the sender's copy. Over about 1 MiB a message leaves the \
                 cache before it is read.",
            zh: "同一 CPU 上收发共用该 CPU；两个 CPU 上取决于唤醒，占用 CPU 数接近一的那一端就是瓶颈。若 congestion=reno 快得多，说明系统的拥塞控制在限速：\
                 用定时器放行数据。一个字节的消息要付一次系统调用。sendfile 与 splice 省去\
                 发送端的复制。约 1 MiB 以上的消息在被读取前已离开缓存。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), 64 KiB on one CPU: 4.3 to \
                 4.5 GB/s, sendfile and splice 4.8 to 5.1, zero_copy 2.6 to 3.2, one-byte messages 1.3 MB/s; 0.8 to \
                 2.1 GB/s on two of one cache. On one of Zen 5 whose system uses bbr: 3.2 to 3.5 GB/s, with reno 7.8 to 9.6. A Celeron 1037U of 2013 by netcat: 1.07 GB/s.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（64 KiB、同一 CPU）：4.3 到 4.5 GB/s，sendfile \
                 与 splice 4.8 到 5.1，zero_copy 2.6 到 3.2，单字节消息 1.3 MB/s；共享缓存的两个 CPU 0.8 到 2.1 GB/s。在系统使用 bbr 的 Zen 5 虚拟机上：3.2 到 3.5 GB/s，reno 为 7.8 到 9.6。2013 年的 \
                 Celeron 1037U 用 netcat：1.07 GB/s。",
        },
        causes: Text {
            en: "Packet filters and traffic capture; small socket buffers (net.ipv4.tcp_rmem, tcp_wmem); dear \
                 wake-ups on two CPUs; memory that is busy; a congestion control that paces (bbr) over loopback.",
            zh: "包过滤与抓包；套接字缓冲区过小（net.ipv4.tcp_rmem、tcp_wmem）；两个 CPU 上昂贵的唤醒；内存繁忙；在环回接口上限速的拥塞控制（bbr）。",
        },
    },
    related: &["net.tcp_offload", "ipc.unix_bandwidth", "net.tcp", "net.udp_bandwidth", "memory.copy"],
    differs: Some(Text {
        en: "bw_tcp asks for socket buffers of 1 MiB, which ends the kernel's own tuning of them, sends by write \
             alone, and leaves both ends to the scheduler; the summary takes its messages of 10 MiB. Here messages \
             are 64 KiB by default, the placement is named, and the CPU time of both ends stands beside.",
        zh: "bw_tcp 要求 1 MiB 的套接字缓冲区，从而关闭内核的自动调节，只用 write，双方位置由调度器决定；汇总表取其 10 MiB 的消息。这里默认 64 KiB，指明位置，并\
             给出双方的 CPU 时间。",
    }),
    axes: &[
        Axis::size(
            "message",
            "65536",
            Points::Listed {
                quick: &["65536"],
                standard: &["1", "64", "1024", "4096", "16384", "262144", "1048576", "10485760"],
                thorough: &["8192", "32768", "131072", "4194304"],
            },
        ),
        sender::METHOD,
        Axis::near_and_free("cpus"),
        Axis::threads("streams", Points::OfHost(streams::points)),
        window::AXIS,
        congestion::AXIS,
        window::BLOCK,
    ],
    cross: &[
        Cross { from: Profile::Thorough, axes: &["message", "method"] },
        Cross { from: Profile::Standard, axes: &["window", "cpus"] },
        Cross { from: Profile::Standard, axes: &["congestion", "cpus"] },
        Cross { from: Profile::Thorough, axes: &["window", "congestion"] },
    ],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &["bw_tcp"],
    section: crate::section::NETWORK,
    measure: Measure::Between { service: &sender::SENDER, measure },
};

/// Bytes of an iteration at most.
const LONGEST_STEP: u64 = 64 << 20;

fn measure(case: &mut Case) -> Result<()> {
    let message: u64 = case.param("message")?;
    // Two ends on one CPU take turns of some milliseconds: an iteration has many of them, at any rate that is usual.
    let step = (message << 16).min(LONGEST_STEP);
    let (senders, window, block) = (case.far_ends().to_vec(), case.param::<Window>("window")?, case.param("block")?);
    case.may_fill(u64::saturating_mul(block, senders.len() as u64))?;
    let [sender] = senders.as_slice() else {
        let (first, congestion) = Receiver::connect(case.far_end()?, window, block)?;
        case.note("congestion_control", congestion);
        case.note("receive_buffer_bytes", first.receive_buffer()?);
        drop(first);
        let cpus = case.thread_cpus();
        return streams::measure(case, &cpus, step, &senders);
    };
    let account = connect(sender)?;
    let (mut receiver, congestion) = Receiver::connect(sender, window, block)?;
    case.note("congestion_control", congestion);
    let (mut busy, turns) = (Busy::default(), Turns::of_this_side());
    case.rate(step, |steps| -> Result<()> {
        let bytes = steps.saturating_mul(step);
        turns.moved(bytes);
        busy.begin()?;
        receiver.receive(bytes).map_err(super::unanswered)?;
        Ok(busy.end()?)
    })?;
    case.note("receive_buffer_bytes", receiver.receive_buffer()?);
    // Its end is that of what the sender accounts for.
    drop(receiver);
    let told = Sent::heard(account).map_err(super::unanswered)?;
    told.note(case);
    let sent = told.account;
    turns.give_beside(case, sent.switches)?;
    case.also("sender_cpus", sent.cpus())?;
    case.also("receiver_cpus", busy.cpus())
}
