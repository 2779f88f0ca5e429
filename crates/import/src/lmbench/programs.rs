//! lmbench's programs as probes of a run: what each value is, in both languages.

use hostmark_model::{AxisInfo, AxisKind, Better, Explain, ProbeInfo, Text, Unit};

/// A program of lmbench.
struct LmbenchProgram {
    name: &'static str,
    title: Text,
    unit: Unit,
    section: Text,
    axes: &'static [(&'static str, AxisKind)],
}

const fn t(en: &'static str, zh: &'static str) -> Text {
    Text { en, zh }
}

const HARDWARE: Text = t("Measured by lmbench: processor", "lmbench 测得：处理器");
const MEMORY: Text = t("Measured by lmbench: memory", "lmbench 测得：内存");
const SYSTEM: Text = t("Measured by lmbench: system calls and processes", "lmbench 测得：系统调用与进程");
const LOCAL: Text = t("Measured by lmbench: communication", "lmbench 测得：进程间通信");
const FILES: Text = t("Measured by lmbench: files and virtual memory", "lmbench 测得：文件与虚拟内存");
const NETWORK: Text = t("Measured by lmbench: network", "lmbench 测得：网络");

use AxisKind::{Choice, Count, Size};
use Unit::{BytesPerSecond, Nanoseconds, Ratio};

const SERVER: (&str, AxisKind) = ("server", Choice);
const OP: (&str, AxisKind) = ("op", Choice);
const SIZE: (&str, AxisKind) = ("size", Size);

macro_rules! program {
    ($name:literal, $en:literal, $zh:literal, $unit:expr, $section:expr, $axes:expr) => {
        LmbenchProgram { name: $name, title: t($en, $zh), unit: $unit, section: $section, axes: $axes }
    };
}

/// In the order of the summary.
const PROGRAMS: &[LmbenchProgram] = &[
    program!("mhz", "clock of the core", "核心时钟", Unit::Hertz, HARDWARE, &[]),
    program!("lat_ops", "operation", "运算", Nanoseconds, HARDWARE, &[("type", Choice), OP]),
    program!("par_ops", "parallel operations", "并行运算", Ratio, HARDWARE, &[("type", Choice), OP]),
    program!("tlb", "TLB pages", "TLB 页数", Unit::Count, MEMORY, &[]),
    program!("line", "cache line", "缓存行", Unit::Bytes, MEMORY, &[]),
    program!("par_mem", "parallel loads", "并行访存", Ratio, MEMORY, &[SIZE]),
    program!(
        "lat_mem_rd",
        "load latency",
        "访存延迟",
        Nanoseconds,
        MEMORY,
        &[("pattern", Choice), ("stride", Size), SIZE]
    ),
    program!("bw_mem", "memory bandwidth", "内存带宽", BytesPerSecond, MEMORY, &[OP, SIZE]),
    program!("stream", "STREAM by lmbench", "lmbench 的 STREAM", BytesPerSecond, MEMORY, &[("kernel", Choice)]),
    program!("stream2", "STREAM2 by lmbench", "lmbench 的 STREAM2", BytesPerSecond, MEMORY, &[("kernel", Choice)]),
    program!("lat_syscall", "system call", "系统调用", Nanoseconds, SYSTEM, &[OP]),
    program!(
        "lat_select",
        "select call",
        "select 调用",
        Nanoseconds,
        SYSTEM,
        &[("descriptors", Count), ("kind", Choice)]
    ),
    program!("lat_sig", "signal", "信号", Nanoseconds, SYSTEM, &[OP]),
    program!("lat_proc", "process", "进程", Nanoseconds, SYSTEM, &[OP]),
    program!(
        "lat_ctx",
        "context switch",
        "上下文切换",
        Nanoseconds,
        SYSTEM,
        &[("footprint", Size), ("processes", Count)]
    ),
    program!("lat_pipe", "pipe round trip", "管道往返", Nanoseconds, LOCAL, &[]),
    program!("lat_fifo", "FIFO round trip", "命名管道往返", Nanoseconds, LOCAL, &[]),
    program!("lat_unix", "AF_UNIX round trip", "AF_UNIX 往返", Nanoseconds, LOCAL, &[]),
    program!("lat_unix_connect", "AF_UNIX connect", "AF_UNIX 连接", Nanoseconds, LOCAL, &[]),
    program!("lat_fcntl", "file lock", "文件锁", Nanoseconds, LOCAL, &[]),
    program!("lat_sem", "semaphore", "信号量", Nanoseconds, LOCAL, &[]),
    program!("bw_pipe", "pipe bandwidth", "管道带宽", BytesPerSecond, LOCAL, &[]),
    program!("bw_unix", "AF_UNIX bandwidth", "AF_UNIX 带宽", BytesPerSecond, LOCAL, &[]),
    program!("lat_fs", "make or remove a file", "创建或删除文件", Nanoseconds, FILES, &[OP, SIZE]),
    program!("lat_mmap", "map and unmap", "映射与解除映射", Nanoseconds, FILES, &[SIZE]),
    program!("lat_pagefault", "page fault", "缺页异常", Nanoseconds, FILES, &[]),
    program!("bw_file_rd", "file reread", "文件重读", BytesPerSecond, FILES, &[OP, SIZE]),
    program!("bw_mmap_rd", "mmap reread", "mmap 重读", BytesPerSecond, FILES, &[OP, SIZE]),
    program!("lmdd", "file write", "写文件", BytesPerSecond, FILES, &[]),
    program!("lat_udp", "UDP round trip", "UDP 往返", Nanoseconds, NETWORK, &[SERVER]),
    program!("lat_tcp", "TCP round trip", "TCP 往返", Nanoseconds, NETWORK, &[SERVER]),
    program!("lat_rpc", "RPC round trip", "RPC 往返", Nanoseconds, NETWORK, &[("protocol", Choice), SERVER]),
    program!("lat_connect", "TCP connect", "TCP 连接", Nanoseconds, NETWORK, &[SERVER]),
    program!("bw_tcp", "TCP bandwidth", "TCP 带宽", BytesPerSecond, NETWORK, &[SERVER, ("message", Size)]),
];

/// The programs among these ids, in the order of the summary.
pub(super) fn of_cases<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<ProbeInfo> {
    let ids: std::collections::HashSet<&str> = ids.collect();
    PROGRAMS.iter().map(info).filter(|info| ids.contains(info.id.as_str())).collect()
}

fn info(program: &LmbenchProgram) -> ProbeInfo {
    let better = match program.unit {
        Nanoseconds => Better::Lower,
        BytesPerSecond => Better::Higher,
        _ => Better::Neither,
    };
    let name = program.name;
    ProbeInfo {
        id: format!("lmbench.{name}"),
        title: program.title.to_owned_text(),
        unit: program.unit,
        better,
        also: Vec::new(),
        revision: 1,
        explain: Explain {
            what: Text {
                en: format!("What lmbench's {name} printed, in base units."),
                zh: format!("lmbench 的 {name} 所打印的值，换算为基本单位。"),
            },
            why: Text {
                en: "To set an old result beside a new one.".into(),
                zh: "用于把旧结果与新结果放在一起。".into(),
            },
            reading: Text {
                en: "lmbench tells one value without its spread, and its methods are not this program's: \
                     docs/coming-from-lmbench.md has the differences."
                    .into(),
                zh: "lmbench 只给出一个值，不给离散程度，其方法也与本程序不同：差异见 docs/coming-from-lmbench.md。"
                    .into(),
            },
            ..Explain::default()
        },
        section: program.section.to_owned_text(),
        related: Vec::new(),
        replaces: Vec::new(),
        differs: None,
        axes: program
            .axes
            .iter()
            .map(|(name, kind)| AxisInfo { name: (*name).into(), kind: *kind, default: String::new() })
            .collect(),
        needs: Vec::new(),
        brought_by: Vec::new(),
    }
}
