//! Probe paging.reclaim: pages that the kernel takes back on request or at a lower limit, and what it costs to have them again.

mod limit;

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
                 none leaves. kind=limit: a process in a control group that hostmark makes reads 4096 base pages of a file without \
                 blocks; then hostmark sets the group's limit (memory.max; memory.limit_in_bytes with version 1) to 2048 pages less than it \
                 has. The time of that write is divided by the pages that left; the group must have as many fewer. Needs root and a \
                 memory controller.",
            zh: "用一次 madvise 收回本进程独占映射的 4 MiB 基本页；时间除以离开内存的页数（mincore）。kind=file：临时目录所在设备上一个文件的私有映射\
                 的干净页（MADV_PAGEOUT）；again 为之后按顺序重新访问所有页的每页时间，来自设备，含内核预读。kind=cold：对刚写过的匿名页执行 \
                 MADV_COLD，只是提示内核优先回收，没有页离开。kind=limit：由 hostmark 创建的 cgroup 中的一个进程读取一个无数据块（空洞）文件的 4096 个基本页；\
                 然后 hostmark 把该 cgroup 的上限（memory.max；版本 1 为 memory.limit_in_bytes）设为比现有量少 2048 页。\
                 数值是这次写入的时间除以离开的页数；cgroup 的用量必须相应减少。需要 root 和内存控制器。",
        },
        why: Text {
            en: "A machine short of memory pays this for every page before it can give it to another, and `again` when the page is missed. \
                 Runtimes and agents that trim idle memory ask for it themselves. A container pays it at its memory limit, in the call \
                 that wants the page.",
            zh: "内存不足的机器要先为每一页付出这一代价，才能把它给别人；缺它时再付 again。主动压缩空闲内存的运行时与代理也用这种调用。\
                 容器达到内存上限时，由申请页的那次调用承担。",
        },
        reading: Text {
            en: "kind=file is the pure cost of reclaim: isolate the page, remove its mapping, flush TLBs, drop it from the cache, free it. \
                 cold only clears the accessed bits. kind=limit has pages that nobody maps, and the kernel looks for the oldest itself. \
                 Version 1 asks for 32 pages at a time, as an allocation at the limit does; version 2 asks for all at once. What goes \
                 beyond that counts too. The kernel's data about so few pages stay in the core's own caches; in a group of gigabytes \
                 they come from memory, and a page takes longer. Swap adds a place in it and the writing to it, which is not measured. \
                 `again` per page is below one read of the device (paging.fault with kind=file_major) as far as readahead helps.",
            zh: "kind=file 是回收本身：隔离页、解除映射、刷新 TLB、移出页缓存、释放。cold 只清除访问位。kind=limit 的页没有映射，由内核自己找出最旧的页。\
                 版本 1 每次要求 32 页，与达到上限时的分配相同；版本 2 一次要求全部。多回收的页也计入。页数这么少，内核记录它们的数据留在核心自己的缓存中；\
                 数 GB 的 cgroup 则要从内存读取，每页更慢。换出到 swap 还要分配位置并写入，这里不测。预读有效时，每页的 again 低于一次设备读取（paging.fault 的 kind=file_major）。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18), five runs beside other load: kind=file 0.83 to 0.87 \
                 µs a page, `again` 3.9 to 5.7; cold 50 ns; with nothing beside, limit 0.55 µs (version 1). Published on the \
                 kernel's mailing list in 2026: 256 MiB of anonymous memory in 64 KiB folios took 55 ms to go to swap on a bare x86 \
                 machine, 840 ns a page.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4（Genoa），Linux 6.18）上实测，五次运行，另有其他负载：kind=file 每页 0.83 到 0.87 µs，\
                 again 3.9 到 5.7；cold 50 ns；无其他负载时 limit 0.55 µs（版本 1）。2026 年内核邮件列表公布：\
                 物理 x86 机器上，64 KiB folio 的 256 MiB 匿名内存换出用时 55 ms，即每页 840 ns。",
        },
        causes: Text {
            en: "Other CPUs that run the process and must flush their TLBs; memory control groups, whose counters follow each page, at \
                 each level above; a filesystem with costly cache bookkeeping.",
            zh: "运行该进程的其他 CPU 须刷新 TLB；内存 cgroup 要逐页记账，上面每一层也要；文件系统的缓存管理开销大。",
        },
    },
    related: &["paging.fault", "paging.unmap", "disk.read"],
    axes: &[Axis::choice(
        "kind",
        "file",
        Points::Listed { quick: &["file"], standard: &["cold", "limit"], thorough: &[] },
    )],
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
    match case.param::<String>("kind")?.as_str() {
        "cold" => cold(case),
        "limit" => limit::measure(case),
        _ => clean(case),
    }
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
