//! Probe paging.unmap: giving pages back, by their number and by how many threads of the process run meanwhile.

use hostmark_engine::prelude::*;

use super::THREADS;
use crate::running::{Others, beside};
use crate::workloads::mappings::mapping::Mapping;

pub static PROBE: Probe = Probe {
    title: Text { en: "Unmap (TLB shootdown)", zh: "解除映射（TLB shootdown）" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::P90, Quantity::P99, Quantity::MEAN],
    explain: Explain {
        what: Text {
            en: "`pages` base pages of private memory are mapped and written; then one call gives them back, and its time alone is \
                 the value. by=munmap removes the mapping, by=dontneed keeps it (madvise(MADV_DONTNEED)); by=free lets the kernel \
                 take the pages when it needs them (MADV_FREE). threads counts the \
                 threads of the process, each on its own CPU; the others only compute and never touch these pages.",
            zh: "映射并写入 `pages` 个基本页的私有内存，再用一次调用归还；数值只是该调用的时间。by=munmap 解除映射，by=dontneed 保留映射\
                 （madvise(MADV_DONTNEED)）；by=free 让内核在需要时再取走这些页（MADV_FREE）。threads 是进程的线程数，各占一个 CPU；其他线程只做计算，从不访问这些页。",
        },
        why: Text {
            en: "Allocators return memory by one of these calls, and every end of a mapped file is one. A CPU cannot change the TLB \
                 of another: the kernel interrupts each CPU that runs the process, even if it has never used the pages, and waits \
                 before it frees them.",
            zh: "分配器用这两种调用之一归还内存，每次结束对文件的映射也是如此。CPU 无法改动别的 CPU 的 TLB：内核要中断正在运行该进程的每个 \
                 CPU，即使它从未用过这些页，并等待应答之后才释放它们。",
        },
        reading: Text {
            en: "threads=1 is the call, and for each page the removal of its entry and its return to the allocator: the slope over \
                 pages. A second thread adds an interrupt to another CPU and its answer, once per call and not per page (sched.ipi); \
                 give back more at a time to pay it less often. free frees nothing yet: it marks each page. On aarch64 the hardware broadcasts.",
            zh: "threads=1 是调用本身，再加上每页移除表项并交还分配器：即随 pages 的斜率。第二个线程再加上中断另一个 CPU 并等它应答，每次调用\
                 一次，与页数无关（见 sched.ipi）；一次多归还一些，就能少付几次。free 只给每页做标记，尚未释放。aarch64 由硬件广播。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Granite Rapids, Linux 6.18): munmap 1.1 µs, dontneed 0.56, 64 pages 4.6 to \
                 4.7; with a second thread 16.5 to 17.1 µs, and 64 pages 20.2 to 20.6, where sched.ipi takes 14. \
                 On another (Zen 4 (Genoa)): free 1.8.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Granite Rapids，Linux 6.18）上实测：munmap 1.1 µs，dontneed 0.56，64 页 4.6 到 4.7；有第二个\
                 线程时 16.5 到 17.1 µs，64 页 20.2 到 20.6，而 sched.ipi 为 14。在另一台（Zen 4 (Genoa)）上：free 1.8。",
        },
        causes: Text {
            en: "Many running threads, or threads spread over sockets; a hypervisor whose interrupts are exits; a virtual CPU that \
                 is not running; memory control groups, which charge each page.",
            zh: "运行的线程很多，或分布在多个插槽；中断要退出的虚拟机监控程序；未在运行的虚拟 CPU；逐页记账的内存 cgroup。",
        },
    },
    related: &["paging.protect", "sched.ipi", "paging.mmap", "paging.parallel_fault"],
    axes: &[
        Axis::choice(
            "by",
            "munmap",
            Points::Listed { quick: &["munmap", "dontneed"], standard: &["free"], thorough: &[] },
        ),
        Axis::count("pages", "1", Points::Listed { quick: &["1", "64"], standard: &["512"], thorough: &["8192"] }),
        THREADS,
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["pages", "threads"] }],
    limit: Limit::KernelEntry,
    section: crate::section::PAGING,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let by = case.param::<String>("by")?;
    let page = Pages::Base.bytes();
    let bytes = case.param::<usize>("pages")?.saturating_mul(page);
    case.may_fill(bytes as u64)?;
    let give_back = |clock: &Clock, others: &Others| -> Result<Ticks> {
        let mapping = Mapping::anonymous(bytes, Pages::Base)?;
        mapping.write_every(page, bytes);
        others.all_run();
        let start = clock.start();
        match by.as_str() {
            "munmap" => drop(mapping),
            "free" => mapping.give_back_lazily()?,
            _ => mapping.give_back()?,
        }
        Ok(clock.end().since(start))
    };
    beside(case, || {}, |case, others| case.timed(|clock| give_back(clock, others)).singly().time())
}
