//! What a process of a pipeline tells of a transfer: where its time went, and which bytes were copied.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use hostmark_engine::prelude::read_counter;
use hostmark_engine::prelude::sys::usage::ThreadCounters;

use super::mover::Mover;
use crate::workloads::usage::Usage;
use crate::workloads::waits::Alone;
use crate::workloads::{clock, usage};

/// Of these bytes one block is timed by the process' CPU clock: a call of the kernel that a block of 64 KiB would feel.
const SAMPLED_EVERY_BYTES: usize = 1 << 20;

/// One or several transfers of one process, ns where nothing else is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TransferAccount {
    /// From the first process' begin to the last one's end.
    pub passed: u64,
    /// CPU time in user code, as the kernel tells it by its ticks.
    pub user: u64,
    /// CPU time in all.
    pub cpu: u64,
    /// In the call that reads without running.
    pub read_wait: u64,
    /// In the call that writes without running.
    pub write_wait: u64,
    /// It could have run and had no CPU.
    pub run_delay: u64,
    /// Times that it left its CPU.
    pub switches: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Bytes copied between user and kernel by its calls.
    pub copied: u64,
    /// Bytes handed over by calls of read and write.
    pub crossed: u64,
}

const NUMBERS: usize = 10;

impl TransferAccount {
    fn numbers(self) -> [u64; NUMBERS] {
        let TransferAccount { passed, user, cpu, read_wait, write_wait, run_delay, switches, bytes, copied, crossed } =
            self;
        [passed, user, cpu, read_wait, write_wait, run_delay, switches, bytes, copied, crossed]
    }

    fn of(numbers: [u64; NUMBERS]) -> TransferAccount {
        let [passed, user, cpu, read_wait, write_wait, run_delay, switches, bytes, copied, crossed] = numbers;
        TransferAccount { passed, user, cpu, read_wait, write_wait, run_delay, switches, bytes, copied, crossed }
    }

    /// What of it lies in a transfer of so many ns, of a process that began `early` ns before it: it waited to read until then.
    #[must_use]
    pub(super) fn within(self, passed: u64, early: u64) -> TransferAccount {
        let read_wait = self.read_wait.saturating_sub(early).min(passed);
        let write_wait = self.write_wait.min(passed - read_wait);
        TransferAccount { passed, read_wait, write_wait, run_delay: self.run_delay.min(passed), ..self }
    }

    /// Both together.
    #[must_use]
    pub fn with(self, other: TransferAccount) -> TransferAccount {
        let [one, two] = [self, other].map(TransferAccount::numbers);
        TransferAccount::of(std::array::from_fn(|index| one[index] + two[index]))
    }
}

/// Where a process and who starts its transfers meet.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// A token: the next transfer may begin.
    pub(super) turn: Alone<AtomicU32>,
    /// A token: it is done, and told.
    pub(super) done: Alone<AtomicU32>,
    /// When it began and ended, ns of the monotonic clock.
    pub(super) begun: AtomicU64,
    pub(super) ended: AtomicU64,
    numbers: [AtomicU64; NUMBERS],
}

impl Slot {
    fn store(&self, account: TransferAccount) {
        for (place, number) in self.numbers.iter().zip(account.numbers()) {
            place.store(number, Ordering::Relaxed);
        }
    }

    /// What was told of the last transfer.
    pub(super) fn load(&self) -> TransferAccount {
        TransferAccount::of(std::array::from_fn(|index| self.numbers[index].load(Ordering::Relaxed)))
    }
}

/// The counters of one process over one transfer.
pub(super) struct Meter<'a> {
    counters: &'a ThreadCounters,
    clock_cost: u64,
    usage: Usage,
    user: u64,
    run_delay: u64,
    begun: u64,
    begun_at: u64,
    /// Ticks in the call that reads and in that which writes; CPU ns of both in the sampled blocks.
    wall: [u64; 2],
    cpu: [u64; 2],
    sampled: u64,
    unsampled: usize,
    bytes: u64,
}

impl<'a> Meter<'a> {
    /// A transfer begins now.
    pub(super) fn begin(slot: &Slot, counters: &'a ThreadCounters, clock_cost: u64) -> io::Result<Meter<'a>> {
        let (usage, user) = (Usage::so_far()?, usage::user_ns_of_process()?);
        let run_delay = counters.read().run_delay_ns;
        let (begun, begun_at) = (clock::monotonic_ns(), read_counter());
        slot.begun.store(begun, Ordering::Relaxed);
        let (wall, cpu) = ([0; 2], [0; 2]);
        // The first block meets cold memory, and a sleeper's wake-up.
        let unsampled = SAMPLED_EVERY_BYTES / 2;
        Ok(Meter {
            counters,
            clock_cost,
            usage,
            user,
            run_delay,
            begun,
            begun_at,
            wall,
            cpu,
            sampled: 0,
            unsampled,
            bytes: 0,
        })
    }

    /// Moves a block of `most` bytes at most; how many moved.
    #[inline]
    pub(super) fn block(&mut self, mover: &mut Mover, most: usize) -> io::Result<usize> {
        let is_sampled = self.unsampled >= SAMPLED_EVERY_BYTES;
        let cpu = || if is_sampled { usage::cpu_ns_of_process() } else { Ok(0) };
        let (before, cpu_before) = (read_counter(), cpu()?);
        let came = mover.read(most)?;
        let (between, cpu_between) = (read_counter(), cpu()?);
        let moved = mover.write(came)?;
        let (after, cpu_after) = (read_counter(), cpu()?);
        self.wall[0] += between.saturating_sub(before);
        self.wall[1] += after.saturating_sub(between);
        self.bytes += moved as u64;
        self.unsampled += moved;
        if is_sampled {
            self.cpu[0] += (cpu_between - cpu_before).saturating_sub(self.clock_cost);
            self.cpu[1] += (cpu_after - cpu_between).saturating_sub(self.clock_cost);
            self.sampled += moved as u64;
            self.unsampled = 0;
        }
        Ok(moved)
    }

    /// Bytes that moved otherwise.
    pub(super) fn moved(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// The transfer is over: all of it is told.
    pub(super) fn end(self, slot: &Slot, mover: &Mover) -> io::Result<()> {
        let (ended, ended_at) = (clock::monotonic_ns(), read_counter());
        slot.ended.store(ended, Ordering::Relaxed);
        let usage = Usage::so_far()?.since(self.usage);
        let ns_per_tick = (ended - self.begun) as f64 / ended_at.saturating_sub(self.begun_at).max(1) as f64;
        let waited = |side: usize| {
            let ran = self.cpu[side] as f64 * self.bytes as f64 / self.sampled.max(1) as f64;
            (self.wall[side] as f64 * ns_per_tick - ran).max(0.0) as u64
        };
        let of_bytes = |sides: [bool; 2]| sides.iter().filter(|side| **side).count() as u64 * self.bytes;
        slot.store(TransferAccount {
            passed: 0,
            user: usage::user_ns_of_process()?.saturating_sub(self.user).min(usage.cpu_ns),
            cpu: usage.cpu_ns,
            read_wait: waited(0),
            write_wait: waited(1),
            run_delay: self.counters.read().run_delay_ns.saturating_sub(self.run_delay),
            switches: usage.voluntary_switches + usage.involuntary_switches,
            bytes: self.bytes,
            copied: of_bytes(mover.copies()),
            crossed: of_bytes(mover.crossings()),
        });
        Ok(())
    }
}

/// What reading the CPU clock twice tells at least where nothing lies between, ns.
pub(super) fn clock_cost() -> io::Result<u64> {
    let mut least = u64::MAX;
    let mut last = usage::cpu_ns_of_process()?;
    for _ in 0..16 {
        let now = usage::cpu_ns_of_process()?;
        least = least.min(now.saturating_sub(last));
        last = now;
    }
    Ok(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_before_the_transfer_is_none_of_it() {
        let account = TransferAccount { read_wait: 900, write_wait: 300, run_delay: 50, ..TransferAccount::default() };
        let of = |passed, early| {
            let account = account.within(passed, early);
            [account.passed, account.read_wait, account.write_wait, account.run_delay]
        };
        assert_eq!(of(1000, 400), [1000, 500, 300, 50]);
        assert_eq!(of(1000, 2000), [1000, 0, 300, 50]);
        // An estimate from samples is no more than the time that it is a share of.
        assert_eq!(of(40, 0), [40, 40, 0, 40]);
    }

    #[test]
    fn accounts_add_up_and_are_received_as_reported() {
        let one = TransferAccount::of(std::array::from_fn(|index| index as u64 + 1));
        let slot = Slot::default();
        slot.store(one);
        assert_eq!(slot.load(), one);
        assert_eq!((one.with(one).passed, one.with(one).crossed), (2, 20));
    }
}
