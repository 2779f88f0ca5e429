//! Probe sched.contended_lock: one lock that all threads of a process want all the time, by their number and by how they wait.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use hostmark_engine::prelude::*;

use crate::workloads::handover::sleeping_lock::SleepingLock;

/// How even the threads' shares are.
const FAIRNESS: Quantity = Quantity::given(
    "fairness",
    Unit::Ratio,
    Better::Higher,
    Text { en: "least of a thread, of the most", zh: "最少线程与最多线程之比" },
);
/// How often on average a thread takes the lock before another gets it.
const IN_A_ROW: Quantity = Quantity::given(
    "in_a_row",
    Unit::Count,
    Better::Neither,
    Text { en: "times in a row by one thread", zh: "同一线程连续次数" },
);

pub static PROBE: Probe = Probe {
    title: Text { en: "Contended lock", zh: "争抢的锁" },
    revision: 1,
    unit: Unit::OperationsPerSecond,
    better: Better::Higher,
    also: &[FAIRNESS, IN_A_ROW],
    explain: Explain {
        what: Text {
            en: "Threads of one process, each on its own CPU, lock one futex-based lock, add one to a counter behind it, unlock, and \
                 begin again at once. The value is how often all of them together do so. wait=spin is Rust's standard mutex, \
                 which looks about a hundred times before it sleeps; wait=sleep sleeps as soon as it finds the lock taken, like \
                 the C library's default mutex. Beside it: the least that a thread did as a share of the most (1 is fair), and how often on \
                 average a thread took the lock before another did. The counter must come to the sum of all threads' \
                 operations.",
            zh: "同一进程的线程各占一个 CPU，对同一个基于 futex 的锁反复加锁、给锁后的计数器加一、解锁，并立即再来。数值是它们合计的次数。\
                 wait=spin 是 Rust 标准库的互斥锁，查看约一百次之后才睡眠；wait=sleep 一发现锁被占用就睡眠，与 C 库默认的互斥锁相同。另列：\
                 次数最少的线程与最多的线程之比（1 为公平），以及一个线程平均连续取得锁几次之后才轮到别的线程。计数器必须等于所有线程操作次数之和。",
        },
        why: Text {
            en: "A lock that everybody wants turns a parallel program into one that is slower than a single thread: the lock's line \
                 moves between CPUs, and threads sleep and are woken.",
            zh: "人人都要的锁会让并行程序比单线程还慢：锁所在的缓存行在 CPU 间来回，线程不断睡眠和被唤醒。",
        },
        reading: Text {
            en: "threads=1 is the lock without contention (syscall.futex@way=lock). With more, each change of owner costs a transfer \
                 of the line (cpu.core_to_core) or a wake-up (sched.wakeup). A high rate with many times in a row means that the \
                 owner takes the lock again before another can: fast, and unfair for that time. The rate is a mixture: while one thread \
                 sleeps or comes late from its sleep, the other works at the rate of threads=1. The rest hangs on the transfer: where it takes 25 ns, \
                 spin changes owner every 8 times, and where it takes 160, every 27; a host may move virtual CPUs to another cache while they run. \
                 Every further line behind the lock moves along: with three of them instead of one a C program did 1.3 times as much by \
                 spin, and 0.75 times by sleep.",
            zh: "threads=1 是无竞争的锁（syscall.futex@way=lock）。线程更多时，每次换手要付一次缓存行传递（cpu.core_to_core）或一次唤醒\
                 （sched.wakeup）。速率高而连续次数多，说明占有者在别人得手之前又取得了锁：快，但在这段时间内不公平。速率是两种状态的混合：一个线程睡眠或醒得晚时，\
                 另一个以 threads=1 的速率工作。其余取决于传递的时间：25 ns 时，spin 平均每 8 次换手一次，160 ns 时每 27 次一次；宿主机可能在运行中把虚拟 CPU 移到另一个缓存上。\
                 锁后面每多一个缓存行，就多一次传递：用三行而不是一行时，C 程序的 spin 是 1.3 倍，sleep 是 0.75 倍。",
        },
        typical: Text {
            en: "Measured with hostmark on a 2-CPU KVM guest (Zen 4 (Genoa), Linux 6.18): 224 to 226 million a second by one \
                 thread; with 2 threads spin 32 to 38 million, 7 to 11 times in a row, and sleep 59 to 69 million, 22 to 30 times in a \
                 row, since who has slept comes too late; while the host has the two CPUs on different caches, 28 to 33 and 45 to 55.",
            zh: "用 hostmark 在双 CPU 的 KVM 虚拟机（Zen 4 (Genoa)，Linux 6.18）上实测：单线程每秒 224 到 226 百万次；2 个线程时 spin 为 32 到 38 百万次，\
                 连续 7 到 11 次，sleep 为 59 到 69 百万次，连续 22 到 30 次，因为睡过的线程总是来晚一步；宿主机把两个 CPU 放在不同缓存上时，分别为 28 到 33 和 45 到 55。",
        },
        causes: Text {
            en: "CPUs of different sockets or caches; a hypervisor that takes a CPU from the owner of the lock, so that all others \
                 wait; expensive wake-ups of idle CPUs.",
            zh: "CPU 位于不同的插槽或缓存；虚拟机监控程序夺走了锁的占有者的 CPU，其他线程只能等待；唤醒空闲 CPU 的代价高。",
        },
    },
    related: &["syscall.futex", "cpu.atomic", "cpu.core_to_core", "ipc.futex"],
    axes: &[
        Axis::choice("wait", "spin", Points::Listed { quick: &["spin", "sleep"], standard: &[], thorough: &[] }),
        Axis::threads("threads", Points::OfHost(crate::running::powers_of_two)),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["wait", "threads"] }],
    blocking: true,
    section: crate::section::SYSTEM,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..Probe::PLAIN
};

fn measure(case: &mut Case) -> Result<()> {
    if case.param::<String>("wait")? == "sleep" {
        let lock = sys::waits::Alone(SleepingLock::default());
        return contend(case, |work| lock.0.held(work));
    }
    let lock = sys::waits::Alone(Mutex::new(()));
    contend(case, |work| {
        // A lock that is poisoned is locked none the less.
        let guard = lock.0.lock().unwrap_or_else(PoisonError::into_inner);
        work();
        drop(guard);
        Ok(())
    })
}

/// What only the owner of the lock writes, apart from the lock and from what anybody else writes.
#[derive(Default)]
#[repr(align(4096))]
struct Guarded {
    total: AtomicU64,
    owner: AtomicU64,
    changes: AtomicU64,
}

impl Guarded {
    /// A step of thread `me`, whose number is not 0. Two at once would lose one.
    #[inline(always)]
    fn step(&self, me: u64) {
        let add_one = |word: &AtomicU64| word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        add_one(&self.total);
        if self.owner.load(Ordering::Relaxed) != me {
            self.owner.store(me, Ordering::Relaxed);
            add_one(&self.changes);
        }
    }
}

/// Measures threads that want the lock, under which `held` does something.
fn contend(case: &mut Case, held: impl Fn(&mut dyn FnMut()) -> io::Result<()> + Sync) -> Result<()> {
    let cpus = case.thread_cpus();
    let (guarded, number) = (Guarded::default(), AtomicU64::new(0));
    let done: Vec<crate::kernels::atomic::Lonely> = cpus.iter().map(|_| Default::default()).collect();
    case.workers(&cpus, |_| {
        let number = number.fetch_add(1, Ordering::Relaxed);
        let (me, own) = (number + 1, &done[number as usize].0);
        let (guarded, held) = (&guarded, &held);
        Ok(move |times: u64| {
            own.fetch_add(times, Ordering::Relaxed);
            (0..times).try_for_each(|_| held(&mut || guarded.step(me)))
        })
    })
    .rate(1)?;
    let done: Vec<u64> = done.iter().map(|done| done.0.load(Ordering::Relaxed)).collect();
    let (all, total) = (done.iter().sum::<u64>(), guarded.total.into_inner());
    if all != total {
        let text = format!("{all} times the lock was taken, and the counter behind it came to {total}");
        return Err(RoundError::failed(ReasonCode::CheckFailed, text));
    }
    if done.len() < 2 {
        return Ok(());
    }
    case.also(FAIRNESS.name, fairness(&done))?;
    case.also(IN_A_ROW.name, [total as f64 / guarded.changes.into_inner().max(1) as f64])
}

/// The least over the most.
fn fairness(done: &[u64]) -> Option<f64> {
    let (least, most) = (done.iter().min()?, done.iter().max().filter(|&&most| most > 0)?);
    Some(*least as f64 / *most as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_the_least_over_the_most() {
        assert_eq!(
            [&[3, 4][..], &[5, 5, 5], &[0, 9], &[0, 0], &[]].map(fairness),
            [Some(0.75), Some(1.0), Some(0.0), None, None]
        );
    }

    #[test]
    fn steps_of_one_thread_in_a_row_are_one_change() {
        let guarded = Guarded::default();
        [1, 1, 1, 2, 1, 1].into_iter().for_each(|me| guarded.step(me));
        assert_eq!((guarded.total.into_inner(), guarded.changes.into_inner()), (6, 3));
    }
}
