//! Processes in a row, each of which moves bytes from one place to the next, as `dd | nc` and `nc > /dev/null` do.

mod account;
mod mover;
mod path;

use std::io;
use std::sync::atomic::Ordering;

use hostmark_engine::prelude::sys::usage::ThreadCounters;
use rustix::fd::OwnedFd;

pub use account::TransferAccount;
use account::{Meter, Slot, clock_cost};
use mover::Mover;
pub use path::{Endpoint, MOST_STAGES, Method, Pace, Path, Stage};

use super::call::Call;
use super::process::Peer;
use super::waits::Shared;
use super::waits::{give, take};
use crate::workloads::network::local;
use crate::workloads::storage::files;

/// Blocks that lie in the queue at any time where its reader is behind, if it takes them: of 64 KiB half a megabyte, at which the
/// window is still open, so that each block goes out at once.
const AHEAD_BLOCKS: u64 = 8;

/// A pipeline whose processes wait for the next transfer; they end when it is dropped, and die with this process.
#[derive(Debug)]
pub struct Pipeline {
    _peers: Vec<Peer>,
    slots: Shared<[Slot; MOST_STAGES]>,
    /// Which processes this one starts: who is behind begins when told by the one before it.
    started: Vec<usize>,
    accounts: Vec<TransferAccount>,
    transfers: u64,
    /// What decides how much of a connection is under way, where there is one.
    pub congestion_control: Option<String>,
    /// What a pipe between two processes holds, where there is one.
    pub pipe_bytes: Option<usize>,
}

/// What a pipeline moves, and by whom.
#[derive(Debug)]
pub struct PipelinePlan<'a> {
    /// Its processes.
    pub path: &'a Path,
    /// What a path that begins at a file reads: `amount` bytes at least.
    pub file: Option<&'a OwnedFd>,
    /// Bytes of a transfer.
    pub amount: u64,
    /// Where each process may run.
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

    /// Both ends of a place between two processes, or what the last one writes to: to write first, to read next.
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

    /// One transfer, ns: from the first process' begin to the moment at which the last one has the last byte. The first
    /// transfer is of no process' account: their memory is touched and the connection finds its window meanwhile.
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

    /// What the processes told of all transfers but the first, in their order.
    pub fn accounts(&self) -> &[TransferAccount] {
        &self.accounts
    }
}

/// What process `nth` does until it is ended: a transfer for each token.
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
    let mut mover = Mover::new(plan.path.stages[nth], from, to.as_ref(), block)?;
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

#[cfg(test)]
mod tests;
