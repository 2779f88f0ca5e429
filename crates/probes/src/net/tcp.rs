//! Probe net.tcp: a byte goes to a server over a TCP connection, and one comes back.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "TCP round trip", zh: "TCP 往返" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P90, Quantity::P99, Quantity::P999],
    explain: Explain {
        what: Text {
            en: "A client sends one byte over a TCP connection that stands (TCP_NODELAY), the server, a process of its own, sends it \
                 back, and the client reads it: four system calls and two wake-ups. The connection goes over loopback; cpus says \
                 where the two run. Each round trip is timed by itself: the value is the median, the percentiles are over all.",
            zh: "客户端在已建立的 TCP 连接（TCP_NODELAY）上发送一个字节，作为独立进程的服务器把它发回，客户端读到它：共四次系统调用、\
                 两次唤醒。连接经由环回接口；cpus 表示双方运行的位置。每次往返单独计时：数值为中位数，分位数取自全部往返。",
        },
        why: Text {
            en: "It is the floor under every request to a local database, cache, proxy or sidecar: the protocol stack down and up on \
                 both sides and the scheduler between, without any work of the application.",
            zh: "这是访问本机数据库、缓存、代理或 sidecar 的每个请求的下限：双方协议栈的下行与上行，加上其间的调度，不含应用自身的工作。",
        },
        reading: Text {
            en: "8 to 15 µs on one CPU, of which two context switches are 2 to 3 µs; a pipe takes a third to a half (ipc.pipe). On two \
                 CPUs the wake-up of the other decides: 10 to 20 µs on an idle server, 30 to 100 µs where it must leave a deep idle \
                 state or is a guest's that its hypervisor has to wake. Packet filters (iptables, nftables), security modules and \
                 traffic capture add to each of the four passes.",
            zh: "同一 CPU 上为 8 到 15 µs，其中两次上下文切换占 2 到 3 µs；管道只需其三分之一到一半（ipc.pipe）。在两个 CPU 上取决于唤醒对方的代价：\
                 空闲的服务器上 10 到 20 µs；若需退出较深的空闲状态，或须由虚拟机监控程序唤醒虚拟 CPU，则为 30 到 100 µs。\
                 包过滤（iptables、nftables）、安全模块和抓包会加在四次穿越的每一次上。",
        },
    },
    axes: &[super::ENDS, Axis::copies(Profile::Standard)],
    cross: &[],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &["lat_tcp"],
    section: crate::section::NETWORK,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let (listener, address) = super::listen()?;
    let _server = super::far_end(case, move || super::serve(&listener, echo))?;
    let mut stream = super::connect(address)?;
    let mut sent = 0_u8;
    super::exchanges(case, || {
        sent = sent.wrapping_add(1);
        stream.write_all(&[sent])?;
        let mut back = [0];
        stream.read_exact(&mut back)?;
        if back == [sent] { Ok(()) } else { Err(super::wrong_answer()) }
    })
}

/// Sends back each byte until the client is gone.
fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut byte = [0];
    loop {
        stream.read_exact(&mut byte)?;
        stream.write_all(&byte)?;
    }
}
