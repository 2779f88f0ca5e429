//! Messengers that hand out requests at fixed times, and workers that sleep until there is one.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use hostmark_engine::prelude::{ReasonCode, say, sys::call::fault};

use crate::kernels::arith;
use crate::workloads::clock;
use crate::workloads::machine::timer;
use crate::workloads::process::Peer;
use crate::workloads::waits::Shared;
use crate::workloads::waits::{Alone, count_to, sleep_past};

/// Requests of a messenger that are told of at once: so many wait at most, and whoever is late with the next counts from when it was
/// due all the same.
const SLOTS: usize = 4096;
/// The work of a request: dependent additions, some 0.1 ms.
const ADDITIONS: u64 = 300_000;
/// How long results are not looked for where there are none.
const NAP: Duration = Duration::from_millis(2);
/// Where no request is begun in so long, someone is dead.
const PATIENCE_NS: u64 = 5_000_000_000;

/// A request, from the moment at which it is due; all are ns of CLOCK_MONOTONIC.
#[derive(Debug, Default)]
struct Slot {
    due: AtomicU64,
    /// When its messenger was about to wake a worker.
    posted: AtomicU64,
    /// When a worker began; 0 before.
    begun: AtomicU64,
}

/// What a messenger, its workers and the one who looks at the times share.
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

/// How long after it was due a request was begun, and how long after its worker was woken, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    /// From the moment at which it was due.
    pub since_due: u64,
    /// From the moment at which its messenger was about to wake a worker.
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
        std::thread::sleep(time);
        let (after, end) = (done(), clock::monotonic_ns());
        (after - before) as f64 * 1e9 / (end - begin).max(1) as f64
    }

    /// From now on so many requests are due a second, at equal distances: of each messenger its part.
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
            std::thread::sleep(NAP);
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
        timer::sleep_until(due)?;
        while number.wrapping_sub(queue.read.0.load(Ordering::Acquire)) as usize >= SLOTS {
            std::thread::sleep(NAP);
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
        crate::workloads::handover::ping_pong::tests::delay();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::handover::ping_pong::tests::delay_turns;
    use crate::workloads::{affinity, process::in_a_child};

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

    /// A worker that stalls for 5 ms before each request does 200 a second at most: of more the later ones wait the longer, though
    /// each messenger goes on by its plan.
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
}
