//! Probe paging.protect: taking the right to write from a page and giving it back, by running threads.

use hostmark_engine::prelude::*;

use super::THREADS;
use crate::running::beside;
use crate::workloads::mappings::mapping::Mapping;

pub static PROBE: Probe = Probe {
    title: Text { en: "Protect and unprotect", zh: "mprotect 改权限" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "mprotect makes one page read-only, mprotect makes it writable again, and a store follows; the value \
                 is all three. threads counts the threads of the process, each on its own CPU. The other threads load \
                 from the page without pause: their TLBs hold its entry, so the kernel must notify them when it \
                 withdraws write access.",
            zh: "用 mprotect 把一个页设为只读，再设回可写，并存一个字节；数值为三者之和。threads 是进程的线程数，各在\
                 一个 CPU 上：其余线程不停地读该页，其 TLB 中保有该页的表项，收回写权限时必须通知它们。",
        },
        why: Text {
            en: "A CPU cannot change another CPU's TLB. The kernel interrupts every CPU that runs the process and \
                 waits for all of them (TLB shootdown). Garbage collectors, JIT compilers and every munmap of a \
                 threaded program pay for it, more with each running thread.",
            zh: "CPU 无法改动别的 CPU 的 TLB：内核要中断正在运行该进程的每个 CPU，并等待全部应答（TLB shootdown）。垃\
                 圾回收器、即时编译器，以及多线程程序的每次 munmap 都要付，运行的线程越多越贵。",
        },
        reading: Text {
            en: "threads=1 is two system calls and the split and merge of mappings. Each further thread adds a \
                 TLB-shootdown interrupt; the first adds most, since all are sent at once (sched.ipi). On aarch64 the \
                 hardware broadcasts, so the value hardly grows.",
            zh: "threads=1 是两次系统调用以及映射的拆分与合并。其他线程再加上 TLB shootdown的中断：第一个最多，其余较\
                 少，因为中断同时发出（见 sched.ipi）。aarch64 由硬件广播，几乎不增长。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 2.7 to 2.9 µs alone, 2.8 to \
                 3.4 with a second thread (a KVM guest may leave the flush of a CPU that is not running to the \
                 hypervisor).",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：单独 2.7 到 2.9 µs，加一个线程 2.8 到 3.4（KVM 虚拟\
                 机可以把未在运行的 CPU 的刷新交给虚拟机监控程序）。",
        },
        causes: Text {
            en: "Many threads, or threads spread over sockets; a hypervisor whose interrupts are exits; a virtual CPU \
                 that is not running, for which the caller waits milliseconds; mappings that cannot merge, so their \
                 number grows (/proc/PID/maps).",
            zh: "线程很多或分布在多个插槽；中断要退出的虚拟机监控程序；未在运行的虚拟 CPU，调用者要等它数毫秒；无法合并、数量不断增长的映射（见 /proc/PID/maps）。",
        },
    },
    related: &["sched.ipi", "paging.mmap", "paging.protection_fault"],
    axes: &[THREADS],
    limit: Limit::KernelEntry,
    core_bound: CoreBound::Yes,
    section: crate::section::PAGING,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let mapping = Mapping::plain(Pages::Base.bytes())?;
    mapping.write_every(1, 1);
    let protect_and_store = || {
        mapping.protect(false)?;
        mapping.protect(true)?;
        mapping.write_every(1, 1);
        std::io::Result::Ok(())
    };
    beside(case, || mapping.read_at(&[0]), |case, _| case.calls(protect_and_store).time())
}
