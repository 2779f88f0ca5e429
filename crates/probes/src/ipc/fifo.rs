//! Probe ipc.fifo: a byte to another process and back through two named pipes.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "FIFO round trip", zh: "命名管道往返" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    explain: Explain {
        what: Text {
            en: "As ipc.pipe, but through two named pipes (mkfifo) in the scratch directory, opened by path. The value \
                 is one round trip of one byte. Percentiles as for ipc.pipe.",
            zh: "与 ipc.pipe 相同，但使用临时目录中两条有名字的管道（mkfifo），按路径打开。数值是一个字节的一次往返。\
                 分位数同 ipc.pipe。",
        },
        why: Text {
            en: "Unrelated processes find each other by a name. This shows what the name costs beyond an anonymous \
                 pipe: usually nothing once it is open.",
            zh: "没有亲缘关系的进程靠名字找到对方。这里可以看出名字比匿名管道多花多少：打开之后通常不多花。",
        },
        reading: Text {
            en: "Within a few per cent of ipc.pipe on any filesystem: the file is only a name, and the bytes stay in \
                 the kernel's pipe. Each write also updates the file's times, unlike with an anonymous pipe.",
            zh: "与 ipc.pipe 相差几个百分点，与文件系统无关：文件只是一个名字，数据仍在内核的管道里。命名管道每次写入还要更新文件时间，匿名管道则不必。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 2.9 µs on one CPU, 5 % above \
                 ipc.pipe, 11 to 15 on two that share a cache.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：同一个 CPU 2.9 µs，比 ipc.pipe 高 5%；共享缓存的两\
                 个 CPU 11 到 15。",
        },
        causes: Text {
            en: "As for ipc.pipe. Much above it: a filesystem that makes a transaction of each update of a file's \
                 times (mounted without relatime or lazytime).",
            zh: "同 ipc.pipe。若高出很多：文件系统为每次时间更新都开启事务（未用 relatime 或 lazytime 挂载）。",
        },
    },
    related: &["ipc.pipe", "ipc.unix_stream"],
    differs: Some(Text {
        en: "The same as lat_fifo, with the placement of both ends named.",
        zh: "与 lat_fifo 相同，但指明双方所在的 CPU。",
    }),
    axes: &[super::PLACEMENT],
    limit: Limit::HandOvers(2),
    blocking: true,
    replaces: &["lat_fifo"],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    let directory = case.scratch_dir()?;
    super::round_trip(case, workloads::handover::exchange::by_fifo(&other, &directory))
}
