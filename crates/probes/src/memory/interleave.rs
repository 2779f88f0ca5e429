//! Probe memory.interleave: how fast memory is read whose pages come from all nodes in turn, beside memory of the reader's own node.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use hostmark_engine::prelude::*;
use sys::memory::{shares, usable_nodes};

use crate::fastest::refused;
use crate::kernels::bandwidth::{self, Reach};

/// All buffers together, as multiples of all last-level caches: so much that hardly any of it is found there.
const CACHES: u64 = 4;
/// The least and the largest buffer of a CPU, bytes.
const LEAST_BYTES: u64 = 16 << 20;
const MOST_BYTES: u64 = 256 << 20;

pub static PROBE: Probe = Probe {
    title: Text { en: "Interleaved memory", zh: "跨节点交错内存" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    explain: Explain {
        what: Text {
            en: "Each thread, on a CPU of its own, reads its own buffer with memory.read's usual vector kernel. With \
                 memory=interleaved the buffer's huge pages come from all nodes in turn (mbind, MPOL_INTERLEAVE, as numactl \
                 --interleave=all has it); with memory=local from the thread's own. move_pages reports where they really lie: \
                 each node must have its share. The buffers total `size` bytes (auto: four times all last-level caches, 16 to 256 \
                 MiB per CPU).",
            zh: "每个线程在各自的 CPU 上，用 memory.read 常用的向量内核函数读取自己的缓冲区。memory=interleaved 时，缓冲区的大页轮流来自所有节点（mbind，\
                 MPOL_INTERLEAVE，与 numactl --interleave=all 相同）；memory=local 时来自线程所在节点。页的实际位置用 move_pages 核对：每个节点都须占其份额。\
                 全部缓冲区合计 `size` 字节（auto：所有末级缓存的四倍，每个 CPU 16 到 256 MiB）。",
        },
        why: Text {
            en: "Databases, caches and virtual machines that are larger than a node, or whose threads wander, interleave their \
                 memory: each access is as likely to be far as any, and no channel is idle.",
            zh: "大于一个节点或线程会迁移的数据库、缓存和虚拟机常用交错内存：每次访问都有同样的可能是远端，而没有内存通道闲置。",
        },
        reading: Text {
            en: "One thread reads between memory.numa_bandwidth's local and remote rate, or above both where one node's channels \
                 limit it. With all CPUs the links between nodes carry (n-1)/n of what is read on n nodes: the ratio of interleaved \
                 to local tells what binding is worth.",
            zh: "单线程介于 memory.numa_bandwidth 的本地与远端速率之间；若受限于一个节点的通道，则可高于二者。所有 CPU 一起读时，n 个节点间的链路承担读取\
                 量的 (n-1)/n：交错与本地之比说明绑定节点值多少。",
        },
        typical: Text {
            en: "By design no more than the links carry: a published run of Memory Latency Checker on a 2-socket Cascade Lake server \
                 read 34 GB/s from the other socket and 226 in all, so that interleaved reads of all CPUs, half of them remote, \
                 reach 136 there at most.",
            zh: "按设计不超过链路所能承载：Memory Latency Checker 在双路 Cascade Lake 服务器上的公开结果为跨插槽 34 GB/s、合计 226，因此所有 CPU 交错读取（一半\
                 为远端）在那里至多 136。",
        },
        causes: Text {
            en: "Socket links that save power or are too few; a node with fewer memory modules, which all others wait for; memory \
                 without CPUs (CXL) among the nodes. Skipped: one node alone may be used, or a container's filter forbids mbind.",
            zh: "插槽间链路节能或太少；某个节点内存条较少，其余都要等它；节点中有不带 CPU 的内存（CXL）。被跳过：只有一个节点可用，或容器的过滤器禁止 mbind。",
        },
    },
    related: &["memory.numa_bandwidth", "memory.numa_latency", "memory.read"],
    axes: &[
        Axis::choice(
            "memory",
            "interleaved",
            Points::Listed { quick: &["interleaved"], standard: &["local"], thorough: &[] },
        ),
        Axis::threads("threads", Points::OfHost(threads)),
        Axis::settled_size("size", size).fills(Fill::InAll(1)),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["memory", "threads"] }],
    limit: Limit::DramBandwidth,
    section: crate::section::NODES,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// One, and all usable CPUs.
fn threads(host: &HostFacts, _: Profile) -> Vec<u64> {
    vec![1, (host.usable_cpus().len() as u64).max(1)]
}

fn size(host: &HostFacts) -> u64 {
    let (cpus, count) = (host.usable_cpus(), (host.usable_cpus().len() as u64).max(1));
    let caches = CACHES.saturating_mul(host.last_level_caches_bytes(&cpus));
    caches.clamp(LEAST_BYTES * count, MOST_BYTES * count).next_multiple_of(2 << 20)
}

fn measure(case: &mut Case) -> Result<()> {
    let unknown = |error| RoundError::lacking("the kernel tells no memory nodes", &error);
    let nodes = usable_nodes().map_err(unknown)?;
    if nodes.len() < 2 {
        let text = "memory of one node alone may be used here: there is nothing to interleave";
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
            let refused = |error| RoundError::lacking("this process may not place its memory", &error);
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

/// Failed where the pages that were asked for their node do not lie as wanted: each node has half of its share at least, or one has all.
fn check(on: &BTreeMap<usize, usize>, nodes: &[Node], is_interleaved: bool) -> Result<()> {
    let all: usize = on.values().sum();
    let has_share = |node: &Node| on.get(&node.0).is_some_and(|pages| 2 * pages * nodes.len() >= all);
    match is_interleaved {
        // The kernel does not tell.
        _ if all == 0 => Ok(()),
        true if !nodes.iter().all(has_share) => {
            let text = format!("the memory is not spread over all nodes: {}", shares(on));
            Err(RoundError::failed(ReasonCode::CheckFailed, text))
        }
        false if on.len() > 1 => {
            Err(RoundError::failed(ReasonCode::CheckFailed, format!("the memory is not on one node: {}", shares(on))))
        }
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
