//! Probe paging.reclaim: pages of this process that the kernel takes back on request, and what it costs to have them again.

use hostmark_engine::prelude::*;

use super::fault::AGAIN;
use crate::workloads::mappings::mapping::{Mapping, Sharing};

pub static PROBE: Probe = Probe {
    title: Text { en: "Page reclaim", zh: "页面回收" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[AGAIN],
    explain: Explain {
        what: Text {
            en: "One madvise call takes back 4 MiB of base pages that this process alone maps; its time is divided by the pages that \
                 left memory (mincore). kind=file: clean pages of a private mapping of a file on the scratch directory's device \
                 (MADV_PAGEOUT); `again` is the time per page of touching all of them in order afterwards, from the device with the \
                 kernel's readahead. kind=cold: MADV_COLD of anonymous pages just written, a note to the kernel to reclaim them first: \
                 none leaves.",
            zh: "用一次 madvise 收回本进程独占映射的 4 MiB 基本页；时间除以离开内存的页数（mincore）。kind=file：临时目录所在设备上一个文件的私有映射\
                 的干净页（MADV_PAGEOUT）；again 为之后按顺序重新访问所有页的每页时间，来自设备，含内核预读。kind=cold：对刚写过的匿名页执行 \
                 MADV_COLD，只是提示内核优先回收，没有页离开。",
        },
        why: Text {
            en: "A machine short of memory pays this for every page before it can give it to another, and `again` when the page is missed. \
                 Runtimes and agents that trim idle memory ask for it themselves.",
            zh: "内存不足的机器要先为每一页付出这一代价，才能把它给别人；缺它时再付 again。主动压缩空闲内存的运行时与代理也用这种调用。",
        },
        reading: Text {
            en: "kind=file is the pure cost of reclaim: isolate the page, remove its mapping, flush TLBs, drop it from the cache, free it. \
                 cold only clears the accessed bits. Swap adds a place in it and the writing to it, which is not measured. `again` per page is below one read of the device (paging.fault with kind=file_major) as far as readahead helps.",
            zh: "kind=file 是回收本身：隔离页、解除映射、刷新 TLB、移出页缓存、释放。cold 只清除访问位。换出到 swap 还要分配位置并写入，这里不\
                 测。预读有效时，每页的 again 低于一次设备读取（paging.fault 的 kind=file_major）。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18), five runs beside other load: kind=file 0.83 to 0.87 \
                 µs a page, `again` 3.9 to 5.7; cold 50 ns. Published on the kernel's mailing list in 2026: 256 MiB of anonymous memory in \
                 64 KiB folios took 55 ms to go to swap on a bare x86 machine, 840 ns a page.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4（Genoa），Linux 6.18）上实测，五次运行，另有其他负载：kind=file 每页 0.83 到 0.87 µs，\
                 again 3.9 到 5.7；cold 50 ns。2026 年内核邮件列表公布：物理 x86 机器上，64 KiB folio 的 256 MiB 匿名内存换出用时 55 ms，即每页 \
                 840 ns。",
        },
        causes: Text {
            en: "Other CPUs that run the process and must flush their TLBs; memory control groups, whose counters follow each page; \
                 a filesystem with costly cache bookkeeping.",
            zh: "运行该进程的其他 CPU 须刷新 TLB；内存 cgroup 要逐页记账；文件系统的缓存管理开销大。",
        },
    },
    related: &["paging.fault", "paging.unmap", "disk.read"],
    axes: &[Axis::choice("kind", "file", Points::Listed { quick: &["file"], standard: &["cold"], thorough: &[] })],
    limit: Limit::CyclesPerOp,
    blocking: true,
    needs: &[Need::Kernel(5, 4)],
    section: crate::section::PAGING,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

const BYTES: usize = 4 << 20;

fn measure(case: &mut Case) -> Result<()> {
    if case.param::<String>("kind")? == "cold" { cold(case) } else { clean(case) }
}

fn cold(case: &mut Case) -> Result<()> {
    case.may_fill(BYTES as u64)?;
    let page = Pages::Base.bytes();
    case.timed(|clock| {
        let mapping = Mapping::anonymous(BYTES, Pages::Base)?;
        mapping.write_every(page, BYTES);
        let start = clock.start();
        let advised = mapping.deactivate();
        let took = clock.end().since(start);
        advised.map_err(refused)?;
        match mapping.pages_in_memory()? * page {
            BYTES => Ok((took, (BYTES / page) as u64)),
            _ => Err(RoundError::failed(ReasonCode::CheckFailed, "pages left memory that were to stay")),
        }
    })
    .time()
}

/// Takes clean pages of a file back again and again, and touches them.
fn clean(case: &mut Case) -> Result<()> {
    let page = Pages::Base.bytes();
    let file = crate::place::on_device(case, BYTES as u64)?;
    let mapping = Mapping::file(&file, BYTES, Sharing::Private, false)?;
    let mut again_ns = Vec::new();
    mapping.read_every(page, BYTES);
    case.timed(|clock| {
        let before = mapping.pages_in_memory()?;
        let start = clock.start();
        let reclaimed = mapping.reclaim();
        let took = clock.end().since(start);
        reclaimed.map_err(refused)?;
        let gone = before.saturating_sub(mapping.pages_in_memory()?);
        if 2 * gone < BYTES / page {
            return Err(crate::place::keeps_pages());
        }
        again_ns.push(clock.time(|| mapping.read_every(page, BYTES)) / gone as f64);
        Ok((took, gone as u64))
    })
    .time()?;
    case.also(AGAIN.name, again_ns)
}

fn refused(error: std::io::Error) -> RoundError {
    RoundError::lacking("the kernel reclaims no pages on request", &error)
}
