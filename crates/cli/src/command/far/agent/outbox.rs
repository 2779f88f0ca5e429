//! Output of an agent: each line whole, between rounds alone, and counted until it is acknowledged.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hostmark_engine::{Observer, RoundResult, RoundSink, Took, Wall, line_of};
use hostmark_launch::timing::{LEASES, on_the_way, timing};
use hostmark_model::{AgentAnswer, CaseId, JsonLine, ProbeInfo};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::progress::constants_of;
use crate::world::SinceStart;

/// Shortest pause between two rounds, once all output has been taken.
const PAUSE: Duration = Duration::from_millis(2);
/// Longest wait until output is taken by its carrier, before the next round begins all the same: a carrier that takes nothing for longer
/// has stopped, and disturbs nothing.
const TAKEN_WITHIN: Duration = Duration::from_millis(100);
/// The time between two looks at that.
const TURN: Duration = Duration::from_micros(200);
/// Bytes that may be written without a wait to a pipe that has room.
const LEAST_ROOM: usize = rustix::pipe::PIPE_BUF;

/// State of the link, shared by both threads of an agent.
pub struct Link {
    state: Mutex<OutboxState>,
    changed: Condvar,
    /// Wakes who waits for what comes, when something has been said.
    wake: File,
    clock: SinceStart,
}

struct OutboxState {
    said: u64,
    acknowledged: u64,
    lease: Duration,
    /// Bytes said since all was acknowledged.
    on_its_way: usize,
    /// Since when something has been said that is not acknowledged.
    waits_since: Option<Duration>,
}

impl Link {
    fn state(&self) -> MutexGuard<'_, OutboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that so many lines were received at the other end; false if that cannot be.
    pub fn acknowledge(&self, lines: u64) -> bool {
        let mut state = self.state();
        if lines > state.said || lines < state.acknowledged {
            return false;
        }
        if lines > state.acknowledged {
            state.acknowledged = lines;
            state.waits_since = (state.said > lines).then(|| self.clock.elapsed());
            if state.waits_since.is_none() {
                state.on_its_way = 0;
            }
        }
        self.changed.notify_all();
        true
    }

    /// Time left for an acknowledgement; none where none is awaited.
    pub fn left(&self) -> Option<Duration> {
        let state = self.state();
        let until = state.waits_since? + state.lease * LEASES + on_the_way(state.on_its_way);
        Some(until.saturating_sub(self.clock.elapsed()))
    }

    /// Waits until all has been heard, for a moment at most.
    pub fn wait_until_acknowledged(&self) {
        let state = self.state();
        let _ = self.changed.wait_timeout_while(state, timing().end, |state| state.acknowledged < state.said);
    }

    fn says(&self, bytes: usize, lease: Option<Duration>) {
        let mut state = self.state();
        state.said += 1;
        state.on_its_way += bytes;
        state.waits_since.get_or_insert_with(|| self.clock.elapsed());
        state.lease = lease.unwrap_or(state.lease);
    }
}

pub struct Outbox {
    output: File,
    link: Arc<Link>,
    /// Pipe that wakes the other thread, until that has it.
    woken: Option<OwnedFd>,
    /// True once lines are counted.
    counts: bool,
    batch: String,
    /// The cases whose values are said as they become known.
    watched: Vec<CaseId>,
    /// True where there was output since the last pause.
    is_fresh: bool,
    /// True where nobody takes anything any more.
    is_lost: bool,
    /// Longest time for which its reader may stand still.
    patience: Duration,
}

impl Outbox {
    /// Outbox on standard output. Nothing else of this process writes to it.
    pub fn of_standard_output() -> io::Result<Outbox> {
        let output = File::from(rustix::io::dup(io::stdout())?);
        Outbox::of(output)
    }

    pub fn of(output: File) -> io::Result<Outbox> {
        Outbox::of_patience(output, timing().silence())
    }

    /// Outbox on a file whose reader may stand still for so long.
    pub(super) fn of_patience(output: File, patience: Duration) -> io::Result<Outbox> {
        let (woken, wake) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let state = OutboxState { said: 0, acknowledged: 0, lease: timing().lease, on_its_way: 0, waits_since: None };
        let (state, changed, clock) = (Mutex::new(state), Condvar::new(), SinceStart::now());
        let link = Arc::new(Link { state, changed, wake: File::from(wake), clock });
        let (counts, is_fresh, is_lost) = (false, false, false);
        let (woken, batch, watched) = (Some(woken), String::new(), Vec::new());
        Ok(Outbox { output, link, woken, counts, batch, watched, is_fresh, is_lost, patience })
    }

    pub fn link(&self) -> &Arc<Link> {
        &self.link
    }

    /// Says the plan: it and all that follows is counted.
    pub fn begin(&mut self, plan: &AgentAnswer) -> io::Result<()> {
        self.counts = true;
        self.say(plan)
    }

    pub fn woken(&mut self) -> Option<OwnedFd> {
        self.woken.take()
    }

    /// Says it, with all that was to go out before it.
    pub fn say(&mut self, answer: &AgentAnswer) -> io::Result<()> {
        self.add(answer)?;
        self.flush()
    }

    /// Keeps it for the next time that something goes out.
    fn add(&mut self, answer: &AgentAnswer) -> io::Result<()> {
        let line = answer.to_line()?;
        if self.counts {
            let lease = match answer {
                AgentAnswer::Silent { ms } => Some(Duration::from_millis(*ms).max(timing().lease)),
                _ => None,
            };
            self.link.says(line.len(), lease);
        }
        self.batch.push_str(&line);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        // The other thread ends the process where this takes longer than the lease.
        if self.counts {
            let _ = (&self.link.wake).write(&[0]);
        }
        let batch = std::mem::take(&mut self.batch);
        self.is_fresh = true;
        let written = if self.is_lost { Err(nobody_reads()) } else { self.write(batch.as_bytes()) };
        self.is_lost = written.is_err();
        written
    }

    /// Writes it in parts, none of which may stand still for longer than two of the shortest leases: there need be nobody yet
    /// who would end the process.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        for part in bytes.chunks(LEAST_ROOM) {
            let begin = SinceStart::now();
            loop {
                let left = self.patience.saturating_sub(begin.elapsed());
                match poll(&mut [PollFd::new(&self.output, PollFlags::OUT)], Timespec::try_from(left).ok().as_ref()) {
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                    Ok(0) => return Err(nobody_reads()),
                    Ok(_) => break,
                }
            }
            self.output.write_all(part)?;
        }
        Ok(())
    }

    /// Says how long it may be silent from now on, unless that is known.
    fn lease(&mut self, at_most: Duration) -> io::Result<()> {
        let lease = timing().lease_of(at_most);
        if self.link.state().lease == lease {
            return Ok(());
        }
        self.say(&AgentAnswer::Silent { ms: ms(lease) })
    }

    /// Waits until what was said is on its way, so that carrying it disturbs no round.
    fn pause(&mut self) {
        if !std::mem::take(&mut self.is_fresh) {
            return;
        }
        let begin = SinceStart::now();
        // Where the kernel does not tell, the pause alone has to do.
        while begin.elapsed() < TAKEN_WITHIN && rustix::io::ioctl_fionread(&self.output).is_ok_and(|left| left > 0) {
            std::thread::sleep(TURN);
        }
        std::thread::sleep(PAUSE);
    }
}

/// One of those who tell of a run as it goes on.
pub struct OutboxWriter<'a, 'b>(pub &'a RefCell<&'b mut Outbox>);

fn nobody_reads() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "nobody reads it")
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Observer for OutboxWriter<'_, '_> {
    fn silent(&mut self, at_most: Duration) {
        // What cannot be said is noticed by the other thread, and by the next round's end.
        let _ = self.0.borrow_mut().lease(at_most);
    }

    fn round(&mut self, case: &str, done: usize, all: usize, left: Duration) {
        let mut outbox = self.0.borrow_mut();
        let step = AgentAnswer::Step { case: case.into(), done: done as u64, all: all as u64, left_ms: ms(left) };
        let _ = outbox.say(&step);
        outbox.pause();
    }

    fn begins(&mut self, probes: &[ProbeInfo]) {
        self.0.borrow_mut().watched = constants_of(probes).into_iter().map(|watched| watched.case).collect();
    }

    fn watches(&self, case: &CaseId) -> bool {
        self.0.borrow().watched.contains(case)
    }

    fn value(&mut self, case: &CaseId, value: f64) {
        // It goes out with the next round's beginning.
        let _ = self.0.borrow_mut().add(&AgentAnswer::Value { case: case.to_string(), value });
    }
}

impl RoundSink for OutboxWriter<'_, '_> {
    fn append(&mut self, case: &str, round: &RoundResult, took: &Took) -> io::Result<()> {
        self.0.borrow_mut().add(&AgentAnswer::Round(line_of(case, round, took)))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.borrow_mut().flush()
    }
}
