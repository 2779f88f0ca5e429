//! Threads of a case: all that were asked for start, or none works.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use hostmark_model::ReasonCode;
use hostmark_say::say;

use crate::round_error::{Result, RoundError};
use crate::sampling::cpu::Cpu;
use crate::sys::affinity;
use crate::sys::call::named;

/// Where threads wait until it is known whether all have started.
#[derive(Default)]
struct Gate {
    are_all_there: Mutex<Option<bool>>,
    changed: Condvar,
}

impl Gate {
    fn open(&self, are_all_there: bool) {
        *self.are_all_there.lock().unwrap_or_else(PoisonError::into_inner) = Some(are_all_there);
        self.changed.notify_all();
    }

    fn wait(&self) -> bool {
        let mut known = self.are_all_there.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *known {
                Some(are_all_there) => return are_all_there,
                None => known = self.changed.wait(known).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// Starts a thread for each work. Work begins when all threads are there; where the kernel refuses one, none of it is done,
/// so that no thread waits for a partner that never comes. Skipped then, with the reason.
pub fn start<'scope, T, W>(
    scope: &'scope Scope<'scope, '_>,
    works: impl IntoIterator<Item = W>,
) -> Result<Vec<ScopedJoinHandle<'scope, Result<T>>>>
where
    W: FnOnce() -> Result<T> + Send + 'scope,
    T: Send + 'scope,
{
    let gate = Arc::new(Gate::default());
    let mut threads = Vec::new();
    for work in works {
        let own = Arc::clone(&gate);
        let started = Builder::new().spawn_scoped(scope, move || match own.wait() {
            true => work(),
            false => Err(RoundError::failed(ReasonCode::ProcessDied, say!("another thread could not start"))),
        });
        match started {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                gate.open(false);
                return Err(RoundError::lacking(say!("cannot start a thread"), &named("pthread_create", error)));
            }
        }
    }
    gate.open(true);
    Ok(threads)
}

/// Binds the calling thread to one CPU. Skipped where the kernel refuses.
pub fn bind(cpu: Cpu) -> Result<()> {
    affinity::bind(&[cpu.0]).map_err(|error| RoundError::lacking(say!("cannot bind to CPU {cpu}", cpu = cpu.0), &error))
}

/// Waits for threads that were started together: their results, or the first error.
pub fn join<T>(threads: Vec<ScopedJoinHandle<'_, Result<T>>>) -> Result<Vec<T>> {
    // All are waited for before any error is told.
    let results: Vec<Result<T>> = threads
        .into_iter()
        .map(|thread| {
            thread.join().unwrap_or_else(|_| Err(RoundError::failed(ReasonCode::Internal, say!("a thread panicked"))))
        })
        .collect();
    results.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use rustix::process::{Resource, Rlimit, geteuid, setrlimit};
    use rustix::thread::{Uid, set_thread_uid};

    use super::*;
    use crate::sys::process::in_a_child;

    #[test]
    fn all_threads_meet_and_give_their_results() {
        let barrier = Barrier::new(3);
        let work = |number: u32| {
            let barrier = &barrier;
            move || {
                barrier.wait();
                if number == 9 { Err(RoundError::skipped(ReasonCode::NotApplicable, "nine")) } else { Ok(number) }
            }
        };
        let run = |numbers: [u32; 3]| std::thread::scope(|scope| join(start(scope, numbers.map(work))?));
        assert_eq!(run([1, 2, 3]), Ok(vec![1, 2, 3]));
        assert_eq!(run([1, 9, 3]), Err(RoundError::skipped(ReasonCode::NotApplicable, "nine")));
    }

    #[test]
    fn where_one_thread_cannot_start_none_waits_for_it() {
        in_a_child(|| {
            // Root may have as many as it likes. Of a limit of memory some of those that have begun would run out as well, and end all.
            if set_thread_uid(Uid::from_raw(54_321)).is_err() && geteuid().is_root() {
                return Ok(());
            }
            setrlimit(Resource::Nproc, Rlimit { current: Some(64), maximum: Some(64) })?;
            let barrier = Barrier::new(4096);
            let work = |_| {
                let barrier = &barrier;
                move || {
                    barrier.wait();
                    Ok(())
                }
            };
            let ended = std::thread::scope(|scope| join(start(scope, (0..4096).map(work))?));
            match ended {
                Err(RoundError::Skipped(reason)) if reason.starts_with("cannot start a thread: pthread_create: ") => {
                    Ok(())
                }
                other => Err(std::io::Error::other(format!("{other:?}"))),
            }
        });
    }
}
