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

const HARDWARE: Text = term!("Measured by lmbench: processor");
const MEMORY: Text = term!("Measured by lmbench: memory");
const SYSTEM: Text = term!("Measured by lmbench: system calls and processes");
const LOCAL: Text = term!("Measured by lmbench: communication");
const FILES: Text = term!("Measured by lmbench: files and virtual memory");
const NETWORK: Text = term!("Measured by lmbench: network");

use AxisKind::{Choice, Count, Size};
use Unit::{BytesPerSecond, Nanoseconds, Ratio};

const SERVER: (&str, AxisKind) = ("server", Choice);
const OP: (&str, AxisKind) = ("op", Choice);
const SIZE: (&str, AxisKind) = ("size", Size);

macro_rules! program {
    ($name:literal, $title:expr, $unit:expr, $section:expr, $axes:expr) => {
        LmbenchProgram { name: $name, title: $title, unit: $unit, section: $section, axes: $axes }
    };
}

/// In the order of the summary.
const PROGRAMS: &[LmbenchProgram] = &[
    program!("mhz", term!("clock of the core"), Unit::Hertz, HARDWARE, &[]),
    program!("lat_ops", term!("operation"), Nanoseconds, HARDWARE, &[("type", Choice), OP]),
    program!("par_ops", term!("parallel operations"), Ratio, HARDWARE, &[("type", Choice), OP]),
    program!("tlb", term!("TLB pages"), Unit::Count, MEMORY, &[]),
    program!("line", term!("cache line"), Unit::Bytes, MEMORY, &[]),
    program!("par_mem", term!("parallel loads"), Ratio, MEMORY, &[SIZE]),
    program!("lat_mem_rd", term!("load latency"), Nanoseconds, MEMORY, &[("pattern", Choice), ("stride", Size), SIZE]),
    program!("bw_mem", term!("memory bandwidth"), BytesPerSecond, MEMORY, &[OP, SIZE]),
    program!("stream", term!("STREAM by lmbench"), BytesPerSecond, MEMORY, &[("kernel", Choice)]),
    program!("stream2", term!("STREAM2 by lmbench"), BytesPerSecond, MEMORY, &[("kernel", Choice)]),
    program!("lat_syscall", term!("system call"), Nanoseconds, SYSTEM, &[OP]),
    program!("lat_select", term!("select call"), Nanoseconds, SYSTEM, &[("descriptors", Count), ("kind", Choice)]),
    program!("lat_sig", term!("signal"), Nanoseconds, SYSTEM, &[OP]),
    program!("lat_proc", term!("process"), Nanoseconds, SYSTEM, &[OP]),
    program!("lat_ctx", term!("context switch"), Nanoseconds, SYSTEM, &[("footprint", Size), ("processes", Count)]),
    program!("lat_pipe", term!("pipe round trip"), Nanoseconds, LOCAL, &[]),
    program!("lat_fifo", term!("FIFO round trip"), Nanoseconds, LOCAL, &[]),
    program!("lat_unix", term!("AF_UNIX round trip"), Nanoseconds, LOCAL, &[]),
    program!("lat_unix_connect", term!("AF_UNIX connect"), Nanoseconds, LOCAL, &[]),
    program!("lat_fcntl", term!("file lock"), Nanoseconds, LOCAL, &[]),
    program!("lat_sem", term!("semaphore"), Nanoseconds, LOCAL, &[]),
    program!("bw_pipe", term!("pipe bandwidth"), BytesPerSecond, LOCAL, &[]),
    program!("bw_unix", term!("AF_UNIX bandwidth"), BytesPerSecond, LOCAL, &[]),
    program!("lat_fs", term!("make or remove a file"), Nanoseconds, FILES, &[OP, SIZE]),
    program!("lat_mmap", term!("map and unmap"), Nanoseconds, FILES, &[SIZE]),
    program!("lat_pagefault", term!("page fault"), Nanoseconds, FILES, &[]),
    program!("bw_file_rd", term!("file reread"), BytesPerSecond, FILES, &[OP, SIZE]),
    program!("bw_mmap_rd", term!("mmap reread"), BytesPerSecond, FILES, &[OP, SIZE]),
    program!("lmdd", term!("file write"), BytesPerSecond, FILES, &[]),
    program!("lat_udp", term!("UDP round trip"), Nanoseconds, NETWORK, &[SERVER]),
    program!("lat_tcp", term!("TCP round trip"), Nanoseconds, NETWORK, &[SERVER]),
    program!("lat_rpc", term!("RPC round trip"), Nanoseconds, NETWORK, &[("protocol", Choice), SERVER]),
    program!("lat_connect", term!("TCP connect"), Nanoseconds, NETWORK, &[SERVER]),
    program!("bw_tcp", term!("TCP bandwidth"), BytesPerSecond, NETWORK, &[SERVER, ("message", Size)]),
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
            what: crate::texts::lmbench::what_of!(name),
            why: term!("To set an old result beside a new one.").to_owned_text(),
            reading: crate::texts::lmbench::READING.to_owned_text(),
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
