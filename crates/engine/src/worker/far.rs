//! Far ends as whoever measures has them: started before a round, and accounted for after it.

use std::ffi::CString;
use std::io::{self, BufRead, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use hostmark_launch::{Received, ServiceLink};
use hostmark_model::{
    AxisKind, CaseId, Event, FarEnd, FarUsage, Job, JsonLine, Message, Nonce, PROTOCOL, Params, Reason, ReasonCode,
    Scratch, ServeRequest, ServiceJob,
};
use hostmark_say::say;
use rustix::fd::AsFd;

use crate::clock::Wall;
use crate::plan::checked_value;
use crate::probe::serving::{Service, Serving, write_event};
use crate::probe::{Catalogue, Entry, FREE, IP, entries, no_such_peer};
use crate::round_error::{OrSkipped, Result, RoundError, panicked};
use crate::sampling::sampler;
use crate::sys::affinity::{self, MOST_CPUS};
use crate::sys::call::Call;
use crate::sys::usage::outlive_input;
use crate::sys::{exit_message, names, process, scratch};
use crate::worker::session::{Patience, Waited, starved};

/// Starts a far end that has been given the job, where it is to serve.
pub type OpenService<'a> = dyn Fn(&ServiceJob) -> io::Result<Box<dyn ServiceLink>> + 'a;

/// The addresses of a machine for itself alone.
pub const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// Longest wait for a far end to report its usage, when it is not needed any more.
const GRACE: Duration = Duration::from_secs(2);
/// Lines before it listens: more is no far end of ours.
const MOST_LINES: usize = 10_000;

#[derive(Debug, Clone)]
pub struct FarRequest<'a> {
    pub service: &'a str,
    pub params: &'a Params,
    pub cpus: Vec<Vec<usize>>,
    /// Addresses on which they may listen, in order of preference.
    pub at: &'a [IpAddr],
    /// Memory that they may fill together, bytes.
    pub memory_bytes: u64,
    /// Longest set-up, ns; 0: as long as it takes.
    pub setup_ns: u64,
    /// The run's directory for files.
    pub scratch: &'a Scratch,
    /// The name that their own directories there begin with.
    pub folder: &'a str,
    /// Nonces for clients, where the connecting side has chosen; else each far end has one of its own.
    pub nonces: &'a [Nonce],
}

/// Limits on the wait for far ends.
#[derive(Clone, Copy)]
pub struct Waiting<'a> {
    pub wall: &'a dyn Wall,
    /// Silence after which a far end has hung.
    pub patience: Duration,
    /// Time beyond which nothing is waited for.
    pub limit: Duration,
}

/// Reason why there are no far ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Missing {
    /// The round cannot be measured, or went wrong.
    Round(RoundError),
    OutOfTime,
    /// The person asked to stop.
    Interrupted,
}

/// Report of far ends when they are ended.
#[derive(Debug, Default)]
pub struct FarReport {
    pub notes: Vec<Event>,
    /// Usage of each, where it reported it, or the reason of its failure.
    pub said: Vec<Result<Option<FarUsage>, RoundError>>,
}

/// The other machines of a run.
pub trait Peers {
    /// Starts far ends at one of them.
    fn serve(&self, peer: &str, request: ServeRequest) -> Result<Box<dyn Distant + '_>, Missing>;
}

pub struct NoPeers;

impl Peers for NoPeers {
    fn serve(&self, peer: &str, _: ServeRequest) -> Result<Box<dyn Distant + '_>, Missing> {
        Err(Missing::Round(RoundError::Skipped(no_such_peer(peer))))
    }
}

/// Far ends that serve on another machine. When dropped they are ended.
pub trait Distant {
    fn ends(&self) -> &[FarEnd];

    /// Ends them: what they say.
    fn account(self: Box<Self>) -> FarReport;
}

/// Far ends that serve. When dropped they are ended, and nothing is left of them.
pub struct FarEnds {
    links: Vec<Box<dyn ServiceLink>>,
    ends: Vec<FarEnd>,
    notes: Vec<Event>,
    scratch: Scratch,
    folders: Vec<String>,
}

/// The CPUs of each far end of a case on these: one for each copy or thread, else one, on the last CPU or where the scheduler puts it.
pub fn cpus_of(entry: &Entry, id: &CaseId, cpus: &[usize]) -> Vec<Vec<usize>> {
    let parties = parties_of(entry, id);
    match placement_of(entry, id) {
        _ if parties == 0 => Vec::new(),
        _ if parties > 1 => {
            let of_each = entry.probe.threads_per_cpu();
            cpus.iter().cycle().take(parties.min(cpus.len() * of_each)).map(|&cpu| vec![cpu]).collect()
        }
        Some(FREE) => vec![cpus.to_vec()],
        _ => vec![cpus.last().copied().into_iter().collect()],
    }
}

/// Returns how many far ends a case needs.
fn parties_of(entry: &Entry, id: &CaseId) -> usize {
    let value = |kind| entry.probe.axis_of(kind).and_then(|axis| id.params.get(axis.name));
    let number = |kind| value(kind).and_then(|value| value.parse().ok()).unwrap_or(1);
    if entry.probe.service().is_some() { number(AxisKind::Copies).max(number(AxisKind::Threads)) } else { 0 }
}

/// Returns how the two ends lie, where the scheduler is not to choose.
fn placement_of<'a>(entry: &Entry, id: &'a CaseId) -> Option<&'a str> {
    entry.probe.axis_of(AxisKind::Placement).and_then(|axis| id.params.get(axis.name))
}

/// A nonce that nobody knows.
pub fn fresh_nonce() -> Result<Nonce, Missing> {
    names::random_bytes().map(Nonce::of).map_err(no_process)
}

/// Returns the request to a peer to serve a case, where its own side may take so long and so much.
pub(crate) fn request_of(entry: &Entry, id: &CaseId, job: &Job, silent: Duration) -> Result<ServeRequest, Missing> {
    let nonces = (0..parties_of(entry, id)).map(|_| fresh_nonce()).collect::<Result<_, _>>()?;
    Ok(ServeRequest {
        service: entry.probe.service().map_or("", |service| service.name).to_owned(),
        params: id.params.clone(),
        at: Vec::new(),
        nonces,
        is_bound: placement_of(entry, id) != Some(FREE),
        memory_bytes: job.memory_bytes,
        setup_ns: job.setup_ns,
        silent_ms: u64::try_from(silent.as_millis()).unwrap_or(u64::MAX),
    })
}

/// The addresses of these that a case may use, by its version of the Internet Protocol.
pub fn of_version(at: &[IpAddr], params: &Params) -> Vec<IpAddr> {
    let wanted = params.get(IP.name);
    let is_meant = |address: &&IpAddr| match wanted {
        Some("4") => address.is_ipv4(),
        Some("6") => address.is_ipv6(),
        _ => true,
    };
    at.iter().filter(is_meant).copied().collect()
}

impl FarEnds {
    /// Starts them all, and waits until they listen.
    pub fn start(open: &OpenService, wanted: &FarRequest, waiting: Waiting) -> Result<FarEnds, Missing> {
        let (ends, notes) = (Vec::new(), Vec::new());
        let mut far = FarEnds { links: Vec::new(), ends, notes, scratch: wanted.scratch.clone(), folders: Vec::new() };
        let count = wanted.cpus.len() as u64;
        let mut nonces = Vec::new();
        for (index, cpus) in wanted.cpus.iter().enumerate() {
            let nonce = match wanted.nonces.get(index) {
                Some(&given) => given,
                None => fresh_nonce()?,
            };
            let job = ServiceJob {
                protocol: PROTOCOL,
                parent: std::process::id(),
                service: wanted.service.to_owned(),
                params: wanted.params.clone(),
                at: wanted.at.to_vec(),
                nonce,
                cpus: cpus.clone(),
                memory_bytes: wanted.memory_bytes / count,
                copies: count,
                setup_ns: wanted.setup_ns,
                scratch: wanted.scratch.clone(),
                folder: format!("{}-far-{index}", wanted.folder),
            };
            far.folders.push(job.folder.clone());
            far.links.push(open(&job).map_err(no_process)?);
            nonces.push(nonce);
        }
        for (index, nonce) in nonces.into_iter().enumerate() {
            let address = far.listening_address(index, waiting)?;
            far.ends.push(FarEnd { address, nonce });
        }
        Ok(far)
    }

    pub fn ends(&self) -> &[FarEnd] {
        &self.ends
    }

    fn listening_address(&mut self, index: usize, waiting: Waiting) -> Result<std::net::SocketAddr, Missing> {
        let link = self.links[index].as_mut();
        let (mut patience, mut lines) = (Patience::new(waiting.wall, waiting.patience, waiting.limit), 0);
        let failed = |code: ReasonCode, text: Message| Missing::Round(RoundError::failed(code, text));
        loop {
            match patience.line(link) {
                Waited::Line(line) => {
                    lines += 1;
                    match Event::from_line(&line) {
                        Ok(Event::Listening { address }) => return Ok(address),
                        Ok(Event::Skipped { reason }) => return Err(Missing::Round(RoundError::Skipped(reason))),
                        Ok(Event::Failed { reason }) => return Err(Missing::Round(RoundError::Failed(reason))),
                        Ok(Event::Hello { protocol, .. }) if protocol != PROTOCOL => {
                            return Err(failed(
                                ReasonCode::Protocol,
                                say!("the far end speaks protocol {protocol}, not {PROTOCOL}"),
                            ));
                        }
                        Ok(event @ Event::Note { .. }) if !self.notes.contains(&event) => self.notes.push(event),
                        Ok(Event::Hello { .. } | Event::Filled { .. } | Event::Note { .. }) if lines < MOST_LINES => {}
                        _ => {
                            return Err(failed(
                                ReasonCode::Protocol,
                                say!("the far end wrote what none says before it listens"),
                            ));
                        }
                    }
                }
                Waited::Ended(how) | Waited::Killed(how) => {
                    return Err(failed(ReasonCode::ProcessDied, say!("the far end {how}")));
                }
                Waited::Hung(silent) => {
                    return Err(failed(
                        ReasonCode::TimedOut,
                        say!("the far end did not listen within {silent:.0} s", silent = silent.as_secs_f64()),
                    ));
                }
                Waited::Starved(silent) => return Err(Missing::Round(starved(silent))),
                Waited::OutOfTime => return Err(Missing::OutOfTime),
                Waited::Interrupted => return Err(Missing::Interrupted),
            }
        }
    }

    /// Ends them, and adds their reports to the events of a complete round. A far end that has failed, or ended before it was asked to,
    /// makes the round a failed one; one that lacked something makes it skipped, as a worker would.
    pub fn finish(self, events: &mut Vec<Event>) {
        self.account().join(events);
    }

    /// Ends them: what they say.
    pub fn account(mut self) -> FarReport {
        let said = self.links.iter_mut().map(|link| account_of(link.as_mut())).collect();
        FarReport { notes: std::mem::take(&mut self.notes), said }
    }

    fn end(&mut self) {
        if self.links.is_empty() {
            return;
        }
        for mut link in std::mem::take(&mut self.links) {
            link.end();
        }
        if let Some(Ok(run)) = scratch::of_run(&self.scratch) {
            for folder in self.folders.iter().flat_map(|folder| CString::new(folder.as_str())) {
                // Most have none; what is left is removed when the run ends.
                let _ = scratch::remove_folder(run.as_fd(), &folder);
            }
        }
    }
}

impl FarReport {
    /// Adds it to the events of a round that is complete.
    pub fn join(mut self, events: &mut Vec<Event>) {
        let last = events.pop();
        events.append(&mut self.notes);
        let mut why = None;
        for said in self.said {
            match said {
                Ok(usage) => events.extend(usage.map(Event::Served)),
                Err(error) => why = why.or(Some(error)),
            }
        }
        events.extend(match (last, why) {
            (last, None) => last,
            (Some(Event::Skipped { reason } | Event::Failed { reason }), Some(why)) => {
                Some(Event::from(why.map(|cause| match reason.contains(&*cause) {
                    true => cause.with_text(reason),
                    false => {
                        let text = say!("{cause} ({reason})");
                        cause.with_text(text)
                    }
                })))
            }
            (_, Some(why)) => Some(why.into()),
        });
    }
}

impl Drop for FarEnds {
    fn drop(&mut self) {
        self.end();
    }
}

/// Reads the last word of a far end that is not needed any more: its usage, nothing, or why it failed.
fn account_of(link: &mut dyn ServiceLink) -> Result<Option<FarUsage>, RoundError> {
    link.close_stdin();
    match link.receive(GRACE) {
        Received::Line(line) => match Event::from_line(&line) {
            Ok(Event::Served(usage)) => Ok(Some(usage)),
            Ok(Event::Failed { reason }) => Err(RoundError::Failed(of_another(reason))),
            Ok(Event::Skipped { reason }) => Err(RoundError::Skipped(of_another(reason))),
            _ => Err(RoundError::failed(ReasonCode::Protocol, say!("the far end wrote what none says when it ends"))),
        },
        Received::Ended(how) | Received::Killed(how) => {
            Err(RoundError::failed(ReasonCode::ProcessDied, say!("the far end {how}")))
        }
        // It has served; a kernel that tells nobody of the end of an input, or a person in a hurry, is no fault of the round.
        Received::TimedOut | Received::Interrupted => Ok(None),
    }
}

/// The reason of another process, as one of this round.
fn of_another(reason: Reason) -> Reason {
    let text = exit_message::as_reason(&reason);
    reason.with_text(text)
}

fn no_process(error: io::Error) -> Missing {
    Missing::Round(RoundError::lacking(say!("no process for the far end"), &error))
}

/// Addresses to be tried at most: a machine's own.
const MOST_ADDRESSES: usize = 1000;

/// Serves the job that its input tells; the process should end afterwards, whatever is returned.
pub fn serve(catalogue: Catalogue, input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let mut line = String::new();
    input.read_line(&mut line).call("read")?;
    let job = ServiceJob::from_line(&line)?;
    if !process::die_with_parent(job.parent) {
        // Whoever started it is gone, or will not be missed.
        return Ok(());
    }
    // As for workers: no other program is to be killed for what a round fills.
    let _ = process::be_killed_first();
    std::panic::set_hook(Box::new(|_| {}));
    sampler::begin()?;
    write_event(&Event::Hello { protocol: PROTOCOL, pid: std::process::id() }, output)?;
    let ended = match catch_unwind(AssertUnwindSafe(|| carry_out(catalogue, &job, output))) {
        Ok(Ok(())) => RoundError::failed(ReasonCode::Protocol, say!("it has served to its end")),
        Ok(Err(error)) => error,
        Err(panic) => RoundError::Failed(panicked(&*panic)),
    };
    // From now on it speaks for itself.
    outlive_input()?;
    write_event(&ended.into(), output)
}

/// Serves: only what goes wrong ends it.
fn carry_out(catalogue: Catalogue, job: &ServiceJob, output: &mut dyn Write) -> Result<()> {
    check(job)?;
    let service = find(catalogue, &job.service).ok_or_else(|| {
        RoundError::failed(ReasonCode::Protocol, say!("there is no service '{service}'", service = job.service))
    })?;
    let is_taken = |entry: &Entry, (axis, value): &(String, String)| {
        checked_value(entry, axis, value).is_ok_and(|taken| taken == *value)
    };
    let mut of_service =
        entries(catalogue).filter(|entry| entry.probe.service().is_some_and(|own| own.name == service.name));
    if !of_service.any(|entry| job.params.0.iter().all(|param| is_taken(&entry, param))) {
        let text = say!("no probe of the service '{service}' has such a case", service = job.service);
        return Err(RoundError::failed(ReasonCode::Protocol, text));
    }
    if !job.cpus.is_empty() {
        affinity::bind(&job.cpus).or_lacking(|| say!("cannot bind to CPUs {cpus:?}", cpus = job.cpus))?;
    }
    let mut serving = Serving::new(job, output);
    (service.serve)(&mut serving)
}

/// Checks the job; Failed where it is out of all proportion.
fn check(job: &ServiceJob) -> Result<()> {
    let expect = |is_sound: bool, what: Message| match is_sound {
        true => Ok(()),
        false => Err(RoundError::failed(ReasonCode::Protocol, say!("the job of a far end cannot be meant: {what}"))),
    };
    expect(job.protocol == PROTOCOL, say!("it is of protocol {protocol}, not {PROTOCOL}", protocol = job.protocol))?;
    expect(job.cpus.len() <= MOST_CPUS, say!("it names {cpus} CPUs", cpus = job.cpus.len()))?;
    expect(job.cpus.iter().all(|&cpu| cpu < MOST_CPUS), say!("it names a CPU that no kernel has"))?;
    expect(
        (1..=MOST_ADDRESSES).contains(&job.at.len()),
        say!("it names {addresses} addresses", addresses = job.at.len()),
    )
}

pub(crate) fn find(catalogue: Catalogue, name: &str) -> Option<&'static Service> {
    entries(catalogue).filter_map(|entry| entry.probe.service()).find(|service| service.name == name)
}

#[cfg(test)]
#[path = "far_tests.rs"]
mod tests;
