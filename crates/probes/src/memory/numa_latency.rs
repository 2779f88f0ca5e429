//! Probe memory.numa_latency: the latency of each memory node from each node's CPUs.

use hostmark_engine::prelude::*;

use crate::kernels::chase::Chain;

/// The buffer, as multiples of the last-level cache: enough that most loads leave it.
const CACHES: u64 = 2;
/// The least and the largest buffer, bytes; a larger one costs more to prepare than it adds.
const LEAST_BYTES: u64 = 64 << 20;
const MOST_BYTES: u64 = 1 << 30;

pub static PROBE: Probe = Probe {
    title: Text { en: "Latency between nodes", zh: "节点间内存延迟" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "A CPU of the first node follows memory.latency's chain (random order, huge pages) through a buffer \
                 bound to the second node (mbind). The buffer has `size` bytes (auto: twice the last-level cache, 64 \
                 MiB to 1 GiB). move_pages reports where the pages really lie, and a note records it.",
            zh: "与 memory.latency 相同的链（随机顺序、大页），在第一个节点的一个 CPU 上遍历绑定在第二个节点（mbind）的缓冲区，大小为 `size`\
                 （auto：末级缓存的两倍，不小于 64 MiB，不大于 1 GiB）；其页面实际所在的节点会读回（move_pages）并记入备注。",
        },
        why: Text {
            en: "On a multi-node machine a thread far from its memory pays for the way between sockets with each miss. \
                 How much it pays decides whether binding processes to nodes is worthwhile.",
            zh: "多节点机器上，线程若远离其内存，每次未命中都要付出跨插槽的代价。代价多大，决定是否值得把进程绑定到节点。",
        },
        reading: Text {
            en: "The diagonal is local memory. The kernel's distances are the firmware's claim; these values are \
                 measured. Huge pages keep address translation cheap.",
            zh: "对角线是本节点。内核的距离只是固件的说法，这里是实测。大页使地址转换的影响很小。",
        },
        typical: Text {
            en: "A published run of Memory Latency Checker on a 2-socket Cascade Lake server: 81 ns and 141 ns, a \
                 ratio of 1.74. Nodes of one socket (sub-NUMA clusters) differ by some 10 ns; memory without CPUs \
                 (CXL) is 200 to 400 ns by its makers' figures. Measured with hostmark on a 2-CPU KVM guest (Cascade \
                 Lake, Linux 6.18), one node: 112 to 123 ns.",
            zh: "Memory Latency Checker 在双路 Cascade Lake 服务器上的公开结果：81 ns 与 141 ns，比值 1.74。同一插槽内的节点（sub-NUMA 集\
                 群）相差约 10 ns；无 CPU 的内存（CXL）据厂商数据为 200 到 400 ns。用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux \
                 6.18）上实测（单节点）：112 到 123 ns。",
        },
        causes: Text {
            en: "Socket links in a power-saving state, or fewer links in use than the board has; memory that the \
                 kernel could not bind (the note shows where it lies). In a guest the hypervisor defines the nodes: \
                 two nodes that look alike suggest unbound memory on the host.",
            zh: "插槽间链路处于节能状态，或启用的链路少于主板所有；内核未能绑定的内存（备注说明其实际位置）。虚拟机里的节点由虚拟机监控程序给出：两个节点看不出差别，说明内存在宿\
                 主上没有绑定。",
        },
    },
    related: &["memory.numa_bandwidth", "memory.latency", "cpu.core_to_core"],
    axes: &[Axis::nodes("nodes"), Axis::settled_size("size", size).fills(Fill::Chain)],
    limit: Limit::DramLatency,
    core_bound: CoreBound::SIZE,
    section: crate::section::NODES,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn size(host: &HostFacts) -> u64 {
    (CACHES * host.largest_last_level_cache_bytes()).clamp(LEAST_BYTES, MOST_BYTES).next_multiple_of(2 << 20)
}

fn measure(case: &mut Case) -> Result<()> {
    let (_, memory) = super::nodes(case)?;
    let size: u64 = case.param("size")?;
    let (line, seed) = (case.line_bytes() as usize, case.seed());
    let mut buffer = crate::chained::chained(case, size, Pages::Pmd, Some(memory))?;
    let chain = Chain::random(buffer.bytes_mut(), line, seed);
    let chain = chain.map_err(crate::fastest::refused)?;
    let mut chain = chain.settled(case.llc_bytes(), line as u64, &case.steady());
    case.loops(|n| chain.walk(n)).time()
}
