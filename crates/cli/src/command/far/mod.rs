//! An agent at a place, as the commands of this machine have it.

pub mod agent;
pub mod on;
pub mod peers;

use std::ffi::{OsStr, OsString};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use agent::MOST_PLANNING;
use anyhow::Result;
use clap::Args;
use hostmark_analysis::spoken;
use hostmark_engine::janitor::CleanupEntry;
use hostmark_host::{Root, Spare, SpareMemory};
use hostmark_launch::agent::{AgentError, AgentLink};
use hostmark_launch::channel::Token;
use hostmark_launch::program::{OWN, Programs};
use hostmark_launch::serve::{PORT, SESSIONS, ServerOptions, share_bytes};
use hostmark_launch::supervise::{Ending, Errors, Membership, Terms};
use hostmark_launch::timing::timing;
use hostmark_launch::transport::{TCP, Tcp, TransportError};
use hostmark_launch::{serve, transport};
use hostmark_model::{AgentAnswer, AgentRequest, Elsewhere, Exit, HERE, JsonLine, Lang, Message, PathBytes, Run, Text};
use hostmark_say::say;

use super::measure::catch;
use super::processes::janitor::Janitor;
use super::{EndsWith, lost, measure};
use crate::isolate::Outside;
use crate::language::{refuse, refused, said};
use crate::signals::StopRequest;
use crate::{language, output};

/// An agent under way, in the janitor's charge: whoever kills this process leaves nothing of it here.
pub struct RunningAgent {
    link: Option<AgentLink>,
    janitor: Janitor,
    /// Id of its process here, once there is one.
    process: Option<u32>,
}

impl RunningAgent {
    pub fn open(place: &Target, stop: &StopRequest) -> Result<RunningAgent> {
        let janitor = measure::janitor()?;
        let programs = programs()?;
        let (errors, ending) = (Errors::Captured, Ending::Killed);
        let terms = Terms { group: Membership::Own, has_input: true, errors, ending, stop: Some(stop.readable()) };
        // From its start on, so that the janitor is told of its end too where it comes to nothing.
        let mut far = RunningAgent { link: None, janitor, process: None };
        let link = AgentLink::open(&place.place, &place.shown, &programs, terms, |id| {
            far.process = Some(id);
            far.janitor.record(&CleanupEntry::Group(id));
        });
        far.link = Some(link.map_err(|error| failed(error, stop))?);
        match place.digest.as_deref() {
            Some(digest) if far.digest() != digest => {
                Err(refused!("the run was begun by another build of hostmark; go on with that one, or measure anew"))
            }
            _ => Ok(far),
        }
    }

    pub fn ask(&mut self, request: &AgentRequest) -> Result<(), AgentError> {
        self.link.as_mut().map_or(Err(AgentError::Stopped), |link| link.ask(request))
    }

    pub fn receive(&mut self) -> Result<AgentAnswer, AgentError> {
        self.link.as_mut().map_or(Err(AgentError::Stopped), AgentLink::receive)
    }

    /// SHA-256 of its program, hexadecimal.
    pub fn digest(&self) -> &str {
        self.link.as_ref().map_or("", AgentLink::digest)
    }

    /// Asks the run to stop, which gives what there is.
    pub fn stops(&mut self) {
        if let Some(link) = &mut self.link {
            link.stops_within(timing().stop);
            let _ = link.ask(&AgentRequest::Stop);
        }
    }

    /// All has to be over in this time, whatever lease it asks for.
    pub fn ends_within(&mut self, at_most: Duration) {
        if let Some(link) = &mut self.link {
            link.ends_within(at_most);
        }
    }

    pub fn finish(mut self) {
        let is_gone = self.link.take().is_none_or(AgentLink::finish);
        self.is_over(is_gone);
    }

    /// Ends the janitor's charge of a process that is gone; others stay in it.
    fn is_over(&mut self, is_gone: bool) {
        if let Some(process) = self.process.take()
            && is_gone
        {
            self.janitor.record(&CleanupEntry::Reaped(process));
        }
    }
}

impl Drop for RunningAgent {
    fn drop(&mut self) {
        let is_gone = self.link.take().is_none_or(AgentLink::abandon);
        self.is_over(is_gone);
    }
}

/// Executables that may be copied to another host.
pub fn programs() -> Result<Programs> {
    Programs::of_this(cfg!(target_feature = "crt-static"))
        .map_err(|error| lost(said!("this program cannot be read to be copied ({error}); mount /proc")))
}

/// An error of the far end as this command's: bad input stays bad input, whatever breaks off is a lost resource.
pub fn failed(error: AgentError, stop: &StopRequest) -> anyhow::Error {
    let exit = match &error {
        AgentError::Stopped | AgentError::Transport(TransportError::Stopped) => {
            Exit::Signal(stop.signal().unwrap_or(2))
        }
        AgentError::Reported { exit, .. } if *exit == Exit::NothingSelected.code() => Exit::NothingSelected,
        AgentError::Reported { exit, .. } if *exit == Exit::BadInput.code() => Exit::BadInput,
        AgentError::Transport(TransportError::Io(_)) => Exit::ResourceLost,
        AgentError::Transport(_) | AgentError::Version { .. } | AgentError::NotLetIn { .. } => Exit::BadInput,
        _ => Exit::ResourceLost,
    };
    EndsWith(exit, (&error).into()).into()
}

pub struct Target {
    place: transport::Transport,
    words: Vec<OsString>,
    shown: String,
    /// The program that has to run there, where a run goes on.
    digest: Option<String>,
}

impl Target {
    /// The one that a person typed behind this option, and the file with what lets us in where a server leads there.
    pub fn named(typed: &str, option: &str, token_file: Option<&Path>) -> Result<Target> {
        match language::split(typed) {
            Ok(words) if words.is_empty() => refuse!("{option} has no word; give a command, as 'ssh db-17'"),
            Ok(words) => match (Target::of_words(words, typed, token_file)?, token_file) {
                (place, Some(_)) if !place.is_served() => {
                    refuse!("--token-file belongs to a place as tcp:HOST, and '{typed}' is none; leave it out")
                }
                (place, _) => Ok(place),
            },
            Err(why) => refuse!("{option} '{typed}': {why}; quote it as for a shell"),
        }
    }

    /// The one behind these words, which a person typed so.
    pub fn of_words(words: Vec<String>, typed: &str, token_file: Option<&Path>) -> Result<Target> {
        let shown = typed.trim().to_owned();
        match (words.as_slice(), token_file) {
            ([only], Some(file)) if only.starts_with(TCP) => match Tcp::address(only, PORT) {
                Some(address) => {
                    let place = transport::Transport::Tcp(Tcp { address, token_file: file.to_owned() });
                    Ok(Target { place, words: vec![only.into()], shown, digest: None })
                }
                None => refuse!(
                    "'{typed}' is no address of a server; give one as tcp:db-17, tcp:10.0.0.17:7417 or tcp:[fd00::17]:7417"
                ),
            },
            ([only], None) if only.starts_with(TCP) => {
                refuse!("'{typed}' lets in who has its token; name the file that holds it by --token-file")
            }
            _ => Ok(Target::of(words.into_iter().map(OsString::from).collect(), shown, None)),
        }
    }

    /// Tells whether the place is a server's, which gives measurements and nothing else.
    pub fn is_served(&self) -> bool {
        matches!(self.place, transport::Transport::Tcp(_))
    }

    /// The one that a journal names, and that a person has to have typed.
    pub fn of_journal(elsewhere: &Elsewhere, typed: Option<&str>) -> Result<Target> {
        let words: Vec<OsString> = elsewhere.place.iter().map(|word| OsString::from_vec(word.0.clone())).collect();
        match words.first() {
            None => refuse!("the journal names no place; measure anew"),
            Some(word) if word.as_bytes().starts_with(TCP.as_bytes()) => {
                refuse!("a run started through hostmark serve cannot be resumed; start a new run")
            }
            Some(_) => {
                let joined = || words.join(OsStr::new(" ")).to_string_lossy().into_owned();
                let shown = typed.map_or_else(joined, |typed| typed.trim().to_owned());
                Ok(Target::of(words, shown, Some(elsewhere.digest.clone())))
            }
        }
    }

    pub fn of(words: Vec<OsString>, shown: String, digest: Option<String>) -> Target {
        let place = match words.as_slice() {
            [only] if only == HERE => transport::Transport::Here,
            _ => transport::Transport::Command(words.clone()),
        };
        Target { place, words, shown, digest }
    }

    /// One of this machine behind these words, to which the program is sent as to any other place: of which a person reads this.
    pub fn behind(words: Vec<OsString>, shown: &str) -> Target {
        Target { place: transport::Transport::Command(words.clone()), words, shown: shown.to_owned(), digest: None }
    }

    /// A guest that this program has booted, of which a person reads this.
    pub fn in_guest(place: transport::Transport, shown: &str) -> Target {
        Target { place, words: Vec::new(), shown: shown.to_owned(), digest: None }
    }

    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Writes into a run where it was measured, and by which program: what its maker says of that does not count.
    pub fn mark(&self, run: &mut Run, digest: &str) {
        run.place = match self.place {
            transport::Transport::Here => None,
            transport::Transport::Command(_) | transport::Transport::Tcp(_) | transport::Transport::Guest(_) => {
                Some(self.shown.clone())
            }
        };
        run.tool.digest = Some(digest.to_owned());
    }

    /// Place as the journal records it.
    pub fn elsewhere(&self, digest: &str) -> Elsewhere {
        let place = self.words.iter().map(|word| PathBytes(word.as_bytes().to_vec())).collect();
        Elsewhere { place, digest: digest.to_owned() }
    }
}

/// Sessions at once that one may ask for.
const MOST_SESSIONS: i64 = 64;
/// Share of the memory spare at the start that all sessions together may fill: the first has half of it, as a run has.
const MEMORY_SHARE: (u64, u64) = (3, 4);
/// The same where nobody says what can be spared: few machines lack so much.
const OF_UNKNOWN_BYTES: u64 = 64 << 20;

#[derive(Debug, Args)]
pub struct ServeArguments {
    /// Listen at this address [default port: 7417]
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value = "127.0.0.1:7417", value_parser = address)]
    bind: SocketAddr,
    /// Read the token from this file [default: print a new one]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Maximum number of concurrent sessions, 1 to 64
    #[arg(long, value_name = "N", default_value_t = SESSIONS as u64, value_parser = clap::value_parser!(u64).range(1..=MOST_SESSIONS as u64))]
    sessions: u64,
}

/// An address as a person types it, with a port or without one.
fn address(typed: &str) -> Result<SocketAddr, String> {
    let bare = typed.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(typed);
    let parsed = typed.parse().or_else(|_| bare.parse().map(|address: IpAddr| SocketAddr::new(address, PORT)));
    parsed.map_err(|_| said!("it is no address; give one as 10.0.0.17, 10.0.0.17:7417 or [fd00::17]:7417"))
}

pub fn serve(arguments: &ServeArguments, lang: Lang) -> Result<Exit> {
    let token = match &arguments.token_file {
        Some(file) => Token::read(file).map_err(|error| EndsWith(Exit::BadInput, error.into()))?,
        None => Token::fresh().map_err(|error| lost(said!("the kernel gives no random bytes ({error}); try again")))?,
    };
    let stop = catch(&Outside::default())?;
    let listener = TcpListener::bind(arguments.bind).map_err(|error| unbound(arguments.bind, &error))?;
    let at = listener.local_addr().unwrap_or(arguments.bind);
    let made = arguments.token_file.is_none().then(|| token.hex());
    let spare = SpareMemory::new(Root::here()).now(None);
    let memory_bytes = memory_bytes(spare.as_ref());
    match opening(at, made.as_deref(), (memory_bytes, spare.is_some()), lang) {
        text if made.is_none() => output::print(&text),
        // Nobody could come without the token.
        text => shown(&text).map_err(|error| {
            lost(said!("the token cannot be printed ({error}); redirect standard output elsewhere, or name a file by --token-file"))
        })?,
    }
    let readable = stop.readable();
    let served = serve::serve(
        &listener,
        ServerOptions {
            token,
            memory_bytes,
            sessions: usize::try_from(arguments.sessions).unwrap_or(SESSIONS),
            program: Path::new(OWN).to_owned(),
            stop: &readable,
            report: &mut |line| output::complain(&spoken(line, lang)),
        },
    );
    served.map_err(|error| lost(said!("the server cannot go on ({error}); start it again")))?;
    Ok(stop.signal().map_or(Exit::Fine, Exit::Signal))
}

fn memory_bytes(spare: Option<&Spare>) -> u64 {
    spare.map_or(OF_UNKNOWN_BYTES, |spare| spare.bytes / MEMORY_SHARE.1 * MEMORY_SHARE.0)
}

/// Prints a text that somebody has to read: an output that was closed is as good as none, and has become /dev/null by now.
fn shown(text: &str) -> io::Result<()> {
    let [out, null] = [rustix::fs::fstat(io::stdout()), rustix::fs::stat("/dev/null")];
    match (out, null) {
        (Ok(out), Ok(null)) if out.st_rdev == null.st_rdev => Err(io::Error::other("it goes to /dev/null")),
        _ => output::written(text),
    }
}

/// First lines of a server: its address, and the resources of its clients.
fn opening(at: SocketAddr, made: Option<&str>, (memory_bytes, is_known): (u64, bool), lang: Lang) -> String {
    let mut text = spoken(&say!("listening on {at}\n"), lang);
    if let Some(token) = made {
        text += &spoken(&say!("token {token}\n"), lang);
    }
    let (all, first, cpu_s) = (memory_bytes >> 20, share_bytes(memory_bytes) >> 20, MOST_PLANNING.as_secs());
    let unknown = if is_known { Text::default() } else { term!("how much is free is unknown here; ") };
    text += &spoken(
        &say!(
            "memory: {unknown}all sessions together fill at most {all} MiB, the first {first} MiB\n\
             planning: a request takes at most {cpu_s} s of CPU time\n"
        ),
        lang,
    );
    // All addresses are none that can be dialled.
    let dialled = if at.ip().is_unspecified() { format!("HOST:{}", at.port()) } else { at.to_string() };
    text += &spoken(&say!("measure here: hostmark run --on tcp:{dialled} --token-file FILE\n"), lang);
    text
}

fn unbound(at: SocketAddr, error: &io::Error) -> anyhow::Error {
    let remedy = match error.kind() {
        io::ErrorKind::AddrInUse => said!("another process has it: end that, or name another port by --bind"),
        io::ErrorKind::PermissionDenied => {
            said!("name a port from 1024 up by --bind")
        }
        _ => said!("name an address of this machine by --bind"),
    };
    let exit = if error.kind() == io::ErrorKind::AddrInUse { Exit::ResourceLost } else { Exit::BadInput };
    EndsWith(exit, say!("cannot listen at {at} ({error}); {remedy}")).into()
}

/// The word that starts it; no command for people.
pub const DIAL: &str = hostmark_launch::relay::DIAL;

/// Carries standard input to the server at the address that the first word names, and back, with the token in the file that the
/// second one names: what stands in arguments, everybody on this machine can read. The run that started this speaks a language.
pub fn dial(words: impl Iterator<Item = OsString>) -> ExitCode {
    let Err((why, exit)) = carry(words) else { return ExitCode::SUCCESS };
    output::complain(why.to_line().unwrap_or_default().trim_end());
    ExitCode::from(exit.code())
}

fn carry(mut words: impl Iterator<Item = OsString>) -> Result<(), (Message, Exit)> {
    let (Some(address), Some(file), None) = (words.next(), words.next(), words.next()) else {
        let why = say!("a server is dialled by a run, not by hand; use hostmark run --on tcp:HOST");
        return Err((why, Exit::BadInput));
    };
    let token = Token::read(Path::new(&file)).map_err(|error| (error.into(), Exit::BadInput))?;
    let streams = rustix::io::dup(io::stdin()).and_then(|input| Ok((input, rustix::io::dup(io::stdout())?)));
    let (input, output) = streams.map_err(|error| {
        (say!("a stream is closed ({error}); open it", error = io::Error::from(error)), Exit::BadInput)
    })?;
    let done = hostmark_launch::relay::dial(&address.to_string_lossy(), &token, input.into(), output.into());
    done.map_err(|error| (error.into(), Exit::ResourceLost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_nobody_reports_is_little_and_not_none() {
        let empty = tempfile::tempdir().unwrap();
        let bytes = memory_bytes(SpareMemory::new(Root::at(empty.path())).now(None).as_ref());
        let at = address("::1").unwrap();
        for (lang, expected) in [
            (
                Lang::En,
                "memory: how much is free is unknown here; all sessions together fill at most 64 MiB, the first 42 MiB",
            ),
            (Lang::Zh, "内存：无法得知可用内存；所有会话合计最多写满 64 MiB，第一个会话 42 MiB"),
        ] {
            assert!(opening(at, None, (bytes, false), lang).contains(expected));
            assert!(!opening(at, None, (bytes, true), lang).contains(expected));
        }
    }

    #[test]
    fn a_process_that_cannot_be_started_here_is_a_lost_resource_and_no_bad_input() {
        let error = AgentError::Transport(TransportError::Io(io::ErrorKind::OutOfMemory.into()));
        let error = failed(error, &StopRequest::mock(&Default::default()).unwrap());
        assert_eq!(error.downcast_ref::<EndsWith>().unwrap().0, Exit::ResourceLost);
        assert!(error.to_string().ends_with("; look at the limits of processes, files and memory (ulimit -a)"));
    }

    #[test]
    fn an_address_has_our_port_where_it_names_none() {
        let of = |typed: &str| address(typed).map(|address| address.to_string()).unwrap_or_default();
        assert_eq!(of("127.0.0.1:7417"), "127.0.0.1:7417");
        assert_eq!(of("10.0.0.17"), "10.0.0.17:7417");
        assert_eq!(of("::1"), "[::1]:7417");
        assert_eq!(of("[::1]"), "[::1]:7417");
        assert_eq!(of("[fd00::17]:80"), "[fd00::17]:80");
        for wrong in ["", "db-17", ":7417", "10.0.0.17:", "10.0.0.17:70000", "[10.0.0.17", "127.1"] {
            assert_eq!(of(wrong), "", "{wrong}");
        }
    }
}
