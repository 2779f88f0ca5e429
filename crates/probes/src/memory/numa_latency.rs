//! Probe memory.numa_latency: the latency of each memory node from each node's CPUs.

use hostmark_engine::prelude::*;

use crate::kernels::chase::Chain;

/// The buffer, as multiples of the last-level cache: enough that most loads leave it.
const CACHES: u64 = 2;
/// The least and the largest buffer, bytes; a larger one costs more to prepare than it adds.
const LEAST_BYTES: u64 = 64 << 20;
const MOST_BYTES: u64 = 1 << 30;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Latency between nodes", zh: "节点间内存延迟" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "The chain of memory.latency (random order, huge pages) on a CPU of the first node, through a buffer of twice the \
                 last-level cache, 64 MiB at least, that is bound to the second node (mbind); where its pages really lie is read \
                 back (move_pages) and noted.",
            zh: "与 memory.latency 相同的链（随机顺序、大页），在第一个节点的一个 CPU 上遍历绑定在第二个节点（mbind）的缓冲区，大小为末级缓存的\
                 两倍且不小于 64 MiB；其页面实际所在的节点会读回（move_pages）并记入备注。",
        },
        why: Text {
            en: "On a machine of several nodes a thread that runs far from its memory pays the way between the sockets with each \
                 miss. How much decides whether binding processes to nodes is worth the trouble.",
            zh: "多节点机器上，线程若远离其内存，每次未命中都要付出跨插槽的代价。代价多大，决定是否值得把进程绑定到节点。",
        },
        reading: Text {
            en: "The own node 80 to 130 ns, the other socket 1.5 to 2 times that, memory without CPUs (CXL) 200 to 400 ns. Nodes of one \
                 socket (sub-NUMA clusters) differ by some 10 ns. The kernel's distances are firmware's claim; this is the fact. \
                 Huge pages keep translation small. In a guest the nodes are what the hypervisor makes of them: two nodes alike \
                 point to memory that is not bound on the host.",
            zh: "本节点 80 到 130 ns，另一插槽为其 1.5 到 2 倍，无 CPU 的内存（CXL）200 到 400 ns。同一插槽内的节点（sub-NUMA 集群）相差约 10 ns。\
                 内核的距离只是固件的说法，这里是实测。大页使地址转换的影响很小。虚拟机里的节点由虚拟机监控程序给出：两个节点看不出差别，\
                 说明内存在宿主上没有绑定。",
        },
    },
    axes: &[Axis::nodes("nodes")],
    cross: &[],
    limit: Limit::CyclesPerOp,
    blocking: false,
    needs: &[],
    replaces: &[],
    section: crate::section::NODES,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let (_, memory) = super::nodes(case)?;
    let size = (CACHES * case.llc_bytes()).clamp(LEAST_BYTES, MOST_BYTES).next_multiple_of(2 << 20);
    let (line, seed) = (case.line_bytes() as usize, case.seed());
    let mut buffer = case.buffer(size, Pages::Pmd, Some(memory))?;
    case.note("size_bytes", size);
    let chain = Chain::random(buffer.bytes_mut(), line, seed);
    let mut chain = chain.map_err(|refused| Stop::skipped(format!("cannot {refused}")))?;
    case.time_n(|n| chain.walk(n))
}
