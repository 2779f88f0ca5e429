//! A child that sleeps until it is woken, and says at once that it runs.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::event::EventfdFlags;
use rustix::fd::OwnedFd;

use crate::workloads::call::Call;
use crate::workloads::handover::exchange::{add_one, take_all};
use crate::workloads::process::Peer;
use crate::workloads::waits::Shared;
use crate::workloads::waits::{Alone, count_to, sleep_past};
use hostmark_engine::prelude::{Clock, Ticks};

/// By what it is woken.
#[derive(Debug)]
enum Bell {
    /// A word that it waits on.
    Futex,
    /// A counter that it reads.
    Eventfd(OwnedFd),
}

/// What both share.
#[derive(Debug, Default)]
struct FutexWords {
    /// Calls so far: the word of the futex.
    called: Alone<AtomicU32>,
    /// Answers so far: the caller waits on it where both share a CPU.
    answered: Alone<AtomicU32>,
    /// When the last answer was given.
    at: AtomicU64,
}

/// A child that is woken by a call, answers it and sleeps again.
#[derive(Debug)]
pub struct Sleeper {
    _peer: Peer,
    words: Shared<FutexWords>,
    bell: Bell,
    calls: u32,
    clock: Clock,
    /// Whether it needs the caller's CPU to run.
    is_here: bool,
}

impl Sleeper {
    /// Starts the child on `cpus`. `by`: futex or eventfd; none for any other name. `is_here`: it has only the CPU of the
    /// caller, who has to leave it to let it run.
    pub fn spawn(by: &str, cpus: &[usize], is_here: bool, clock: &Clock) -> io::Result<Option<Sleeper>> {
        let bell = match by {
            "futex" => Bell::Futex,
            "eventfd" => Bell::Eventfd(rustix::event::eventfd(0, EventfdFlags::CLOEXEC).call("eventfd2")?),
            _ => return Ok(None),
        };
        let words = Shared::new(FutexWords::default())?;
        let peer = Peer::spawn(cpus, || serve(&words, &bell, clock, is_here))?;
        Ok(Some(Sleeper { _peer: peer, words, bell, calls: 0, clock: clock.clone(), is_here }))
    }

    /// Wakes it, and comes back when it runs: the time from `since` until then. Where it has a CPU of its own the caller sees
    /// the answer by spinning; else the child reads the clock, on the same CPU, and the caller sleeps meanwhile.
    #[inline]
    pub fn wake(&mut self, since: Ticks) -> io::Result<Ticks> {
        self.calls = self.calls.wrapping_add(1);
        match &self.bell {
            Bell::Futex => count_to(&self.words.called.0, self.calls)?,
            Bell::Eventfd(counter) => add_one(counter)?,
        }
        let answered = &self.words.answered.0;
        match self.is_here {
            true => sleep_past(answered, self.calls.wrapping_sub(1))?,
            false => {
                while answered.load(Ordering::Acquire) != self.calls {
                    std::hint::spin_loop();
                }
            }
        }
        match self.is_here {
            true => Ok(Ticks(self.words.at.load(Ordering::Acquire)).since(since)),
            false => Ok(self.clock.end().since(since)),
        }
    }
}

fn serve(words: &FutexWords, bell: &Bell, clock: &Clock, is_here: bool) -> io::Result<()> {
    let mut answered = 0_u32;
    loop {
        match bell {
            Bell::Futex => sleep_past(&words.called.0, answered)?,
            Bell::Eventfd(counter) => take_all(counter)?,
        }
        #[cfg(test)]
        crate::workloads::handover::ping_pong::tests::delay();
        if is_here {
            words.at.store(clock.end().0, Ordering::Release);
        }
        answered = answered.wrapping_add(1);
        match is_here {
            true => count_to(&words.answered.0, answered)?,
            false => words.answered.0.store(answered, Ordering::Release),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::workloads::clock;
    use crate::workloads::handover::ping_pong::tests::{delay_turns, never_early};
    use crate::workloads::{affinity, process::in_a_child};

    #[test]
    fn every_call_is_answered_by_every_way_and_place() {
        in_a_child(|| {
            let cpus = affinity::allowed()?;
            affinity::bind(&cpus[..1])?;
            let there = cpus.last().copied().unwrap_or(cpus[0]);
            for by in ["futex", "eventfd"] {
                for (cpu, is_here) in [(cpus[0], true), (there, there == cpus[0])] {
                    delay_turns(Duration::from_millis(5));
                    let mut slow = Sleeper::spawn(by, &[cpu], is_here, &Clock::MonotonicRaw)?.unwrap();
                    never_early(clock::monotonic_ns(), Duration::from_millis(5), 5, || {
                        slow.wake(Clock::MonotonicRaw.start()).map(drop)
                    })?;
                    delay_turns(Duration::ZERO);
                    drop(slow);
                    let mut sleeper = Sleeper::spawn(by, &[cpu], is_here, &Clock::MonotonicRaw)?.unwrap();
                    for _ in 0..100 {
                        let start = Clock::MonotonicRaw.start();
                        let took = sleeper.wake(start)?;
                        let all = Clock::MonotonicRaw.end().since(start);
                        assert!(took > Ticks(0) && took <= all, "{took:?} {all:?}");
                    }
                }
            }
            assert!(Sleeper::spawn("shout", &cpus, false, &Clock::MonotonicRaw)?.is_none());
            Ok(())
        });
    }
}
