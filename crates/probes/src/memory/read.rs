//! Probe memory.read: how fast one core reads memory, by size and kernel.

use hostmark_engine::prelude::*;

use crate::fastest::{Candidates, passes};
use crate::kernels::bandwidth;

pub static PROBE: Probe = Probe {
    title: Text { en: "Memory read", zh: "内存读取" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::BYTES_PER_CYCLE],
    explain: Explain {
        what: Text {
            en: "Loads read a buffer from end to end, over and over, into registers only: nothing is summed or stored. \
                 kernel=best is the fastest on this host; trials in the case's first round choose it, and a note names \
                 it. scalar uses 64-bit loads; sse2, avx2, avx512, neon and sve use the vectors of that name. \
                 avx512-descending reads backwards; avx2-streams reads four quarters of the buffer side by side, with \
                 prefetches; nt uses non-temporal prefetches. Each pass reads and counts every byte once. Each thread \
                 has its own buffer and CPU; only the time in which all threads run counts.",
            zh: "把缓冲区从头到尾反复读入寄存器，不求和、不写回。内核：best 是本机上所有内核中最快的一个，由该用例第一轮的交替试测选出（记录在备注中）；scalar 是 64 位加载；\
                 sse2、avx2、avx512、neon、sve 按名称选择；avx512-descending 从尾到头读；avx2-streams 并排走缓冲区的四个四分之一，并带预取；nt 使用非临时预取。每遍每个字节恰好读一次、计一次。\
                 每个线程在自己的 CPU 上有自己的缓冲区，只统计所有线程共同的时间窗口。",
        },
        why: Text {
            en: "Scans, checksums, analytics and inference stream through memory. This is the most that one core can \
                 read from each cache level.",
            zh: "扫描、校验、分析和推理都在流式读取内存；这是单个核心从每一级存储中所能取得的上限。",
        },
        reading: Text {
            en: "In L1d, bytes per core cycle = loads per cycle × bytes per load. Most cores start two loads per \
                 cycle, some recent ones three. A load fills one register: 8 bytes scalar, 16 with SSE2 or NEON, 32 \
                 with AVX2, 64 with AVX-512. Two 16-byte ports thus give at most 32 bytes per cycle, two 64-byte ports \
                 128. 26 of those 32 bytes mean 1.6 loads per cycle; loop instructions, bank conflicts and the ends of \
                 the block take the rest. A load moves only its own bytes; whole lines move between levels. Divide by \
                 the actual core clock, not the nominal one: hostmark measures the cycles alongside the samples. In \
                 DRAM the rate depends on how many misses a core keeps in flight: outstanding lines × 64 bytes / \
                 latency. More threads read more until the memory channels are full. Each step down marks the end of a \
                 level.",
            zh: "在 L1d 中，每核心周期字节数 = 每周期加载次数 × 每次加载的字节数。多数核心每周期可发起两次加载，一些较\
                 新的可发起三次。一次加载填满一个寄存器：标量 8 字节，SSE2 或 NEON 16 字节，AVX2 32 字节，AVX-512 64 \
                 字节。因此两个 16 字节的端口至多每周期 32 字节，两个 64 字节的端口至多 128。若 32 字节中得到 26，即每\
                 周期 1.6 次加载：其余耗于循环自身的指令、存储体冲突和数据块的首尾。加载只取所要的字节，不是整行；整行\
                 只在各级之间搬运。应除以核心的实际频率，而不是标称频率：这里的周期是在样本旁实测的。在 DRAM 中取决于\
                 一个核心能有多少次未命中同时在途：未完成行数 × 64 字节 ÷ 延迟。多线程能得到更多，直到通道占满。每个下\
                 降的台阶即某一级的边界。",
        },
        typical: Text {
            en: "By design two vectors a cycle in L1d: 64 bytes with AVX2, 128 with AVX-512 (Intel's optimisation \
                 manual). Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 345 GB/s in L1d (127 \
                 bytes per cycle), 110 to 133 in L2, 22 to 25 in L3, 11 to 13 in DRAM. A Core i5-2520M of 2011, \
                 summing in C: 78, 54 and 33, and 18 GB/s (printed in MB of 2^20 bytes). One core of a server reaches \
                 8 to 30 in DRAM; a whole 2-socket Cascade Lake server 226 (published run of Memory Latency Checker).",
            zh: "按设计 L1d 每周期两个向量：AVX2 为 64 字节，AVX-512 为 128（Intel 优化手册）。用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade \
                 Lake，Linux 6.18）上实测：L1d 345 GB/s（127 字节/周期），L2 110 到 133，L3 22 到 25，DRAM 11 到 13。2011 年的 Core \
                 i5-2520M 用 C 求和：78、54 与 33、18 GB/s（原文的 MB 为 2^20 字节）。服务器单核在 DRAM 中为 8 到 30；双路 Cascade Lake 全部核心为 226（Memory \
                 Latency Checker 的公开结果）。",
        },
        causes: Text {
            en: "Base pages (prefetchers stop at each 4 KiB page: compare page=base); a neighbour in the shared L3 or \
                 on the channels; unpopulated memory channels; memory on another node; a busy SMT sibling, which \
                 halves the L1d and L2 rates; a lower clock under wide vectors.",
            zh: "基本页（预取器止步于每个 4 KiB 页，可与 page=base 比较）；占用共享 L3 或内存通道的邻居虚拟机；内存通道\
                 未插满；内存位于另一节点；繁忙的 SMT 兄弟线程使 L1d 与 L2 的速率减半；宽向量下频率降低。",
        },
    },
    related: &["memory.write", "memory.copy", "memory.stream", "memory.latency"],
    differs: Some(Text {
        en: "bw_mem frd sums 4-byte integers in one chain of dependent additions: 4 to 6 bytes per cycle, which almost \
             any memory can supply. rd touches 4 of every 16 bytes and counts all 16. hostmark loads every byte with \
             the widest vectors, in hand-written instructions: 19 times frd at 16 KiB, 1.9 times at 64 MiB \
             (docs/accuracy.md).",
        zh: "bw_mem frd 用一条依赖的加法链对 4 字节整数求和，每周期 4 到 6 字节，几乎任何内存都供得上；rd 每 16 字节只\
             触及 4 字节却全部计入。hostmark 用最宽的向量加载每个字节，指令为手工编写：16 KiB 时为 frd 的 19 倍，64 \
             MiB 时为 1.9 倍（见 docs/accuracy.md）。",
    }),
    axes: &[
        Axis {
            at_a_glance: Some(|host, _| super::beyond(host, super::USUAL_BYTES).into_iter().collect()),
            ..super::SIZE
        },
        Axis::choice(
            "kernel",
            "best",
            Points::Listed {
                quick: &["best", "scalar"],
                standard: &["sse2", "avx2", "avx512", "avx512-descending", "avx2-streams", "neon", "sve", "nt"],
                thorough: &[],
            },
        ),
        super::PAGE,
        super::THREADS,
    ],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["size", "kernel"] }],
    limit: Limit::BytesPerCycle,
    replaces: &["bw_mem"],
    core_bound: CoreBound::SIZE,
    section: crate::section::BANDWIDTH,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let usual = bandwidth::best_read(super::reach(case, size));
    let pages = super::pages(case)?;
    let kernels = Candidates::of(&case.param::<String>("kernel")?, bandwidth::reads().iter(), usual)?;
    passes(case, &kernels, pages, (size, size), |kernel, buffer, part, n| {
        kernel.run(&buffer.bytes()[part], n).map(drop)
    })?;
    Ok(())
}
