//! Probe net.tcp_offload: what it is worth that packets pass whole, in network namespaces of its own.

mod offload;

use std::cell::Cell;

use hostmark_engine::prelude::*;
use offload::Offload;

use super::tcp_bandwidth::Receiver;
use crate::context_switches::{ContextSwitches, SWITCHES, WAKE_UPS};
use crate::workloads::network::own_network::{CONGESTION, Device, OwnConnection};

pub static PROBE: Probe = Probe {
    title: Text { en: "TCP segmentation and joining", zh: "TCP 分段与合并" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[
        Quantity::SUSTAINED_BYTES,
        Quantity::given(
            "packet_bytes",
            Unit::Bytes,
            Better::Higher,
            Text { en: "bytes per packet on the interface", zh: "接口上每个包的字节数" },
        ),
        Quantity::given(
            "joined_bytes",
            Unit::Bytes,
            Better::Higher,
            Text { en: "bytes per packet that TCP receives", zh: "TCP 收到的每个包的字节数" },
        ),
        SWITCHES,
        WAKE_UPS,
    ],
    explain: Explain {
        what: Text {
            en: "A process sends messages of 64 KiB over a TCP connection without pause, and the case reads them. The \
                 connection lies in separate network namespaces: over their lo, or over a veth pair between two, with \
                 an MTU of `mtu`. The host's interfaces stay untouched, and the namespaces end with the processes. The \
                 congestion control is reno, which does not pace. offload sets where the stream is cut into packets. \
                 all: nowhere, packets of up to 64 KiB pass whole (TSO). big: the same up to 512 KiB (BIG TCP). \
                 no_tso: at the interface (GSO), and the receiver merges (GRO). no_gso: TCP builds each packet, and \
                 the receiver may merge. no_gro: at the interface, without merging. none: TCP builds each packet, \
                 without merging. lo never merges.",
            zh: "一个进程在 TCP 连接上不停地发送 64 KiB 的消息，由本用例读取。连接位于专用的网络命名空间中：经由其 lo，或经由两个命名空间\
                 之间的一对 veth，MTU 为 `mtu`。主机的接口保持不变，命名空间随进程一起消失。拥塞控制为不限速的 reno。offload 表示在哪里\
                 切分成包。all：不切分，最大 64 KiB 的包整个通过（TSO）。big：同上，最大 512 KiB（BIG TCP）。no_tso：在接口处切分（GSO），\
                 接收方合并（GRO）。no_gso：由 TCP 逐个生成，接收方可以合并。no_gro：在接口处切分，不合并。none：逐个生成，不合并。\
                 lo 从不合并。",
        },
        why: Text {
            en: "Whatever makes packets small makes TCP pay per packet: tunnels, packet filters and virtual switches \
                 that cannot pass large packets, network cards without TSO, offloads switched off for debugging.",
            zh: "凡是让包变小的因素都会使 TCP 按包付出代价：不能传递大包的隧道、包过滤和虚拟交换机，没有 TSO 的网卡，\
                 排障时被关闭的卸载功能。",
        },
        reading: Text {
            en: "Compare values at the same MTU. packet_bytes is the packet size on the interface, joined_bytes the \
                 size that TCP received. Their ratio is what GRO merges, which is only what arrives together. A larger \
                 MTU on lo saves little while packets pass whole. The gap between all and none is the cost of a \
                 tunnel, filter or card that passes only single packets.",
            zh: "请在相同 MTU 下比较。packet_bytes 是通过接口的包大小，joined_bytes 是交给 TCP 的大小，二者之比就是 GRO 合并的程度，\
                 它只合并一起到达的包。只要包能整个通过，lo 上更大的 MTU 省不了多少。all 与 none 之差就是只能传递单个包的隧道、过滤或网卡的代价。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 5, Linux 6.18), MTU 1500 on one CPU: lo 6.6 to 6.8 GB/s, big \
                 7.7 to 8.6, no_gro 1.4 to 1.5, none 0.44 to 0.45; veth 6.4 to 6.5, no_tso 1.6 to 1.8, no_gro 1.0 to 1.3, none \
                 0.40 to 0.41. lo with an MTU of 65536: 9.1 to 9.4.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 5，Linux 6.18）上实测（MTU 1500、同一 CPU）：lo 6.6 到 6.8 GB/s，big 7.7 到 8.6，\
                 no_gro 1.4 到 1.5，none 0.44 到 0.45；veth 6.4 到 6.5，no_tso 1.6 到 1.8，no_gro 1.0 到 1.3，none 0.40 到 0.41。\
                 MTU 为 65536 的 lo：9.1 到 9.4。",
        },
        causes: Text {
            en: "Memory too fragmented for the socket's large buffers; expensive context switches, if each packet is a \
                 turn (switches); a kernel without BIG TCP for IPv4 (before Linux 6.3).",
            zh: "内存碎片过多，套接字得不到大块缓冲区；每个包都轮换一次时上下文切换昂贵（见 switches）；内核没有 IPv4 的 BIG TCP（Linux 6.3 之前）。",
        },
    },
    related: &["net.tcp_bandwidth", "net.udp_bandwidth"],
    axes: &[
        Axis::choice("device", "lo", Points::Listed { quick: &["lo"], standard: &["veth"], thorough: &[] }),
        Axis::choice(
            "offload",
            "all",
            Points::Listed { quick: &["all"], standard: &["big", "no_tso", "no_gso", "no_gro", "none"], thorough: &[] },
        ),
        Axis::count("mtu", "1500", Points::Listed { quick: &["1500"], standard: &["9000", "65536"], thorough: &[] }),
        Axis::placements(
            "cpus",
            "same_cpu",
            Points::Listed {
                quick: &["same_cpu"],
                standard: &["same_cache"],
                thorough: &["smt_sibling", "other_cache", "other_node", "free"],
            },
        ),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["device", "offload"] }],
    blocking: true,
    section: crate::section::NETWORK,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

const MESSAGE_BYTES: u64 = 64 << 10;
/// Bytes of an iteration: the two ends take turns many times, also where a packet costs ten microseconds.
const STEP_BYTES: u64 = 4 << 20;

fn measure(case: &mut Case) -> Result<()> {
    let device = match case.param::<String>("device")?.as_str() {
        "veth" => Device::Veth,
        _ => Device::Lo,
    };
    let offload: Offload = case.param("offload")?;
    if let Some(other) = offload.same_as(device) {
        return Err(RoundError::skipped(
            ReasonCode::NotApplicable,
            format!("lo never joins packets: offload={other} is the same here"),
        ));
    }
    let wanted = offload.wanted(device, case.param("mtu")?);
    let message = case.buffer(MESSAGE_BYTES, Pages::Base, None)?;
    let theirs = crate::ipc::other_party(case)?;
    let connection = OwnConnection::spawn(wanted, message.bytes(), &theirs)
        .map_err(|error| RoundError::lacking("a network of its own cannot be set up so", &error))?;
    let mut receiver = Receiver::of(connection.stream().try_clone().call("fcntl")?, MESSAGE_BYTES)?;
    case.note("congestion_control", CONGESTION);
    let (turns, moved) = (ContextSwitches::with(connection.sender()), Cell::new(0_u64));
    let before = connection.passed()?;
    case.loops(|steps| {
        let bytes = steps * STEP_BYTES;
        turns.moved(bytes);
        moved.set(moved.get() + bytes);
        receiver.receive(bytes).map_err(super::unanswered)
    })
    .rate(STEP_BYTES)?;
    let passed = before.zip(connection.passed()?).map(|(before, after)| after.since(before));
    if let Some(passed) = passed {
        let per = |packets: u64| (packets > 0).then(|| moved.get() as f64 / packets as f64);
        case.also("packet_bytes", per(passed.packets))?;
        case.also("joined_bytes", per(passed.joined))?;
    }
    turns.give(case)
}
