//! Probes of memory nodes: latency and bandwidth between them, and memory spread over all.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use hostmark_engine::prelude::*;
use sys::memory::{shares, usable_nodes};

use crate::fastest::{BEST, Candidates};
use crate::kernels::bandwidth::{self, Reach};

/// The least and the largest buffer of a CPU that reads memory beside others, bytes.
const LEAST_OF_CPU_BYTES: u64 = 16 << 20;
const MOST_OF_CPU_BYTES: u64 = 256 << 20;

/// Returns the size of the buffers of these CPUs together: so much that hardly any of it is found in their last-level caches.
fn beyond_caches_of(host: &HostFacts, cpus: &[usize]) -> u64 {
    let count = cpus.len() as u64;
    let caches = super::TIMES_CACHE.saturating_mul(host.last_level_caches_bytes(cpus));
    caches.clamp(LEAST_OF_CPU_BYTES * count, MOST_OF_CPU_BYTES * count)
}

/// The nodes that the case's axis `nodes` names: that of its CPUs and that of its memory.
fn nodes(case: &Case) -> Result<(Node, Node)> {
    let pair: String = case.param("nodes")?;
    let node = |text: &str| -> Result<Node> { Ok(Node(text.parse()?)) };
    let (cpus, memory) =
        pair.split_once('-').ok_or_else(|| RoundError::internal(say!("'{pair}' is no pair of nodes")))?;
    Ok((node(cpus)?, node(memory)?))
}

/// Error of a case between nodes whose memory is not on this one.
fn not_on(Node(node): Node) -> RoundError {
    RoundError::wrong(say!("part of the memory does not lie on node {node}"))
}

/// The buffer, as multiples of the last-level cache: enough that most loads leave it.
const CACHES: u64 = 2;
/// The least and the largest buffer, bytes; a larger one costs more to prepare than it adds.
const LEAST_BYTES: u64 = 64 << 20;
const MOST_BYTES: u64 = 1 << 30;

/// Probe memory.numa_latency: the latency of each memory node from each node's CPUs.
pub static NUMA_LATENCY: Probe = Probe {
    also: &[Quantity::CORE_CYCLES],
    axes: &[Axis::nodes("nodes"), Axis::settled_size("size", latency_size).fills(Fill::Chain)],
    limit: Limit::DramLatency,
    core_bound: CoreBound::SIZE,
    section: super::NODES,
    measure: Measure::Run(measure_numa_latency),
    ..crate::texts::memory::NUMA_LATENCY
};

fn latency_size(host: &HostFacts) -> u64 {
    (CACHES * host.largest_last_level_cache_bytes()).clamp(LEAST_BYTES, MOST_BYTES).next_multiple_of(2 << 20)
}

fn measure_numa_latency(case: &mut Case) -> Result<()> {
    let (_, memory) = nodes(case)?;
    let size: u64 = case.param("size")?;
    let mut buffer = super::chained(case, size, Pages::Pmd, Some(memory))?;
    super::loads(case, buffer.bytes_mut(), |case, chain| case.loops(|n| chain.walk(n)).time())
}

/// Probe memory.numa_bandwidth: how fast the CPUs of each node read each node's memory.
pub static NUMA_BANDWIDTH: Probe = Probe {
    axes: &[Axis::nodes("nodes"), Axis::settled_size("size", bandwidth_size).fills(Fill::InAll(1))],
    limit: Limit::DramBandwidth,
    section: super::NODES,
    measure: Measure::Run(measure_numa_bandwidth),
    ..crate::rate(Unit::BytesPerSecond, crate::texts::memory::NUMA_BANDWIDTH)
};

/// Returns the size of the node that needs most, so that all pairs of nodes have the same.
fn bandwidth_size(host: &HostFacts) -> u64 {
    let usable = host.usable_cpus();
    let of_node = |node: &NodeFact| -> u64 {
        let cpus: Vec<usize> = node.cpus.iter().copied().filter(|cpu| usable.contains(cpu)).collect();
        beyond_caches_of(host, &cpus)
    };
    host.nodes.iter().map(of_node).max().unwrap_or(0).max(LEAST_OF_CPU_BYTES).next_multiple_of(2 << 20)
}

fn measure_numa_bandwidth(case: &mut Case) -> Result<()> {
    let (_, memory) = nodes(case)?;
    let cpus = case.thread_cpus();
    let each = (case.param::<u64>("size")? / cpus.len().max(1) as u64).next_multiple_of(2 << 20);
    let allotment = case.allot(cpus.len() as u64, each, Pages::Pmd, Some(memory))?;
    // One buffer is made for its notes: the pages and the node that the kernel gives here.
    drop(case.buffer(2 << 20, Pages::Pmd, Some(memory))?);
    let kernels = Candidates::of(BEST, bandwidth::reads().iter(), bandwidth::best_read(Reach::Memory))?;
    let kernel = kernels.chosen_in_lockstep(case, &cpus, &allotment, (each, each), |kernel, buffer, part, n| {
        kernel.run(&buffer.bytes()[part], n).map(drop)
    })?;
    case.note("threads", cpus.len());
    case.note("bytes_a_thread", each);
    case.workers(&cpus, |_| {
        let buffer = allotment.map()?;
        if buffer.nodes().keys().any(|&node| node != memory.0) {
            return Err(not_on(memory));
        }
        kernel.run(buffer.bytes(), 1)?;
        Ok(move |n| {
            let _ = kernel.run(buffer.bytes(), n);
        })
    })
    .rate(each)
}

/// Probe memory.interleave: how fast memory is read whose pages come from all nodes in turn, beside memory of the reader's own node.
pub static INTERLEAVE: Probe = Probe {
    axes: &[
        Axis::choice("memory", "interleaved", Points::quick(&["interleaved"]).standard(&["local"])),
        Axis::threads("threads", Points::OfHost(threads)),
        Axis::settled_size("size", interleaved_size).fills(Fill::InAll(1)),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["memory", "threads"] }],
    limit: Limit::DramBandwidth,
    section: super::NODES,
    from: Profile::Standard,
    measure: Measure::Run(measure_interleave),
    ..crate::rate(Unit::BytesPerSecond, crate::texts::memory::INTERLEAVE)
};

/// Returns the numbers of threads: one, and all usable CPUs.
fn threads(host: &HostFacts, _: Profile) -> Vec<u64> {
    vec![1, (host.usable_cpus().len() as u64).max(1)]
}

fn interleaved_size(host: &HostFacts) -> u64 {
    beyond_caches_of(host, &host.usable_cpus()).max(LEAST_OF_CPU_BYTES).next_multiple_of(2 << 20)
}

fn measure_interleave(case: &mut Case) -> Result<()> {
    let unknown = |error| RoundError::lacking(say!("the kernel tells no memory nodes"), &error);
    let nodes = usable_nodes().map_err(unknown)?;
    if nodes.len() < 2 {
        let text = say!("memory of one node alone may be used here: there is nothing to interleave");
        return Err(RoundError::skipped(ReasonCode::Topology, text));
    }
    let is_interleaved = case.param::<String>("memory")? == "interleaved";
    let cpus = case.thread_cpus();
    // As many pages on each node, whichever pages they are.
    let turn = nodes.len() * Pages::Pmd.bytes();
    let each = (case.param::<u64>("size")? / cpus.len().max(1) as u64).next_multiple_of(turn as u64);
    let allotment = case.allot(cpus.len() as u64, each, Pages::Pmd, None)?;
    let kernel = bandwidth::best_read(Reach::Memory);
    let (on, pages) = (Mutex::new(BTreeMap::new()), Mutex::new(String::new()));
    case.workers(&cpus, |_| {
        let buffer = allotment.map_placed(|buffer| {
            let refused = |error| RoundError::lacking(say!("this process may not place its memory"), &error);
            if is_interleaved { buffer.interleave(&nodes).map_err(refused) } else { Ok(()) }
        })?;
        let found = buffer.nodes();
        check(&found, &nodes, is_interleaved)?;
        *pages.lock().unwrap_or_else(PoisonError::into_inner) = buffer.obtained();
        let mut on = on.lock().unwrap_or_else(PoisonError::into_inner);
        found.into_iter().for_each(|(node, pages)| *on.entry(node).or_insert(0) += pages);
        drop(on);
        kernel.run(buffer.bytes(), 1)?;
        Ok(move |n| {
            let _ = kernel.run(buffer.bytes(), n);
        })
    })
    .rate(each)?;
    case.note("kernel", kernel.name);
    case.note("threads", cpus.len());
    case.note("bytes_a_thread", each);
    case.note("pages", pages.into_inner().unwrap_or_else(PoisonError::into_inner));
    case.note("node", shares(&on.into_inner().unwrap_or_else(PoisonError::into_inner)));
    Ok(())
}

/// Fails where pages whose node was asked for lie elsewhere: each node is to have half of its share at least, or one all.
fn check(on: &BTreeMap<usize, usize>, nodes: &[Node], is_interleaved: bool) -> Result<()> {
    let all: usize = on.values().sum();
    let has_share = |node: &Node| on.get(&node.0).is_some_and(|pages| 2 * pages * nodes.len() >= all);
    match is_interleaved {
        // The kernel does not tell.
        _ if all == 0 => Ok(()),
        true if !nodes.iter().all(has_share) => {
            let text = say!("the memory is not spread over all nodes: {on}", on = shares(on));
            Err(RoundError::wrong(text))
        }
        false if on.len() > 1 => Err(RoundError::wrong(say!("the memory is not on one node: {on}", on = shares(on)))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_lies_on_every_node_by_its_share_or_on_one_alone() {
        let nodes = [Node(0), Node(2)];
        let lies = |on: &[(usize, usize)], is_interleaved| {
            let on = on.iter().copied().collect();
            check(&on, &nodes, is_interleaved).map_err(|error| error.into_reason().text)
        };
        assert_eq!(lies(&[(0, 33), (2, 31)], true), Ok(()));
        assert_eq!(lies(&[(0, 64)], false), Ok(()));
        assert!([true, false].iter().all(|&is_interleaved| lies(&[], is_interleaved).is_ok()));
        assert_eq!(lies(&[(0, 64)], true).unwrap_err(), "the memory is not spread over all nodes: 0");
        assert!(lies(&[(0, 54), (2, 10)], true).unwrap_err().ends_with("0 84 %, 2 16 %"));
        assert!(lies(&[(0, 60), (2, 4)], false).is_err());
    }
}
