//! io_uring by its three system calls and its shared memory: operations that do nothing, in batches.

use std::io;

use hostmark_engine::prelude::say;

use crate::workloads::storage::uring_queues::{Poller, Rings, Submission};

/// The kernel's thread polls for so long after the last submission, ms: longer than any pause between two samples.
const POLLS_MS: u32 = 200;
/// After so many looks for a completion the CPU is offered to others: the kernel's thread may need this one.
const PATIENCE: u32 = 1 << 14;

/// A ring on which batches of operations that do nothing are submitted and completed.
#[derive(Debug)]
pub struct Nops(Batches);

impl Nops {
    /// A ring for batches of `batch`. `poller`: the CPU of a thread of the kernel that takes submissions without being called
    /// (SQPOLL).
    pub fn new(batch: u32, poller: Option<usize>) -> io::Result<Nops> {
        Batches::new(batch, poller).map(Nops)
    }

    /// Submits a batch, waits until all of it is completed, and takes the completions; an error when one is missing, failed
    /// or is another one's.
    #[inline]
    pub fn submit_and_complete(&mut self) -> io::Result<()> {
        // SAFETY: an operation that does nothing names no memory.
        unsafe { self.0.submit_and_complete(0, |_| Submission::default()) }
    }
}

/// A ring for batches of one size, each of which is completed before the next.
#[derive(Debug)]
pub(crate) struct Batches {
    pub rings: Rings,
    batch: u32,
    is_polled: bool,
    /// Operations so far: the name of the next.
    done: u32,
    /// Whether the kernel may still be at work on a batch: it was handed over, and not all of it was seen to end.
    pub is_under_way: bool,
}

impl Batches {
    /// As [`Nops::new`].
    pub fn new(batch: u32, poller: Option<usize>) -> io::Result<Batches> {
        let cpu = poller.map(u32::try_from).transpose().map_err(|_| io::ErrorKind::InvalidInput)?;
        let rings = Rings::new(batch, cpu.map(|cpu| Poller { cpu, idle_ms: POLLS_MS }))?;
        Ok(Batches::on(rings, batch, cpu.is_some()))
    }

    /// On a ring that has room for them.
    pub fn on(rings: Rings, batch: u32, is_polled: bool) -> Batches {
        Batches { rings, batch, is_polled, done: 0, is_under_way: false }
    }

    /// Submits what `entry` makes of each number below the batch's size, as [`Nops::submit_and_complete`] does; each must end
    /// with `result`.
    ///
    /// # Safety
    /// What the entries name has to live until this returns, and if [`Batches::is_under_way`] then, for ever.
    #[inline(always)]
    pub unsafe fn submit_and_complete(&mut self, result: i32, entry: impl Fn(u32) -> Submission) -> io::Result<()> {
        for number in 0..self.batch {
            let name = u64::from(self.done.wrapping_add(number));
            // SAFETY: the caller's; the batch before has been completed.
            unsafe { self.rings.write(number, Submission { name, ..entry(number) }) };
        }
        self.is_under_way = true;
        self.rings.publish(self.batch);
        self.hand_over(self.batch, self.batch)?;
        self.complete(result)
    }

    /// Has the kernel take `submit` published entries; where it has to be called for that, it is back when `complete` more have ended.
    #[inline(always)]
    pub fn hand_over(&self, submit: u32, complete: u32) -> io::Result<()> {
        if self.is_polled {
            return self.rings.wake(submit);
        }
        match self.rings.enter(submit, complete)? {
            taken if taken == submit as usize => Ok(()),
            _ => Err(io::Error::other(say!("the kernel took a part of the batch"))),
        }
    }

    /// Spins until `count` completions are there.
    #[inline(always)]
    pub fn await_completions(&self, count: u32) {
        let mut looks = 0_u32;
        while self.rings.completed() < count {
            looks += 1;
            if looks.is_multiple_of(PATIENCE) {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }

    #[inline(always)]
    fn complete(&mut self, result: i32) -> io::Result<()> {
        self.await_completions(self.batch);
        self.is_under_way = false;
        // Those that other threads of the kernel do may end in any order, but each once.
        let mut numbers = 0;
        for ahead in 0..self.batch {
            let done = self.rings.completion(ahead);
            let number = (done.name as u32).wrapping_sub(self.done);
            if number >= self.batch || done.result != result {
                return Err(io::Error::other(say!(
                    "operation {name} ended with {result}",
                    name = done.name,
                    result = done.result
                )));
            }
            numbers += u64::from(number);
        }
        if numbers != u64::from(self.batch) * u64::from(self.batch - 1) / 2 {
            return Err(io::Error::other(say!("the kernel took a part of the batch")));
        }
        self.rings.take(self.batch);
        self.done = self.done.wrapping_add(self.batch);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;

    #[test]
    fn every_operation_of_every_batch_is_completed_once() {
        let last = crate::workloads::affinity::allowed().unwrap().last().copied();
        for poller in [None, last] {
            for batch in [1, 3, 32] {
                let mut nops = match Nops::new(batch, poller) {
                    Ok(nops) => nops,
                    Err(error)
                        if matches!(
                            crate::workloads::call::errno(&error),
                            Some(libc::ENOSYS | libc::EPERM | libc::EACCES)
                        ) =>
                    {
                        return skipped("there is no io_uring here");
                    }
                    Err(error) => panic!("{error}"),
                };
                (0..100).for_each(|_| nops.submit_and_complete().unwrap());
                assert_eq!(nops.0.done, 100 * batch);
            }
        }
    }
}
