//! Probe memory.copy: how fast one core, or several, copy memory, by size and kernel.

use hostmark_engine::prelude::*;

use crate::kernels::bandwidth;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Memory copy", zh: "内存复制" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::BYTES_PER_CYCLE],
    explain: Explain {
        what: Text {
            en: "One half of a buffer is copied to the other, over and over; size is that of the source. The destination lies 3584 \
                 bytes behind the source modulo 4096, so that no load has to wait for an earlier store to the same place in its \
                 page (4 KiB aliasing). Kernels as in memory.write; rep is rep movsb, libc is memcpy. A byte copied counts once.",
            zh: "把缓冲区的一半反复复制到另一半；size 指源的大小。目的地址相对源偏移 3584 字节（模 4096），以避免加载等待页内同一位置的先前存储 \
                 （4 KiB 别名）。内核与 memory.write 相同；rep 是 rep movsb，libc 是 memcpy。复制一个字节计一次。",
        },
        why: Text {
            en: "memcpy is the most common memory operation of all: messages, buffers, garbage collectors, the kernel's own \
                 read and write.",
            zh: "memcpy 是最常见的内存操作：消息、缓冲、垃圾回收器，以及内核自己的读写。",
        },
        reading: Text {
            en: "Both buffers must fit a level to run at its speed, so that the steps stand at half of the sizes of memory.read. With \
                 plain stores the bus moves three bytes for each byte copied (read, write-allocate, write back), with nt two. libc \
                 switches to non-temporal stores somewhere beyond the caches. Programs that count read and written bytes both, \
                 as STREAM does, print twice this.",
            zh: "两个缓冲区都要装进某一级才有该级的速度，因此台阶位于 memory.read 大小的一半处。普通存储每复制一个字节，总线搬三个字节 \
                 （读、写分配、写回），nt 为两个。libc 在超出缓存后会改用非临时存储。像 STREAM 那样读写都计数的程序会给出两倍的数字。",
        },
    },
    axes: &[
        super::SIZE,
        Axis::choice(
            "kernel",
            "best",
            Points::Listed {
                quick: &["best", "scalar", "libc"],
                standard: &["sse2", "avx2", "avx512", "avx2-prefetch", "neon", "sve", "nt", "rep"],
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
    let reach = super::reach(case, 2 * size);
    let best = bandwidth::best_copy(reach);
    let offset = bandwidth::copy_offset_bytes(reach);
    let kernel = super::kernel(case, best, bandwidth::copy, |kernel| kernel.name)?;
    case.note("bus_bytes_per_byte", if kernel.name == "nt" { 2 } else { 3 });
    case.note("offset_bytes", offset);
    let bytes = usize::try_from(size).map_err(Stop::skipped)?;
    // The destination begins at the first address behind the source that has the offset.
    let destination = bytes.next_multiple_of(4096) + offset;
    super::passes(case, (destination + bytes) as u64, size, |buffer, n| {
        let (source, rest) = buffer.bytes_mut().split_at_mut(bytes);
        kernel.run(&mut rest[destination - bytes..], source, n)
    })
}
