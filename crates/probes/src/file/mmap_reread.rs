//! Probe file.mmap_reread: a mapped cached file is loaded again, by size.

use hostmark_engine::prelude::*;
use sys::mapping::{Mapping, Sharing};

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Mmap reread", zh: "重读映射文件" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[Quantity::BYTES_PER_CYCLE],
    explain: Explain {
        what: Text {
            en: "Every byte of a shared, read-only mapping of a cached file is loaded by the widest vectors, again and again; all pages are in the page \
                 table before. The kernel has no part in it.",
            zh: "用最宽的向量反复加载一个已缓存文件的只读共享映射的每个字节；所有页事先已在页表中。内核不参与。",
        },
        why: Text {
            en: "A mapping saves the copy that file.reread pays. What is left is memory.read on the pages of the page cache, which are 4 KiB each \
                 unless the filesystem has larger ones.",
            zh: "映射省去了 file.reread 所付的复制。剩下的就是在页缓存的页上做 memory.read，除非文件系统有更大的页，否则每页 4 KiB。",
        },
        reading: Text {
            en: "As memory.read with page=base at the same size. Less is the price of scattered physical pages; more than twice file.reread is usual in \
                 cache, 1.2 to 2 times beyond it.",
            zh: "与相同大小、page=base 的 memory.read 相当。更低是物理页分散的代价；在缓存内通常为 file.reread 的两倍以上，超出缓存为 1.2 到 2 倍。",
        },
    },
    axes: &[super::SIZE, crate::place::PLACE],
    cross: &[],
    limit: Limit::BytesPerCycle,
    blocking: false,
    needs: &[],
    replaces: &["bw_mmap_rd"],
    section: crate::section::FILES,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let (file, size) = super::cached(case)?;
    let kernel = super::loading(case, size);
    let mapping = Mapping::file(&file, size, Sharing::Shared, false)?;
    mapping.read_every(Pages::Base.bytes(), size);
    case.rate(size as u64, |n| (0..n).for_each(|_| super::sum(kernel, mapping.bytes())))
}
