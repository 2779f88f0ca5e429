//! Probe memory.read: how fast one core reads memory, by size and kernel.

use hostmark_engine::prelude::*;

use crate::kernels::bandwidth;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Memory read", zh: "内存读取" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::BYTES_PER_CYCLE],
    explain: Explain {
        what: Text {
            en: "A buffer is read from end to end, over and over, by loads into registers alone: nothing is added up and \
                 nothing stored. Kernels: best is the vector kernel that suits this CPU and this size, and is noted; scalar 64-bit loads; sse2, avx2, \
                 avx512, neon, sve by name; avx512-descending from the end to the start; avx2-streams goes through four quarters of the buffer side by side, with \
                 prefetches; nt with non-temporal prefetches. Every byte is read once a pass, and counts once. Each \
                 thread has a buffer of its own, on its own CPU, and all count in the time that they have in common.",
            zh: "把缓冲区从头到尾反复读入寄存器，不求和、不写回。内核：best 是最适合本 CPU 与该大小的向量内核（记录在备注中）；scalar 是 64 位加载；\
                 sse2、avx2、avx512、neon、sve 按名称选择；avx512-descending 从尾到头读；avx2-streams 并排走缓冲区的四个四分之一，并带预取；nt 使用非临时预取。每遍每个字节恰好读一次、计一次。\
                 每个线程在自己的 CPU 上有自己的缓冲区，只统计所有线程共同的时间窗口。",
        },
        why: Text {
            en: "Scans, checksums, analytics and inference stream through memory; this is the most that one core can take in \
                 from each level.",
            zh: "扫描、校验、分析和推理都在流式读取内存；这是单个核心从每一级存储中所能取得的上限。",
        },
        reading: Text {
            en: "In L1d two vectors a cycle: 64 bytes a cycle with AVX2, up to 128 with AVX-512. Each level below gives about \
                 half of the one above; in DRAM one core reaches 8 to 30 GB/s, limited by its outstanding misses and not by \
                 the DIMMs, so that several threads get more. Base pages can be slower than huge ones where the prefetchers \
                 stop at each 4 KiB page.",
            zh: "L1d 每周期两个向量：AVX2 为 64 字节/周期，AVX-512 可达 128。往下每一级约为上一级的一半；DRAM 中单核 8 到 30 \
                 GB/s，受限于核心的未完成缺失数而不是内存条，因此多线程能得到更多。基本页可能慢于大页，因为预取器止步于每个 \
                 4 KiB 页。",
        },
    },
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
    let best = bandwidth::best_read(super::reach(case, size));
    let kernel = super::kernel(case, best, bandwidth::read, |kernel| kernel.name)?;
    super::passes(case, size, size, |buffer, n| kernel.run(buffer.bytes(), n).map(drop))
}
