//! Probe memory.copy: how fast one core, or several, copy memory, by size and kernel.

use std::ops::Range;

use hostmark_engine::prelude::*;

use crate::fastest::{Candidates, passes};
use crate::kernels::bandwidth::{self, CopyKernel};

pub static PROBE: Probe = Probe {
    title: Text { en: "Memory copy", zh: "内存复制" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::BYTES_PER_CYCLE],
    explain: Explain {
        what: Text {
            en: "One half of a buffer is copied to the other, over and over; size is the size of the source. The \
                 destination starts 512 bytes after the source modulo 4096 (3584 in L1d), so no load waits for an \
                 earlier store at the same page offset (4 KiB aliasing). The kernels are those of memory.write; rep is \
                 rep movsb, libc is memcpy. A copied byte counts once.",
            zh: "把缓冲区的一半反复复制到另一半；size 指源的大小。目的地址相对源偏移 512 字节（模 4096；L1d 内为 \
                 3584），以避免加载等待页内同一位置的先前存储（4 KiB 别名）。内核与 memory.write 相同；rep 是 rep \
                 movsb，libc 是 memcpy。复制一个字节计一次。",
        },
        why: Text {
            en: "memcpy is the most common memory operation of all: messages, buffers, garbage collectors, the kernel's own \
                 read and write.",
            zh: "memcpy 是最常见的内存操作：消息、缓冲、垃圾回收器，以及内核自己的读写。",
        },
        reading: Text {
            en: "Source and destination must both fit a level, so each step lies at half the size of memory.read's. \
                 With plain stores the bus moves three bytes per byte copied (read, write-allocate, write back), with \
                 nt two. Programs that count bytes read and bytes written, as STREAM does, print twice this value.",
            zh: "两个缓冲区都要装进某一级才有该级的速度，因此台阶位于 memory.read 大小的一半处。普通存储每复制一个字节，总线搬三个字节（读、写分配、写回），nt 为两个。像 \
                 STREAM 那样读写都计数的程序会给出两倍的数字。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 165 to 172 GB/s in L1d (63 \
                 bytes per cycle), 37 to 41 in L2, 11 to 12 in L3, 3 to 6 in DRAM with one thread, 6 to 9 with two; \
                 neighbours cause the spread in DRAM. libc's memcpy is up to a quarter below the best kernel, most in \
                 L2 (docs/accuracy.md).",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：L1d 165 到 172 GB/s（63 字节/周\
                 期），L2 37 到 41，L3 11 到 12，DRAM 单线程 3 到 6，两个线程 6 到 9；DRAM 中的离散来自邻居虚拟机。libc \
                 的 memcpy 最多比 best 内核低四分之一，以 L2 中为甚（见 docs/accuracy.md）。",
        },
        causes: Text {
            en: "Write-allocate; source and destination at nearly the same offset in their 4 KiB pages, which makes \
                 loads wait for stores (this probe avoids it); base pages; a C library that switches to non-temporal \
                 stores too early or too late; neighbours.",
            zh: "写分配；源与目的在各自 4 KiB 页内的位置几乎相同，使加载等待存储（本探针已避开）；基本页；C 库改用非临\
                 时存储过早或过晚；邻居虚拟机。",
        },
    },
    related: &["memory.read", "memory.write", "memory.stream", "ipc.shared_memory_bandwidth"],
    differs: Some(Text {
        en: "fcp copies 4-byte integers in an unrolled loop; cp copies 4 of every 16 bytes; bcopy is the C library's, \
             like kernel=libc here. lmbench uses the offsets that malloc returns, which costs up to 20 %; here it is \
             fixed.",
        zh: "fcp 用展开的循环复制 4 字节整数，cp 每 16 字节只复制 4 字节；bcopy 是 C 库的，与这里的 kernel=libc 相同。\
             lmbench 用 malloc 给出的偏移，因此最多损失 20%；这里的偏移是固定的。",
    }),
    axes: &[
        Axis { points: Points::OfHost(sizes), ..super::SIZE }.fills(Fill::EachThread(2)),
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
    full_factorial: &[FullFactorial { from: Profile::Thorough, axes: &["size", "kernel"] }],
    limit: Limit::BytesPerCycle,
    replaces: &["bw_mem"],
    core_bound: CoreBound::SIZE,
    section: crate::section::BANDWIDTH,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// Of two buffers half of what lies outside the caches is enough.
fn sizes(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let far = super::beyond(host, 2 * super::USUAL_BYTES).map(|both| both / 2);
    super::sizes_beyond_later(host, profile).into_iter().chain(far).collect()
}

fn measure(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let reach = super::reach(case, 2 * size);
    let usual = bandwidth::best_copy(reach);
    let pages = super::pages(case)?;
    let kernels = Candidates::of(&case.param::<String>("kernel")?, bandwidth::copies().iter(), usual)?;
    let offset = bandwidth::copy_offset_bytes(reach);
    case.note("offset_bytes", offset);
    let bytes = usize::try_from(size)?;
    // The destination begins at the first address behind the source that has the offset.
    let destination = bytes.next_multiple_of(4096) + offset;
    let run = |kernel: &CopyKernel, buffer: &mut Buffer, part: Range<usize>, n| {
        let (source, rest) = buffer.bytes_mut().split_at_mut(bytes);
        kernel.run(&mut rest[destination - bytes..][part.clone()], &source[part], n)
    };
    let kernel = passes(case, &kernels, pages, (size, (destination + bytes) as u64), run)?;
    // What one instruction or the C library does is theirs.
    match kernel.name {
        "nt" => case.note("bus_bytes_per_byte", 2),
        "rep" | "libc" => {}
        _ => case.note("bus_bytes_per_byte", 3),
    }
    Ok(())
}
