//! Probe net.rpc_tcp: a remote procedure that does nothing is called over a TCP connection.

use std::io;
use std::net::TcpStream;

use hostmark_engine::prelude::*;

use crate::authenticated::{AuthenticatedListener, connect};
use crate::kernels::rpc::{RecordReader, answer, check_reply, null_call, write_record};

pub static PROBE: Probe = Probe {
    title: Text { en: "RPC over TCP", zh: "TCP 上的 RPC" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    explain: Explain {
        what: Text {
            en: "A client calls the null procedure of a server with ONC RPC (RFC 5531) over an established TCP \
                 connection: a request record of 44 bytes (record mark, call, empty credentials) and a reply of 28. \
                 Both sides are hostmark's own code; they encode, decode and check every field, and need no rpcbind. \
                 The connection uses loopback; cpus sets where the two run. The value is the median; percentiles cover \
                 all calls.",
            zh: "客户端通过 ONC RPC（RFC 5531）在已建立的 TCP 连接上调用服务器的空过程：去程为 44 字节的记录（记录标记、调用、空凭证），\
                 回程 28 字节。双方均为 hostmark 自己的实现，对每个字段编码、解码并检查，不需要 rpcbind。连接经由环回接口；\
                 cpus 表示客户端与服务器运行的位置。数值为中位数，分位数取自全部调用。",
        },
        why: Text {
            en: "NFS and other services use this protocol. Compared with net.tcp it shows the cost of the messages \
                 themselves, which is small next to the network stack and the scheduler. What RPC libraries add \
                 (allocation, field streams, locks) is not included.",
            zh: "NFS 等服务使用这一协议；与 net.tcp 对照可看出消息本身的代价，相对于网络栈和调度而言很小。\
                 程序库在此之上增加的开销（内存分配、逐字段的流、锁）属于程序库，不计入其中。",
        },
        reading: Text {
            en: "A few per cent above net.tcp at the same placement, for encoding and checking records of 44 and 28 \
                 bytes.",
            zh: "相同位置下比 net.tcp 高几个百分点：要编码并检查 44 与 28 字节的记录。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 8.3 to 8.5 µs on one CPU, 3 % \
                 above net.tcp; 16 to 25 µs on two that share a cache.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：同一 CPU 8.3 到 8.5 µs，比 net.tcp 高 3%；共享缓\
                 存的两个 CPU 16 到 25 µs。",
        },
        causes: Text { en: "As for net.tcp.", zh: "同 net.tcp。" },
    },
    related: &["net.tcp", "net.rpc_udp", "net.http"],
    differs: Some(Text {
        en: "lat_rpc uses the C library's RPC, which polls before it reads and whose server calls select. It needs a \
             portmapper and sends a character there and back. hostmark calls the null procedure with its own client \
             and server. lmbench's value is higher by the library's work.",
        zh: "lat_rpc 经过 C 库的 RPC（读之前先 poll，服务器端用 select），需要 portmapper，并来回传一个字符；这里是空过程，客户端与服务器都是本项目自己的。\
             lmbench 的数值高出库所做的部分。",
    }),
    axes: &[super::ENDS],
    limit: Limit::HandOvers(2),
    blocking: true,
    replaces: &["lat_rpc"],
    section: crate::section::NETWORK,
    measure: Measure::Between { service: &SERVICE, measure },
    ..Probe::PLAIN
};

static SERVICE: Service = Service { name: "rpc_tcp", serve };

fn serve(serving: &mut Serving) -> Result<()> {
    Ok(AuthenticatedListener::open(serving)?.serve(session)?)
}

fn measure(case: &mut Case) -> Result<()> {
    let mut records = RecordReader::new(connect(case.far_end()?)?);
    let mut transaction = 0_u32;
    super::exchanges(case, || {
        transaction = transaction.wrapping_add(1);
        write_record(records.stream(), &null_call(transaction))?;
        Ok(check_reply(records.message()?, transaction)?)
    })
}

/// Answers calls until the client is gone.
fn session(stream: TcpStream) -> io::Result<()> {
    let mut records = RecordReader::new(stream);
    loop {
        let answer = answer(records.message()?)?;
        write_record(records.stream(), answer.bytes())?;
    }
}
