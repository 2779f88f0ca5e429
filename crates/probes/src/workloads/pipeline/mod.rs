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

pub use path::{Endpoint, MOST_STAGES, Method, Pace, Path};

/// Blocks in the queue where its reader is behind: of 64 KiB half a megabyte, at which the window is open, so that each goes out at once.
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
    pub amount: u64,
    pub cpus: &'a [usize],
}

impl Pipeline {
    /// Starts the processes; each has a copy of `block`, its largest move. Refuses with several threads: a child would keep their locks.
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
mod tests {
    use std::io::{Read, Write};

    use super::*;
    use crate::workloads::affinity;
    use crate::workloads::process::in_a_child;

    const AMOUNT: u64 = 3_000_000;

    /// Two transfers of `name`, and what its processes told of the second.
    fn accounts(name: &str, cpus: &[usize]) -> io::Result<Vec<TransferAccount>> {
        let path: Path = name.parse().map_err(io::Error::other)?;
        let file = files::unnamed(&std::env::temp_dir())?;
        files::fill(&file, AMOUNT, |_| Ok::<(), io::Error>(()))?;
        let plan = PipelinePlan { path: &path, file: Some(&file), amount: AMOUNT, cpus };
        let mut block = vec![7; 10_000];
        let mut pipeline = Pipeline::start(&plan, &mut block)?;
        pipeline.transfer()?;
        let passed = pipeline.transfer()?;
        let accounts = pipeline.accounts().to_vec();
        for account in &accounts {
            assert_eq!((account.bytes, account.passed), (AMOUNT, passed), "{name}");
            assert!(
                account.user <= account.cpu && account.read_wait + account.write_wait <= passed,
                "{name}: {account:?}"
            );
        }
        Ok(accounts)
    }

    #[test]
    fn every_process_moves_all_bytes_and_counts_its_copies() {
        in_a_child(|| {
            let cpus = affinity::allowed()?;
            let of = |name: &str, cpus: &[usize]| -> io::Result<Vec<[u64; 2]>> {
                Ok(accounts(name, cpus)?
                    .iter()
                    .map(|accounts_of| [accounts_of.copied / AMOUNT, accounts_of.crossed / AMOUNT])
                    .collect())
            };
            for cpus in [&cpus[..1], &cpus[..]] {
                assert_eq!(of("zero_null", cpus)?, [[1, 2]]);
                assert_eq!(of("memory_pipe_memory", cpus)?, [[1, 1], [1, 1]]);
                assert_eq!(of("zero_pipe_socket_null", cpus)?, [[2, 2], [2, 2], [1, 2]]);
                assert_eq!(of("zero_pipe_poll_socket_poll_null", cpus)?, [[2, 2], [2, 2], [1, 2]]);
                assert_eq!(of("zero_pipe_splice_socket_null", cpus)?, [[2, 2], [0, 0], [1, 2]]);
                assert_eq!(of("zero_pipe_socket_splice_null", cpus)?, [[2, 2], [2, 2], [0, 0]]);
                assert_eq!(of("file_socket_null", cpus)?, [[2, 2], [1, 2]]);
                assert_eq!(of("cold_file_socket_null", cpus)?, [[2, 2], [1, 2]]);
                assert_eq!(of("file_sendfile_socket_null", cpus)?, [[0, 0], [1, 2]]);
                assert_eq!(of("file_splice_socket_null", cpus)?, [[0, 0], [1, 2]]);
                let five = "zero_pipe_socket_pipe_pipe_null";
                assert_eq!(of(five, cpus)?, [[2, 2], [2, 2], [2, 2], [2, 2], [1, 2]]);
                // Over loopback the kernel copies what it was given without a copy.
                assert_eq!(of("memory_zero_copy_socket_memory", cpus)?, [[1, 1], [1, 1]]);
            }
            for name in ["memory_socket_memory_close", "memory_socket_memory_behind"] {
                assert_eq!(of(name, &cpus[..1])?, [[1, 1], [1, 1]]);
            }
            Ok(())
        });
    }

    #[test]
    fn a_queue_that_takes_less_than_a_reader_is_behind_holds_nobody_up() {
        in_a_child(|| {
            let path: Path = "memory_socket_memory_behind".parse().map_err(io::Error::other)?;
            let cpus = affinity::allowed()?;
            // More at once than a connection holds, and less than a block in all.
            for (block, amount) in [(8 << 20, 64 << 20), (1 << 20, 1000)] {
                let plan = PipelinePlan { path: &path, file: None, amount, cpus: &cpus[..1] };
                let mut pipeline = Pipeline::start(&plan, &mut vec![7; block])?;
                for _ in 0..3 {
                    pipeline.transfer()?;
                }
                assert!(pipeline.accounts().iter().all(|accounts_of| accounts_of.bytes == 2 * amount));
            }
            Ok(())
        });
    }

    #[test]
    fn who_waits_for_a_slow_neighbour_waits_on_its_side() {
        in_a_child(|| {
            let cpus = affinity::allowed()?;
            // Processes that take turns on one CPU run a part of the time each, and wait the rest of it. Whoever else takes the CPU
            // for longer than a transfer adds to any wait, and takes none away: the shorter of one beside the usual of the other.
            let mut accounts_of = Vec::new();
            for _ in 0..15 {
                accounts_of.push(accounts("zero_pipe_null", &cpus[..1])?);
            }
            let of = |nth: usize, number: fn(&TransferAccount) -> u64| -> Vec<u64> {
                let mut numbers: Vec<u64> = accounts_of.iter().map(|accounts| number(&accounts[nth])).collect();
                numbers.sort_unstable();
                numbers
            };
            let [writer, reader] = [0, 1].map(|nth| {
                (of(nth, |accounts_of| accounts_of.read_wait), of(nth, |accounts_of| accounts_of.write_wait))
            });
            let (shortest, usual) = (0, accounts_of.len() / 2);
            assert!(writer.1[usual] > writer.0[shortest], "{accounts_of:?}");
            assert!(reader.0[usual] > reader.1[shortest], "{accounts_of:?}");
            let together =
                accounts_of.iter().filter(|both| both[0].cpu + both[1].cpu <= both[0].passed + both[0].passed / 4);
            assert!(together.count() > usual, "{accounts_of:?}");
            assert!(accounts_of.iter().flatten().all(|account| account.switches > 0), "{accounts_of:?}");
            Ok(())
        });
    }

    #[test]
    fn each_way_moves_the_bytes_in_their_order() {
        let content: Vec<u8> = (0..200_000_u32).map(|index| (index % 251) as u8).collect();
        for (from, by, to) in [
            (Endpoint::File, Method::Copy, Endpoint::Socket),
            (Endpoint::File, Method::SendFile, Endpoint::Socket),
            (Endpoint::File, Method::Poll, Endpoint::Socket),
            (Endpoint::Socket, Method::Poll, Endpoint::Pipe),
            (Endpoint::File, Method::Splice, Endpoint::Socket),
            (Endpoint::File, Method::Splice, Endpoint::Pipe),
            (Endpoint::Pipe, Method::Copy, Endpoint::Socket),
            (Endpoint::Pipe, Method::Splice, Endpoint::Socket),
            (Endpoint::Socket, Method::Splice, Endpoint::Pipe),
        ] {
            let file = crate::workloads::network::socket::memory_file(&content).unwrap();
            let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
            let socket = || {
                let (_, near, far) = local::tcp_pair().unwrap();
                (OwnedFd::from(far), OwnedFd::from(near))
            };
            let (source, fed) = match from {
                Endpoint::Pipe => Some(pipe()),
                Endpoint::Socket => Some(socket()),
                _ => None,
            }
            .map_or((file, None), |(read_end, write_end)| (read_end, Some(write_end)));
            let (drain, sink) = if to == Endpoint::Pipe { pipe() } else { socket() };
            let got = std::thread::scope(|scope| {
                let feeder = scope.spawn(|| fed.map(|fed| std::fs::File::from(fed).write_all(&content)));
                let reader = scope.spawn(|| {
                    let mut got = vec![0; 200_000];
                    std::fs::File::from(drain).read_exact(&mut got).map(|()| got)
                });
                let mut block = vec![0; 30_000];
                let mut mover =
                    Mover::new(path::Stage { from, by, to }, Some(&source), Some(&sink), &mut block).unwrap();
                mover.begin().unwrap();
                let mut left = 200_000;
                while left > 0 {
                    let came = mover.read(left.min(30_000)).unwrap();
                    left -= mover.write(came).unwrap();
                }
                feeder.join().unwrap().transpose().unwrap();
                reader.join().unwrap().unwrap()
            });
            assert!(got == content, "{from:?} {by:?} {to:?}");
        }
    }

    #[test]
    fn a_process_that_fails_ends_the_transfer() {
        in_a_child(|| {
            let path: Path = "file_socket_null".parse().map_err(io::Error::other)?;
            // Shorter than a transfer: its reader meets the end of it.
            let file = files::unnamed(&std::env::temp_dir())?;
            let cpus = affinity::allowed()?;
            let plan = PipelinePlan { path: &path, file: Some(&file), amount: AMOUNT, cpus: &cpus };
            let pipeline = Pipeline::start(&plan, &mut [0; 4096])?;
            give(&pipeline.slots[0].turn.0)?;
            while std::fs::read_to_string(format!("/proc/{}/stat", pipeline._peers[0].pid()))
                .is_ok_and(|stat| !stat.contains(") Z"))
            {
                std::thread::yield_now();
            }
            Ok(())
        });
    }

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
