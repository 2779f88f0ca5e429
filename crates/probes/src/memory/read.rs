//! Probe memory.read: how fast one core reads memory, by size and kernel.

use hostmark_engine::prelude::*;

use crate::fastest::{Candidates, passes};
use crate::kernels::bandwidth;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Memory read", zh: "内存读取" },
    revision: 2,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::BYTES_PER_CYCLE],
    explain: Explain {
        what: Text {
            en: "A buffer is read from end to end, over and over, by loads into registers alone: nothing is added up and \
                 nothing stored. Kernels: best is the fastest of all on this host, by trials in turn in the case's first round, and is noted; scalar 64-bit loads; sse2, avx2, \
                 avx512, neon, sve by name; avx512-descending from the end to the start; avx2-streams goes through four quarters of the buffer side by side, with \
                 prefetches; nt with non-temporal prefetches. Every byte is read once a pass, and counts once. Each \
                 thread has a buffer of its own, on its own CPU, and all count in the time that they have in common.",
            zh: "把缓冲区从头到尾反复读入寄存器，不求和、不写回。内核：best 是本机上所有内核中最快的一个，由该用例第一轮的交替试测选出（记录在备注中）；scalar 是 64 位加载；\
                 sse2、avx2、avx512、neon、sve 按名称选择；avx512-descending 从尾到头读；avx2-streams 并排走缓冲区的四个四分之一，并带预取；nt 使用非临时预取。每遍每个字节恰好读一次、计一次。\
                 每个线程在自己的 CPU 上有自己的缓冲区，只统计所有线程共同的时间窗口。",
        },
        why: Text {
            en: "Scans, checksums, analytics and inference stream through memory; this is the most that one core can take in \
                 from each level.",
            zh: "扫描、校验、分析和推理都在流式读取内存；这是单个核心从每一级存储中所能取得的上限。",
        },
        reading: Text {
            en: "In L1d, bytes a core cycle = loads a cycle × bytes a load. Most cores start two loads a cycle, some \
                 recent ones three. A load fills one register: 8 bytes scalar, 16 with SSE2 or NEON, 32 with AVX2, 64 with AVX-512. So two \
                 ports of 16 bytes give 32 at most, of 64 bytes 128. 26 bytes of such 32 are 1.6 loads a cycle: the loop's own \
                 instructions, conflicts between banks and the ends of the block take the rest. A load takes what it asks for, not \
                 a line; lines move between levels. Divide by the clock that the core has, not by the nominal one: the cycles here are \
                 measured beside the samples. In memory it counts how many misses a core holds at once: \
                 outstanding lines × 64 bytes / latency. Several threads get more until the channels are full. Each \
                 step down stands where a level ends.",
            zh: "在 L1d 中，每核心周期字节数 = 每周期加载次数 × 每次加载的字节数。多数核心每周期可发起两次加载，一些较新的可发起三次。一次加载填满一个寄存器：标量 8 字节，\
                 SSE2 或 NEON 16 字节，AVX2 32 字节，AVX-512 64 字节。因此两个 16 字节的端口至多每周期 32 字节，两个 64 字节的端口至多 128。若 32 字节中\
                 得到 26，即每周期 1.6 次加载：其余耗于循环自身的指令、存储体冲突和数据块的首尾。加载只取所要的字节，不是整行；整行只在各级之间搬运。应除以核心的实\
                 际频率，而不是标称频率：这里的周期是在样本旁实测的。在内存中看一个核心能同时挂起多少次缺失：未完成行数 × 64 字节 ÷ 延迟。多线程能得到更多，直到通道占满。每个下降的台阶即某一级的边界。",
        },
        typical: Text {
            en: "By design two vectors a cycle in L1d: 64 bytes with AVX2, 128 with AVX-512 (Intel's optimisation \
                 manual). Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 345 GB/s in L1d \
                 (127 bytes a cycle), 110 to 133 in L2, 22 to 25 in L3, 11 to 13 in DRAM. A Core i5-2520M of 2011, \
                 summing in C: 78, 54 and 33, and 18 GB/s (printed in MB of 2^20 bytes). One core of a server reaches 8 to 30 in DRAM; all of a \
                 2-socket Cascade Lake 226 (published run of Memory Latency Checker).",
            zh: "按设计 L1d 每周期两个向量：AVX2 为 64 字节，AVX-512 为 128（Intel 优化手册）。用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade \
                 Lake，Linux 6.18）上实测：L1d 345 GB/s（127 字节/周期），L2 110 到 133，L3 22 到 25，DRAM 11 到 13。2011 年的 Core \
                 i5-2520M 用 C 求和：78、54 与 33、18 GB/s（原文的 MB 为 2^20 字节）。服务器单核在 DRAM 中为 8 到 30；双路 Cascade Lake 全部核心为 226（Memory \
                 Latency Checker 的公开结果）。",
        },
        causes: Text {
            en: "Base pages (prefetchers stop at each 4 KiB page: compare page=base), a neighbour in the shared L3 or \
                 on the channels, empty memory channels, memory of another node, a sibling thread that halves L1d's \
                 and L2's rate, the clock under wide vectors.",
            zh: "基本页（预取器止步于每个 4 KiB 页，可与 page=base 比较）、共享 L3 或内存通道上的邻居、内存通道未插满、内存位于另一节点、兄弟线程使 L1d 与 L2 的\
                 速率减半、宽向量下的频率。",
        },
    },
    related: &["memory.write", "memory.copy", "memory.stream", "memory.latency"],
    differs: Some(Text {
        en: "bw_mem frd sums 4-byte integers in one chain of dependent adds, 4 to 6 bytes a cycle that hardly any \
             memory keeps waiting; rd touches 4 of 16 bytes and counts all. Here every byte is loaded by the widest \
             vectors, which are written instructions: at 16 KiB 19 times frd, at 64 MiB 1.9 times (docs/accuracy.md).",
        zh: "bw_mem frd 用一条依赖的加法链对 4 字节整数求和，每周期 4 到 6 字节，几乎任何内存都跟得上；rd 每 16 字节只触及 4 字节却全部计入。这里用最宽的向量加载每\
             个字节，指令是写定的：16 KiB 时为 frd 的 19 倍，64 MiB 时为 1.9 倍（见 docs/accuracy.md）。",
    }),
    axes: &[
        super::SIZE,
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
    cross: &[Cross { from: Profile::Thorough, axes: &["size", "kernel"] }],
    limit: Limit::BytesPerCycle,
    blocking: false,
    needs: &[],
    replaces: &["bw_mem"],
    section: crate::section::BANDWIDTH,
    measure: Measure::Run(measure),
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
