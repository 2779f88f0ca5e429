//! Probe memory.write: how fast one core, or several, store to memory, by size and kernel.

use hostmark_engine::prelude::*;

use crate::kernels::bandwidth;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Memory write", zh: "内存写入" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::BYTES_PER_CYCLE],
    explain: Explain {
        what: Text {
            en: "A buffer is stored to from end to end, over and over, with a pattern that varies and is never zero; nothing is \
                 read. Kernels: best is the vector kernel with plain stores that suits this CPU and this size, and is noted; \
                 scalar 64-bit stores; sse2, avx2, avx512, neon, sve by name; avx2-prefetch and avx2-streams ask for the lines \
                 ahead; nt are non-temporal stores, which bypass the caches and end with a fence; rep is rep stosb; libc is \
                 memset. Every byte is written once a pass, and counts once.",
            zh: "用变化且从不为零的数据把缓冲区从头到尾反复写入，不读取。内核：best 是最适合本 CPU 与该大小的普通存储向量内核（记录在备注中）； \
                 scalar 是 64 位存储；sse2、avx2、avx512、neon、sve 按名称选择；avx2-prefetch 与 avx2-streams 预取后面的行；nt 是绕过 \
                 缓存的非临时存储，以栅栏结尾；rep 是 rep stosb；libc 是 memset。每遍每个字节恰好写一次、计一次。",
        },
        why: Text {
            en: "Results, logs, decompressed data and zeroed pages all have to be stored. A plain store to a line that is not cached \
                 first reads that line (write-allocate), so that the memory bus moves two bytes for each byte written.",
            zh: "结果、日志、解压数据和清零的页都要写入。对不在缓存中的行做普通存储，会先把该行读入（写分配），因此每写一个字节，内存总线要 \
                 搬两个字节。",
        },
        reading: Text {
            en: "In L1d one vector a cycle, half of what reading gives, since most cores have one store port. In DRAM plain stores \
                 reach a third to two thirds of memory.read, because of write-allocate; nt avoids the extra read and can win there \
                 when several threads write, while one thread is limited by its few write-combining buffers. In the caches nt is \
                 slow by design.",
            zh: "L1d 中每周期一个向量，是读取的一半，因为多数核心只有一个存储端口。DRAM 中普通存储因写分配只有 memory.read 的三分之一到三分之二； \
                 nt 省去额外读取，多线程写时可能更快，而单线程受限于少量写合并缓冲。在缓存大小内 nt 本来就慢。",
        },
    },
    axes: &[super::SIZE, super::STORE_KERNEL, super::PAGE, super::THREADS],
    cross: &[Cross { from: Profile::Thorough, axes: &["size", "kernel"] }],
    limit: Limit::BytesPerCycle,
    blocking: false,
    needs: &[],
    replaces: &["bw_mem"],
    section: crate::section::BANDWIDTH,
    measure: Measure::Run(measure),
};

/// What is stored: any value whose bytes differ.
const PATTERN: u64 = 0x0123_4567_89ab_cdef;

fn measure(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let best = bandwidth::best_write(super::reach(case, size));
    let kernel = super::kernel(case, best, bandwidth::write, |kernel| kernel.name)?;
    // A plain store to a line that is not cached reads it first.
    case.note("bus_bytes_per_byte", if kernel.name == "nt" { 1 } else { 2 });
    super::passes(case, size, size, |buffer, n| kernel.run(buffer.bytes_mut(), n, PATTERN))
}
