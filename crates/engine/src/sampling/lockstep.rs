//! Work that several threads share: each keeps its part, and every pass is timed from barrier to barrier.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use hostmark_model::{DisturbanceFlags, ReasonCode};
use hostmark_say::say;

use crate::clock::Clock;
use crate::round_error::{Result, RoundError};
use crate::sampling::sample::{CounterBlocks, DELAY_SHARE, Interference, Samples};
use crate::sampling::threads::Cpu;
use crate::sampling::{choice, sampler, threads};
use crate::sys::usage::ThreadCounters;
use crate::sys::waits::{Alone, Word};

/// Samples of a round at least, where three do not take over twice the time.
const LEAST_SAMPLES: usize = 3;
/// Samples of a round at most.
const MOST_SAMPLES: usize = 1000;

pub trait ThreadWork {
    fn pass(&mut self);

    /// Does a stretch of the part by one of several ways, so many times: each is tried before the first pass.
    fn trial(&mut self, _way: usize, repeats: u64) {
        (0..repeats).for_each(|_| self.pass());
    }

    /// Does half of the part, by the way that was taken: before the first pass, and where half is timed too.
    fn half(&mut self) {
        self.pass();
    }

    fn take(&mut self, _way: usize) {}

    /// Checks the result of the passes; after the last one, untimed.
    fn check(&mut self) -> Result<()>;
}

/// Barrier of the threads. They spin: waking a thread takes longer than the differences that passes are to show.
#[derive(Debug, Default)]
struct Team<W = AtomicU32> {
    followers: u32,
    begun: Alone<W>,
    /// Parts done, by all followers in all passes.
    done: Alone<W>,
    /// Flag that there is no further pass.
    over: Alone<W>,
    /// A thread could not make its part, or panicked.
    broken: Alone<W>,
}

impl<W: Word + Default> Team<W> {
    fn of(threads: usize) -> Team<W> {
        Team { followers: threads.saturating_sub(1) as u32, ..Team::default() }
    }

    fn is_broken(&self) -> bool {
        self.broken.0.load(Ordering::Relaxed) == 1
    }

    /// Says that a thread is broken.
    fn break_up(&self) {
        self.broken.0.store(1, Ordering::Relaxed);
    }

    /// Does one pass of all: the leader's part in the midst of the followers'.
    fn pass(&self, number: u32, part: &mut impl ThreadWork) -> Result<()> {
        self.begun.0.store(number, Ordering::Release);
        part.pass();
        while self.done.0.load(Ordering::Acquire) != number.wrapping_mul(self.followers) {
            if self.is_broken() {
                return Err(RoundError::internal(say!("a thread panicked")));
            }
            W::pause();
        }
        Ok(())
    }

    /// Does a follower's part of every pass that the leader begins.
    fn follow(&self, part: &mut impl ThreadWork) {
        let mut number = 0;
        loop {
            while self.begun.0.load(Ordering::Acquire) == number {
                if self.over.0.load(Ordering::Acquire) == 1 {
                    return;
                }
                W::pause();
            }
            number += 1;
            part.pass();
            self.done.0.add(1, Ordering::Release);
        }
    }
}

/// Binds the thread and makes its part; comes back when all have, with an error when any has not.
fn prepare<P: ThreadWork>(
    team: &Team,
    made: &Barrier,
    cpu: Cpu,
    index: usize,
    make: &impl Fn(usize) -> Result<P>,
) -> Result<P> {
    let part = threads::bind(cpu).and_then(|()| make(index));
    if part.is_err() {
        team.break_up();
    }
    made.wait();
    sampler::end();
    match team.is_broken() {
        true => part.and(Err(RoundError::failed(ReasonCode::ProcessDied, say!("another thread could not begin")))),
        false => part,
    }
}

/// Lets the others go when a thread leaves, however it does.
struct Leaving<'a, W: Word + Default>(&'a Team<W>);

impl<W: Word + Default> Drop for Leaving<'_, W> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.break_up();
        }
        self.0.over.0.store(1, Ordering::Release);
    }
}

/// Kernel's counters of a follower.
#[derive(Default)]
struct Seen {
    delay_ns: u64,
    involuntary_switches: u64,
    faults: u64,
}

/// Trials that find the fastest of several ways, or the one known to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trials {
    pub ways: usize,
    /// Seed of the order of trials.
    pub seed: u64,
    /// The way to go where it is known.
    pub known: Option<usize>,
    /// True where half of the work is timed too, after the samples.
    pub halves: bool,
}

#[derive(Debug)]
pub(crate) struct Lockstep {
    pub samples: Samples,
    /// The way that all passes went.
    pub way: usize,
    /// Time of the trials, ns.
    pub trials_ns: f64,
    /// Time of half of the work, ns, after another half.
    pub half_ns: Option<f64>,
}

/// Orders from the leader to all. The thread that begins a pass publishes them.
#[derive(Debug, Default)]
struct PassOrders {
    way: AtomicUsize,
    /// Number of repeats of a stretch; 0: a pass by the way that was taken; [`HALF`]: half of one.
    repeats: AtomicU64,
}

const HALF: u64 = u64::MAX;

impl PassOrders {
    fn set(&self, way: usize, repeats: u64) {
        self.way.store(way, Ordering::Relaxed);
        self.repeats.store(repeats, Ordering::Relaxed);
    }
}

/// A part that does what the leader has set for all: a stretch by a way, or a pass by the one that was taken.
struct Directed<'a, P> {
    part: P,
    direction: &'a PassOrders,
    /// True once the part has been given the way of its passes.
    is_published: bool,
}

impl<P: ThreadWork> ThreadWork for Directed<'_, P> {
    fn pass(&mut self) {
        let way = self.direction.way.load(Ordering::Relaxed);
        let repeats = self.direction.repeats.load(Ordering::Relaxed);
        let is_chosen = matches!(repeats, 0 | HALF);
        if is_chosen && !std::mem::replace(&mut self.is_published, true) {
            self.part.take(way);
        }
        match repeats {
            0 => self.part.pass(),
            HALF => self.part.half(),
            repeats => self.part.trial(way, repeats),
        }
    }

    fn check(&mut self) -> Result<()> {
        self.part.check()
    }
}

/// Times passes of all `cpus`, of which the calling thread takes the first; a sample is one pass.
pub(crate) fn measure<P: ThreadWork>(
    clock: &Clock,
    interference: &Interference,
    budget_ns: f64,
    cpus: &[Cpu],
    trials: Trials,
    make: impl Fn(usize) -> Result<P> + Sync,
) -> Result<Lockstep> {
    let direction = PassOrders::default();
    let directed = |index: usize| Ok(Directed { part: make(index)?, direction: &direction, is_published: false });
    let (measured, seen) = as_team(cpus, directed, |team, part| {
        let (begun, mut number) = (clock.start(), 0);
        let way = match trials.known {
            Some(way) => way,
            None => try_all(clock, interference, trials, team, part, &direction, &mut number)?,
        };
        let trials_ns = clock.ns(clock.end().since(begun));
        let mut next_ns = |repeats: u64| {
            direction.set(way, repeats);
            number += 1;
            timed(clock, team, part, number)
        };
        // Half of the work leaves what samples meet: what was filled before has left the caches.
        let first_ns = 2.0 * next_ns(HALF)?;
        let samples = lead(clock, interference, budget_ns, first_ns, || next_ns(0))?;
        let half_ns = if trials.halves { next_ns(HALF).and_then(|_| next_ns(HALF)).map(Some)? } else { None };
        Ok(Lockstep { samples, way, trials_ns, half_ns })
    })?;
    Ok(Lockstep { samples: with_followers(measured.samples, seen.into_iter()), ..measured })
}

/// The fastest of so many ways for all `cpus` at once.
pub(crate) fn choose<P: ThreadWork>(
    clock: &Clock,
    interference: &Interference,
    cpus: &[Cpu],
    ways: usize,
    seed: u64,
    make: impl Fn(usize) -> Result<P> + Sync,
) -> Result<usize> {
    let direction = PassOrders::default();
    let directed = |index: usize| Ok(Directed { part: make(index)?, direction: &direction, is_published: false });
    let trials = Trials { ways, seed, known: None, halves: false };
    let chosen =
        as_team(cpus, directed, |team, part| try_all(clock, interference, trials, team, part, &direction, &mut 0))?;
    Ok(chosen.0)
}

/// Tries all ways by all threads.
fn try_all(
    clock: &Clock,
    interference: &Interference,
    trials: Trials,
    team: &Team,
    part: &mut impl ThreadWork,
    direction: &PassOrders,
    number: &mut u32,
) -> Result<usize> {
    let begun = clock.start();
    let spent_ns = || clock.ns(clock.end().since(begun));
    choice::fastest(trials.ways, trials.seed, spent_ns, |way, repeats| {
        direction.set(way, repeats);
        choice::trial_ns(interference, || {
            *number += 1;
            timed(clock, team, part, *number)
        })
    })
}

/// Times a pass of all threads, ns.
fn timed(clock: &Clock, team: &Team, part: &mut impl ThreadWork, number: u32) -> Result<f64> {
    let start = clock.start();
    team.pass(number, part)?;
    Ok(clock.ns(clock.end().since(start)))
}

/// Gives each of `cpus` its part; the calling thread takes the first, and leads the others through passes until it is done.
fn as_team<P: ThreadWork, R>(
    cpus: &[Cpu],
    make: impl Fn(usize) -> Result<P> + Sync,
    lead: impl FnOnce(&Team, &mut P) -> Result<R>,
) -> Result<(R, Vec<Seen>)> {
    let Some(&first) = cpus.first() else {
        return Err(RoundError::failed(ReasonCode::TooFewCpus, say!("the case has no CPU")));
    };
    let team = Team::of(cpus.len());
    let made = Barrier::new(cpus.len());
    let follow = |index: usize, cpu: Cpu| -> Result<Seen> {
        let mut part = prepare(&team, &made, cpu, index, &make)?;
        let counters = ThreadCounters::open();
        let before = counters.read();
        let leaving = Leaving(&team);
        team.follow(&mut part);
        drop(leaving);
        let after = counters.read();
        part.check()?;
        Ok(Seen {
            delay_ns: after.run_delay_ns.saturating_sub(before.run_delay_ns),
            involuntary_switches: after.involuntary_switches - before.involuntary_switches,
            faults: after.faults - before.faults,
        })
    };
    let follow = &follow;
    std::thread::scope(|scope| {
        let followers = cpus.iter().enumerate().skip(1).map(|(index, &cpu)| move || follow(index, cpu));
        let threads = threads::start(scope, followers)?;
        let led = prepare(&team, &made, first, 0, &make).and_then(|mut part| {
            let leaving = Leaving(&team);
            let led = lead(&team, &mut part);
            drop(leaving);
            part.check().and(led)
        });
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<Seen>>| {
            thread.join().unwrap_or_else(|_| Err(RoundError::internal(say!("a thread panicked"))))
        };
        // All are joined before any error is told: the first that has a reason of its own.
        let seen: Vec<Result<Seen>> = threads.into_iter().map(join).collect();
        let errors = led.as_ref().err().into_iter().chain(seen.iter().filter_map(|seen| seen.as_ref().err()));
        let echo = RoundError::failed(ReasonCode::ProcessDied, say!("another thread could not begin"));
        let error = errors.min_by_key(|&error| *error == echo).cloned();
        match error {
            Some(error) => Err(error),
            None => led.map(|led| (led, seen.into_iter().flatten().collect())),
        }
    })
}

/// Samples of passes, one of which takes about `first_ns`.
fn lead(
    clock: &Clock,
    interference: &Interference,
    budget_ns: f64,
    first_ns: f64,
    mut pass_ns: impl FnMut() -> Result<f64>,
) -> Result<Samples> {
    let mut samples = Samples::of_times(1);
    let begin = clock.start();
    let least = if first_ns * LEAST_SAMPLES as f64 > 2.0 * budget_ns { 1 } else { LEAST_SAMPLES };
    let mut blocks = CounterBlocks::begin(clock, interference);
    loop {
        let ns = pass_ns()?;
        samples.push(ns, 1, ns);
        blocks.add(&mut samples);
        let spent_ns = clock.ns(clock.start().since(begin));
        let taken = samples.ns.len();
        if (spent_ns >= budget_ns && taken >= least) || taken >= MOST_SAMPLES {
            break;
        }
    }
    blocks.end(&mut samples);
    Ok(samples)
}

/// The samples with the followers' marks: one that waited for over 1 % of the time marks all, as nobody knows in which pass.
fn with_followers(mut samples: Samples, followers: impl Iterator<Item = Seen>) -> Samples {
    let total_ns: f64 = samples.ns.iter().sum();
    for seen in followers {
        let delay_ns = seen.delay_ns as f64;
        if delay_ns > DELAY_SHARE * total_ns {
            samples.disturbance_flags.iter_mut().for_each(|flags| flags.0 |= DisturbanceFlags::DELAYED);
        }
        let share = delay_ns / samples.ns.len().max(1) as f64;
        samples.delays_ns.iter_mut().for_each(|delay| *delay += share);
        samples.involuntary_switches += seen.involuntary_switches;
        samples.faults += seen.faults;
    }
    samples
}

#[cfg(test)]
#[path = "lockstep_tests.rs"]
mod tests;
