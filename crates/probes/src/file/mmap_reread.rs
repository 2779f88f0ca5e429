//! Probe file.mmap_reread: a mapped cached file is loaded again, by size.

use hostmark_engine::prelude::*;

use crate::workloads::mappings::mapping::{Mapping, Sharing};

pub static PROBE: Probe = Probe {
    title: Text { en: "Mmap reread", zh: "重读映射文件" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::BYTES_PER_CYCLE],
    explain: Explain {
        what: Text {
            en: "memory.read's fastest kernel (chosen by trials here) loads every byte of a shared, read-only mapping \
                 of a cached file, again and again. All pages are already in the page table, so the kernel plays no \
                 part.",
            zh: "用 memory.read 中本机最快的内核（由试测选出）反复加载一个已缓存文件的只读共享映射的每个字节；所有页事先已在页表中。内核不参与。",
        },
        why: Text {
            en: "A mapping saves the copy that file.reread pays. The rest is memory.read on page-cache pages, which \
                 are 4 KiB unless the filesystem uses larger ones.",
            zh: "映射省去了 file.reread 所付的复制。剩下的就是在页缓存的页上做 memory.read，除非文件系统有更大的页，否则每页 4 KiB。",
        },
        reading: Text {
            en: "Equal to memory.read with page=base at the same size: the kernel plays no part. Anything slower is \
                 the cost of scattered physical pages.",
            zh: "与相同大小、page=base 的 memory.read 相当：内核没有参与。更低是物理页分散的代价。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), tmpfs: 7 to 12 GB/s at 64 \
                 MiB, 90 to 119 GB/s at 64 KiB, which lies in L2; two to eight times file.reread.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（tmpfs）：64 MiB 为 7 到 12 GB/s，64 KiB（位于 \
                 L2）为 90 到 119 GB/s；为 file.reread 的两到八倍。",
        },
        causes: Text {
            en: "As for memory.read: neighbours, base pages, another node.",
            zh: "同 memory.read：邻居虚拟机、基本页、另一节点。",
        },
    },
    related: &["memory.read", "file.reread", "file.mmap_open_reread"],
    differs: Some(Text {
        en: "bw_mmap_rd sums integers in scalar code of the compiler; within the caches that sum, not the mapping, is \
             the limit. hostmark loads every byte with the fastest of memory.read's kernels. The summary uses \
             mmap_only.",
        zh: "bw_mmap_rd 用编译器的标量代码对整数求和，在缓存中受限的是求和而不是映射；这里用 memory.read 中最快的内核加载每个字节。汇总表取 mmap_only。",
    }),
    axes: &[super::SIZE, crate::place::PLACE],
    limit: Limit::BytesPerCycle,
    replaces: &["bw_mmap_rd"],
    section: crate::section::FILES,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let (file, size) = super::cached(case)?;
    let mut mapping = Mapping::file(&file, size, Sharing::Shared, false)?;
    mapping.read_every(Pages::Base.bytes(), size);
    let memory = mapping.bytes();
    let kernel = super::loading(case, memory)?;
    case.steady().after(|| super::sum(kernel, memory));
    case.loops(|n| (0..n).for_each(|_| super::sum(kernel, memory))).rate(size as u64)
}
