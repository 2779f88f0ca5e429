//! Probe file.overwrite: 4 KiB at the start of a file are overwritten, over and over, from user space.

use hostmark_engine::prelude::*;

use crate::page_access;
use crate::workloads::storage::files;

pub static PROBE: Probe = Probe {
    title: Text { en: "Overwrite a file's start", zh: "覆盖文件开头" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: Quantity::OF_BATCHES,
    explain: Explain {
        what: Text {
            en: "pwrite of 4 KiB at offset 0 of an unnamed scratch file, on the disk of --scratch, without O_SYNC, in \
                 batches of 10,000. A batch of slow operations ends after a quarter of the round's time. through=cache \
                 writes into the page cache, and the kernel writes to the device later; direct bypasses it (O_DIRECT). \
                 bind sets the CPU of the thread: none, CPU 0, the last CPU.",
            zh: "对 --scratch 所指磁盘上一个无名临时文件，在偏移 0 处 pwrite 4 KiB，不用 O_SYNC，每批 10 000 次；操作很慢\
                 时，一批在本轮时间的四分之一后结束。through=cache 写入页缓存，由内核稍后写出；direct 绕过页缓存（O_DIRECT）写到设备。bind 表\
                 示线程绑定在哪里：不绑定、CPU 0、最后一个 CPU。",
        },
        why: Text {
            en: "Compared with the same write inside the kernel (file.kernel_write) it shows what a program pays for \
                 the way there. Compared with file.read_start it shows how much more a write costs: time stamps, \
                 locks, the filesystem's own bookkeeping.",
            zh: "与内核态的同一写入（file.kernel_write）并列，可知程序为到达内核付出多少；与 file.read_start 相比，可知写\
                 贵多少：时间戳、锁、文件系统自身的记账。",
        },
        reading: Text {
            en: "through=cache is a system call, a copy of 4 KiB and the filesystem's work to mark a page dirty; now \
                 and then the kernel writes the page out meanwhile. through=direct is one request to the device: \
                 compare disk.write at depth 1. Only through=direct compares disks; through=cache reaches no device on \
                 either side.",
            zh: "through=cache 是一次系统调用、4 KiB 的复制，以及文件系统把页标记为已改的工作；其间内核偶尔会把该页写出。through=direct 是\
                 设备的一次请求：可对照深度 1 的 disk.write。只有 through=direct 能比较磁盘：through=cache 时两边都不访问\
                 设备。",
        },
        typical: page_access::OVERWRITE_FIGURES,
        causes: Text {
            en: "As for file.read_start; a filesystem that starts a transaction for each change of a time stamp, \
                 copies on write, encrypts or checksums; a slow clock source.",
            zh: "与 file.read_start 相同的原因；每次改时间戳都开启事务、写时复制、加密或计算校验和的文件系统；时钟源很慢。",
        },
    },
    related: &["file.read_start", "file.kernel_write", "file.write", "disk.write"],
    axes: &[Axis::bind(), page_access::THROUGH],
    full_factorial: page_access::BOTH_BINDINGS,
    limit: Limit::KernelEntry,
    blocking: true,
    section: crate::section::FILES,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let (file, block) = page_access::at_start(case)?;
    case.calls(|| files::write_at(&file, 0, block.bytes())).in_batches().time()
}
