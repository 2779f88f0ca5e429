//! No increment is lost or made twice, however often its thread is moved.

use std::sync::atomic::AtomicBool;

use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};

use super::*;

#[test]
fn a_thread_that_is_moved_all_the_time_counts_each_increment_once() {
    const CHUNK: u64 = 100_000;
    let allowed = sched_getaffinity(None).unwrap();
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let (counters, restarts, is_over) = (CpuCounters::default(), AtomicU64::new(0), AtomicBool::new(false));
    let due = std::thread::scope(|scope| {
        let (say, hear) = std::sync::mpsc::channel();
        let (counters, restarts, is_over) = (&counters, &restarts, &is_over);
        let counting = scope.spawn(move || {
            let thread = Restartable::of_this_thread();
            say.send(gettid()).unwrap();
            let mut due = 0;
            while let Ok(thread) = &thread
                && !is_over.load(Ordering::Relaxed)
            {
                restarts.fetch_add(thread.add(counters, CHUNK), Ordering::Relaxed);
                due += CHUNK;
            }
            due
        });
        let thread = hear.recv().unwrap();
        for (moves, cpu) in cpus.iter().cycle().take(20_000).enumerate() {
            let mut only = CpuSet::new();
            only.set(*cpu);
            // One that has ended cannot be moved.
            let is_enough = moves > 200 && restarts.load(Ordering::Relaxed) > 0;
            if sched_setaffinity(Some(thread), &only).is_err() || is_enough {
                break;
            }
            // It begins to run where it is now, and is moved in the midst of that.
            std::thread::sleep(std::time::Duration::from_micros(20));
        }
        is_over.store(true, Ordering::Relaxed);
        counting.join().unwrap()
    });
    assert_eq!(counters.sum(), due);
    // Somewhere between store and increment it is most of the time, and for longer than the scheduler leaves it alone. A kernel or
    // emulator without them counts nothing.
    assert!(restarts.into_inner() > 0 || due < 1000 * CHUNK || cpus.len() == 1, "{due}");
}

#[test]
fn the_only_thread_of_a_counter_needs_no_help() {
    let counters = CpuCounters::default();
    [0, 1, 1000].into_iter().for_each(|n| add_alone(counters.of(7), n));
    assert_eq!((counters.sum(), counters.of(7 + SLOTS).load(Ordering::Relaxed)), (1001, 1001));
}
