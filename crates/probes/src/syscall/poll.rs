//! Probe syscall.poll: asking once about many descriptors.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    title: Text { en: "poll", zh: "多路等待 poll" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "ppoll is called on a number of descriptors of one open file, for \
                 reading, with a timeout of zero: the kernel checks them and returns without waiting. kind=tcp is a \
                 loopback TCP connection with no data; kind=file a regular file, which is always ready, so the kernel \
                 does not even call it; kind=pipe the read end of a pipe with a byte in it, which the kernel calls and \
                 finds ready.",
            zh: "对同一打开文件的若干描述符调用 ppoll（可读，超时为零）：内核检查后立即返回，不等待。\
                 kind=tcp：没有数据到达的回环 TCP 连接；kind=file：普通文件，总是就绪，内核不会调用其 poll 方法；\
                 kind=pipe：一个有一字节可读的管道读端，内核调用其 poll 方法，且已就绪。",
        },
        why: Text {
            en: "It does what select does, without its limits: each call reads a list of descriptors and writes the \
                 answers back.",
            zh: "没有 select 限制的同类调用：每次都读入描述符列表，并写回结果。",
        },
        reading: Text {
            en: "Linear like select, with 8 bytes a descriptor copied in and 2 out. Where thousands of mostly idle \
                 connections are watched, syscall.epoll shows what is saved.",
            zh: "与 select 一样线性增长，每个描述符复制进 8 字节、写回 2 字节。监视成千上万个大多空闲的连接时，看 syscall.epoll 能省下多少。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 100 descriptors of tcp 2.3 \
                 to 2.4 µs, of pipes 1.3 µs, a tenth below select.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：100 个 tcp 描述符 2.3 到 2.4 µs，管道 1.3 µs，比 \
                 select 低一成。",
        },
        causes: Text {
            en: "Retpolines and security modules, once per descriptor. A program that polls at short intervals instead \
                 of waiting pays all of it for nothing.",
            zh: "retpoline 与安全模块，每个描述符一次；以短间隔轮询而不等待的程序，全部代价都白付。",
        },
    },
    related: &["syscall.select", "syscall.epoll"],
    differs: Some(Text {
        en: "lat_select has select alone; this is the call that replaced it in most programs, over the same \
             descriptors.",
        zh: "lat_select 只有 select；这是多数程序中取代它的调用，描述符相同。",
    }),
    axes: &[super::DESCRIPTORS, super::KIND],
    limit: Limit::KernelEntry,
    replaces: &["lat_select"],
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let set = super::descriptors(case)?;
    let mut poll = set.poll();
    let ask = || poll.ask();
    case.calls(ask).time()
}
