//! Probe syscall.epoll: asking once about many descriptors.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    title: Text { en: "epoll", zh: "多路等待 epoll" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "epoll_pwait is called on a number of descriptors of one open file, \
                 for reading, with a timeout of zero: the kernel checks and returns without waiting. kind=tcp is a \
                 loopback TCP connection with no data; kind=pipe the read end of a pipe with a byte in it, so all are \
                 ready. epoll refuses regular files.",
            zh: "对同一打开文件的若干描述符调用 epoll_pwait（可读，超时为零）：内核检查后立即返回，不等\
                 待。kind=tcp：没有数据到达的回环 TCP 连接；kind=pipe：一个有一字节可读的管道读端，全部就绪。普通文件\
                 会被 epoll 拒绝。",
        },
        why: Text {
            en: "Servers with many connections wait this way. The kernel keeps the list of ready descriptors, so the \
                 cost of a call depends on the events that came, not on the number watched.",
            zh: "连接很多的服务器这样等待：内核自己维护就绪列表，一次调用的代价取决于到来的事件，而不是被监视的数量。",
        },
        reading: Text {
            en: "kind=tcp, with nothing ready, should not depend on the number of descriptors. kind=pipe, with all \
                 ready, grows with each reported event: the kernel asks the file again, copies 12 bytes and queues it \
                 again.",
            zh: "kind=tcp 没有就绪者，应与描述符数量无关。kind=pipe 全部就绪，随每个交付的事件增长：内核要再问一次文件，复制 12 字节并重新排队。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): nothing ready 99 to 101 ns \
                 with 10 descriptors and with 100, 1.1 times syscall.null; 100 events 6.0 µs, 60 ns each.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：没有就绪时，10 个和 100 个描述符都是 99 到 101 ns，为 \
                 syscall.null 的 1.1 倍；100 个事件 6.0 µs，每个 60 ns。",
        },
        causes: Text {
            en: "Level-triggered descriptors that stay ready, which every call reports again; one epoll set shared by \
                 many threads, which contend for its lock; seccomp filters.",
            zh: "一直就绪的水平触发描述符，每次调用都会交付；多个线程共用一个 epoll 集合而争抢其锁；seccomp 过滤器。",
        },
    },
    related: &["syscall.poll", "syscall.select", "syscall.io_uring"],
    differs: Some(Text {
        en: "lmbench has no epoll. Next to lat_select this shows what the newer interface saves on the same \
             descriptors.",
        zh: "lmbench 没有 epoll；放在 lat_select 旁边，显示较新的接口在同样的描述符上能省多少。",
    }),
    axes: &[super::DESCRIPTORS, KIND],
    limit: Limit::KernelEntry,
    replaces: &["lat_select"],
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// What epoll can watch.
const KIND: Axis =
    Axis { points: Points::Listed { quick: &["tcp"], standard: &["pipe"], thorough: &[] }, ..super::KIND };

fn measure(case: &mut Case) -> Result<()> {
    let set = super::descriptors(case)?;
    let mut epoll = set.epoll()?;
    let ask = || epoll.ask();
    case.calls(ask).time()
}
