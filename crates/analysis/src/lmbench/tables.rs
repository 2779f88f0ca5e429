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
    SummaryTable { title: term!("Basic system parameters"), columns: BASIC },
    SummaryTable { title: term!("Processor, processes: times in microseconds, smaller is better"), columns: PROCESSES },
    SummaryTable {
        title: term!("Basic integer operations: times in nanoseconds, smaller is better"),
        columns: INTEGER,
    },
    SummaryTable { title: term!("Basic uint64 operations: times in nanoseconds, smaller is better"), columns: INT64 },
    SummaryTable { title: term!("Basic float operations: times in nanoseconds, smaller is better"), columns: FLOAT },
    SummaryTable { title: term!("Basic double operations: times in nanoseconds, smaller is better"), columns: DOUBLE },
    SummaryTable { title: term!("Context switching: times in microseconds, smaller is better"), columns: CONTEXT },
    SummaryTable { title: term!("Local communication latencies in microseconds, smaller is better"), columns: LOCAL },
    SummaryTable { title: term!("Remote communication latencies in microseconds, smaller is better"), columns: REMOTE },
    SummaryTable {
        title: term!("File and virtual memory latencies in microseconds, smaller is better"),
        columns: FILE_VM,
    },
    SummaryTable {
        title: term!("Local communication bandwidths in MB/s (10^6 bytes), bigger is better"),
        columns: BANDWIDTH,
    },
    SummaryTable { title: term!("Memory latencies in nanoseconds, smaller is better"), columns: MEMORY },
];

const fn column(head: Text, scale: f64, ours: CellSource, theirs: CellSource) -> SummaryColumn {
    SummaryColumn { head, scale, ours, theirs }
}

const FREQUENCY: SummaryColumn = column(term!("Mhz"), MHZ, case("cpu.frequency", &[]), case("lmbench.mhz", &[]));

pub static BASIC: &[SummaryColumn] = &[
    column(term!("Description"), ONE, CellSource::Machine, CellSource::Machine),
    FREQUENCY,
    column(term!("tlb\npages"), ONE, case("memory.tlb", &[]), case("lmbench.tlb", &[])),
    column(
        term!("cache\nline\nbytes"),
        ONE,
        // Where prefetchers bring in groups of lines, two CPUs alone tell one line from the next.
        CellSource::Either(point("memory.line", &[]), point("memory.line", &[("sharers", "2")])),
        case("lmbench.line", &[]),
    ),
    column(term!("mem\npar"), ONE, case("memory.parallelism", &[]), largest("lmbench.par_mem", "size", &[])),
    column(term!("scal\nload"), ONE, CellSource::Load, CellSource::Load),
];

pub static PROCESSES: &[SummaryColumn] = &[
    FREQUENCY,
    column(term!("null\ncall"), US, case("syscall.null", &[]), syscall(&[("op", "null")])),
    column(
        term!("null\nI/O"),
        US,
        CellSource::Mean(point("syscall.byte", &[]), point("syscall.byte", &[("call", "write")])),
        CellSource::Mean(
            point("lmbench.lat_syscall", &[("op", "read")]),
            point("lmbench.lat_syscall", &[("op", "write")]),
        ),
    ),
    column(Text::name("stat"), US, case("syscall.stat", &[]), syscall(&[("op", "stat")])),
    column(term!("open\nclos"), US, case("syscall.open_close", &[]), syscall(&[("op", "open")])),
    column(
        Text { en: "slct\nTCP", zh: "select\nTCP" },
        US,
        case("syscall.readiness", &[("descriptors", "100"), ("kind", "tcp")]),
        case("lmbench.lat_select", &[("descriptors", "100"), ("kind", "tcp")]),
    ),
    column(term!("sig\ninst"), US, case("signal.install", &[]), case("lmbench.lat_sig", &[("op", "install")])),
    column(term!("sig\nhndl"), US, also("signal.handle", &[], "handling"), case("lmbench.lat_sig", &[("op", "catch")])),
    column(term!("fork\nproc"), US, case("process.fork_exit", &[]), case("lmbench.lat_proc", &[("op", "fork")])),
    column(
        term!("exec\nproc"),
        US,
        case("process.exec", &[("way", "fork"), ("child", "dynamic")]),
        case("lmbench.lat_proc", &[("op", "exec")]),
    ),
    column(
        term!("sh\nproc"),
        US,
        case("process.exec", &[("way", "shell"), ("child", "dynamic")]),
        case("lmbench.lat_proc", &[("op", "shell")]),
    ),
];

const fn syscall(at: &'static [(&'static str, &'static str)]) -> CellSource {
    case("lmbench.lat_syscall", at)
}

const BIT: Text = term!("bit");
const ADD: Text = term!("add");
const MUL: Text = term!("mul");
const DIV: Text = term!("div");
const MOD: Text = term!("mod");
const BOGO: Text = Text::name("bogo");

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
    ($head:expr, $processes:literal, $footprint:literal) => {
        column(
            $head,
            US,
            case("sched.context_switch", &[("processes", $processes), ("footprint", $footprint)]),
            case("lmbench.lat_ctx", &[("processes", $processes), ("footprint", $footprint)]),
        )
    };
}

pub static CONTEXT: &[SummaryColumn] = &[
    ring!(term!("2p/0K\nctxsw"), "2", "0"),
    ring!(term!("2p/16K\nctxsw"), "2", "16384"),
    ring!(term!("2p/64K\nctxsw"), "2", "65536"),
    ring!(term!("8p/16K\nctxsw"), "8", "16384"),
    ring!(term!("8p/64K\nctxsw"), "8", "65536"),
    ring!(term!("16p/16K\nctxsw"), "16", "16384"),
    ring!(term!("16p/64K\nctxsw"), "16", "65536"),
];

const LOCALHOST: (&str, &str) = ("server", "localhost");
const AWAY: (&str, &str) = ("server", "remote");
const UDP: (&str, &str) = ("protocol", "udp");
const TCP: (&str, &str) = ("protocol", "tcp");
const UNIX: &[(&str, &str)] = &[("by", "unix_stream")];

/// Axis and value by which the probes of group net name another host.
pub(super) const PEER: (&str, &str) = ("to", "peer");

pub static LOCAL: &[SummaryColumn] = &[
    ring!(term!("2p/0K\nctxsw"), "2", "0"),
    column(term!("Pipe"), US, case("ipc.round_trip", &[]), case("lmbench.lat_pipe", &[])),
    column(Text::name("AF\nUNIX"), US, case("ipc.round_trip", UNIX), case("lmbench.lat_unix", &[])),
    column(Text::name("UDP"), US, case("net.round_trip", &[UDP]), case("lmbench.lat_udp", &[LOCALHOST])),
    column(Text::name("RPC/\nUDP"), US, case("net.rpc", &[UDP]), case("lmbench.lat_rpc", &[UDP, LOCALHOST])),
    column(Text::name("TCP"), US, case("net.round_trip", &[TCP]), case("lmbench.lat_tcp", &[LOCALHOST])),
    column(Text::name("RPC/\nTCP"), US, case("net.rpc", &[TCP]), case("lmbench.lat_rpc", &[TCP, LOCALHOST])),
    column(term!("TCP\nconn"), US, case("net.tcp_connect", &[]), case("lmbench.lat_connect", &[LOCALHOST])),
];

pub static REMOTE: &[SummaryColumn] = &[
    column(Text::name("UDP"), US, case("net.round_trip", &[UDP, PEER]), case("lmbench.lat_udp", &[AWAY])),
    column(Text::name("RPC/\nUDP"), US, case("net.rpc", &[UDP, PEER]), case("lmbench.lat_rpc", &[UDP, AWAY])),
    column(Text::name("TCP"), US, case("net.round_trip", &[TCP, PEER]), case("lmbench.lat_tcp", &[AWAY])),
    column(Text::name("RPC/\nTCP"), US, case("net.rpc", &[TCP, PEER]), case("lmbench.lat_rpc", &[TCP, AWAY])),
    column(term!("TCP\nconn"), US, case("net.tcp_connect", &[PEER]), case("lmbench.lat_connect", &[AWAY])),
];

/// A file that lat_fs makes or removes.
macro_rules! file {
    ($head:expr, $op:literal, $size:literal) => {{
        const AT: &[(&str, &str)] = &[("op", $op), ("size", $size)];
        column($head, US, case("file.create_delete", AT), case("lmbench.lat_fs", AT))
    }};
}

pub static FILE_VM: &[SummaryColumn] = &[
    file!(term!("0K File\nCreate"), "create", "0"),
    file!(term!("0K File\nDelete"), "delete", "0"),
    file!(term!("10K File\nCreate"), "create", "10240"),
    file!(term!("10K File\nDelete"), "delete", "10240"),
    column(term!("Mmap\nLatency"), US, case("paging.mmap", &[]), largest("lmbench.lat_mmap", "size", &[])),
    column(term!("Prot\nFault"), US, case("paging.protection_fault", &[]), case("lmbench.lat_sig", &[("op", "prot")])),
    column(
        term!("Page\nFault"),
        US,
        also("paging.fault", &[("kind", "file")], "per_page"),
        case("lmbench.lat_pagefault", &[]),
    ),
    column(
        Text { en: "100fd\nselct", zh: "100fd\nselect" },
        US,
        case("syscall.readiness", &[("descriptors", "100"), ("kind", "file")]),
        case("lmbench.lat_select", &[("descriptors", "100"), ("kind", "file")]),
    ),
];

pub static BANDWIDTH: &[SummaryColumn] = &[
    column(term!("Pipe"), MB_PER_S, case("ipc.bandwidth", &[]), case("lmbench.bw_pipe", &[])),
    column(Text::name("AF\nUNIX"), MB_PER_S, case("ipc.bandwidth", UNIX), case("lmbench.bw_unix", &[])),
    column(
        Text::name("TCP"),
        MB_PER_S,
        case("net.tcp_bandwidth", &[]),
        largest("lmbench.bw_tcp", "message", &[LOCALHOST]),
    ),
    column(
        term!("File\nreread"),
        MB_PER_S,
        case("file.reread", &[]),
        largest("lmbench.bw_file_rd", "size", &[("op", "io_only")]),
    ),
    column(
        term!("Mmap\nreread"),
        MB_PER_S,
        case("file.mmap_reread", &[]),
        largest("lmbench.bw_mmap_rd", "size", &[("op", "mmap_only")]),
    ),
    column(term!("Bcopy\n(libc)"), MB_PER_S, case("memory.copy", &[("kernel", "libc")]), memory(&[("op", "bcopy")])),
    column(term!("Bcopy\n(hand)"), MB_PER_S, case("memory.copy", &[]), memory(&[("op", "fcp")])),
    column(term!("Mem\nread"), MB_PER_S, case("memory.read", &[]), memory(&[("op", "frd")])),
    column(term!("Mem\nwrite"), MB_PER_S, case("memory.write", &[]), memory(&[("op", "fwr")])),
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
        Text::name("L1 $"),
        NS,
        case("memory.hierarchy", &[("level", "l1d")]),
        case("lmbench.lat_mem_rd", &[IN_ORDER, STRIDE, KIB]),
    ),
    column(
        Text::name("L2 $"),
        NS,
        case("memory.hierarchy", &[("level", "l2")]),
        case("lmbench.lat_mem_rd", &[IN_ORDER, STRIDE, KIB_128]),
    ),
    column(
        term!("Main\nmem"),
        NS,
        case("memory.hierarchy", &[("level", "dram")]),
        largest("lmbench.lat_mem_rd", "size", &[IN_ORDER, STRIDE]),
    ),
    column(
        term!("Rand\nmem"),
        NS,
        case("memory.latency", &[("page", "base")]),
        largest("lmbench.lat_mem_rd", "size", &[("pattern", "random")]),
    ),
    column(term!("Guesses"), ONE, CellSource::Caches, CellSource::Caches),
];
