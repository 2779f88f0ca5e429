//! Probe memory.interleave: how fast memory is read whose pages come from all nodes in turn, beside memory of the reader's own node.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use hostmark_engine::prelude::*;
use sys::memory::{shares, usable_nodes};

use crate::fastest::refused;
use crate::kernels::bandwidth::{self, Reach};

pub static PROBE: Probe = Probe {
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    axes: &[
        Axis::choice("memory", "interleaved", Points::quick(&["interleaved"]).standard(&["local"])),
        Axis::threads("threads", Points::OfHost(threads)),
        Axis::settled_size("size", size).fills(Fill::InAll(1)),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["memory", "threads"] }],
    limit: Limit::DramBandwidth,
    section: super::NODES,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::memory::INTERLEAVE
};

/// Returns the numbers of threads: one, and all usable CPUs.
fn threads(host: &HostFacts, _: Profile) -> Vec<u64> {
    vec![1, (host.usable_cpus().len() as u64).max(1)]
}

fn size(host: &HostFacts) -> u64 {
    super::beyond_caches_of(host, &host.usable_cpus()).max(super::LEAST_OF_CPU_BYTES).next_multiple_of(2 << 20)
}

fn measure(case: &mut Case) -> Result<()> {
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
        kernel.run(buffer.bytes(), 1).map_err(refused)?;
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
