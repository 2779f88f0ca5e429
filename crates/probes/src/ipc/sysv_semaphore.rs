//! Probe ipc.sysv_semaphore: one process hands over to another by two System V semaphores.

use hostmark_engine::prelude::*;

use crate::workloads;

pub static PROBE: Probe = Probe {
    title: Text { en: "System V semaphore", zh: "System V 信号量" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    explain: Explain {
        what: Text {
            en: "Two processes use a set of two semaphores, one each. A turn is one semop(2) with two operations: \
                 subtract one from the own semaphore, which blocks while it is zero, and add one to the other's. The \
                 value is one hand-over, half a round trip. A separate process removes the set at the end, even if the \
                 measurement is killed.",
            zh: "一组两个信号量，两个进程各一个。一个进程的一轮是一次含两个操作的 semop(2)：从自己的信号量减\
                 一（没有时阻塞），给对方的加一。数值是一次交接，即半个往返。最后由一个单独的进程删除这组信号\
                 量，测量被强行终止时也是如此。",
        },
        why: Text {
            en: "Large databases and older servers still wake their processes by System V semaphores.",
            zh: "大型数据库和较老的服务器仍用 System V 信号量唤醒各自的进程。",
        },
        reading: Text {
            en: "One system call and one context switch per hand-over; half of ipc.pipe has two calls. Compare with \
                 half of ipc.futex. Old kernels lock the whole set for every operation; that shows only with many \
                 processes, not here.",
            zh: "每次交接一次系统调用、一次上下文切换，而半个 ipc.pipe 往返有两次调用。可与 ipc.futex 的一半比较。旧内核对每次操作都锁住整组信号量，那要许多进程才显\
                 现，这里看不出。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): 1.07 µs per hand-over on one \
                 CPU, 2.0 to 2.4 on two that share a cache.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：每次交接同一个 CPU 1.07 µs，共享缓存的两个 CPU 2.0 到 \
                 2.4。",
        },
        causes: Text {
            en: "As for ipc.pipe; many semaphores in one set, with operations on several of them.",
            zh: "同 ipc.pipe；一组中信号量很多且操作涉及其中多个。",
        },
    },
    related: &["ipc.futex", "ipc.message_queue", "ipc.pipe"],
    differs: Some(Text {
        en: "The same pair of operations and the same half of a round trip as lat_sem, with the placement named, and \
             the set removed also when the measurement is killed.",
        zh: "与 lat_sem 同样的一对操作，同样取半个往返；这里指明位置，测量被强行终止时也会删除信号量组。",
    }),
    axes: &[super::PLACEMENT],
    limit: Limit::HandOvers(1),
    blocking: true,
    replaces: &["lat_sem"],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    super::hand_over(case, workloads::handover::sysv::by_semaphores(&other))
}
