//! Probe memory.numa_bandwidth: how fast the CPUs of each node read each node's memory.

use hostmark_engine::prelude::*;

use crate::fastest::{BEST, Candidates, refused};
use crate::kernels::bandwidth::{self, Reach};

/// All buffers together, as multiples of the last-level cache: so much that hardly any of it is found there.
const CACHES: u64 = 4;
/// The least and the largest buffer of a CPU, bytes.
const LEAST_BYTES: u64 = 16 << 20;
const MOST_BYTES: u64 = 256 << 20;

pub static PROBE: Probe = Probe {
    title: Text { en: "Bandwidth between nodes", zh: "节点间内存带宽" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    explain: Explain {
        what: Text {
            en: "Every usable CPU of the first node reads its own buffer on the second node (bound by mbind, checked \
                 by move_pages). It uses the fastest of memory.read's kernels, chosen by trials of all CPUs at once in \
                 the case's first round. The buffers total `size` bytes (auto: four times a node's last-level caches, \
                 16 to 256 MiB per CPU). Only what is read while all CPUs run counts.",
            zh: "第一个节点的每个可用 CPU 各自读取绑定在第二个节点的缓冲区（mbind，并用 move_pages 核对），使用 memory.read 中最快的内核（第一轮由全部 CPU 同时试测选出）；\
                 全部缓冲区合计 `size` 字节（auto：一个节点全部末级缓存的四倍，每个 CPU 16 到 256 MiB）。只统计所有 CPU 共同时间内读取的量。",
        },
        why: Text {
            en: "The diagonal shows what a node's memory channels deliver; the other cells show what the links between \
                 sockets leave of it. Programs that spread memory over all nodes land between the two.",
            zh: "对角线是一个节点的内存通道所能提供的；其余是插槽间链路剩下的。把内存分散到所有节点的程序落在二者之间。",
        },
        reading: Text {
            en: "Compare the diagonal with channels × transfer rate × 8 bytes, and the other cells with the diagonal.",
            zh: "对角线与 通道数 × 传输速率 × 8 字节 比较，其余与对角线比较。",
        },
        typical: Text {
            en: "A published run of Memory Latency Checker on a 2-socket Cascade Lake server: 113 GB/s of a node's at \
                 most 141, 34 GB/s from the other socket. Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, \
                 Linux 6.18), two CPUs of one node: 9 to 19 GB/s, with neighbours.",
            zh: "Memory Latency Checker 在双路 Cascade Lake 服务器上的公开结果：本节点 113 GB/s（标称至多 141），另一\
                 插槽 34 GB/s。用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（单节点的两个 \
                 CPU，有邻居虚拟机）：9 到 19 GB/s。",
        },
        causes: Text {
            en: "Few CPUs on the node; unpopulated channels; links between sockets that save power or run at a lower \
                 rate; in a guest, neighbours that use the same links.",
            zh: "节点上 CPU 太少；通道未插满；插槽间链路节能或降速；虚拟机里被邻居虚拟机占去一份。",
        },
    },
    related: &["memory.numa_latency", "memory.stream", "memory.read"],
    axes: &[Axis::nodes("nodes"), Axis::settled_size("size", size).fills(Fill::InAll(1))],
    limit: Limit::DramBandwidth,
    section: crate::section::NODES,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// Of the node that takes most, so that all pairs of nodes have the same.
fn size(host: &HostFacts) -> u64 {
    let usable = host.usable_cpus();
    let of_node = |node: &NodeFact| -> u64 {
        let cpus: Vec<usize> = node.cpus.iter().copied().filter(|cpu| usable.contains(cpu)).collect();
        let count = cpus.len() as u64;
        (CACHES * host.last_level_caches_bytes(&cpus)).clamp(LEAST_BYTES * count, MOST_BYTES * count)
    };
    host.nodes.iter().map(of_node).max().unwrap_or(0).max(LEAST_BYTES).next_multiple_of(2 << 20)
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
