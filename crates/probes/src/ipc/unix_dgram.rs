//! Probe ipc.unix_dgram: a datagram of one byte to another process and back between two socket files.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Unix datagram round trip", zh: "Unix 数据报往返" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    explain: Explain {
        what: Text {
            en: "Two AF_UNIX datagram sockets, each bound to a file in the scratch directory and connected to the \
                 other's. This process writes a datagram of one byte and reads the answer; its child reads it and \
                 writes one back. The value is one round trip. Percentiles as of \
                 ipc.pipe.",
            zh: "两个 AF_UNIX 数据报套接字，各自绑定到临时目录中的一个文件，并连接到对方。本进程写一个一字节\
                 的数据报并读取回应；子进程读到后写回一个。数值是一次往返。分位数同\
                 ipc.pipe。",
        },
        why: Text {
            en: "Logging (syslog, journald) and service notification are Unix datagrams: a message for each line \
                 that a daemon writes.",
            zh: "日志（syslog、journald）和服务通知都是 Unix 数据报：守护进程每写一行就是一条消息。",
        },
        reading: Text {
            en: "Somewhat over ipc.unix_stream, since each datagram also carries its sender's address and wakes \
                 writers that wait for room. A value far above it points to a security module or to packet \
                 filters attached to sockets.",
            zh: "略高于 ipc.unix_stream，因为每个数据报还带有发送者地址，并要唤醒等待空间的写者。若高出很多，\
                 应查看安全模块或附加在套接字上的包过滤程序。",
        },
    },
    axes: &[super::PLACEMENT],
    cross: &[],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &[],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    let directory = case.scratch_dir()?;
    super::round_trip(case, sys::exchange::by_unix_datagram(&other, &directory))
}
