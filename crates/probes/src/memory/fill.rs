//! Probe memory.fill: how fast one core, or several, set memory to one value, by size and kernel.

use hostmark_engine::prelude::*;

use crate::kernels::bandwidth;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Memory fill", zh: "内存填充" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::BYTES_PER_CYCLE],
    explain: Explain {
        what: Text {
            en: "A buffer is set to zero from end to end, over and over, as memset and bzero do. Kernels: best, scalar, the vector \
                 kernels, rep (rep stosb), nt (non-temporal stores) and libc (memset), as in memory.write.",
            zh: "把缓冲区从头到尾反复置零，如同 memset 与 bzero。内核：best、scalar、各向量内核、rep（rep stosb）、nt（非临时存储）和 \
                 libc（memset），与 memory.write 相同。",
        },
        why: Text {
            en: "Every fresh page is zeroed before a program sees it, calloc and secure erasure zero again. Some cores treat zeros \
                 specially, which is why this stands beside memory.write.",
            zh: "每个新页在程序看到之前都要清零，calloc 与安全擦除还要再清一次。有些核心对零有特殊处理，因此它与 memory.write 并列。",
        },
        reading: Text {
            en: "The same as memory.write where the core treats zeros like any data. libc against best shows what your C library's \
                 memset leaves on the table, or where its switch to non-temporal stores stands.",
            zh: "若核心对零一视同仁，应与 memory.write 相同。libc 与 best 的差别显示 C 库 memset 的不足，或它改用非临时存储的位置。",
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

fn measure(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let best = bandwidth::best_write(super::reach(case, size));
    let kernel = super::kernel(case, best, bandwidth::write, |kernel| kernel.name)?;
    super::passes(case, size, size, |buffer, n| kernel.fill(buffer.bytes_mut(), n, 0))
}
