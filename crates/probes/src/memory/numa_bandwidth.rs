//! Probe memory.numa_bandwidth: how fast the CPUs of each node read each node's memory.

use hostmark_engine::prelude::*;

use crate::fastest::{BEST, Candidates, refused};
use crate::kernels::bandwidth::{self, Reach};

pub static PROBE: Probe = Probe {
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    axes: &[Axis::nodes("nodes"), Axis::settled_size("size", size).fills(Fill::InAll(1))],
    limit: Limit::DramBandwidth,
    section: super::NODES,
    measure: Measure::Run(measure),
    ..crate::texts::memory::NUMA_BANDWIDTH
};

/// Returns the size of the node that needs most, so that all pairs of nodes have the same.
fn size(host: &HostFacts) -> u64 {
    let usable = host.usable_cpus();
    let of_node = |node: &NodeFact| -> u64 {
        let cpus: Vec<usize> = node.cpus.iter().copied().filter(|cpu| usable.contains(cpu)).collect();
        super::beyond_caches_of(host, &cpus)
    };
    host.nodes.iter().map(of_node).max().unwrap_or(0).max(super::LEAST_OF_CPU_BYTES).next_multiple_of(2 << 20)
}

fn measure(case: &mut Case) -> Result<()> {
    let (_, memory) = super::nodes(case)?;
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
            return Err(super::not_on(memory));
        }
        kernel.run(buffer.bytes(), 1).map_err(refused)?;
        Ok(move |n| {
            let _ = kernel.run(buffer.bytes(), n);
        })
    })
    .rate(each)
}
