//! Probe syscall.select: asking once about many descriptors.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    title: Text { en: "select", zh: "多路等待 select" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "pselect6 is called on a number of descriptors of one open file, for \
                 reading, with a timeout of zero: the kernel checks them and returns without waiting. kind=tcp is a \
                 loopback TCP connection with no data; kind=file a regular file, which is always ready, so the kernel \
                 does not even call it; kind=pipe the read end of a pipe with a byte in it, which the kernel calls and \
                 finds ready.",
            zh: "对同一打开文件的若干描述符调用 pselect6（可读，超时为零）：内核检查后立即返回，不等待。\
                 kind=tcp：没有数据到达的回环 TCP 连接；kind=file：普通文件，总是就绪，内核不会调用其 poll 方法；\
                 kind=pipe：一个有一字节可读的管道读端，内核调用其 poll 方法，且已就绪。",
        },
        why: Text {
            en: "The oldest way to wait for many descriptors, and the one that scales worst: each call checks every \
                 descriptor up to the highest, and 1023 is the limit.",
            zh: "等待多个描述符的最老办法，也最不易扩展：内核每次都要查看直到最大编号的每个描述符，而且编号止于 1023。",
        },
        reading: Text {
            en: "Linear in the descriptors: the slope is the call into each file; the rest is syscall.null and the \
                 copying of the sets. The kernel does not call a regular file (kind=file) at all. tcp costs more than \
                 a pipe, because each socket has its own state to check.",
            zh: "与描述符数成线性：斜率是对每个文件的调用，其余是 syscall.null 与集合的复制。普通文件（kind=file）的 \
                 poll 方法根本不会被调用；tcp 比管道贵，因为要查看每个套接字自己的状态。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 100 descriptors of tcp 2.5 \
                 µs, 22 ns each; of pipes 1.6 µs, 14 ns each.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：100 个 tcp 描述符 2.5 µs，每个 22 ns；管道 1.6 \
                 µs，每个 14 ns。",
        },
        causes: Text {
            en: "Indirect calls behind retpolines, one or two per descriptor; a high highest descriptor, since all \
                 below it are checked; security modules.",
            zh: "受 retpoline 保护的间接调用，每个描述符有一两次；最大描述符编号很大，因为小于它的都要检查；安全模块。",
        },
    },
    related: &["syscall.poll", "syscall.epoll", "net.tcp"],
    differs: Some(Text {
        en: "lat_select asks whether it may write, and its sockets are always ready. It duplicates one descriptor n \
             times and passes n as the highest number, so the kernel skips the last few. hostmark has all n checked, \
             for reading: none are ready with tcp, as with idle connections, and all with file.",
        zh: "lat_select 询问是否可写，其套接字总是就绪；它把一个描述符复制 n 份，又以 n 作为最大编号，最后几个并未查看。这里 n 个都查看，且询问是否可读：tcp 都未就\
             绪，如同空闲的连接，file 则全部就绪。",
    }),
    axes: &[super::DESCRIPTORS, KIND],
    limit: Limit::KernelEntry,
    replaces: &["lat_select"],
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// lmbench's summary has a column for each of the quick ones.
const KIND: Axis =
    Axis { points: Points::Listed { quick: &["tcp", "file"], standard: &["pipe"], thorough: &[] }, ..super::KIND };

fn measure(case: &mut Case) -> Result<()> {
    let set = super::descriptors(case)?;
    let select = set.select()?;
    let ask = || select.ask();
    case.calls(ask).time()
}
