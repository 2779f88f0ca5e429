//! Probe file.mmap_open_reread: a cached file is opened, mapped, loaded and unmapped, by size.

use hostmark_engine::prelude::*;

use crate::workloads::mappings::mapping::{Mapping, Sharing};

pub static PROBE: Probe = Probe {
    title: Text { en: "Mmap open + reread", zh: "打开、映射并重读文件" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    explain: Explain {
        what: Text {
            en: "openat by name, a shared read-only mmap, a load of every byte by memory.read's fastest kernel (chosen \
                 by trials here), munmap and close. The data is cached. Faults enter the pages into the page table, \
                 several at a time.",
            zh: "按名字 openat，只读共享 mmap，用 memory.read 中本机最快的内核（由试测选出）加载每个字节，munmap 并 close；数据已在缓存中。各页由缺页进入页表，每次数页。",
        },
        why: Text {
            en: "It shows whether to map or read a file that is read once. Mapping saves the copy, but pays for \
                 faults, unmapping and the TLB flush.",
            zh: "只读一次的文件该映射还是该读：省去复制，却要付缺页、解除映射和 TLB 刷新。",
        },
        reading: Text {
            en: "Compare with file.open_reread at the same size: mapping saves the copy, but pays for faults, \
                 unmapping and the TLB flush. A hypervisor with expensive faults favours reading, large folios favour \
                 mapping.",
            zh: "与相同大小的 file.open_reread 比较：省去了复制，但要付缺页、解除映射和 TLB 刷新。使缺页变贵的虚拟机监控程序有利于读取，大页框组有利于映射。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), tmpfs: 2.6 to 3.7 GB/s at 64 \
                 MiB, 0.7 to 0.95 of file.open_reread; 2.9 to 3.7 GB/s at 64 KiB, 0.4 of it.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（tmpfs）：64 MiB 为 2.6 到 3.7 GB/s，是 \
                 file.open_reread 的 0.7 到 0.95；64 KiB 为 2.9 到 3.7 GB/s，是其 0.4。",
        },
        causes: Text {
            en: "Expensive faults (paging.fault@kind=file), a process with threads on other CPUs whose TLBs must be \
                 flushed, files without large folios.",
            zh: "昂贵的缺页（见 paging.fault@kind=file）；进程的其他线程在别的 CPU 上，其 TLB 需要刷新；没有大页框组的文件。",
        },
    },
    related: &["file.open_reread", "paging.fault", "paging.mmap"],
    differs: Some(Text {
        en: "The same as bw_mmap_rd open2close, with vectors for the sum; the filesystem is noted.",
        zh: "与 bw_mmap_rd open2close 相同，但求和用向量；并注明文件系统。",
    }),
    axes: &[super::SIZE, crate::place::PLACE],
    replaces: &["bw_mmap_rd"],
    section: crate::section::FILES,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let (path, size) = super::cached_by_name(case)?;
    let kernel = super::loading(case, Mapping::file(&path.open()?, size, Sharing::Shared, false)?.bytes())?;
    super::passes(case, size, || {
        let file = path.open()?;
        let mut mapping = Mapping::file(&file, size, Sharing::Shared, false)?;
        super::sum(kernel, mapping.bytes());
        Ok(())
    })
}
