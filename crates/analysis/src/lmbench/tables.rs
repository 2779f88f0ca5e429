//! The twelve tables: columns, units and order of lmbench's summary; the probes are ours.
//!
//! One place for each column: its probe and the point of its axes. A test of the command line's crate holds each to the
//! catalogue.

use hostmark_model::Text;

use super::{CasePoint, CellSource, SummaryColumn, SummaryTable, point};

const NS: f64 = 1.0;
const US: f64 = 1e3;
const MB_PER_S: f64 = 1e6;
const MHZ: f64 = 1e6;
const ONE: f64 = 1.0;

/// The tables in lmbench's order.
pub static TABLES: &[SummaryTable] = &[
    table(term!("Basic system parameters"), BASIC),
    table(term!("Processor, processes: times in microseconds, smaller is better"), PROCESSES),
    table(term!("Basic integer operations: times in nanoseconds, smaller is better"), INTEGER),
    table(term!("Basic uint64 operations: times in nanoseconds, smaller is better"), INT64),
    table(term!("Basic float operations: times in nanoseconds, smaller is better"), FLOAT),
    table(term!("Basic double operations: times in nanoseconds, smaller is better"), DOUBLE),
    table(term!("Context switching: times in microseconds, smaller is better"), CONTEXT),
    table(term!("Local communication latencies in microseconds, smaller is better"), LOCAL),
    table(term!("Remote communication latencies in microseconds, smaller is better"), REMOTE),
    table(term!("File and virtual memory latencies in microseconds, smaller is better"), FILE_VM),
    table(term!("Local communication bandwidths in MB/s (10^6 bytes), bigger is better"), BANDWIDTH),
    table(term!("Memory latencies in nanoseconds, smaller is better"), MEMORY),
];

const fn table(title: Text, columns: &'static [SummaryColumn]) -> SummaryTable {
    SummaryTable { title, columns }
}

const fn column(head: Text, scale: f64, ours: CellSource, theirs: CellSource) -> SummaryColumn {
    SummaryColumn { head, scale, ours, theirs }
}

/// A column of one case, by the axes at which it is not at its default: of ours its value or the quantity behind `of`, of lmbench's
/// the case of the largest `by`.
macro_rules! row {
    (
        $head:expr, $scale:expr,
        $ours:literal $(of $quantity:literal)? $({ $($axis:ident: $value:literal),* })?,
        $theirs:literal $(by $largest:ident)? $({ $($option:ident: $given:literal),* })?
    ) => {{
        const OURS: CasePoint = point($ours, &[$($((stringify!($axis), $value)),*)?]);
        const THEIRS: CasePoint = point($theirs, &[$($((stringify!($option), $given)),*)?]);
        let ours = CellSource::Case(CasePoint { quantity: concat!($($quantity)?), ..OURS });
        column($head, $scale, ours, CellSource::Case(CasePoint { largest: concat!($(stringify!($largest))?), ..THEIRS }))
    }};
}

/// A hundred descriptors of a kind, of lat_select.
macro_rules! select {
    ($head:expr, $kind:literal) => {
        row!(
            $head, US, "syscall.readiness" { descriptors: "100", kind: $kind },
            "lmbench.lat_select" { descriptors: "100", kind: $kind }
        )
    };
}

const FREQUENCY: SummaryColumn = row!(term!("Mhz"), MHZ, "cpu.frequency", "lmbench.mhz");

pub static BASIC: &[SummaryColumn] = &[
    column(term!("Description"), ONE, CellSource::Machine, CellSource::Machine),
    FREQUENCY,
    row!(term!("tlb\npages"), ONE, "memory.tlb", "lmbench.tlb"),
    column(
        term!("cache\nline\nbytes"),
        ONE,
        // Where prefetchers bring in groups of lines, two CPUs alone tell one line from the next.
        CellSource::Either(point("memory.line", &[]), point("memory.line", &[("sharers", "2")])),
        CellSource::Case(point("lmbench.line", &[])),
    ),
    row!(term!("mem\npar"), ONE, "memory.parallelism", "lmbench.par_mem" by size),
    column(term!("scal\nload"), ONE, CellSource::Load, CellSource::Load),
];

pub static PROCESSES: &[SummaryColumn] = &[
    FREQUENCY,
    row!(term!("null\ncall"), US, "syscall.null", "lmbench.lat_syscall" { op: "null" }),
    column(
        term!("null\nI/O"),
        US,
        CellSource::Mean(point("syscall.byte", &[]), point("syscall.byte", &[("call", "write")])),
        CellSource::Mean(
            point("lmbench.lat_syscall", &[("op", "read")]),
            point("lmbench.lat_syscall", &[("op", "write")]),
        ),
    ),
    row!(Text::name("stat"), US, "syscall.stat", "lmbench.lat_syscall" { op: "stat" }),
    row!(term!("open\nclos"), US, "syscall.open_close", "lmbench.lat_syscall" { op: "open" }),
    select!(Text { en: "slct\nTCP", zh: "select\nTCP" }, "tcp"),
    row!(term!("sig\ninst"), US, "signal.install", "lmbench.lat_sig" { op: "install" }),
    row!(term!("sig\nhndl"), US, "signal.handle" of "handling", "lmbench.lat_sig" { op: "catch" }),
    row!(term!("fork\nproc"), US, "process.fork_exit", "lmbench.lat_proc" { op: "fork" }),
    row!(term!("exec\nproc"), US, "process.exec" { way: "fork", child: "dynamic" }, "lmbench.lat_proc" { op: "exec" }),
    row!(term!("sh\nproc"), US, "process.exec" { way: "shell", child: "dynamic" }, "lmbench.lat_proc" { op: "shell" }),
];

const BIT: Text = term!("bit");
const ADD: Text = term!("add");
const MUL: Text = term!("mul");
const DIV: Text = term!("div");
const MOD: Text = term!("mod");
const BOGO: Text = Text::name("bogo");

macro_rules! operation {
    ($head:expr, $kind:literal, $op:literal, $theirs:literal) => {
        row!($head, NS, "cpu.latency" { type: $kind, op: $op }, "lmbench.lat_ops" { type: $theirs, op: $op })
    };
}

macro_rules! whole_numbers {
    ($kind:literal, $theirs:literal) => {
        &[
            operation!(BIT, $kind, "bit", $theirs),
            operation!(ADD, $kind, "add", $theirs),
            operation!(MUL, $kind, "mul", $theirs),
            operation!(DIV, $kind, "div", $theirs),
            operation!(MOD, $kind, "mod", $theirs),
        ]
    };
}

/// The operations on floating-point numbers of a type.
macro_rules! floating_point {
    ($kind:literal, $theirs:literal) => {
        &[
            operation!(ADD, $kind, "add", $theirs),
            operation!(MUL, $kind, "mul", $theirs),
            operation!(DIV, $kind, "div", $theirs),
            row!(BOGO, NS, "cpu.bogoflops" { type: $kind }, "lmbench.lat_ops" { type: $theirs, op: "bogomflops" }),
        ]
    };
}

pub static INTEGER: &[SummaryColumn] = whole_numbers!("i32", "integer");
pub static INT64: &[SummaryColumn] = whole_numbers!("i64", "int64");
pub static FLOAT: &[SummaryColumn] = floating_point!("f32", "float");
pub static DOUBLE: &[SummaryColumn] = floating_point!("f64", "double");

/// A ring of processes of lat_ctx, with their footprints in bytes.
macro_rules! ring {
    ($head:expr, $processes:literal, $footprint:literal) => {
        row!(
            $head, US, "sched.context_switch" { processes: $processes, footprint: $footprint },
            "lmbench.lat_ctx" { processes: $processes, footprint: $footprint }
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

/// Axis and value by which the probes of group net name another host.
pub(super) const PEER: (&str, &str) = ("to", "peer");

pub static LOCAL: &[SummaryColumn] = &[
    ring!(term!("2p/0K\nctxsw"), "2", "0"),
    row!(term!("Pipe"), US, "ipc.round_trip", "lmbench.lat_pipe"),
    row!(Text::name("AF\nUNIX"), US, "ipc.round_trip" { by: "unix_stream" }, "lmbench.lat_unix"),
    row!(Text::name("UDP"), US, "net.round_trip" { protocol: "udp" }, "lmbench.lat_udp" { server: "localhost" }),
    row!(
        Text::name("RPC/\nUDP"), US, "net.rpc" { protocol: "udp" },
        "lmbench.lat_rpc" { protocol: "udp", server: "localhost" }
    ),
    row!(Text::name("TCP"), US, "net.round_trip" { protocol: "tcp" }, "lmbench.lat_tcp" { server: "localhost" }),
    row!(
        Text::name("RPC/\nTCP"), US, "net.rpc" { protocol: "tcp" },
        "lmbench.lat_rpc" { protocol: "tcp", server: "localhost" }
    ),
    row!(term!("TCP\nconn"), US, "net.tcp_connect", "lmbench.lat_connect" { server: "localhost" }),
];

pub static REMOTE: &[SummaryColumn] = &[
    row!(Text::name("UDP"), US, "net.round_trip" { protocol: "udp", to: "peer" }, "lmbench.lat_udp" { server: "remote" }),
    row!(
        Text::name("RPC/\nUDP"), US, "net.rpc" { protocol: "udp", to: "peer" },
        "lmbench.lat_rpc" { protocol: "udp", server: "remote" }
    ),
    row!(Text::name("TCP"), US, "net.round_trip" { protocol: "tcp", to: "peer" }, "lmbench.lat_tcp" { server: "remote" }),
    row!(
        Text::name("RPC/\nTCP"), US, "net.rpc" { protocol: "tcp", to: "peer" },
        "lmbench.lat_rpc" { protocol: "tcp", server: "remote" }
    ),
    row!(term!("TCP\nconn"), US, "net.tcp_connect" { to: "peer" }, "lmbench.lat_connect" { server: "remote" }),
];

/// A file that lat_fs makes or removes.
macro_rules! file {
    ($head:expr, $op:literal, $size:literal) => {
        row!($head, US, "file.create_delete" { op: $op, size: $size }, "lmbench.lat_fs" { op: $op, size: $size })
    };
}

pub static FILE_VM: &[SummaryColumn] = &[
    file!(term!("0K File\nCreate"), "create", "0"),
    file!(term!("0K File\nDelete"), "delete", "0"),
    file!(term!("10K File\nCreate"), "create", "10240"),
    file!(term!("10K File\nDelete"), "delete", "10240"),
    row!(term!("Mmap\nLatency"), US, "paging.mmap", "lmbench.lat_mmap" by size),
    row!(term!("Prot\nFault"), US, "paging.protection_fault", "lmbench.lat_sig" { op: "prot" }),
    row!(term!("Page\nFault"), US, "paging.fault" of "per_page" { kind: "file" }, "lmbench.lat_pagefault"),
    select!(Text { en: "100fd\nselct", zh: "100fd\nselect" }, "file"),
];

pub static BANDWIDTH: &[SummaryColumn] = &[
    row!(term!("Pipe"), MB_PER_S, "ipc.bandwidth", "lmbench.bw_pipe"),
    row!(Text::name("AF\nUNIX"), MB_PER_S, "ipc.bandwidth" { by: "unix_stream" }, "lmbench.bw_unix"),
    row!(Text::name("TCP"), MB_PER_S, "net.tcp_bandwidth", "lmbench.bw_tcp" by message { server: "localhost" }),
    row!(term!("File\nreread"), MB_PER_S, "file.reread", "lmbench.bw_file_rd" by size { op: "io_only" }),
    row!(term!("Mmap\nreread"), MB_PER_S, "file.mmap_reread", "lmbench.bw_mmap_rd" by size { op: "mmap_only" }),
    row!(term!("Bcopy\n(libc)"), MB_PER_S, "memory.copy" { kernel: "libc" }, "lmbench.bw_mem" by size { op: "bcopy" }),
    row!(term!("Bcopy\n(hand)"), MB_PER_S, "memory.copy", "lmbench.bw_mem" by size { op: "fcp" }),
    row!(term!("Mem\nread"), MB_PER_S, "memory.read", "lmbench.bw_mem" by size { op: "frd" }),
    row!(term!("Mem\nwrite"), MB_PER_S, "memory.write", "lmbench.bw_mem" by size { op: "fwr" }),
];

/// A level of lmbench, which takes its first two from fixed sizes of its chain.
macro_rules! level {
    ($head:expr, $level:literal, $size:literal) => {
        row!(
            $head, NS, "memory.hierarchy" { level: $level },
            "lmbench.lat_mem_rd" { pattern: "stride", stride: "128", size: $size }
        )
    };
}

pub static MEMORY: &[SummaryColumn] = &[
    FREQUENCY,
    level!(Text::name("L1 $"), "l1d", "1024"),
    level!(Text::name("L2 $"), "l2", "131072"),
    row!(
        term!("Main\nmem"), NS, "memory.hierarchy" { level: "dram" },
        "lmbench.lat_mem_rd" by size { pattern: "stride", stride: "128" }
    ),
    row!(term!("Rand\nmem"), NS, "memory.latency" { page: "base" }, "lmbench.lat_mem_rd" by size { pattern: "random" }),
    column(term!("Guesses"), ONE, CellSource::Caches, CellSource::Caches),
];
