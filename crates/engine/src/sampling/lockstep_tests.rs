//! All parts are done in every pass, a pass ends with the slowest, and nobody waits for who is gone.

use std::sync::Mutex;

use super::*;
use crate::clock::monotonic_ns;
use crate::sys::affinity;

const ONE: Trials = Trials { ways: 1, seed: 0, known: Some(0), halves: false };

fn two() -> [Cpu; 2] {
    let cpus = affinity::allowed().unwrap();
    [Cpu(cpus[0]), Cpu(*cpus.last().unwrap())]
}

/// On a thread of its own, since the caller is bound to a CPU.
fn measured<P: ThreadWork>(budget_ns: f64, make: impl Fn(usize) -> Result<P> + Sync + Send) -> Result<Samples> {
    std::thread::scope(|scope| {
        scope
            .spawn(|| measure(&Clock::MonotonicRaw, &Interference::Blind, budget_ns, &two(), ONE, make))
            .join()
            .unwrap_or_else(|_| Err(RoundError::internal("the leader panicked")))
            .map(|measured| measured.samples)
    })
}

/// Waits, and counts its passes in a place of its own.
struct Waits<'a> {
    ns: u64,
    passes: u64,
    log: &'a Mutex<Vec<u64>>,
}

impl ThreadWork for Waits<'_> {
    fn pass(&mut self) {
        let until = monotonic_ns() + self.ns;
        while monotonic_ns() < until {}
        self.passes += 1;
    }

    fn check(&mut self) -> Result<()> {
        self.log.lock().unwrap().push(self.passes);
        Ok(())
    }
}

#[test]
fn a_pass_lasts_as_long_as_its_slowest_part_and_all_do_all_passes() {
    let log = Mutex::new(Vec::new());
    let make = |index| Ok(Waits { ns: [100_000, 1_000_000][index], passes: 0, log: &log });
    let samples = measured(100e6, make).unwrap();
    let best = samples.ns.iter().copied().fold(f64::INFINITY, f64::min);
    // However long others have the CPUs, no pass is shorter than its slowest part.
    assert!(best >= 1e6, "{best}");
    assert!(samples.disturbance_flags.len() == samples.ns.len());
    // One more than the samples: the first is thrown away.
    let passes = samples.ns.len() as u64 + 1;
    assert_eq!(*log.lock().unwrap(), [passes, passes]);
}

#[test]
fn a_pass_longer_than_the_time_is_measured_once() {
    let log = Mutex::new(Vec::new());
    let samples = measured(1e6, |_| Ok(Waits { ns: 3_000_000, passes: 0, log: &log })).unwrap();
    assert_eq!(samples.ns.len(), 1);
}

/// Waits longer or shorter by the way it goes, and tells what it was asked to do.
struct Ways<'a> {
    log: &'a Mutex<Vec<Logged>>,
    taken: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Logged {
    Trial(usize),
    Pass(Option<usize>),
}

const WAYS_NS: [u64; 3] = [4_000_000, 8_000_000, 500_000];

impl Ways<'_> {
    fn go(&self, way: usize) {
        let until = monotonic_ns() + WAYS_NS[way];
        while monotonic_ns() < until {}
    }
}

impl ThreadWork for Ways<'_> {
    fn pass(&mut self) {
        self.log.lock().unwrap().push(Logged::Pass(self.taken));
        self.go(self.taken.unwrap());
    }

    fn trial(&mut self, way: usize, repeats: u64) {
        self.log.lock().unwrap().push(Logged::Trial(way));
        (0..repeats).for_each(|_| self.go(way));
    }

    fn take(&mut self, way: usize) {
        assert_eq!(self.taken.replace(way), None, "told twice");
    }

    fn check(&mut self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn all_threads_try_every_way_at_once_and_then_go_the_fastest() {
    let log = Mutex::new(Vec::new());
    let make = |_| Ok(Ways { log: &log, taken: None });
    let go = |trials| measure(&Clock::MonotonicRaw, &Interference::Blind, 1e6, &two(), trials, make).unwrap();
    // On a busy machine any way may seem the fastest once.
    let attempt = |seed| {
        log.lock().unwrap().clear();
        std::thread::scope(|scope| {
            scope.spawn(|| go(Trials { ways: 3, seed, known: None, halves: false })).join().unwrap()
        })
    };
    let measured =
        (1..=20).map(attempt).find(|measured| measured.way == 2).expect("the fastest way in one of 20 attempts");
    let all = std::mem::take(&mut *log.lock().unwrap());
    let (tried, passed): (Vec<Logged>, Vec<Logged>) = all.iter().partition(|log| matches!(log, Logged::Trial(_)));
    // A trial by two threads.
    assert!((0..3).all(|way| tried.iter().filter(|log| **log == Logged::Trial(way)).count() >= 2), "{tried:?}");
    assert!(!passed.is_empty() && passed.iter().all(|log| *log == Logged::Pass(Some(2))), "{passed:?}");
    assert_eq!(passed.len(), 2 * (measured.samples.ns.len() + 1));
    assert!(measured.trials_ns >= 20e6);

    // What an earlier round has chosen is tried no more.
    std::thread::scope(|scope| {
        scope.spawn(|| go(Trials { ways: 3, seed: 1, known: Some(1), halves: false })).join().unwrap()
    });
    assert!(log.lock().unwrap().iter().all(|log| *log == Logged::Pass(Some(1))));
}

struct Bad {
    panics: bool,
    index: usize,
}

impl ThreadWork for Bad {
    fn pass(&mut self) {
        assert!(!self.panics || self.index == 0, "as it was told");
    }

    fn check(&mut self) -> Result<()> {
        if self.index == 1 { Err(RoundError::wrong("wrong results")) } else { Ok(()) }
    }
}

#[test]
fn wrong_results_of_any_thread_fail() {
    assert_eq!(measured(1e6, |index| Ok(Bad { panics: false, index })), Err(RoundError::wrong("wrong results")));
}

#[test]
fn a_thread_that_panics_or_cannot_begin_ends_all() {
    let panicked = measured(1e6, |index| Ok(Bad { panics: true, index }));
    assert_eq!(panicked, Err(RoundError::internal("a thread panicked")));
    let refuses = |which: usize| {
        measured(1e6, move |index| match index == which {
            true => Err(RoundError::skipped(ReasonCode::TooLittleMemory, "no memory")),
            false => Ok(Bad { panics: false, index: 0 }),
        })
    };
    assert_eq!(refuses(0), Err(RoundError::skipped(ReasonCode::TooLittleMemory, "no memory")));
    assert_eq!(refuses(1), Err(RoundError::skipped(ReasonCode::TooLittleMemory, "no memory")));
}

#[test]
fn every_pass_is_of_all_threads_in_every_interleaving() {
    use std::sync::atomic::Ordering::Relaxed;

    use crate::sys::waits::model::{ModelWord, every_interleaving};

    /// Counts the passes done, where the model sees it.
    struct Counting(loom::sync::Arc<loom::sync::atomic::AtomicU32>);

    impl ThreadWork for Counting {
        fn pass(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }

        fn check(&mut self) -> Result<()> {
            Ok(())
        }
    }

    every_interleaving(2, || {
        let passes = loom::sync::Arc::new(loom::sync::atomic::AtomicU32::new(0));
        let team = loom::sync::Arc::new(Team::<ModelWord>::of(2));
        let (other, mut part) = (team.clone(), Counting(passes.clone()));
        let follower = loom::thread::spawn(move || other.follow(&mut part));
        let leaving = Leaving(&team);
        let mut nothing = Counting(loom::sync::Arc::default());
        for number in 1..=2 {
            team.pass(number, &mut nothing).unwrap();
            assert_eq!(passes.load(Relaxed), number, "the leader was back before the follower had worked");
        }
        drop(leaving);
        follower.join().unwrap();
    });
}

/// Soak test like that of the waits by which probes hand over.
mod soak_tests {
    use super::*;
    use crate::sys::soak::soak;

    #[test]
    fn threads_meet_for_ever() {
        struct Nothing;

        impl ThreadWork for Nothing {
            fn pass(&mut self) {}

            fn check(&mut self) -> Result<()> {
                Ok(())
            }
        }

        let two = two();
        soak(|_| {
            Ok(move |_| {
                measure(&Clock::MonotonicRaw, &Interference::Blind, 10e6, &two, ONE, |_| Ok(Nothing))
                    .map(drop)
                    .map_err(|_| std::io::Error::other("they did not meet"))
            })
        });
    }
}
