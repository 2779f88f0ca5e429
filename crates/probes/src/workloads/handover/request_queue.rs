//! Sleepers that are woken: workers with requests at fixed times, a child that says that it runs, and a waiter for a lock.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use hostmark_engine::prelude::sys::call::fault;
use hostmark_engine::prelude::sys::waits;
use hostmark_engine::prelude::{Clock, ReasonCode, Ticks, say};
use rustix::event::EventfdFlags;
use rustix::fd::OwnedFd;

use crate::kernels::arith;
use crate::workloads::call::Call;
use crate::workloads::clock::{self, sleep};
use crate::workloads::handover::exchange::{add_one, take_all};
use crate::workloads::machine::timer;
use crate::workloads::process::Peer;
use crate::workloads::waits::{Alone, Shared, count_to, sleep_past};

/// Requests of a messenger that wait at most: one that is late with the next still counts from when it was due.
const SLOTS: usize = 4096;
/// The work of a request: dependent additions, some 0.1 ms.
const ADDITIONS: u64 = 300_000;
/// Pause before results are looked for again where there are none.
const NAP: Duration = Duration::from_millis(2);
/// Time without a new request after which a process counts as dead.
const PATIENCE_NS: u64 = 5_000_000_000;

/// A request, from the moment at which it is due; all are ns of CLOCK_MONOTONIC.
#[derive(Debug, Default)]
struct Slot {
    due: AtomicU64,
    /// Time when its messenger was about to wake a worker.
    posted: AtomicU64,
    /// Time when a worker began; 0 before.
    begun: AtomicU64,
}

/// Queue shared by a messenger, its workers and the process that reads the times.
#[derive(Debug)]
struct Queue {
    /// 0 while workers show what they can do, 1 from the first request on.
    phase: Alone<AtomicU32>,
    /// Requests posted so far: the word on which workers sleep.
    posted: Alone<AtomicU32>,
    /// Requests that workers have taken so far.
    taken: Alone<AtomicU32>,
    /// Requests whose times were read so far: their slots are free.
    read: Alone<AtomicU32>,
    /// Requests that were worked at while all workers were busy all of the time.
    flat_out: Alone<AtomicU64>,
    first_due: AtomicU64,
    period: AtomicU64,
    slots: [Slot; SLOTS],
}

/// Delay of a request's beginning: since it was due, and since its worker was woken, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    pub since_due: u64,
    /// Time since its messenger was about to wake a worker.
    pub since_posted: u64,
}

/// Messengers, each with workers of its own; all are ended when this is dropped.
#[derive(Debug)]
pub struct RequestQueues {
    _parties: Vec<Peer>,
    queues: Vec<Shared<Queue>>,
    /// The queue that is looked at first.
    next: usize,
}

impl RequestQueues {
    /// Starts them, wherever the scheduler puts them on `cpus`. The workers are busy at once, until [`RequestQueues::open`].
    pub fn new(messengers: usize, workers: usize, cpus: &[usize]) -> io::Result<RequestQueues> {
        let (mut parties, mut queues) = (Vec::new(), Vec::new());
        for _ in 0..messengers {
            let queue = Shared::new(Queue {
                phase: Alone::default(),
                posted: Alone::default(),
                taken: Alone::default(),
                read: Alone::default(),
                flat_out: Alone::default(),
                first_due: AtomicU64::new(0),
                period: AtomicU64::new(0),
                slots: std::array::from_fn(|_| Slot::default()),
            })?;
            for _ in 0..workers {
                parties.push(Peer::spawn(cpus, || work(&queue))?);
            }
            parties.push(Peer::spawn(cpus, || hand_out(&queue))?);
            queues.push(queue);
        }
        Ok(RequestQueues { _parties: parties, queues, next: 0 })
    }

    /// Requests a second that the workers can do: what they do in about this time while they are busy all of it.
    pub fn capacity(&self, time: Duration) -> f64 {
        let done = || self.queues.iter().map(|queue| queue.flat_out.0.load(Ordering::Acquire)).sum::<u64>();
        let (before, begin) = (done(), clock::monotonic_ns());
        sleep(time);
        let (after, end) = (done(), clock::monotonic_ns());
        (after - before) as f64 * 1e9 / (end - begin).max(1) as f64
    }

    /// Makes `rate` requests due a second from now on, at equal distances: of each messenger its part.
    pub fn open(&self, rate: f64) -> io::Result<()> {
        let period = (1e9 * self.queues.len() as f64 / rate.max(1.0)) as u64;
        // What the workers do last of the first phase is over by then.
        let begin = clock::monotonic_ns() + 20_000_000;
        for (number, queue) in self.queues.iter().enumerate() {
            queue.period.store(period.max(1), Ordering::Release);
            queue.first_due.store(begin + period * number as u64 / self.queues.len() as u64, Ordering::Release);
            count_to(&queue.phase.0, 1)?;
        }
        Ok(())
    }

    /// Waits until a request has been begun of which this has not told, and tells of it. A messenger's are told of in their order.
    pub fn begun(&mut self) -> io::Result<Begun> {
        let since = clock::monotonic_ns();
        loop {
            for _ in 0..self.queues.len() {
                let queue = &self.queues[self.next];
                self.next = (self.next + 1) % self.queues.len();
                if let Some(begun) = queue.read_one() {
                    return Ok(begun);
                }
            }
            if clock::monotonic_ns() - since > PATIENCE_NS {
                return Err(fault(ReasonCode::TimedOut, say!("no request was begun for 5 s")));
            }
            sleep(NAP);
        }
    }
}

impl Queue {
    fn slot(&self, number: u32) -> &Slot {
        &self.slots[number as usize % SLOTS]
    }

    fn read_one(&self) -> Option<Begun> {
        let number = self.read.0.load(Ordering::Relaxed);
        let slot = self.slot(number);
        let begun = slot.begun.swap(0, Ordering::Acquire);
        (begun != 0).then(|| {
            let since = |moment: &AtomicU64| begun.saturating_sub(moment.load(Ordering::Relaxed));
            let times = Begun { since_due: since(&slot.due), since_posted: since(&slot.posted) };
            self.read.0.store(number.wrapping_add(1), Ordering::Release);
            times
        })
    }
}

fn hand_out(queue: &Queue) -> io::Result<()> {
    let _precise = timer::WithoutSlack::begin()?;
    sleep_past(&queue.phase.0, 0)?;
    let (mut due, period) = (queue.first_due.load(Ordering::Acquire), queue.period.load(Ordering::Acquire));
    let mut number = 0_u32;
    loop {
        clock::sleep_until(due)?;
        while number.wrapping_sub(queue.read.0.load(Ordering::Acquire)) as usize >= SLOTS {
            sleep(NAP);
        }
        let slot = queue.slot(number);
        slot.due.store(due, Ordering::Relaxed);
        slot.posted.store(clock::monotonic_ns(), Ordering::Relaxed);
        number = number.wrapping_add(1);
        count_to(&queue.posted.0, number)?;
        due += period;
    }
}

fn work(queue: &Queue) -> io::Result<()> {
    let request = || {
        std::hint::black_box(arith::add_chain(ADDITIONS, 1, std::hint::black_box(1)));
    };
    while queue.phase.0.load(Ordering::Acquire) == 0 {
        request();
        queue.flat_out.0.fetch_add(1, Ordering::Release);
    }
    loop {
        #[cfg(test)]
        crate::workloads::handover::tests::delay();
        let (taken, posted) = (queue.taken.0.load(Ordering::Acquire), queue.posted.0.load(Ordering::Acquire));
        if taken == posted {
            sleep_past(&queue.posted.0, posted)?;
        } else if queue
            .taken
            .0
            .compare_exchange(taken, taken.wrapping_add(1), Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
        {
            queue.slot(taken).begun.store(clock::monotonic_ns(), Ordering::Release);
            request();
        }
    }
}

#[derive(Debug)]
enum Bell {
    Futex,
    Eventfd(OwnedFd),
}

#[derive(Debug, Default)]
struct FutexWords {
    /// Calls so far: the word of the futex.
    called: Alone<AtomicU32>,
    /// Answers so far: the caller waits on it where both share a CPU.
    answered: Alone<AtomicU32>,
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
    /// True where it needs the caller's CPU to run.
    is_here: bool,
}

impl Sleeper {
    /// Starts the child on `cpus`. `by`: futex or eventfd, else none. `is_here`: it shares the caller's only CPU.
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
        crate::workloads::handover::tests::delay();
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

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// Taken, and somebody may sleep.
const AWAITED: u32 = 2;

/// The lock's word. Threads of this process alone may use it.
#[derive(Debug, Default)]
pub struct SleepingLock(AtomicU32);

impl SleepingLock {
    /// Does `work` while no other thread does anything under this lock.
    #[inline(always)]
    pub fn held(&self, work: impl FnOnce()) -> io::Result<()> {
        if self.0.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
            // Whoever gets it after a sleep cannot know whether others still sleep, and wakes one for nothing at worst.
            while self.0.swap(AWAITED, Ordering::Acquire) != FREE {
                waits::futex_wait(&self.0, AWAITED, true)?;
            }
        }
        work();
        match self.0.swap(FREE, Ordering::Release) {
            AWAITED => waits::futex_wake(&self.0, true).map(drop),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::time::Duration;

    use super::*;
    use crate::workloads::handover::tests::{beside, delay_turns, never_early};
    use crate::workloads::process::in_a_child;
    use crate::workloads::{affinity, clock};

    #[test]
    fn every_request_is_told_of_once_and_none_before_it_was_due() {
        in_a_child(|| {
            for (messengers, workers) in [(1, 1), (2, 3)] {
                let mut queues = RequestQueues::new(messengers, workers, &affinity::allowed()?)?;
                assert!(queues.capacity(Duration::from_millis(20)) > 0.0);
                let begin = clock::monotonic_ns();
                queues.open(500.0)?;
                for _ in 0..100 {
                    let begun = queues.begun()?;
                    assert!(begun.since_posted > 0 && begun.since_posted <= begun.since_due, "{begun:?}");
                }
                // A hundred at 500 a second: none is told of twice.
                assert!(clock::monotonic_ns() - begin >= 190_000_000);
            }
            Ok(())
        });
    }

    /// A worker that stalls 5 ms a request does 200 a second at most: more requests wait longer, though messengers keep their plan.
    #[test]
    fn what_waits_behind_a_stall_counts_from_when_it_was_due() {
        in_a_child(|| {
            delay_turns(Duration::from_millis(5));
            let mut queues = RequestQueues::new(1, 1, &affinity::allowed()?)?;
            queues.open(1000.0)?;
            let waits: Vec<u64> =
                (0..40).map(|_| queues.begun().map(|begun| begun.since_due)).collect::<Result<_, _>>()?;
            delay_turns(Duration::ZERO);
            assert!(waits[39] >= 38 * 4_000_000, "{waits:?}");
            Ok(())
        });
    }

    #[test]
    fn every_call_is_answered_by_every_way_and_place() {
        beside(|cpus| {
            let there = cpus[cpus.len() - 1];
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
            assert!(Sleeper::spawn("shout", cpus, false, &Clock::MonotonicRaw)?.is_none());
            Ok(())
        });
    }

    #[test]
    fn no_two_threads_are_inside_and_none_sleeps_for_ever() {
        const THREADS: u64 = 4;
        const TIMES: u64 = 20_000;
        let (lock, count) = (SleepingLock::default(), AtomicU64::new(0));
        // Not one operation: two at once would lose a step.
        let step = || count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| (0..TIMES).for_each(|_| lock.held(step).unwrap()));
            }
        });
        assert_eq!((count.into_inner(), lock.0.into_inner()), (THREADS * TIMES, FREE));
    }
}
