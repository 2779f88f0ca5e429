//! Probe file.kernel_write: 4 KiB at the start of a file are overwritten inside the kernel.

use hostmark_engine::prelude::*;

use crate::in_kernel;
use crate::page_access;
use crate::workloads::machine::kernel_module::KernelOperation;

pub static PROBE: Probe = Probe {
    title: Text { en: "Overwrite inside the kernel", zh: "内核态覆盖文件" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: Quantity::OF_BATCHES,
    explain: Explain {
        what: Text {
            en: "The kernel module hostmark (kmod/) calls and times kernel_write of 4 KiB at offset 0 of an unnamed \
                 scratch file, on the disk of --scratch, in batches of 10,000, without O_SYNC: into the page cache. \
                 There is no system call and no copy from user space. irq=off is refused.",
            zh: "由内核模块 hostmark（kmod/）对 --scratch 所指磁盘上一个无名临时文件，在偏移 0 处调用并计时 kernel_write，\
                 每次 4 KiB，每批 10 000 次，不用 O_SYNC：写入页缓存。其中没有系统调用，也没有来自用户态的复制。irq=off 被\
                 拒绝。",
        },
        why: Text {
            en: "Whatever file.overwrite adds is the price of asking from user space. The gap to file.kernel_read is \
                 the filesystem's bookkeeping.",
            zh: "file.overwrite 多出的部分，就是从用户态发起请求的代价；比 file.kernel_read 多出的部分，是文件系统的记账。",
        },
        reading: Text {
            en: "A copy of 4 KiB, and the filesystem's work to mark a page dirty. Now and then the kernel writes the \
                 page out meanwhile.",
            zh: "4 KiB 的复制，以及文件系统把页标记为已改的工作。其间内核偶尔会把该页写出。",
        },
        typical: page_access::OVERWRITE_FIGURES,
        causes: page_access::CAUSES_INSIDE,
    },
    related: &["file.overwrite", "file.kernel_read", "syscall.kernel_null"],
    axes: &[Axis::bind(), in_kernel::IRQ],
    blocking: true,
    needs: in_kernel::NEEDS,
    section: crate::section::FILES,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let file = page_access::on_disk(case)?;
    in_kernel::measure(case, 1, KernelOperation::FileWrite(&file))
}
