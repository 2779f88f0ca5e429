//! Probe file.kernel_read: 4 KiB at the start of a file are read inside the kernel.

use hostmark_engine::prelude::*;

use crate::in_kernel;
use crate::page_access;
use crate::workloads::machine::kernel_module::KernelOperation;

pub static PROBE: Probe = Probe {
    title: Text { en: "Read inside the kernel", zh: "内核态读取文件" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: Quantity::OF_BATCHES,
    explain: Explain {
        what: Text {
            en: "The kernel module hostmark (kmod/) calls and times kernel_read of 4 KiB at offset 0 of an unnamed \
                 scratch file, on the disk of --scratch, in batches of 10,000. The page cache answers. There is no \
                 system call and no copy to user space: the data goes to the module's own memory. irq=off is refused.",
            zh: "由内核模块 hostmark（kmod/）对 --scratch 所指磁盘上一个无名临时文件，在偏移 0 处调用并计时 kernel_read，\
                 每次 4 KiB，每批 10 000 次。由页缓存作答。其中没有系统调用，也没有到用户态的复制：数据复制到模块自己的内\
                 存。irq=off 被拒绝。",
        },
        why: Text {
            en: "This is as close as software gets to the access itself: whatever file.read_start adds is the price of \
                 asking from user space. In a guest it shows what hypervisor and kernel add.",
            zh: "这是软件所能最接近访问本身的值：file.read_start 多出的部分，就是从用户态发起请求的代价。在虚拟机中它反映\
                 虚拟机监控程序与内核增加的部分。",
        },
        reading: Text {
            en: "The lookup of one page and a copy of 4 KiB. It should not depend on the CPU; extra time on CPU 0 is \
                 interrupts.",
            zh: "一页的查找加上 4 KiB 的复制。绑定到某个 CPU 时应当相同；CPU 0 上多出的部分是中断。",
        },
        typical: page_access::READ_FIGURES,
        causes: page_access::CAUSES_INSIDE,
    },
    related: &["file.read_start", "file.kernel_write", "syscall.kernel_null"],
    axes: &[Axis::bind(), in_kernel::IRQ],
    blocking: true,
    needs: in_kernel::NEEDS,
    section: crate::section::FILES,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let file = page_access::on_disk(case)?;
    in_kernel::measure(case, 1, KernelOperation::FileRead(&file))
}
