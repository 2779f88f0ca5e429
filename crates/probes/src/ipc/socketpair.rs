//! Probe ipc.socketpair: a byte to another process and back through a pair of unnamed sockets, by their type.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Socket pair round trip", zh: "套接字对往返" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    explain: Explain {
        what: Text {
            en: "As ipc.unix_stream, but socketpair(2) makes the two sockets, which never have a name. type=stream \
                 keeps the byte order; dgram keeps message boundaries; seqpacket keeps both on a connection. The value \
                 is one round trip of one byte. Percentiles as for ipc.pipe.",
            zh: "与 ipc.unix_stream 相同，但两个套接字由 socketpair(2) 创建，从未有过名字。type：stream 保持字节顺序，\
                 dgram 保持消息边界，seqpacket 是保持消息边界的连接。数值是一个字节的一次往返。分位数同 ipc.pipe。",
        },
        why: Text {
            en: "Parents talk this way to children that they start: browsers to renderers, servers to workers, \
                 programs with separated privileges.",
            zh: "父进程与自己启动的子进程就这样通信：浏览器与渲染进程、服务器与工作进程、特权分离的程序。",
        },
        reading: Text {
            en: "As ipc.unix_stream: once connected, named and unnamed sockets do the same work. A difference is \
                 noise, or a security module that looks at paths. The message types cost a little less than the \
                 stream.",
            zh: "与 ipc.unix_stream 相同：连接之后，有名字与没有名字的套接字所做的事一样。两者若有差别，则是噪声，或是检查路径的安全模块。消息类型比流略便宜。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), one CPU: stream 5.4 µs, \
                 dgram and seqpacket 4.6.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（同一个 CPU）：stream 5.4 µs，dgram 与 \
                 seqpacket 4.6。",
        },
        causes: Text { en: "As for ipc.unix_stream.", zh: "同 ipc.unix_stream。" },
    },
    related: &["ipc.unix_stream", "ipc.unix_dgram", "ipc.pipe"],
    differs: Some(Text {
        en: "The same as lat_unix, with the placement of both ends named.",
        zh: "与 lat_unix 相同，但指明双方所在的 CPU。",
    }),
    axes: &[
        Axis::choice(
            "type",
            "stream",
            Points::Listed { quick: &["stream"], standard: &["dgram", "seqpacket"], thorough: &[] },
        ),
        super::PLACEMENT,
    ],
    limit: Limit::HandOvers(2),
    blocking: true,
    replaces: &["lat_unix"],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    use crate::workloads::handover::exchange::SocketKind;
    let kind = match case.param::<String>("type")?.as_str() {
        "dgram" => SocketKind::Datagram,
        "seqpacket" => SocketKind::SeqPacket,
        _ => SocketKind::Stream,
    };
    let other = super::other_party(case)?;
    super::round_trip(case, workloads::handover::exchange::by_socket_pair(&other, kind))
}
