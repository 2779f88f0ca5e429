//! Probe ipc.futex: a token to another process and back by two futexes in shared memory.

use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "Futex round trip", zh: "futex 往返" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: super::TAILS,
    explain: Explain {
        what: Text {
            en: "Two words in memory that two processes share. This one sets the other's word, wakes it by \
                 FUTEX_WAKE and sleeps by FUTEX_WAIT until its own word is set; its child does the same. Nobody \
                 spins. The value is one round trip. Percentiles as of \
                 ipc.pipe.",
            zh: "两个进程共享内存中的两个字。本进程置位对方的字，用 FUTEX_WAKE 唤醒它，再用 FUTEX_WAIT 睡眠到\
                 自己的字被置位；子进程也一样。双方都不自旋。数值是一次往返。分位数同\
                 ipc.pipe。",
        },
        why: Text {
            en: "Under every mutex, condition variable and semaphore of the C library and of language runtimes \
                 lies a futex: this is what a lock costs once threads have to sleep for it.",
            zh: "C 库和各语言运行时的互斥锁、条件变量、信号量底下都是 futex：这就是线程必须为锁睡眠时的代价。",
        },
        reading: Text {
            en: "The least that waking and sleeping cost: somewhat below ipc.eventfd on one CPU, since no \
                 descriptor is looked up. What other ways of communication take beyond it is their own. The \
                 processes have address spaces of their own, which threads of one process would not have to \
                 switch.",
            zh: "唤醒与睡眠的最低代价：同一个 CPU 上略低于 ipc.eventfd，因为不必查找描述符。其他通信方式超出\
                 的部分是它们自己的开销。两个进程各有地址空间，同一进程的线程则不必切换它。",
        },
    },
    axes: &[super::PLACEMENT],
    cross: &[],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &[],
    section: crate::section::COMMUNICATION,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let other = super::other_party(case)?;
    super::round_trip(case, sys::futex::by_futex(&other))
}
