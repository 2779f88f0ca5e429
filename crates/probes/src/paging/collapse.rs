//! Probe paging.collapse: base pages made into one huge page (MADV_COLLAPSE), by how many of them there are.

use hostmark_engine::prelude::*;

use crate::workloads::mappings::mapping::Mapping;

pub static PROBE: Probe = Probe {
    title: Text { en: "Collapse into a huge page", zh: "合并为大页" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P90, Quantity::P99, Quantity::MEAN],
    explain: Explain {
        what: Text {
            en: "Memory of the size and alignment of one huge page (2 MiB on most machines) is mapped, `pages` base pages in it are written, \
                 and one madvise(MADV_COLLAPSE) makes it one huge page; the time of that call alone is the value. Each base page \
                 must have faulted, and after the call none of the others may.",
            zh: "映射一段大小与对齐均为一个大页（多数机器上为 2 MiB）的内存，写其中 `pages` 个基本页，再用一次 madvise(MADV_COLLAPSE) 合并\
                 为一个大页；数值只是该调用的时间。每个基本页必须各缺页一次，调用之后其余的页不得再缺页。",
        },
        why: Text {
            en: "Memory that came in small pages costs TLB misses until khugepaged or the program itself collapses it. Databases, \
                 language run-times and allocators ask for it by this call.",
            zh: "以小页得到的内存会一直付 TLB 未命中的代价，直到 khugepaged 或程序自己将其合并。数据库、语言运行时和分配器用此调用提出要求。",
        },
        reading: Text {
            en: "A huge page is allocated (the kernel may have to compact memory for it), each base page that is there is copied and freed, \
                 and the rest is zeroed; every CPU that runs the process is interrupted, and the fixed part includes draining the \
                 CPUs' lists of pages. 2 MiB copied at memory.copy's rate is the least for all pages.",
            zh: "先分配一个大页（内核可能要为此规整内存），复制并释放已有的每个基本页，其余清零；运行该进程的每个 CPU 都要被中断，\
                 固定部分还包括清空各 CPU 的页缓存列表。所有页都在时，至少要按 memory.copy 的速率复制 2 MiB。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18): 330 to 339 µs with all 512 pages, 58 with one.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4 (Genoa)，Linux 6.18）上实测：512 页全在时 330 到 339 µs，只有一页时 58。",
        },
        causes: Text {
            en: "Fragmented memory, which the kernel must compact first; slow memory; a hypervisor that backs pages late; kernels \
                 before 6.1 have no such call.",
            zh: "内存碎片化，内核要先规整；内存慢；虚拟机监控程序很晚才提供内存；6.1 之前的内核没有此调用。",
        },
    },
    related: &["paging.fault", "memory.tlb", "memory.copy", "paging.unmap"],
    axes: &[Axis::count("pages", "512", Points::Listed { quick: &["512", "1"], standard: &[], thorough: &["64"] })],
    limit: Limit::KernelEntry,
    section: crate::section::PAGING,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let (page, huge) = (Pages::Base.bytes(), Pages::Pmd.bytes());
    let pages = case.param::<usize>("pages")?.min(huge / page);
    case.may_have_huge_pages()?;
    case.may_fill(huge as u64)?;
    let faults = |work: &dyn Fn()| -> Result<u64> {
        let before = sys::counters::thread_faults()?.minor;
        work();
        Ok(sys::counters::thread_faults()?.minor - before)
    };
    let collapse = |clock: &Clock| -> Result<Ticks> {
        let mapping = Mapping::anonymous(huge, Pages::Pmd)?;
        mapping.want_huge_pages(false)?;
        if faults(&|| mapping.write_every(page, pages * page))? < pages as u64 {
            return Err(RoundError::failed(ReasonCode::CheckFailed, "base pages came together"));
        }
        mapping.want_huge_pages(true)?;
        let start = clock.start();
        let collapsed = mapping.collapse();
        let took = clock.end().since(start);
        collapsed.map_err(|error| RoundError::lacking("the kernel makes no huge page of base pages", &error))?;
        match faults(&|| mapping.write_every(page, huge))? as usize {
            // What else this thread touches first meanwhile may fault as well.
            faults if faults >= (huge / page - pages).div_ceil(2).max(8) => {
                Err(RoundError::failed(ReasonCode::CheckFailed, "it is still in base pages"))
            }
            _ => Ok(took),
        }
    };
    case.timed(collapse).singly().time()
}
