//! Probe memory.numa_bandwidth: how fast the CPUs of each node read each node's memory.

use hostmark_engine::prelude::*;

use crate::kernels::bandwidth::{self, Reach};

/// All buffers together, as multiples of the last-level cache: so much that hardly any of it is found there.
const CACHES: u64 = 4;
/// The least and the largest buffer of a CPU, bytes.
const LEAST_BYTES: u64 = 16 << 20;
const MOST_BYTES: u64 = 256 << 20;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Bandwidth between nodes", zh: "节点间内存带宽" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[],
    explain: Explain {
        what: Text {
            en: "Every usable CPU of the first node reads a buffer of its own, bound to the second node (mbind, checked by move_pages), \
                 with the kernel that memory.read holds best for memory; together the buffers are four times the last-level \
                 cache, 16 MiB a CPU at least. What all read in their common time counts.",
            zh: "第一个节点的每个可用 CPU 各自读取绑定在第二个节点的缓冲区（mbind，并用 move_pages 核对），使用 memory.read 对内存最优的内核；\
                 全部缓冲区合计为末级缓存的四倍，每个 CPU 不少于 16 MiB。只统计所有 CPU 共同时间内读取的量。",
        },
        why: Text {
            en: "The diagonal is what a node's memory channels give; the rest is what the links between sockets leave of it. Programs \
                 that spread memory over all nodes end up between the two.",
            zh: "对角线是一个节点的内存通道所能提供的；其余是插槽间链路剩下的。把内存分散到所有节点的程序落在二者之间。",
        },
        reading: Text {
            en: "The own node: 70 to 90 % of channels × transfer rate × 8 bytes where all its CPUs read, far less where only a few \
                 CPUs are yours. The other socket: a third to two thirds of it. In a guest neighbours take their part.",
            zh: "本节点：所有 CPU 一起读时可达 通道数 × 传输速率 × 8 字节 的 70 到 90 %；只有少数 CPU 可用时远低于此。另一插槽：其三分之一到\
                 三分之二。虚拟机里邻居也占去一份。",
        },
    },
    axes: &[Axis::nodes("nodes")],
    cross: &[],
    limit: Limit::None,
    blocking: false,
    needs: &[],
    replaces: &[],
    section: crate::section::NODES,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let (_, memory) = super::nodes(case)?;
    let cpus = case.thread_cpus();
    let each = (CACHES * case.llc_bytes() / cpus.len().max(1) as u64).clamp(LEAST_BYTES, MOST_BYTES);
    let each = each.next_multiple_of(2 << 20);
    case.may_fill(each * cpus.len() as u64)?;
    // One buffer is made for its notes: the pages and the node that the kernel gives here.
    drop(case.buffer(2 << 20, Pages::Pmd, Some(memory))?);
    let kernel = bandwidth::best_read(Reach::Memory);
    case.note("kernel", kernel.name);
    case.note("threads", cpus.len());
    case.note("bytes_a_thread", each);
    case.parallel(&cpus, each, |_| {
        let buffer = Buffer::map(each as usize, Pages::Pmd, Some(memory))?;
        if buffer.nodes().keys().any(|&node| node != memory.0) {
            return Err(Stop::failed(format!("part of the memory does not lie on node {}", memory.0)));
        }
        kernel.run(buffer.bytes(), 1).map_err(|refused| Stop::skipped(format!("cannot {refused}")))?;
        Ok(move |n| {
            let _ = kernel.run(buffer.bytes(), n);
        })
    })
}
