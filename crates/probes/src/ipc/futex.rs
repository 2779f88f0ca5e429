//! Probe ipc.futex: a token to another process and back by two futexes in shared memory.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "Futex round trip", zh: "futex 往返" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    explain: Explain {
        what: Text {
            en: "Two processes share two words of memory. This process sets the other's word, wakes it with FUTEX_WAKE \
                 and sleeps with FUTEX_WAIT until its own word is set; its child does the same. Neither spins. The \
                 value is one round trip. Percentiles as for ipc.pipe.",
            zh: "两个进程共享内存中的两个字。本进程置位对方的字，用 FUTEX_WAKE 唤醒它，再用 FUTEX_WAIT 睡眠到自己的字\
                 被置位；子进程也一样。双方都不自旋。数值是一次往返。分位数同 ipc.pipe。",
        },
        why: Text {
            en: "Every mutex, condition variable and semaphore of the C library and of language run-times uses a \
                 futex. This is what a lock costs once threads must sleep for it.",
            zh: "C 库和各语言运行时的互斥锁、条件变量、信号量底下都是 futex：这就是线程必须为锁睡眠时的代价。",
        },
        reading: Text {
            en: "Four calls and two switches, like ipc.eventfd, at a similar cost. The kernel looks up no descriptor, \
                 but the page behind the shared word (syscall.futex@way=wake_shared). Threads of one process would \
                 save that lookup and the change of address space.",
            zh: "四次调用、两次切换，与 ipc.eventfd 相同，代价也相近：不必查找描述符，但要查找共享字背后的页（见 syscall.futex@way=wake_shared）。同一进\
                 程的线程可省去后者以及地址空间切换。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 2.72 µs on one CPU, 10 to 16 \
                 on two that share a cache.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：同一个 CPU 2.72 µs，共享缓存的两个 CPU 10 到 16。",
        },
        causes: Text {
            en: "As for ipc.pipe. A lock that spins for a while before it sleeps avoids this on two CPUs, and makes it \
                 worse on one.",
            zh: "同 ipc.pipe。睡眠之前先自旋一会儿的锁在两个 CPU 上可避免此代价，在一个 CPU 上则更糟。",
        },
    },
    related: &["syscall.futex", "ipc.eventfd", "sched.context_switch", "cpu.core_to_core"],
    axes: &[super::PLACEMENT],
    limit: Limit::HandOvers(2),
    blocking: true,
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    super::round_trip(case, workloads::handover::futex::by_futex(&other))
}
