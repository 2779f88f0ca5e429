//! Processes in a row, each of which moves bytes from one place to the next, as `dd | nc` and `nc > /dev/null` do.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use hostmark_engine::prelude::read_counter;
use hostmark_engine::prelude::sys::usage::ThreadCounters;
use rustix::fd::OwnedFd;

use super::call::Call;
use super::process::Peer;
use super::waits::{Shared, give, take};
use crate::workloads::clock;
use crate::workloads::network::local;
use crate::workloads::storage::files;
use crate::workloads::usage::{self, Usage};
use crate::workloads::waits::Alone;
use path::Mover;

mod path;

pub use path::{Endpoint, MOST_STAGES, Method, Pace, Path, Stage};

/// Blocks that lie in the queue at any time where its reader is behind, if it takes them: of 64 KiB half a megabyte, at which the
/// window is still open, so that each block goes out at once.
const AHEAD_BLOCKS: u64 = 8;

/// A pipeline whose processes wait for the next transfer; they end when it is dropped, and die with this process.
#[derive(Debug)]
pub struct Pipeline {
    _peers: Vec<Peer>,
    slots: Shared<[Slot; MOST_STAGES]>,
    /// Processes that this one starts: one behind another begins when told by that one.
    started: Vec<usize>,
    accounts: Vec<TransferAccount>,
    transfers: u64,
    /// Congestion control of the connection, where there is one.
    pub congestion_control: Option<String>,
    /// Capacity of a pipe between two processes, where there is one.
    pub pipe_bytes: Option<usize>,
}

/// Plan of a pipeline: the path, the amount, and the processes.
#[derive(Debug)]
pub struct PipelinePlan<'a> {
    pub path: &'a Path,
    /// File that a path reads which begins at one: `amount` bytes at least.
    pub file: Option<&'a OwnedFd>,
    /// Bytes of a transfer.
    pub amount: u64,
    pub cpus: &'a [usize],
}

impl Pipeline {
    /// Starts the processes; `block` is what each has a copy of, and moves at once at most. Refuses when this process has
    /// several threads: a lock held by one of them would stay locked in a child.
    pub fn start(plan: &PipelinePlan, block: &mut [u8]) -> io::Result<Pipeline> {
        let stages = &plan.path.stages;
        let mut pipeline = Pipeline {
            _peers: Vec::new(),
            slots: Shared::new(Default::default())?,
            started: (0..stages.len()).filter(|&nth| nth == 0 || plan.path.pace != Pace::Behind).collect(),
            accounts: vec![TransferAccount::default(); stages.len()],
            transfers: 0,
            congestion_control: None,
            pipe_bytes: None,
        };
        let mut from = match stages.first().map(|stage| stage.from) {
            Some(Endpoint::Zero) => Some(files::open(std::path::Path::new("/dev/zero"), false)?),
            Some(Endpoint::File | Endpoint::ColdFile) => plan.file.map(files::copy).transpose()?,
            _ => None,
        };
        for (nth, &stage) in stages.iter().enumerate() {
            let (to, next) = pipeline.connect(stage.to)?;
            let slots = &pipeline.slots;
            let peer = Peer::spawn(plan.cpus, || work(plan, nth, from.as_ref(), to, block, slots))?;
            pipeline._peers.push(peer);
            from = next;
        }
        Ok(pipeline)
    }

    /// Makes both ends of a place between two processes, or the sink of the last one: to write first, to read next.
    fn connect(&mut self, place: Endpoint) -> io::Result<(Option<OwnedFd>, Option<OwnedFd>)> {
        match place {
            Endpoint::Null => Ok((Some(files::open(std::path::Path::new("/dev/null"), true)?), None)),
            Endpoint::Pipe => {
                let (read_end, write_end) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).call("pipe2")?;
                self.pipe_bytes = Some(rustix::pipe::fcntl_getpipe_size(&write_end).call("fcntl")?);
                Ok((Some(write_end), Some(read_end)))
            }
            Endpoint::Socket => {
                let (_, near, far) = local::tcp_pair()?;
                self.congestion_control = Some(crate::workloads::network::socket::congestion_control(&near)?);
                Ok((Some(near.into()), Some(far.into())))
            }
            _ => Ok((None, None)),
        }
    }

    /// Does one transfer; returns its time, ns: from the first process' begin to the moment at which the last one has the last byte. The
    /// first transfer is of no process' account: their memory is touched and the connection finds its window meanwhile.
    pub fn transfer(&mut self) -> io::Result<u64> {
        for &nth in self.started.iter().rev() {
            give(&self.slots[nth].turn.0)?;
        }
        for slot in &self.slots[..self.accounts.len()] {
            take(&slot.done.0)?;
        }
        let last = &self.slots[self.accounts.len() - 1];
        let begun = self.slots[0].begun.load(Ordering::Relaxed);
        let passed = last.ended.load(Ordering::Relaxed).saturating_sub(begun).max(1);
        self.transfers += 1;
        if self.transfers > 1 {
            for (account, slot) in self.accounts.iter_mut().zip(self.slots.iter()) {
                // Who was started before the first one waited for it, and not for what moves.
                let early = begun.saturating_sub(slot.begun.load(Ordering::Relaxed));
                *account = account.with(slot.load().within(passed, early));
            }
        }
        Ok(passed)
    }

    /// Returns the processes' accounts of all transfers but the first, in their order.
    pub fn accounts(&self) -> &[TransferAccount] {
        &self.accounts
    }
}

/// Runs process `nth` until it is ended: a transfer for each token.
fn work(
    plan: &PipelinePlan,
    nth: usize,
    from: Option<&OwnedFd>,
    to: Option<OwnedFd>,
    block: &mut [u8],
    slots: &[Slot; MOST_STAGES],
) -> io::Result<()> {
    let (pace, slot) = (plan.path.pace, &slots[nth]);
    let counters = ThreadCounters::open();
    let clock_cost = clock_cost()?;
    let length = block.len();
    let mut mover = path::Mover::new(plan.path.stages[nth], from, to.as_ref(), block)?;
    let gives_way = pace == Pace::Behind || (pace == Pace::Close && nth == 0);
    loop {
        take(&slot.turn.0)?;
        mover.begin()?;
        let mut meter = Meter::begin(slot, &counters, clock_cost)?;
        let mut left = plan.amount;
        let most = |left: u64| usize::try_from(left).unwrap_or(length).min(length);
        if pace == Pace::Behind && nth == 0 {
            for _ in 0..AHEAD_BLOCKS {
                let sent = mover.write_some(most(left))? as u64;
                meter.moved(sent);
                left -= sent;
            }
            // It lies in the queue: from now on its reader is this far behind.
            give(&slots[nth + 1].turn.0)?;
        }
        while left > 0 {
            left -= meter.block(&mut mover, most(left))? as u64;
            if gives_way {
                std::thread::yield_now();
            }
        }
        meter.end(slot, &mover)?;
        give(&slot.done.0)?;
    }
}

/// Bytes of which one block is timed by the process' CPU clock: a call of the kernel that a block of 64 KiB would feel.
const SAMPLED_EVERY_BYTES: usize = 1 << 20;

/// Account of one or several transfers of one process, ns where nothing else is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TransferAccount {
    /// Time from the first process' begin to the last one's end.
    pub passed: u64,
    /// CPU time in user code, as the kernel tells it by its ticks.
    pub user: u64,
    pub cpu: u64,
    /// Time in the call that reads without running.
    pub read_wait: u64,
    /// Time in the call that writes without running.
    pub write_wait: u64,
    /// Time in which it could have run and had no CPU.
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

    /// Returns the part that lies in a transfer of so many ns, of a process that began `early` ns before it: it waited to read until then.
    #[must_use]
    fn within(self, passed: u64, early: u64) -> TransferAccount {
        let read_wait = self.read_wait.saturating_sub(early).min(passed);
        let write_wait = self.write_wait.min(passed - read_wait);
        TransferAccount { passed, read_wait, write_wait, run_delay: self.run_delay.min(passed), ..self }
    }

    #[must_use]
    pub fn with(self, other: TransferAccount) -> TransferAccount {
        let [one, two] = [self, other].map(TransferAccount::numbers);
        TransferAccount::of(std::array::from_fn(|index| one[index] + two[index]))
    }
}

/// Shared memory of a process and the one that starts its transfers.
#[derive(Debug, Default)]
struct Slot {
    /// A token: the next transfer may begin.
    turn: Alone<AtomicU32>,
    /// A token: it is done, and told.
    done: Alone<AtomicU32>,
    /// Begin and end, ns of the monotonic clock.
    begun: AtomicU64,
    ended: AtomicU64,
    numbers: [AtomicU64; NUMBERS],
}

impl Slot {
    fn store(&self, account: TransferAccount) {
        for (place, number) in self.numbers.iter().zip(account.numbers()) {
            place.store(number, Ordering::Relaxed);
        }
    }

    /// Returns the account of the last transfer.
    fn load(&self) -> TransferAccount {
        TransferAccount::of(std::array::from_fn(|index| self.numbers[index].load(Ordering::Relaxed)))
    }
}

/// The counters of one process over one transfer.
struct Meter<'a> {
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
    fn begin(slot: &Slot, counters: &'a ThreadCounters, clock_cost: u64) -> io::Result<Meter<'a>> {
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
    fn block(&mut self, mover: &mut Mover, most: usize) -> io::Result<usize> {
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
    fn moved(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// The transfer is over: all of it is told.
    fn end(self, slot: &Slot, mover: &Mover) -> io::Result<()> {
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

/// Returns the least difference of two readings of the CPU clock with nothing in between, ns.
fn clock_cost() -> io::Result<u64> {
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
mod tests;
