//! The twelve tables: columns, units and order of lmbench's summary; the probes are ours.
//!
//! One place for each column: its probe and the point of its axes. A test of the command line's crate holds each to the
//! catalogue.

use hostmark_model::Text;

use super::{CellSource, SummaryColumn, SummaryTable, also, case, largest, point};

const NS: f64 = 1.0;
const US: f64 = 1e3;
const MB_PER_S: f64 = 1e6;
const MHZ: f64 = 1e6;
const ONE: f64 = 1.0;

/// The tables in lmbench's order.
pub static TABLES: &[SummaryTable] = &[
    SummaryTable { title: t("Basic system parameters", "系统基本参数"), columns: BASIC },
    SummaryTable {
        title: t(
            "Processor, processes: times in microseconds, smaller is better",
            "处理器与进程：时间，单位微秒，越小越好",
        ),
        columns: PROCESSES,
    },
    SummaryTable {
        title: t(
            "Basic integer operations: times in nanoseconds, smaller is better",
            "基本整数运算：时间，单位纳秒，越小越好",
        ),
        columns: INTEGER,
    },
    SummaryTable {
        title: t(
            "Basic uint64 operations: times in nanoseconds, smaller is better",
            "基本 64 位整数运算：时间，单位纳秒，越小越好",
        ),
        columns: INT64,
    },
    SummaryTable {
        title: t(
            "Basic float operations: times in nanoseconds, smaller is better",
            "基本单精度浮点运算：时间，单位纳秒，越小越好",
        ),
        columns: FLOAT,
    },
    SummaryTable {
        title: t(
            "Basic double operations: times in nanoseconds, smaller is better",
            "基本双精度浮点运算：时间，单位纳秒，越小越好",
        ),
        columns: DOUBLE,
    },
    SummaryTable {
        title: t("Context switching: times in microseconds, smaller is better", "上下文切换：时间，单位微秒，越小越好"),
        columns: CONTEXT,
    },
    SummaryTable {
        title: t(
            "Local communication latencies in microseconds, smaller is better",
            "本机通信延迟，单位微秒，越小越好",
        ),
        columns: LOCAL,
    },
    SummaryTable {
        title: t(
            "Remote communication latencies in microseconds, smaller is better",
            "远程通信延迟，单位微秒，越小越好",
        ),
        columns: REMOTE,
    },
    SummaryTable {
        title: t(
            "File and virtual memory latencies in microseconds, smaller is better",
            "文件与虚拟内存延迟，单位微秒，越小越好",
        ),
        columns: FILE_VM,
    },
    SummaryTable {
        title: t(
            "Local communication bandwidths in MB/s (10^6 bytes), bigger is better",
            "本机通信带宽，单位 MB/s（10^6 字节），越大越好",
        ),
        columns: BANDWIDTH,
    },
    SummaryTable {
        title: t("Memory latencies in nanoseconds, smaller is better", "内存延迟，单位纳秒，越小越好"),
        columns: MEMORY,
    },
];

const fn t(en: &'static str, zh: &'static str) -> Text {
    Text { en, zh }
}

const fn column(head: Text, scale: f64, ours: CellSource, theirs: CellSource) -> SummaryColumn {
    SummaryColumn { head, scale, ours, theirs }
}

const FREQUENCY: SummaryColumn =
    column(t("Mhz", "主频\nMHz"), MHZ, case("cpu.frequency", &[]), case("lmbench.mhz", &[]));

pub static BASIC: &[SummaryColumn] = &[
    column(t("Description", "说明"), ONE, CellSource::Machine, CellSource::Machine),
    FREQUENCY,
    column(t("tlb\npages", "TLB\n页数"), ONE, case("memory.tlb", &[]), case("lmbench.tlb", &[])),
    column(
        t("cache\nline\nbytes", "缓存行\n字节"),
        ONE,
        // Where prefetchers bring in groups of lines, two CPUs alone tell one line from the next.
        CellSource::Either(point("memory.line", &[]), point("memory.line", &[("sharers", "2")])),
        case("lmbench.line", &[]),
    ),
    column(
        t("mem\npar", "访存\n并行度"),
        ONE,
        case("memory.parallelism", &[]),
        largest("lmbench.par_mem", "size", &[]),
    ),
    column(t("scal\nload", "负载\n份数"), ONE, CellSource::Load, CellSource::Load),
];

pub static PROCESSES: &[SummaryColumn] = &[
    FREQUENCY,
    column(t("null\ncall", "空\n调用"), US, case("syscall.null", &[]), syscall(&[("op", "null")])),
    column(
        t("null\nI/O", "空\nI/O"),
        US,
        CellSource::Mean(point("syscall.read_zero", &[]), point("syscall.write_null", &[])),
        CellSource::Mean(
            point("lmbench.lat_syscall", &[("op", "read")]),
            point("lmbench.lat_syscall", &[("op", "write")]),
        ),
    ),
    column(t("stat", "stat"), US, case("syscall.stat", &[]), syscall(&[("op", "stat")])),
    column(t("open\nclos", "打开\n关闭"), US, case("syscall.open_close", &[]), syscall(&[("op", "open")])),
    column(
        t("slct\nTCP", "select\nTCP"),
        US,
        case("syscall.select", &[("descriptors", "100"), ("kind", "tcp")]),
        case("lmbench.lat_select", &[("descriptors", "100"), ("kind", "tcp")]),
    ),
    column(
        t("sig\ninst", "信号\n安装"),
        US,
        case("signal.install", &[]),
        case("lmbench.lat_sig", &[("op", "install")]),
    ),
    column(
        t("sig\nhndl", "信号\n处理"),
        US,
        also("signal.handle", &[], "handling"),
        case("lmbench.lat_sig", &[("op", "catch")]),
    ),
    column(
        t("fork\nproc", "fork\n进程"),
        US,
        case("process.fork_exit", &[]),
        case("lmbench.lat_proc", &[("op", "fork")]),
    ),
    column(
        t("exec\nproc", "exec\n进程"),
        US,
        case("process.fork_exec", &[("child", "dynamic")]),
        case("lmbench.lat_proc", &[("op", "exec")]),
    ),
    column(
        t("sh\nproc", "sh\n进程"),
        US,
        case("process.shell", &[("child", "dynamic")]),
        case("lmbench.lat_proc", &[("op", "shell")]),
    ),
];

const fn syscall(at: &'static [(&'static str, &'static str)]) -> CellSource {
    case("lmbench.lat_syscall", at)
}

const BIT: Text = t("bit", "位运算");
const ADD: Text = t("add", "加");
const MUL: Text = t("mul", "乘");
const DIV: Text = t("div", "除");
const MOD: Text = t("mod", "取余");
const BOGO: Text = t("bogo", "bogo");

/// An operation of lat_ops.
macro_rules! operation {
    ($head:expr, $kind:literal, $op:literal, $theirs:literal) => {
        column(
            $head,
            NS,
            case("cpu.latency", &[("type", $kind), ("op", $op)]),
            case("lmbench.lat_ops", &[("type", $theirs), ("op", $op)]),
        )
    };
}

pub static INTEGER: &[SummaryColumn] = &[
    operation!(BIT, "i32", "bit", "integer"),
    operation!(ADD, "i32", "add", "integer"),
    operation!(MUL, "i32", "mul", "integer"),
    operation!(DIV, "i32", "div", "integer"),
    operation!(MOD, "i32", "mod", "integer"),
];

pub static INT64: &[SummaryColumn] = &[
    operation!(BIT, "i64", "bit", "int64"),
    operation!(ADD, "i64", "add", "int64"),
    operation!(MUL, "i64", "mul", "int64"),
    operation!(DIV, "i64", "div", "int64"),
    operation!(MOD, "i64", "mod", "int64"),
];

pub static FLOAT: &[SummaryColumn] = &[
    operation!(ADD, "f32", "add", "float"),
    operation!(MUL, "f32", "mul", "float"),
    operation!(DIV, "f32", "div", "float"),
    column(
        BOGO,
        NS,
        case("cpu.bogoflops", &[("type", "f32")]),
        case("lmbench.lat_ops", &[("type", "float"), ("op", "bogomflops")]),
    ),
];

pub static DOUBLE: &[SummaryColumn] = &[
    operation!(ADD, "f64", "add", "double"),
    operation!(MUL, "f64", "mul", "double"),
    operation!(DIV, "f64", "div", "double"),
    column(
        BOGO,
        NS,
        case("cpu.bogoflops", &[("type", "f64")]),
        case("lmbench.lat_ops", &[("type", "double"), ("op", "bogomflops")]),
    ),
];

/// A ring of processes of lat_ctx, with their footprints in bytes.
macro_rules! ring {
    ($en:literal, $zh:literal, $processes:literal, $footprint:literal) => {
        column(
            t($en, $zh),
            US,
            case("sched.context_switch", &[("processes", $processes), ("footprint", $footprint)]),
            case("lmbench.lat_ctx", &[("processes", $processes), ("footprint", $footprint)]),
        )
    };
}

pub static CONTEXT: &[SummaryColumn] = &[
    ring!("2p/0K\nctxsw", "2p/0K\n切换", "2", "0"),
    ring!("2p/16K\nctxsw", "2p/16K\n切换", "2", "16384"),
    ring!("2p/64K\nctxsw", "2p/64K\n切换", "2", "65536"),
    ring!("8p/16K\nctxsw", "8p/16K\n切换", "8", "16384"),
    ring!("8p/64K\nctxsw", "8p/64K\n切换", "8", "65536"),
    ring!("16p/16K\nctxsw", "16p/16K\n切换", "16", "16384"),
    ring!("16p/64K\nctxsw", "16p/64K\n切换", "16", "65536"),
];

const LOCALHOST: (&str, &str) = ("server", "localhost");
const AWAY: (&str, &str) = ("server", "remote");

/// How the probes of group net call a far end that is another host.
pub(super) const PEER: (&str, &str) = ("to", "peer");

pub static LOCAL: &[SummaryColumn] = &[
    ring!("2p/0K\nctxsw", "2p/0K\n切换", "2", "0"),
    column(t("Pipe", "管道"), US, case("ipc.pipe", &[]), case("lmbench.lat_pipe", &[])),
    column(t("AF\nUNIX", "AF\nUNIX"), US, case("ipc.unix_stream", &[]), case("lmbench.lat_unix", &[])),
    column(t("UDP", "UDP"), US, case("net.udp", &[]), case("lmbench.lat_udp", &[LOCALHOST])),
    column(
        t("RPC/\nUDP", "RPC/\nUDP"),
        US,
        case("net.rpc_udp", &[]),
        case("lmbench.lat_rpc", &[("protocol", "udp"), LOCALHOST]),
    ),
    column(t("TCP", "TCP"), US, case("net.tcp", &[]), case("lmbench.lat_tcp", &[LOCALHOST])),
    column(
        t("RPC/\nTCP", "RPC/\nTCP"),
        US,
        case("net.rpc_tcp", &[]),
        case("lmbench.lat_rpc", &[("protocol", "tcp"), LOCALHOST]),
    ),
    column(t("TCP\nconn", "TCP\n连接"), US, case("net.tcp_connect", &[]), case("lmbench.lat_connect", &[LOCALHOST])),
];

pub static REMOTE: &[SummaryColumn] = &[
    column(t("UDP", "UDP"), US, case("net.udp", &[PEER]), case("lmbench.lat_udp", &[AWAY])),
    column(
        t("RPC/\nUDP", "RPC/\nUDP"),
        US,
        case("net.rpc_udp", &[PEER]),
        case("lmbench.lat_rpc", &[("protocol", "udp"), AWAY]),
    ),
    column(t("TCP", "TCP"), US, case("net.tcp", &[PEER]), case("lmbench.lat_tcp", &[AWAY])),
    column(
        t("RPC/\nTCP", "RPC/\nTCP"),
        US,
        case("net.rpc_tcp", &[PEER]),
        case("lmbench.lat_rpc", &[("protocol", "tcp"), AWAY]),
    ),
    column(t("TCP\nconn", "TCP\n连接"), US, case("net.tcp_connect", &[PEER]), case("lmbench.lat_connect", &[AWAY])),
];

/// A file that lat_fs makes or removes.
macro_rules! file {
    ($en:literal, $zh:literal, $ours:literal, $op:literal, $size:literal) => {
        column(
            t($en, $zh),
            US,
            case($ours, &[("size", $size)]),
            case("lmbench.lat_fs", &[("op", $op), ("size", $size)]),
        )
    };
}

pub static FILE_VM: &[SummaryColumn] = &[
    file!("0K File\nCreate", "0K 文件\n创建", "file.create", "create", "0"),
    file!("0K File\nDelete", "0K 文件\n删除", "file.delete", "delete", "0"),
    file!("10K File\nCreate", "10K 文件\n创建", "file.create", "create", "10240"),
    file!("10K File\nDelete", "10K 文件\n删除", "file.delete", "delete", "10240"),
    column(t("Mmap\nLatency", "mmap\n延迟"), US, case("paging.mmap", &[]), largest("lmbench.lat_mmap", "size", &[])),
    column(
        t("Prot\nFault", "保护\n异常"),
        US,
        case("paging.protection_fault", &[]),
        case("lmbench.lat_sig", &[("op", "prot")]),
    ),
    column(
        t("Page\nFault", "缺页\n异常"),
        US,
        also("paging.fault", &[("kind", "file")], "per_page"),
        case("lmbench.lat_pagefault", &[]),
    ),
    column(
        t("100fd\nselct", "100fd\nselect"),
        US,
        case("syscall.select", &[("descriptors", "100"), ("kind", "file")]),
        case("lmbench.lat_select", &[("descriptors", "100"), ("kind", "file")]),
    ),
];

pub static BANDWIDTH: &[SummaryColumn] = &[
    column(t("Pipe", "管道"), MB_PER_S, case("ipc.pipe_bandwidth", &[]), case("lmbench.bw_pipe", &[])),
    column(t("AF\nUNIX", "AF\nUNIX"), MB_PER_S, case("ipc.unix_bandwidth", &[]), case("lmbench.bw_unix", &[])),
    column(
        t("TCP", "TCP"),
        MB_PER_S,
        case("net.tcp_bandwidth", &[]),
        largest("lmbench.bw_tcp", "message", &[LOCALHOST]),
    ),
    column(
        t("File\nreread", "文件\n重读"),
        MB_PER_S,
        case("file.reread", &[]),
        largest("lmbench.bw_file_rd", "size", &[("op", "io_only")]),
    ),
    column(
        t("Mmap\nreread", "mmap\n重读"),
        MB_PER_S,
        case("file.mmap_reread", &[]),
        largest("lmbench.bw_mmap_rd", "size", &[("op", "mmap_only")]),
    ),
    column(
        t("Bcopy\n(libc)", "复制\n(libc)"),
        MB_PER_S,
        case("memory.copy", &[("kernel", "libc")]),
        memory(&[("op", "bcopy")]),
    ),
    column(t("Bcopy\n(hand)", "复制\n(hand)"), MB_PER_S, case("memory.copy", &[]), memory(&[("op", "fcp")])),
    column(t("Mem\nread", "内存\n读"), MB_PER_S, case("memory.read", &[]), memory(&[("op", "frd")])),
    column(t("Mem\nwrite", "内存\n写"), MB_PER_S, case("memory.write", &[]), memory(&[("op", "fwr")])),
];

const fn memory(at: &'static [(&'static str, &'static str)]) -> CellSource {
    largest("lmbench.bw_mem", "size", at)
}

/// lmbench takes its first two levels from fixed sizes of its chain.
const KIB: (&str, &str) = ("size", "1024");
const KIB_128: (&str, &str) = ("size", "131072");
const STRIDE: (&str, &str) = ("stride", "128");
const IN_ORDER: (&str, &str) = ("pattern", "stride");

pub static MEMORY: &[SummaryColumn] = &[
    FREQUENCY,
    column(
        t("L1 $", "L1 $"),
        NS,
        case("memory.hierarchy", &[("level", "l1d")]),
        case("lmbench.lat_mem_rd", &[IN_ORDER, STRIDE, KIB]),
    ),
    column(
        t("L2 $", "L2 $"),
        NS,
        case("memory.hierarchy", &[("level", "l2")]),
        case("lmbench.lat_mem_rd", &[IN_ORDER, STRIDE, KIB_128]),
    ),
    column(
        t("Main\nmem", "主存"),
        NS,
        case("memory.hierarchy", &[("level", "dram")]),
        largest("lmbench.lat_mem_rd", "size", &[IN_ORDER, STRIDE]),
    ),
    column(
        t("Rand\nmem", "主存\n随机"),
        NS,
        case("memory.latency", &[("page", "base")]),
        largest("lmbench.lat_mem_rd", "size", &[("pattern", "random")]),
    ),
    column(t("Guesses", "推断"), ONE, CellSource::Caches, CellSource::Caches),
];
