//! The probes whose copies scale or do not.

use hostmark_engine::prelude::*;

/// Every probe with an axis of copies; the first is the default.
pub const SOURCES: &[&str] = &[
    "syscall.null",
    "cpu.sieve",
    "memory.latency",
    "process.fork_exit",
    "paging.parallel_fault",
    "ipc.bandwidth",
    "net.tcp",
    "net.udp",
    "net.tcp_connect",
    "syscall.parallel",
];

/// Of each no more than how it does with copies, and alone.
pub const FROM: &[Source] = &{
    let mut from = [Source::along("", &["copies"]); SOURCES.len()];
    let mut index = 0;
    while index < SOURCES.len() {
        from[index].probe = SOURCES[index];
        index += 1;
    }
    from
};

/// Whether more of the source's value is better.
pub fn is_rate(source: &str) -> bool {
    let probes = crate::CATALOGUE.iter().flat_map(|group| group.probes.iter().map(|probe| (group.name, probe)));
    let mut of_source = probes.filter(|(group, (name, _))| source.split_once('.') == Some((group, name)));
    of_source.any(|(_, (_, probe))| probe.better == Better::Higher)
}
