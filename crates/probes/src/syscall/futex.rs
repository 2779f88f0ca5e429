//! Probe syscall.futex: what a lock costs while nobody contends for it, and a wake-up that wakes nobody.

use std::hint::black_box;
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, PoisonError, RwLock};

use hostmark_engine::prelude::sys::waits;
use hostmark_engine::prelude::*;
pub static PROBE: Probe = Probe {
    revision: 2,
    also: &[Quantity::CORE_CYCLES],
    axes: &[Axis::choice(
        "way",
        "wake",
        Points::quick(&["wake"]).standard(&["wake_shared", "wait", "lock", "read_lock", "write_lock"]),
    )],
    limit: Limit::CyclesPerOp,
    core_bound: CoreBound::Yes,
    measure: Measure::Run(measure),
    ..crate::texts::syscall::FUTEX
};

fn measure(case: &mut Case) -> Result<()> {
    let word = AtomicU32::new(1);
    let nobody = |result: std::io::Result<usize>| match result {
        Ok(0) => Ok(()),
        Ok(_) => Err(RoundError::wrong(say!("somebody waited on a word that only this thread knows"))),
        Err(error) => Err(RoundError::lacking(say!("futex is not available"), &error)),
    };
    nobody(waits::futex_wake(&word, true))?;
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
            .calls(|| match waits::futex_wait(&word, 2, true) {
                Ok(false) => Ok(()),
                Ok(true) => Err(RoundError::wrong(say!("the word has a value that nobody gave it"))),
                Err(error) => Err(RoundError::from(error)),
            })
            .time(),
        way => {
            let is_private = way == "wake";
            case.calls(|| nobody(waits::futex_wake(&word, is_private))).time()
        }
    }
}

/// The time of `once`, which locks, touches what is guarded, and unlocks.
fn locked(case: &mut Case, once: impl Fn()) -> Result<()> {
    case.loops(|n| (0..n).for_each(|_| once())).time()
}
