//! Probe net.rpc_udp: a remote procedure that does nothing is called by datagrams.

use std::io;

use hostmark_engine::prelude::*;

use super::udp::questions::{self, Question};
use crate::authenticated::receive;
use crate::kernels::rpc::{LONGEST_MESSAGE, answer, check_reply, null_call};

pub static PROBE: Probe = Probe {
    title: Text { en: "RPC over UDP", zh: "UDP 上的 RPC" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: questions::ALSO,
    explain: Explain {
        what: Text {
            en: "A client calls the null procedure of a server with ONC RPC (RFC 5531): a request datagram of 40 bytes \
                 (call, empty credentials) and a reply of 24. Both sides are hostmark's own code; they encode, decode \
                 and check every field, and need no rpcbind. The datagrams use loopback; cpus sets where the two run. \
                 The value is the median; percentiles cover all calls. A call without a timely answer is sent again \
                 and counts as lost, as in net.udp.",
            zh: "客户端通过 ONC RPC（RFC 5531）调用服务器的空过程：去程为 40 字节的数据报（调用、空凭证），回程 24 字节。\
                 双方均为 hostmark 自己的实现，对每个字段编码、解码并检查，不需要 rpcbind。数据报经由环回接口；cpus 表示客户端与服务器运行的位置。\
                 数值为中位数，分位数取自全部调用。未及时得到回答的调用会重新发起并算作丢失，同 net.udp。",
        },
        why: Text {
            en: "Port mappers, lock managers and old NFS use this protocol. Compared with net.udp it shows the cost of \
                 the messages themselves.",
            zh: "端口映射、锁管理和旧版 NFS 使用这一协议；与 net.udp 对照可看出消息本身的代价。",
        },
        reading: Text {
            en: "A few per cent above net.udp at the same placement, for encoding and checking datagrams of 40 and 24 \
                 bytes.",
            zh: "相同位置下比 net.udp 高几个百分点：要编码并检查 40 与 24 字节的数据报。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 6.6 to 6.7 µs on one CPU, 1 \
                 to 2 % above net.udp.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：同一 CPU 6.6 到 6.7 µs，比 net.udp 高 1 到 2 \
                 %。",
        },
        causes: Text { en: "As for net.udp.", zh: "同 net.udp。" },
    },
    related: &["net.udp", "net.rpc_tcp"],
    differs: Some(Text {
        en: "As for net.rpc_tcp. lat_rpc also repeats a call after 2.5 ms, and its mean includes that wait.",
        zh: "同 net.rpc_tcp；lat_rpc 还会在 2.5 ms 后重发，等待的时间混入其平均值。",
    }),
    axes: &[super::ENDS],
    limit: Limit::HandOvers(2),
    blocking: true,
    replaces: &["lat_rpc"],
    section: crate::section::NETWORK,
    measure: Measure::Between { service: &SERVICE, measure },
    ..Probe::PLAIN
};

static SERVICE: Service = Service { name: "rpc_udp", serve };

/// Answers its client's calls; what is no call has no answer.
fn serve(serving: &mut Serving) -> Result<()> {
    let admitted = receive(serving)?;
    let mut message = [0; LONGEST_MESSAGE];
    loop {
        let (bytes, client) = admitted.receive(&mut message)?;
        if let Ok(answer) = answer(&message[..bytes]) {
            admitted.socket().send_to(answer.bytes(), client).call("sendto")?;
        }
    }
}

fn measure(case: &mut Case) -> Result<()> {
    questions::measure::<NullCall>(case)
}

/// The call of the null procedure; its number is the transaction's.
struct NullCall;

impl Question for NullCall {
    type Number = u32;

    fn numbered(count: u64) -> u32 {
        count as u32
    }

    fn write(number: u32) -> impl AsRef<[u8]> {
        null_call(number)
    }

    fn read(answer: &[u8]) -> io::Result<u32> {
        let transaction = answer.first_chunk().map_or(0, |number| u32::from_be_bytes(*number));
        Ok(check_reply(answer, transaction).map(|()| transaction)?)
    }
}
