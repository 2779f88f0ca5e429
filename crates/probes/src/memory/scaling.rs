//! Probe memory.scaling: how fast threads read memory together, by their number and by how they lie over the CPUs.

use hostmark_engine::prelude::*;

use crate::fastest::{BEST, Candidates, refused};
use crate::kernels::bandwidth;

pub static PROBE: Probe = Probe {
    title: Text { en: "Read bandwidth of threads", zh: "多线程读带宽" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::BYTES_PER_CYCLE],
    explain: Explain {
        what: Text {
            en: "Each thread fills a buffer of `size` bytes on its own CPU and reads it over and over (auto: 4 times the \
                 last-level cache, 64 to 512 MiB, but at least twice the cache; 64 MiB if all buffers would exceed 16 GiB or half of memory). It \
                 uses the fastest of memory.read's kernels, chosen by trials of all threads at once in the case's \
                 first round. order=compact uses one thread per core and fills one cache, node and package before the \
                 next. scatter uses one thread per core, spread over packages, nodes and caches. siblings uses all \
                 threads of a core before the next core. Only what is read while all threads run counts.",
            zh: "每个线程在自己的 CPU 上反复读取由自己填充的 `size` 字节缓冲区（auto：末级缓存的 4 倍，64 到 512 MiB，但不小于该缓存的 2 倍；若全部线程合计超过 16 GiB 或内存的一半，则为 64 MiB），使用 memory.read 中最快的内核（第一轮由全部线程同时试测选出）。order：compact \
                 每核一个线程，依次占满一个缓存、一个节点、一个插槽；scatter 每核一个线程，尽量分散到各插槽、节点和缓存；siblings 先占满一个核心的全部线程再到下一个。\
                 只统计所有线程共同时间内读取的量。",
        },
        why: Text {
            en: "It shows what is shared: a cache's port to memory, a node's channels, a package. If a few scattered \
                 threads reach the bandwidth of many compact ones, good placement saves cores.",
            zh: "它显示哪些东西是共享的：缓存通往内存的接口、节点的内存通道、插槽。若少量分散的线程就能达到许多紧凑线程的带宽，合理放置就能省下核心。",
        },
        reading: Text {
            en: "Follow compact: it flattens where a cache or node is saturated, and rises again with the next one. \
                 Scatter with as many threads as caches shows all caches at once. The gap between siblings and compact \
                 at the same number of threads is what a core's second thread adds. With half the last-level cache as \
                 size, the caches are compared instead of memory.",
            zh: "沿 compact 看：一个缓存或节点占满处曲线变平，到下一个又上升。scatter 在线程数等于缓存数时即所有缓存同时工作。相同线程数下 siblings 与 compact \
                 之差是同一核心第二个线程带来的增量。size 取末级缓存的一半时比较的是缓存。",
        },
        typical: Text {
            en: "A published run of Memory Latency Checker on a 2-socket Cascade Lake server: 113 GB/s of one socket's \
                 memory, 226 of both, read by all cores. One core of a server reads 8 to 30 GB/s (memory.read).",
            zh: "Memory Latency Checker 在双路 Cascade Lake 服务器上的公开结果：全部核心读取时单插槽 113 GB/s，双插槽 226。服务器单个核心为 8 到 30 \
                 GB/s（见 memory.read）。",
        },
        causes: Text {
            en: "Scatter no faster than compact on two packages: memory interleaved over the nodes, or a guest with \
                 invented nodes. All threads slower than half of them: power limits, SMT siblings that evict each \
                 other's lines, neighbours.",
            zh: "双插槽上 scatter 不比 compact 快：内存在节点间交织，或虚拟机的节点是虚构的。全部线程反而比一半线程\
                 慢：功耗限制、SMT 兄弟线程互相挤出缓存行，或有邻居虚拟机。",
        },
    },
    related: &["memory.read", "memory.stream", "memory.numa_bandwidth", "cpu.scaling"],
    axes: &[
        Axis::all_threads("threads", Points::NamesOfHost(threads)),
        Axis::order(),
        Axis { points: Points::NamesOfHost(sizes), ..Axis::settled_size("size", size) }.fills(Fill::EachThread(1)),
    ],
    full_factorial: &[
        FullFactorial { from: Profile::Standard, axes: &["threads", "order"] },
        FullFactorial { from: Profile::Thorough, axes: &["threads", "order", "size"] },
    ],
    limit: Limit::BytesPerCycle,
    section: crate::section::BANDWIDTH,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// All; from the standard profile on powers of two, and as many as there are packages, nodes, caches and cores.
fn threads(host: &HostFacts, profile: Profile) -> Vec<String> {
    let all = host.usable_cpus().len() as u64;
    let powers = (0..u64::BITS).map(|power| 1 << power).take_while(|&threads| threads < all);
    let counts = powers.chain(domains(host).into_iter().map(|count| count as u64));
    let counts = counts.filter(|&count| count < all && profile >= Profile::Standard);
    counts.map(|count| count.to_string()).chain(["all".into()]).collect()
}

/// What all threads fill at most.
const MOST_BYTES: u64 = 16 << 30;

/// As large as one thread leaves its last cache with, so that the sweep stays in memory from its first point on; 64 MiB where so
/// much for every thread is more than memory holds or than is filled in reasonable time.
fn size(host: &HostFacts) -> u64 {
    let (outside, threads) = (super::outside_caches(host), host.usable_cpus().len() as u64);
    let most = MOST_BYTES.min(may_fill_bytes(host));
    if outside.saturating_mul(threads) > most { super::USUAL_BYTES } else { outside }
}

/// In the thorough profile also half of the last cache.
fn sizes(host: &HostFacts, profile: Profile) -> Vec<String> {
    let last = single(host).and_then(|cpu| host.last_level_cache(cpu)).filter(|_| profile == Profile::Thorough);
    let half = last.map(|cache| cache.size_bytes / 2 / (2 << 20) * (2 << 20)).filter(|&half| half > 0);
    half.map(|half| half.to_string()).into_iter().chain(["auto".into()]).collect()
}

fn measure(case: &mut Case) -> Result<()> {
    let (size, cpus) = (case.param::<u64>("size")?, case.thread_cpus());
    let allotment = case.allot(cpus.len() as u64, size, Pages::Pmd, None)?;
    let usual = bandwidth::best_read(super::reach(case, size));
    let kernels = Candidates::of(BEST, bandwidth::reads().iter(), usual)?;
    let kernel = kernels.chosen_in_lockstep(case, &cpus, &allotment, (size, size), |kernel, buffer, part, n| {
        kernel.run(&buffer.bytes()[part], n).map(drop)
    })?;
    case.workers(&cpus, |_| {
        let buffer = allotment.map()?;
        kernel.run(buffer.bytes(), 1).map_err(refused)?;
        Ok(move |n| {
            let _ = kernel.run(buffer.bytes(), n);
        })
    })
    .rate(size)
}
