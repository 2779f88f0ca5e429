//! Probe paging.fault: the first access to a page, by what lies behind it.

mod first;
mod major;
mod pass;
mod returned;

pub(super) use first::AGAIN;
use first::first;
use hostmark_engine::prelude::*;
use major::major;
use pass::{PER_PAGE, Pass, passes};
use returned::returned;

use crate::workloads::mappings::mapping::{Mapping, Sharing};

pub static PROBE: Probe = Probe {
    title: Text { en: "Page fault", zh: "缺页" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[PER_PAGE, AGAIN, Quantity::DEVICE_SHARE],
    explain: Explain {
        what: Text {
            en: "A pass touches every page of a fresh mapping once; its time is divided by the faults that the kernel counted. \
                 Mapping and unmapping are not timed. kind=anonymous writes to 4 MiB of private memory in base pages, each zeroed by \
                 the kernel; anonymous_pmd writes to 16 MiB in 2 MiB pages. file reads a cached 4 MiB file in order; a fault also \
                 maps the cached pages around it (fault-around, 64 KiB by default), so the time per page is shown too. file_write \
                 writes to a shared mapping of that file, with one fault per page. copy_on_write writes to a private mapping of it \
                 whose pages were read before. file_major reads a scratch file at random whose pages were dropped from the cache \
                 (FADV_DONTNEED, MADV_RANDOM): each fault waits for the device. kind=first writes to 128 MiB of base pages, once per \
                 process; its second value, `again`, repeats that after madvise(MADV_DONTNEED) has returned them. kind=returned \
                 writes to 64 MiB of memory in 2 MiB pages, 5 s after the process freed 64 MiB, in a guest whose kernel reports free \
                 pages to the host; `again` repeats that at once.",
            zh: "每一遍访问新映射的每个页一次，总时间除以内核记录的缺页次数；映射与解除映射不计时。kind=anonymous：写 4 MiB 基本页的\
                 私有内存，每页由内核清零；anonymous_pmd：同上，用 2 MiB 页，共 16 MiB。file：按顺序读已缓存的 4 MiB 文件：一次缺页\
                 会把周围已缓存的页一并映射（fault-around，默认 64 KiB），因此另列每页时间。file_write：写该文件的共享映射，每页一次\
                 缺页。copy_on_write：写其私有映射，各页事先已读过。file_major：随机读临时目录中一个文件，其页已从缓存中丢弃（\
                 FADV_DONTNEED、MADV_RANDOM）：每次缺页都要等待设备。first：每个进程写一次 128 MiB 基本页；再次（again）：用 \
                 madvise(MADV_DONTNEED) 归还后再写同样的内存。returned：在内核会向宿主机上报空闲页的虚拟机里，释放 64 MiB（2 MiB \
                 页）5 秒后再写同样多的内存；again 为立即再写。",
        },
        why: Text {
            en: "A program pays this for every page of memory that it uses for the first time: at its start, and whenever its \
                 allocator has returned memory. The cost is the exception, finding the mapping, allocating a page, clearing or \
                 copying it, and the page-table entry. A guest may pay for a second fault in the hypervisor.",
            zh: "程序对首次使用的每个内存页都要付这一代价：启动时，以及分配器归还内存之后。其中包括异常、查找映射、从分配器取页、清\
                 零或复制、填写页表项；在虚拟机里还可能在虚拟机监控程序中再缺一次页。",
        },
        reading: Text {
            en: "kind=anonymous consists of the exception itself, a page from the allocator, its zeroing (4 KiB at memory.fill's \
                 in-cache rate) and the page-table entry. anonymous_pmd is mostly the zeroing of 2 MiB, so each byte is several \
                 times cheaper. file maps up to 16 pages per fault. file_write allocates no page; copy_on_write allocates and copies \
                 one. file_major is mostly the device's read. kind=first far above `again`: the hypervisor had taken the pages back, \
                 and the host must provide them again. kind=returned minus its `again` is that cost per 2 MiB.",
            zh: "anonymous 是异常、从分配器取一页、清零（4 KiB，按 memory.fill 在缓存中的速率）和写表项。anonymous_pmd 主要是清零 2 \
                 MiB，因此每字节便宜数倍。file 一次缺页最多映射 16 页。file_write 不产生新页，copy_on_write 要新建并复制一页。\
                 file_major 就是设备。first 远高于“再次”：虚拟机监控程序已收回这些页，要由宿主机重新提供。returned 高出 again 的部分\
                 就是每 2 MiB 的这一代价。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18), whose hypervisor takes part in each of \
                 these faults: anonymous 1.5 to 1.8 µs, anonymous_pmd 320 µs, file 2.1 µs or 137 ns per page, file_write 0.86, \
                 copy_on_write 3.1, file_major 38 to 44 on a virtual disk; on another (AMD EPYC), which reports free pages, returned \
                 3 to 10 ms per 2 MiB page, against 94 µs for `again`. Without a hypervisor expect a fraction of that for the \
                 in-memory kinds.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测（其虚拟机监控程序参与每次这样的缺页）：\
                 anonymous 1.5 到 1.8 µs，anonymous_pmd 320 µs，file 2.1 µs 即每页 137 ns，file_write 0.86，copy_on_write 3.1，\
                 file_major 在虚拟磁盘上 38 到 44；在另一台会上报空闲页的虚拟机（AMD EPYC）上，returned 每 2 MiB 页 3 到 10 ms，\
                 again 为 94 µs。没有虚拟机监控程序介入时，内存中的各种只要其几分之一。",
        },
        causes: Text {
            en: "A hypervisor that backs memory late or shadows page tables; page-table isolation; memory control groups; zones \
                 short of free pages, which make the kernel reclaim; automatic NUMA balancing; for file_major a slow or busy device.",
            zh: "虚拟机监控程序很晚才提供内存，或使用影子页表；页表隔离；内存 cgroup；内存区（zone）空闲页不足导致内核回收；自动 \
                 NUMA 均衡；file_major 则是设备慢或忙。",
        },
    },
    related: &["paging.mmap", "paging.protection_fault", "memory.tlb", "process.fork_exit"],
    differs: Some(Text {
        en: "lat_pagefault touches the pages of a mapped file in random order and subtracts the cost of mapping. It prints one \
             number per page, whether or not a fault also mapped its neighbours. hostmark goes in order, divides by the kernel's own \
             count of faults, and shows the time per fault and per page. The summary uses kind=file, per page.",
        zh: "lat_pagefault 按随机顺序触及映射文件的页，减去映射的代价，每页给一个数，不管一次缺页是否顺带映射了相邻的页。这里按顺序\
             访问，用内核自己计的缺页次数去除，按次与按页都给出；汇总表取 kind=file 的每页值。",
    }),
    axes: &[Axis::choice(
        "kind",
        "anonymous",
        Points::Listed {
            quick: &["anonymous", "file", "first"],
            standard: &["anonymous_pmd", "file_write", "copy_on_write", "file_major", "returned"],
            thorough: &[],
        },
    )],
    limit: Limit::CyclesPerOp,
    blocking: true,
    replaces: &["lat_pagefault"],
    section: crate::section::PAGING,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

/// Bytes of a pass: of base pages, and of huge ones.
const BASE_BYTES: usize = 4 << 20;
const PMD_BYTES: usize = 16 << 20;

fn measure(case: &mut Case) -> Result<()> {
    let page = Pages::Base.bytes();
    match case.param::<String>("kind")?.as_str() {
        "anonymous" => anonymous(case, BASE_BYTES, Pages::Base),
        "anonymous_pmd" => case.may_have_huge_pages().and_then(|()| anonymous(case, PMD_BYTES, Pages::Pmd)),
        "file_major" => major(case),
        "first" => first(case),
        "returned" => returned(case),
        kind => {
            let directory = case.memory_dir()?;
            let file = crate::place::filled(case, &directory, BASE_BYTES as u64)?;
            if kind == "copy_on_write" {
                case.may_fill(BASE_BYTES as u64)?;
            }
            let pages = (kind == "file").then_some(BASE_BYTES / page);
            passes(case, pages, |clock| {
                let sharing = if kind == "copy_on_write" { Sharing::Private } else { Sharing::Shared };
                let mapping = Mapping::file(&file, BASE_BYTES, sharing, kind != "file")?;
                if kind == "copy_on_write" {
                    mapping.read_every(page, BASE_BYTES);
                }
                Pass::of(clock, || match kind {
                    "file" => mapping.read_every(page, BASE_BYTES),
                    _ => mapping.write_every(page, BASE_BYTES),
                })
            })
        }
    }
}

fn anonymous(case: &mut Case, bytes: usize, pages: Pages) -> Result<()> {
    case.may_fill(bytes as u64)?;
    let bytes = bytes.next_multiple_of(pages.bytes());
    passes(case, None, |clock| {
        let mapping = Mapping::anonymous(bytes, pages)?;
        let pass = Pass::of(clock, || mapping.write_every(pages.bytes(), bytes))?;
        match pass.faults * pages.bytes() as u64 > 2 * bytes as u64 {
            true => Err(RoundError::skipped(ReasonCode::HugePages, "the kernel gives no huge pages")),
            false => Ok(pass),
        }
    })
}
