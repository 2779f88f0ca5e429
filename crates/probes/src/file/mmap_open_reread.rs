//! Probe file.mmap_open_reread: a cached file is opened, mapped, loaded and unmapped, by size.

use hostmark_engine::prelude::*;
use sys::mapping::{Mapping, Sharing};

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Mmap open + reread", zh: "打开、映射并重读文件" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[],
    explain: Explain {
        what: Text {
            en: "openat by name, mmap shared and read-only, a load of every byte by the widest vectors, munmap and close; the data is cached. The pages \
                 come into the page table by faults, several at a time.",
            zh: "按名字 openat，只读共享 mmap，用最宽的向量加载每个字节，munmap 并 close；数据已在缓存中。各页由缺页进入页表，每次数页。",
        },
        why: Text {
            en: "Whether a file that is read once is better mapped or read: the copy is saved, faults, unmapping and the TLB flush are paid.",
            zh: "只读一次的文件该映射还是该读：省去复制，却要付缺页、解除映射和 TLB 刷新。",
        },
        reading: Text {
            en: "Mostly within 0.6 to 1.5 times file.open_reread: below 16 KiB mapping loses, with large folios it wins. A hypervisor that makes faults dear \
                 shifts it towards reading.",
            zh: "多为 file.open_reread 的 0.6 到 1.5 倍：16 KiB 以下映射不划算，有大页框组时映射占优。若虚拟机监控程序使缺页变贵，则读取更有利。",
        },
    },
    axes: &[super::SIZE, crate::place::PLACE],
    cross: &[],
    limit: Limit::None,
    blocking: false,
    needs: &[],
    replaces: &["bw_mmap_rd"],
    section: crate::section::FILES,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let (path, size) = super::cached_by_name(case)?;
    let kernel = super::loading(case, size);
    super::passes(case, size, || {
        let file = path.open()?;
        let mapping = Mapping::file(&file, size, Sharing::Shared, false)?;
        super::sum(kernel, mapping.bytes());
        Ok(())
    })
}
