//! Probe memory.read: how fast one core reads memory, by size and kernel.

use hostmark_engine::prelude::*;

use crate::kernels::bandwidth;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Memory read", zh: "内存读取" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[],
    explain: Explain {
        what: Text {
            en: "A buffer is read from end to end, over and over, by loads into registers alone: nothing is added up and \
                 nothing stored. Kernels: best is the vector kernel that suits this CPU and this size, and is noted; scalar 64-bit loads; sse2, avx2, \
                 avx512, neon, sve by name; nt with non-temporal prefetches. Every byte is read, and every byte counts \
                 once.",
            zh: "把缓冲区从头到尾反复读入寄存器,不求和、不写回。内核:best 是最适合本 CPU 与该大小的向量内核(记录在备注中);scalar 是 64 位加载;\
                 sse2、avx2、avx512、neon、sve 按名称选择;nt 使用非临时预取。每个字节都被读取,且只计一次。",
        },
        why: Text {
            en: "Scans, checksums, analytics and inference stream through memory; this is the most that one core can take in \
                 from each level.",
            zh: "扫描、校验、分析和推理都在流式读取内存;这是单个核心从每一级存储中所能取得的上限。",
        },
        reading: Text {
            en: "In L1d two vectors a cycle: 64 bytes a cycle with AVX2, up to 128 with AVX-512. Each level below gives about \
                 half of the one above; in DRAM one core reaches 8 to 30 GB/s, limited by its outstanding misses and not by \
                 the DIMMs, so that several threads get more. Base pages can be slower than huge ones where the prefetchers \
                 stop at each 4 KiB page.",
            zh: "L1d 每周期两个向量:AVX2 为 64 字节/周期,AVX-512 可达 128。往下每一级约为上一级的一半;DRAM 中单核 8 到 30 \
                 GB/s,受限于核心的未完成缺失数而不是内存条,因此多线程能得到更多。基本页可能慢于大页,因为预取器止步于每个 \
                 4 KiB 页。",
        },
    },
    axes: &[
        Axis::size("size", "67108864", Points::OfHost(sizes)),
        Axis::choice(
            "kernel",
            "best",
            Points::Listed {
                quick: &["best", "scalar"],
                standard: &["sse2", "avx2", "avx512", "neon", "sve", "nt"],
                thorough: &[],
            },
        ),
        Axis::choice("page", "pmd", Points::Listed { quick: &["pmd", "base"], standard: &[], thorough: &[] }),
    ],
    cross: &[Cross { from: Profile::Thorough, axes: &["size", "kernel"] }],
    limit: Limit::BytesPerCycle,
    blocking: false,
    needs: &[],
    replaces: &["bw_mem"],
    section: crate::section::BANDWIDTH,
    measure: Measure::Run(measure),
};

/// Half, full and twice each cache, besides a fixed list, so that both the host's steps and other hosts' can be seen.
fn sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    const QUICK_KIB: [u64; 9] = [4, 16, 32, 64, 256, 1024, 4096, 16384, 65536];
    const REFERENCE_KIB: [u64; 11] = [8, 48, 128, 192, 512, 2048, 2560, 3072, 8192, 32768, 131_072];
    const THOROUGH_KIB: [u64; 3] = [262_144, 524_288, 1_048_576];
    let of_caches = host.caches.iter().flat_map(|cache| [1, 2, 4].map(|halves| cache.size_bytes * halves / 2 / 1024));
    let largest = super::largest(host, profile);
    let listed = QUICK_KIB
        .into_iter()
        .chain(if profile >= Profile::Standard { REFERENCE_KIB.to_vec() } else { Vec::new() })
        .chain(if profile >= Profile::Thorough { THOROUGH_KIB.to_vec() } else { Vec::new() });
    listed.chain(of_caches).map(|kib| kib * 1024).filter(|&size| size <= largest).collect()
}

fn measure(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let name: String = case.param("kernel")?;
    let pages = super::pages(case)?;
    let kernel = match name.as_str() {
        "best" => Some(bandwidth::best_read(super::reach(case, size))),
        name => bandwidth::read(name),
    };
    let kernel = kernel.ok_or_else(|| Stop::skipped(format!("this architecture has no {name} kernel")))?;
    case.note("kernel", kernel.name);
    let buffer = case.buffer(size, pages, None)?;
    let memory = buffer.bytes();
    kernel.run(memory, 1).map_err(|refused| Stop::skipped(format!("cannot {refused}")))?;
    case.rate(size, |passes| {
        // The kernel has just shown that it does not refuse.
        let _ = kernel.run(memory, passes);
    })
}
