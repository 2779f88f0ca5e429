//! Probe memory.write: how fast one core, or several, store to memory, by size and kernel.

use hostmark_engine::prelude::*;

use crate::fastest::{Candidates, passes};
use crate::kernels::bandwidth::{self, WriteKernel};

pub static PROBE: Probe = Probe {
    title: Text { en: "Memory write", zh: "内存写入" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::BYTES_PER_CYCLE],
    explain: Explain {
        what: Text {
            en: "Stores fill a buffer from end to end, over and over, with a varying pattern that is never zero; \
                 nothing is read. kernel=best is the fastest on this host; trials in the case's first round choose it, \
                 and a note names it. scalar uses 64-bit stores; sse2, avx2, avx512, neon and sve use the vectors of \
                 that name. avx2-prefetch and avx2-streams prefetch the lines ahead. nt uses non-temporal stores, \
                 which bypass the caches, and ends with a fence; rep is rep stosb; libc is memset. Each pass writes \
                 and counts every byte once.",
            zh: "用变化且从不为零的数据把缓冲区从头到尾反复写入，不读取。内核：best 是本机上所有内核中最快的一个，由该\
                 用例第一轮的交替试测选出（记录在备注中）；scalar 是 64 位存储；sse2、avx2、avx512、neon、sve 按名称选\
                 择；avx2-prefetch 与 avx2-streams 预取后面的行；nt 是绕过缓存的非临时存储，以栅栏结尾；rep 是 rep \
                 stosb；libc 是 memset。每遍每个字节恰好写一次、计一次。",
        },
        why: Text {
            en: "Programs store results, logs, decompressed data and zeroed pages. A plain store to an uncached line \
                 first reads that line (write-allocate), so the memory bus moves two bytes for each byte written.",
            zh: "结果、日志、解压数据和清零的页都要写入。对不在缓存中的行做普通存储，会先把该行读入（写分配），因此每\
                 写一个字节，内存总线要搬两个字节。",
        },
        reading: Text {
            en: "In L1d expect one vector per cycle, half the read rate, since most cores have one full-width store \
                 port. In DRAM a plain store first reads its line, so the bus moves two bytes per byte written. nt \
                 avoids that read, but is slow at cache sizes by design: each of its stores must reach memory.",
            zh: "L1d 中每周期一个向量，是读取的一半，因为多数核心只有一个全宽存储端口。在内存中普通存储要先读入该行，总线为一个字节搬两个；nt 省去这次读取，但每次存储都必须到\
                 达内存，因此在缓存大小内本来就慢。",
        },
        typical: Text {
            en: "By design 64 bytes per cycle with AVX-512 in L1d. Measured with hostmark on a 2-CPU KVM guest \
                 (Cascade Lake, Linux 6.18): 172 GB/s in L1d (64 bytes per cycle), 58 in L2, 20 to 25 in L3, 7 to 12 \
                 in DRAM, 16 with two threads; nt 7 GB/s at any size (docs/accuracy.md). A Core i5-2520M of 2011: 48 \
                 GB/s in L1d, one store of 16 bytes per cycle.",
            zh: "按设计 AVX-512 在 L1d 每周期 64 字节。用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：L1d 172 \
                 GB/s（64 字节/周期），L2 58，L3 20 到 25，DRAM 7 到 12，两个线程 16；nt 在任何大小都是 7 GB/s（见 docs/accuracy.md）。\
                 2011 年的 Core i5-2520M：L1d 48 GB/s，即每周期一次 16 字节的存储。",
        },
        causes: Text {
            en: "Write-allocate above all (compare kernel=nt with several threads); few write-combining buffers, which \
                 limit nt in one thread; neighbours on the memory channels; pages that the hypervisor has not backed \
                 yet.",
            zh: "首先是写分配（可用多线程的 kernel=nt 比较）；写合并缓冲很少，限制单线程的 nt；内存通道上的邻居虚拟机；\
                 虚拟机监控程序尚未提供的页。",
        },
    },
    related: &["memory.read", "memory.copy", "memory.fill", "memory.stream"],
    differs: Some(Text {
        en: "bw_mem fwr stores 4-byte integers; wr stores 4 of every 16 bytes and counts all 16; the compiler chooses \
             the instructions of both. hostmark stores whole vectors: 14 times fwr at 16 KiB, 1.8 times at 64 MiB \
             (docs/accuracy.md). nt and rep are separate kernels.",
        zh: "bw_mem fwr 存储 4 字节整数，wr 每 16 字节存 4 字节却全部计入，两者都由编译器决定。这里存储整个向量：16 KiB 时为 fwr 的 14 倍，64 MiB 时为 \
             1.8 倍（见 docs/accuracy.md）。nt 与 rep 各为单独的内核。",
    }),
    axes: &[super::SIZE, super::STORE_KERNEL, super::PAGE, super::THREADS],
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["size", "kernel"] }],
    limit: Limit::BytesPerCycle,
    replaces: &["bw_mem"],
    core_bound: CoreBound::SIZE,
    section: crate::section::BANDWIDTH,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// What is stored: any value whose bytes differ.
const PATTERN: u64 = 0x0123_4567_89ab_cdef;

fn measure(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let usual = bandwidth::best_write(super::reach(case, size));
    let pages = super::pages(case)?;
    let kernels = Candidates::of(&case.param::<String>("kernel")?, bandwidth::writes().iter(), usual)?;
    let run =
        |kernel: &WriteKernel, buffer: &mut Buffer, part, n| kernel.run(&mut buffer.bytes_mut()[part], n, PATTERN);
    let kernel = passes(case, &kernels, pages, (size, size), run)?;
    // A plain store to a line that is not cached reads it first; what one instruction or the C library does is theirs.
    match kernel.name {
        "nt" => case.note("bus_bytes_per_byte", 1),
        "rep" | "libc" => {}
        _ => case.note("bus_bytes_per_byte", 2),
    }
    Ok(())
}
