//! Probe syscall.epoll: asking once about many descriptors.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "epoll", zh: "多路等待 epoll" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "epoll_pwait by the system-call instruction over a number of descriptors of one open file, to read, with a timeout of \
                 zero: the kernel looks, answers and does not wait. kind=tcp: a TCP connection over loopback on which nothing \
                 has come; kind=pipe: the read end of a pipe with a byte in it, so that all are ready. Regular files \
                 epoll refuses.",
            zh: "用系统调用指令对同一打开文件的若干描述符执行 epoll_pwait（可读，超时为零）：内核查看、回答，不等待。kind=tcp：没有数据到达的\
                 回环 TCP 连接；kind=pipe：一个有一字节可读的管道读端，全部就绪。普通文件会被 epoll 拒绝。",
        },
        why: Text {
            en: "Servers with many connections wait so: the kernel keeps the list of what is ready, and a call costs as much as \
                 what has come, not as much as what is watched.",
            zh: "连接很多的服务器这样等待：内核自己维护就绪列表，一次调用的代价取决于到来的事件，而不是被监视的数量。",
        },
        reading: Text {
            en: "kind=tcp, with nothing ready, should not depend on the number of descriptors: 1.1 to 2 times syscall.null. \
                 kind=pipe, with all ready, grows by 20 to 60 ns for each event that is handed out.",
            zh: "kind=tcp 没有就绪者，应与描述符数量无关：为 syscall.null 的 1.1 到 2 倍。kind=pipe 全部就绪，每交付一个事件增加 20 到 60 ns。",
        },
    },
    axes: &[super::DESCRIPTORS, KIND],
    cross: &[],
    limit: Limit::CyclesPerOp,
    blocking: false,
    needs: &[],
    replaces: &["lat_select"],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
};

/// What epoll can watch.
const KIND: Axis =
    Axis { points: Points::Listed { quick: &["tcp"], standard: &["pipe"], thorough: &[] }, ..super::KIND };

fn measure(case: &mut Case) -> Result<()> {
    let set = super::descriptors(case)?;
    let mut epoll = set.epoll()?;
    let ask = || epoll.ask();
    case.time(ask)
}
