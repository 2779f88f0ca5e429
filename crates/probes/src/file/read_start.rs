//! Probe file.read_start: 4 KiB at the start of a file are read, over and over, from user space.

use hostmark_engine::prelude::*;

use crate::page_access;
use crate::workloads::storage::files;

pub static PROBE: Probe = Probe {
    title: Text { en: "Read at a file's start", zh: "读取文件开头" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: Quantity::OF_BATCHES,
    explain: Explain {
        what: Text {
            en: "pread of 4 KiB at offset 0 of an unnamed scratch file, on the disk of --scratch, in batches of \
                 10,000. A batch of slow operations ends after a quarter of the round's time. through=cache reads as \
                 programs do: after the first read the page cache answers. direct bypasses it (O_DIRECT), so the \
                 device answers. bind sets the CPU of the thread: none, CPU 0, the last CPU.",
            zh: "对 --scratch 所指磁盘上一个无名临时文件，在偏移 0 处 pread 4 KiB，每批 10 000 次；操作很慢时，一批在本轮时间的四分之一后结束。through=cache 如程序通常那样读取，第一次之后由页缓存作答；direct 绕过页缓存（O_DIRECT），由设\
                 备作答。bind 表示线程绑定在哪里：不绑定、CPU 0、最后一个 CPU。",
        },
        why: Text {
            en: "Compared with the same access inside the kernel (file.kernel_read) it shows what a program pays for \
                 the way there: system call, checks, and the copy to its memory. Compared with a guest's value it \
                 shows what the hypervisor adds.",
            zh: "与内核态的同一访问（file.kernel_read）并列，可知程序为到达内核付出多少：系统调用、检查，以及复制到自己的\
                 内存。与虚拟机中的值并列，可知虚拟机监控程序加了多少。",
        },
        reading: Text {
            en: "through=cache is a system call, the lookup of one page and a copy of 4 KiB: compare syscall.read_zero \
                 and memory.copy. through=direct is one request to the device: compare disk.read at depth 1. The \
                 overhead view shows deviation/mean.",
            zh: "through=cache 是一次系统调用、一页的查找和 4 KiB 的复制：可对照 syscall.read_zero 与 memory.copy。through=direct 是\
                 设备的一次请求：可对照深度 1 的 disk.read。标准差/平均值见 overhead 视图。",
        },
        typical: page_access::READ_FIGURES,
        causes: Text {
            en: "Mitigations and seccomp filters, as for syscall.null; copies to user space slowed by SMAP or \
                 mitigations; auditing. More on CPU 0 than elsewhere: interrupts. through=direct: see disk.read.",
            zh: "与 syscall.null 相同的缓解措施与 seccomp 过滤器；SMAP 或缓解措施拖慢用户复制；审计。CPU 0 上高于别处：中\
                 断。through=direct 见 disk.read。",
        },
    },
    related: &["file.overwrite", "file.kernel_read", "syscall.read_zero", "disk.read"],
    axes: &[Axis::bind(), page_access::THROUGH],
    full_factorial: page_access::BOTH_BINDINGS,
    limit: Limit::KernelEntry,
    blocking: true,
    section: crate::section::FILES,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let (file, mut block) = page_access::at_start(case)?;
    case.calls(|| files::read_at(&file, 0, block.bytes_mut())).in_batches().time()
}
