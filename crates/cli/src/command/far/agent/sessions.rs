//! Output of an agent: each line whole, between rounds alone, and counted until it is acknowledged.

use std::cell::RefCell;
use std::fs::File;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;
use std::{io, thread};

use anyhow::Result;
use hostmark_engine::sys::clock::sleep;
use hostmark_engine::sys::usage;
use hostmark_engine::worker::far::{FarEnds, FarReport, FarRequest, Missing, OpenService, Waiting};
use hostmark_engine::{Observer, RoundError, RoundResult, RoundSink, Took, Wall, line_of};
use hostmark_host::Root;
use hostmark_launch::program::OWN;
use hostmark_launch::timing::{LEASES, on_the_way, timing};
use hostmark_model::{
    AgentAnswer, AgentRefusal, AgentRequest, CaseId, Event, Exit, HostFacts, Inputs, JsonLine, Message, PeerAnswer,
    PeerRequest, ProbeInfo, ReasonCode, RunRequest, Scratch, ServeRequest,
};
use hostmark_say::say;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::Served;
use crate::command::lost;
use crate::command::measure::{inputs, report_of_host};
use crate::command::processes::Processes;
use crate::command::processes::janitor::Janitor;
use crate::language::refuse;
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
    /// Outbox on a file whose reader may stand still for so long.
    pub fn new(output: File, patience: Duration) -> io::Result<Outbox> {
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
            sleep(TURN);
        }
        sleep(PAUSE);
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

    fn begins(&mut self, probes: &[ProbeInfo], _: &[CaseId]) {
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

/// CPU time that a request may take until it is planned: a hundred times as much as all probes at all their points.
pub const MOST_PLANNING: Duration = Duration::from_secs(5);
/// The time between two looks at it.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Ends this process, which says why, where its request is not planned within [`MOST_PLANNING`]: until what comes back is dropped.
pub fn watch_planning() -> Result<Sender<()>> {
    let (planned, waits) = mpsc::channel::<()>();
    let is_late = || usage::cpu_ns_of_process().is_ok_and(|ns| Duration::from_nanos(ns) > MOST_PLANNING);
    let watch = move || {
        while waits.recv_timeout(BETWEEN_LOOKS) == Err(RecvTimeoutError::Timeout) {
            if is_late() {
                let why = say!(
                    "hostmark serve plans a request for {seconds} s of CPU time at most; name fewer filters and values",
                    seconds = MOST_PLANNING.as_secs()
                );
                // Nothing else is said before there is a plan.
                let answer = AgentAnswer::Error(AgentRefusal::new(why, Exit::BadInput));
                let line = answer.to_line().unwrap_or_default();
                let _ = std::io::stdout().write_all(line.as_bytes());
                std::process::exit(Exit::BadInput.code().into());
            }
        }
    };
    let started = thread::Builder::new().spawn(watch);
    started.map_err(|error| {
        lost(say!("no thread could be started ({error}); raise the limit of processes (ulimit -u)"))
    })?;
    Ok(planned)
}

/// Reason why a request is refused: a sentence that ends with what to do; none where it is not. Requests that are not listed here as
/// allowed are refused, so that a new one is looked at before it comes through.
pub fn refusal(request: &AgentRequest) -> Option<Message> {
    match request {
        AgentRequest::Hello { .. }
        | AgentRequest::Facts
        | AgentRequest::Acknowledge { .. }
        | AgentRequest::Idle { .. }
        | AgentRequest::Peer(_)
        | AgentRequest::Relayed(_)
        | AgentRequest::Stop
        | AgentRequest::Bye => None,
        AgentRequest::Run(request) | AgentRequest::Check(request) => of_run(request),
        AgentRequest::Kept { .. } => {
            Some(say!("hostmark serve gives no runs that are kept there; log in there, as by --on 'ssh HOST'"))
        }
        AgentRequest::Past(_) => Some(no_resume()),
    }
}

fn no_resume() -> Message {
    say!("a run started through hostmark serve cannot be resumed; start a new run")
}

fn of_run(request: &RunRequest) -> Option<Message> {
    // All fields of both, so that a new one does not compile before it is looked at.
    let RunRequest { filters: _, profile: _, seed: _, set: _, table: _, inputs, via: _, begun } = request;
    let Inputs { cpus: _, scratch, command, isolate, peers, limit_s: _, counters: _, sampled: _, tried: _ } = inputs;
    match () {
        () if begun.is_some() => Some(no_resume()),
        () if !command.is_empty() => {
            Some(say!("hostmark serve runs no commands; leave out --command, or use --on 'ssh HOST'"))
        }
        // Where far ends are is told from outside: it would connect to any address, and begin with any 16 bytes.
        () if !peers.is_empty() => Some(say!(
            "hostmark serve measures to no other host; name it by --peer of a run that is measured elsewhere"
        )),
        () if !isolate.is_empty() => {
            Some(say!("hostmark serve enters no layers; leave out --isolate, or use --on 'ssh HOST'"))
        }
        () if scratch.is_some() => Some(say!(
            "hostmark serve takes no directory from outside; leave out --scratch, or set TMPDIR where it is started"
        )),
        () => None,
    }
}

/// Far ends of a round at most: one for each CPU of the largest machines. Each is a process. For who came by a server there is
/// one for each CPU of this one.
const MOST_PARTIES: usize = 1 << 12;
const LONGEST_SILENCE: Duration = Duration::from_secs(3600);

/// Services of a peer under way.
#[derive(Default)]
pub struct Serving {
    /// Client of a server: nothing listens at another address for it.
    served: Option<Served>,
    means: Option<Means>,
    far: Option<FarEnds>,
    /// Longest silence of the client meanwhile.
    silent: Duration,
    rounds: u64,
}

struct Means {
    processes: Processes,
    scratch: Scratch,
    host: HostFacts,
}

impl Serving {
    pub fn of(served: Option<Served>) -> Serving {
        Serving { served, ..Serving::default() }
    }

    /// Addresses of these at which far ends may listen.
    fn allowed(&self, all: impl Iterator<Item = IpAddr>) -> Vec<IpAddr> {
        let Some(Served { bound, .. }) = self.served else { return all.collect() };
        let is_within = |at: &IpAddr| *at == bound || bound.is_unspecified() && (at.is_ipv4() || bound.is_ipv6());
        let mut allowed: Vec<IpAddr> = all.filter(is_within).collect();
        if allowed.is_empty() {
            allowed.push(bound);
        }
        allowed
    }

    /// Longest wait for the next word.
    pub fn patience(&self, idle: Duration) -> Duration {
        if self.far.is_some() { self.silent } else { idle }
    }

    pub fn answer(&mut self, request: PeerRequest) -> Result<PeerAnswer> {
        match request {
            PeerRequest::Addresses => {
                let mut all: Vec<IpAddr> = hostmark_host::ssh_address().into_iter().collect();
                all.extend(hostmark_host::addresses());
                Ok(PeerAnswer::Addresses(self.allowed(all.into_iter())))
            }
            PeerRequest::Facts => Ok(PeerAnswer::Facts(Box::new(report_of_host()))),
            PeerRequest::Path { to } => Ok(PeerAnswer::Path(Box::new(hostmark_host::network_path(to)))),
            PeerRequest::Serve(request) => self.serve(&request),
            PeerRequest::Enough => {
                let FarReport { notes, said } = self.far.take().map(FarEnds::account).unwrap_or_default();
                let pair = |event| match event {
                    Event::Note { key, value } => Some((key, value)),
                    _ => None,
                };
                let said = said.into_iter().map(|said| said.map_err(RoundError::into_reason)).collect();
                Ok(PeerAnswer::Served { notes: notes.into_iter().filter_map(pair).collect(), said })
            }
        }
    }

    fn serve(&mut self, request: &ServeRequest) -> Result<PeerAnswer> {
        if self.far.take().is_some() {
            refuse!("a round was to begin before the last one had ended; take the same version of both");
        }
        let parties = request.nonces.len();
        if !(1..=MOST_PARTIES).contains(&parties) || request.at.is_empty() {
            let addresses = request.at.len();
            refuse!("{parties} far ends at {addresses} addresses were asked for; take the same version of both");
        }
        // An address that others have for this machine may be none of its own; then it listens at all of them.
        let any = |at: &IpAddr| match at {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let at = self.allowed(request.at.iter().copied().chain(request.at.first().map(any)));
        let means = match &mut self.means {
            Some(means) => means,
            none => none.insert(Means::begin()?),
        };
        let most = means.host.usable_cpus().len().max(1);
        if self.served.is_some() && parties > most {
            let text = say!(
                "{parties} far ends were asked for, and hostmark serve starts one for each CPU that it may use at most: {most}"
            );
            let reason = ReasonCode::TooFewCpus.because(text).lacking(parties as u64, most as u64);
            return Ok(PeerAnswer::Unserved { is_skipped: true, reason });
        }
        self.rounds += 1;
        let may_fill = self.served.map_or(u64::MAX, |served| served.memory_bytes);
        let wanted = FarRequest {
            service: &request.service,
            params: &request.params,
            cpus: means.cpus(parties, request.is_bound),
            at: &at,
            memory_bytes: request.memory_bytes.min(means.host.memory.available_bytes / 2).min(may_fill),
            setup_ns: request.setup_ns,
            scratch: &means.scratch,
            folder: &format!("peer-{}", self.rounds),
            nonces: &request.nonces,
        };
        let wall = SinceStart::now();
        let patience = timing().listen;
        let limit = patience * 2 + Duration::from_nanos(request.setup_ns);
        let open: &OpenService = &|job| means.processes.service(job);
        match FarEnds::start(open, &wanted, Waiting { wall: &wall, patience, limit }) {
            Ok(far) => {
                let at = far.ends().iter().map(|end| end.address).collect();
                self.far = Some(far);
                self.silent = Duration::from_millis(request.silent_ms).clamp(timing().silence(), LONGEST_SILENCE);
                Ok(PeerAnswer::Serving { at })
            }
            Err(Missing::Round(RoundError::Skipped(reason))) => Ok(PeerAnswer::Unserved { is_skipped: true, reason }),
            Err(Missing::Round(RoundError::Failed(reason))) => Ok(PeerAnswer::Unserved { is_skipped: false, reason }),
            Err(Missing::OutOfTime | Missing::Interrupted) => {
                let text = say!("its far ends did not listen within {limit} s", limit = limit.as_secs());
                let reason = ReasonCode::TimedOut.because(text);
                Ok(PeerAnswer::Unserved { is_skipped: false, reason })
            }
        }
    }
}

impl Means {
    fn begin() -> Result<Means> {
        let program = PathBuf::from(OWN);
        let mut janitor = Janitor::start(&program).map_err(lost)?;
        let scratch = janitor.directory(&inputs::scratch(&Inputs::default()));
        let processes = Processes::of(&program, janitor, None);
        Ok(Means { processes, scratch, host: hostmark_host::read(&Root::here()) })
    }

    /// The CPUs of each far end.
    fn cpus(&self, parties: usize, is_bound: bool) -> Vec<Vec<usize>> {
        let usable = self.host.usable_cpus();
        if !is_bound || usable.is_empty() {
            return vec![usable; parties];
        }
        if parties == 1 {
            return vec![hostmark_host::single(&self.host).into_iter().collect()];
        }
        usable.iter().cycle().take(parties).map(|&cpu| vec![cpu]).collect()
    }
}
