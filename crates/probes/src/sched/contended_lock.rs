//! Probe sched.contended_lock: one lock that all threads of a process want all the time, by their number and by how they wait.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::workloads::handover::request_queue::SleepingLock;
use hostmark_engine::prelude::*;

/// Evenness of the threads' shares.
const FAIRNESS: Quantity =
    Quantity::given("fairness", Unit::Ratio, Better::Higher, term!("least of a thread, of the most"));
/// Average number of times that a thread takes the lock before another gets it.
const IN_A_ROW: Quantity =
    Quantity::given("in_a_row", Unit::Count, Better::Neither, term!("times in a row by one thread"));

pub static PROBE: Probe = Probe {
    unit: Unit::OperationsPerSecond,
    better: Better::Higher,
    also: &[FAIRNESS, IN_A_ROW],
    axes: &[
        Axis::choice("wait", "spin", Points::quick(&["spin", "sleep"])),
        Axis::threads("threads", Points::OfHost(crate::running::powers_of_two)),
    ],
    full_factorial: &[FullFactorial { from: Profile::Standard, axes: &["wait", "threads"] }],
    blocking: true,
    from: Profile::Standard,
    measure: Measure::Run(measure),
    ..crate::texts::sched::CONTENDED_LOCK
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

/// Data that only the owner of the lock writes, apart from the lock and from what anybody else writes.
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
        let text = say!("{all} times the lock was taken, and the counter behind it came to {total}");
        return Err(RoundError::wrong(text));
    }
    if done.len() < 2 {
        return Ok(());
    }
    case.also(FAIRNESS.name, fairness(&done))?;
    case.also(IN_A_ROW.name, [total as f64 / guarded.changes.into_inner().max(1) as f64])
}

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
