//! Threads of the process that run on other CPUs without pause while this one measures.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use hostmark_engine::prelude::*;

use crate::kernels::atomic::Lonely;

/// Numbers of threads: 1, and from the standard profile on 2, 4 … and all usable CPUs.
pub(crate) fn powers_of_two(host: &HostFacts, profile: Profile) -> Vec<u64> {
    let all = host.usable_cpus().len() as u64;
    match profile {
        Profile::Quick => vec![1],
        _ => (0..).map(|power| 1 << power).take_while(|&threads| threads < all).chain([all.max(1)]).collect(),
    }
}

/// Progress of the other threads, each by itself.
pub(crate) struct Others<'a>(&'a [Lonely]);

impl Others<'_> {
    /// Waits until each has been seen at work: to interrupt one that does not run would seem cheap.
    pub fn all_run(&self) {
        for turns in self.0 {
            let seen = turns.0.load(Ordering::Acquire);
            while turns.0.load(Ordering::Acquire) == seen {
                std::hint::spin_loop();
            }
        }
    }
}

/// Measures while the other threads of the case repeat `work`, each on its own CPU.
pub(crate) fn beside(
    case: &mut Case,
    work: impl Fn() + Sync,
    measure: impl FnOnce(&mut Case, &Others) -> Result<()>,
) -> Result<()> {
    let cpus = case.thread_cpus();
    let others = cpus.get(1..).unwrap_or_default();
    let (ready, is_over, is_lost) = (Barrier::new(others.len() + 1), AtomicBool::new(false), AtomicBool::new(false));
    let turns: Vec<Lonely> = others.iter().map(|_| Lonely::default()).collect();
    let repeat = |cpu: Cpu, turns: &Lonely| {
        let bound = threads::bind(cpu);
        is_lost.fetch_or(bound.is_err(), Ordering::Relaxed);
        ready.wait();
        while !is_over.load(Ordering::Relaxed) {
            work();
            turns.0.fetch_add(1, Ordering::Release);
        }
        bound
    };
    let repeat = &repeat;
    std::thread::scope(|scope| {
        let works = others.iter().zip(&turns).map(|(&cpu, turns)| move || repeat(cpu, turns));
        let started = threads::start(scope, works)?;
        ready.wait();
        // Which one is lost, and why, it says itself.
        let measured = if is_lost.load(Ordering::Relaxed) { Ok(()) } else { measure(case, &Others(&turns)) };
        is_over.store(true, Ordering::Relaxed);
        threads::join(started).and(measured)
    })
}
