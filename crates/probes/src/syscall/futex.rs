//! Probe syscall.futex: what a lock costs while nobody contends for it, and a wake-up that wakes nobody.

use std::sync::Mutex;
use std::sync::atomic::AtomicU32;

use hostmark_engine::prelude::sys::futex;
use hostmark_engine::prelude::*;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "futex, uncontended", zh: "futex（无竞争）" },
    revision: 1,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "way=wake: FUTEX_WAKE by the system-call instruction on a private word that nobody waits on; wake_shared: the same without the private \
                 flag, as between processes; wait: FUTEX_WAIT for a value that the word does not have, which returns at once; lock: a mutex \
                 built on a futex (Rust's standard one) is locked and unlocked, which enters no kernel.",
            zh: "way=wake：用系统调用指令对无人等待的私有字执行 FUTEX_WAKE；wake_shared：不带私有标志，与进程间使用时相同；wait：对与字的内容不同的值执行 FUTEX_WAIT，\
                 立即返回；lock：对基于 futex 的互斥锁（Rust 标准库）加锁并解锁，不进入内核。",
        },
        why: Text {
            en: "Locks, condition variables and channels all stand on futexes. A lock that nobody contends for costs two atomic operations; one that is thought \
                 to be contended also pays the wake-up, whether or not anybody waits.",
            zh: "锁、条件变量和通道都建立在 futex 上。无竞争的锁只需两次原子操作；被认为有竞争的锁还要付唤醒的代价，不论是否真有人在等。",
        },
        reading: Text {
            en: "lock: twice cpu.atomic, 5 to 20 ns. wake and wait: syscall.null and 15 to 60 ns more for the hash of the word and its bucket; \
                 wake_shared another 20 to 60 ns, as the kernel has to find the page behind the address. Since Linux 3.14 a bucket without \
                 waiters is not locked; a wake at several times syscall.null points to seccomp or auditing.",
            zh: "lock：cpu.atomic 的两倍，5 到 20 ns。wake 与 wait：syscall.null 再加 15 到 60 ns，用于计算字的散列并找到桶；wake_shared 再加 20 到 60 ns，因为内核要找出地址背后的页。\
                 没有等待者的桶不会被加锁；若 wake 是 syscall.null 的数倍，多与 seccomp 或审计有关。",
        },
    },
    axes: &[Axis::choice(
        "way",
        "wake",
        Points::Listed { quick: &["wake"], standard: &["wake_shared", "wait", "lock"], thorough: &[] },
    )],
    cross: &[],
    limit: Limit::CyclesPerOp,
    blocking: false,
    needs: &[],
    replaces: &[],
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let word = AtomicU32::new(1);
    let nobody = |result: std::io::Result<usize>| match result {
        Ok(0) => Ok(()),
        Ok(_) => Err(Stop::failed("somebody waited on a word that only this thread knows")),
        Err(error) => Err(Stop::skipped(format!("futex cannot be had: {error}"))),
    };
    nobody(futex::wake(&word, true))?;
    match case.param::<String>("way")?.as_str() {
        "lock" => {
            let mutex = Mutex::new(0_u64);
            case.time_n(|n| {
                for _ in 0..n {
                    // A lock that is poisoned is locked none the less.
                    *std::hint::black_box(&mutex).lock().unwrap_or_else(|poisoned| poisoned.into_inner()) += 1;
                }
            })
        }
        "wait" => case.time(|| match futex::wait(&word, 2, true) {
            Ok(false) => Ok(()),
            Ok(true) => Err(Stop::failed("the word has a value that nobody gave it")),
            Err(error) => Err(Stop::from(error)),
        }),
        way => {
            let is_private = way == "wake";
            case.time(|| nobody(futex::wake(&word, is_private)))
        }
    }
}
