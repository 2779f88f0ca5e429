//! Probe syscall.futex: what a lock costs while nobody contends for it, and a wake-up that wakes nobody.

use std::hint::black_box;
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, PoisonError, RwLock};

use hostmark_engine::prelude::sys::futex;
use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    title: Text { en: "futex, uncontended", zh: "futex（无竞争）" },
    revision: 2,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    also: &[Quantity::CORE_CYCLES],
    explain: Explain {
        what: Text {
            en: "way=wake calls FUTEX_WAKE on a private word that nobody waits on. \
                 wake_shared does the same without the private flag, as between processes. wait executes FUTEX_WAIT \
                 for a value that the word does not have, which returns at once. lock locks and unlocks a mutex built \
                 on a futex (Rust's standard one), without entering the kernel; read_lock and write_lock do so with a \
                 readers-writer lock of the same library.",
            zh: "way=wake：对无人等待的私有字执行 FUTEX_WAKE；wake_shared：不带私有标志，与进程间使用时相同；wait：对与字的内容不同的值执行 FUTEX_WAIT，\
                 立即返回；lock：对基于 futex 的互斥锁（Rust 标准库）加锁并解锁，不进入内核；\
                 read_lock 与 write_lock 对同一标准库的读写锁各做一次加锁与解锁。",
        },
        why: Text {
            en: "Locks, condition variables and channels all use futexes. An uncontended lock costs two atomic \
                 operations. A lock that looks contended also pays for the wake-up, whether or not a thread waits.",
            zh: "锁、条件变量和通道都建立在 futex 上。无竞争的锁只需两次原子操作；被认为有竞争的锁还要付唤醒的代价，不论是否真有人在等。",
        },
        reading: Text {
            en: "lock is two atomic operations without the kernel, and so are read_lock and write_lock, with a little more to decide. wake and wait are syscall.null plus the hash of the \
                 word and its bucket. wait also reads the word under the bucket's lock; wake_shared must find the page \
                 behind the address.",
            zh: "lock 是两次原子操作，不进内核；read_lock 与 write_lock 也是，只多几步判断。wake 与 wait 是 syscall.null 加上字的散列及其桶；wait 还要在锁住桶的情况下读取该字，wake_shared 要找出\
                 地址背后的页。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Cascade Lake, Linux 6.18): lock 14 ns, twice cpu.atomic \
                 and a little; wake 135 to 138 ns, wait 201, wake_shared 204. On another (Zen 4 \
                 (Genoa)): read_lock and write_lock 4.7 ns.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Cascade Lake，Linux 6.18）上实测：lock 14 ns，比两次 cpu.atomic 略多；wake 135 到 \
                 138 ns，wait 201，wake_shared 204。在另一台（Zen 4 (Genoa)）上：read_lock 与 write_lock 4.7 ns。",
        },
        causes: Text {
            en: "seccomp or auditing; many processes whose words share few hash buckets (256 per CPU; since Linux 6.16 \
                 a process may have its own). A lock far above twice cpu.atomic: the library's bookkeeping.",
            zh: "seccomp 或审计；许多进程的 futex 字落入少数散列桶（每个 CPU 256 个，Linux 6.16 起进程可以有自己的\
                 桶）。若 lock 远高于 cpu.atomic 的两倍，是库自身的记账。",
        },
    },
    related: &["cpu.atomic", "ipc.futex", "syscall.null"],
    axes: &[Axis::choice(
        "way",
        "wake",
        Points::Listed {
            quick: &["wake"],
            standard: &["wake_shared", "wait", "lock", "read_lock", "write_lock"],
            thorough: &[],
        },
    )],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    section: crate::section::SYSTEM,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    let word = AtomicU32::new(1);
    let nobody = |result: std::io::Result<usize>| match result {
        Ok(0) => Ok(()),
        Ok(_) => {
            Err(RoundError::failed(ReasonCode::CheckFailed, "somebody waited on a word that only this thread knows"))
        }
        Err(error) => Err(RoundError::lacking("futex is not available", &error)),
    };
    nobody(futex::wake(&word, true))?;
    match case.param::<String>("way")?.as_str() {
        // A lock that is poisoned is locked none the less.
        "lock" => {
            let mutex = Mutex::new(0_u64);
            locked(case, || *black_box(&mutex).lock().unwrap_or_else(PoisonError::into_inner) += 1)
        }
        "read_lock" => {
            let lock = RwLock::new(0_u64);
            locked(case, || {
                black_box(*black_box(&lock).read().unwrap_or_else(PoisonError::into_inner));
            })
        }
        "write_lock" => {
            let lock = RwLock::new(0_u64);
            locked(case, || *black_box(&lock).write().unwrap_or_else(PoisonError::into_inner) += 1)
        }
        "wait" => case
            .calls(|| match futex::wait(&word, 2, true) {
                Ok(false) => Ok(()),
                Ok(true) => {
                    Err(RoundError::failed(ReasonCode::CheckFailed, "the word has a value that nobody gave it"))
                }
                Err(error) => Err(RoundError::from(error)),
            })
            .time(),
        way => {
            let is_private = way == "wake";
            case.calls(|| nobody(futex::wake(&word, is_private))).time()
        }
    }
}

/// The time of `once`, which locks, touches what is guarded, and unlocks.
fn locked(case: &mut Case, once: impl Fn()) -> Result<()> {
    case.loops(|n| (0..n).for_each(|_| once())).time()
}
