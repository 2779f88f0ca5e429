//! Probe memory.fill: how fast one core, or several, set memory to one value, by size and kernel.

use hostmark_engine::prelude::*;

use crate::fastest::{Candidates, passes};
use crate::kernels::bandwidth::{self, WriteKernel};

pub static PROBE: Probe = Probe {
    title: Text { en: "Memory fill", zh: "内存填充" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::BYTES_PER_CYCLE],
    explain: Explain {
        what: Text {
            en: "A buffer is zeroed from end to end, over and over, as memset and bzero do. The kernels are those of \
                 memory.write: best, scalar, the vector kernels, rep (rep stosb), nt (non-temporal stores) and libc \
                 (memset).",
            zh: "把缓冲区从头到尾反复置零，如同 memset 与 bzero。内核：best、scalar、各向量内核、rep（rep stosb）、nt（非临时存储）和 \
                 libc（memset），与 memory.write 相同。",
        },
        why: Text {
            en: "The kernel zeroes every fresh page before a program sees it; calloc and secure erasure zero memory \
                 again. Some cores treat zeros specially, so fill is measured beside memory.write.",
            zh: "每个新页在程序看到之前都要清零，calloc 与安全擦除还要再清一次。有些核心对零有特殊处理，因此它与 memory.write 并列。",
        },
        reading: Text {
            en: "Equal to memory.write where the core treats zeros like other data. The gap between libc and best \
                 shows what your C library's memset wastes, or at which size it switches to rep stosb or non-temporal \
                 stores.",
            zh: "若核心对零一视同仁，应与 memory.write 相同。libc 与 best 的差别显示 C 库 memset 的不足，或它改用 rep stosb 或非临时存储的位置。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 172 GB/s in L1d, 58 in L2, \
                 20 to 25 in L3, 6 to 12 in DRAM. rep stosb runs at the full clock in L1d and claims whole lines \
                 without reading them in L3, where it is 1 to 2 % ahead of vectors (docs/accuracy.md).",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：L1d 172 GB/s，L2 58，L3 20 到 25，DRAM 6 到 \
                 12。rep stosb 在 L1d 以全频运行，在 L3 不必读取就取得整行，比向量快 1 到 2%（见 docs/accuracy.md）。",
        },
        causes: Text {
            en: "As for memory.write. Microcode whose rep stosb lacks ERMS (before Ivy Bridge and Zen 3), or firmware \
                 that disables it. A page next to the buffer that is not present: rep stosb looks ahead to it, for 230 \
                 cycles per call.",
            zh: "同 memory.write。没有 ERMS 的微码 rep stosb（Ivy Bridge 与 Zen 3 之前），或被固件关闭；缓冲区旁边的页不在内存，rep stosb 每次调\
                 用向前查看它要 230 个周期。",
        },
    },
    related: &["memory.write", "paging.fault", "memory.stream2"],
    differs: Some(Text {
        en: "bzero of bw_mem is the C library's memset, as kernel=libc is here; best is vectors, up to 1.9 times as \
             fast in L2 and in memory.",
        zh: "bw_mem 的 bzero 是 C 库的 memset，与这里的 kernel=libc 相同；best 用向量，在 L2 与内存中最多快到 1.9 倍。",
    }),
    axes: &[super::SIZE_BEYOND_LATER, super::STORE_KERNEL, super::PAGE, super::THREADS],
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
    let usual = bandwidth::best_write(super::reach(case, size));
    let pages = super::pages(case)?;
    let kernels = Candidates::of(&case.param::<String>("kernel")?, bandwidth::writes().iter(), usual)?;
    let run = |kernel: &WriteKernel, buffer: &mut Buffer, part, n| kernel.fill(&mut buffer.bytes_mut()[part], n, 0);
    passes(case, &kernels, pages, (size, size), run)?;
    Ok(())
}
