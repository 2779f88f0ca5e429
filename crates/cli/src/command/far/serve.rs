//! `hostmark serve`: lets those measure on this machine who have a token, and nobody else; `hostmark dial`: the way there.

use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use hostmark_analysis::spoken;
use hostmark_host::{Root, Spare, SpareMemory};
use hostmark_launch::channel::Token;
use hostmark_launch::program::OWN;
use hostmark_launch::serve::{self, PORT, SESSIONS, ServerOptions, share_bytes};
use hostmark_model::{Exit, JsonLine, Lang, Message, Text};
use hostmark_say::say;

use super::agent::MOST_PLANNING;
use crate::command::measure::machine::catch;
use crate::command::{EndsWith, lost};
use crate::isolate::Outside;
use crate::language::said;
use crate::output;

/// Sessions at once that one may ask for.
const MOST_SESSIONS: i64 = 64;
/// Share of the memory spare at the start that all sessions together may fill: the first has half of it, as a run has.
const MEMORY_SHARE: (u64, u64) = (3, 4);
/// The same where nobody says what can be spared: few machines lack so much.
const OF_UNKNOWN_BYTES: u64 = 64 << 20;

#[derive(Debug, Args)]
pub struct ServeArguments {
    /// Listen at this address [default port: 7417]
    ///
    /// Any address but loopback is open to the network: have a firewall admit only known hosts.
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value = "127.0.0.1:7417", value_parser = address)]
    bind: SocketAddr,
    /// Read the token from this file [default: print a new one]
    ///
    /// The file must belong to you, and others must not be able to read it.
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
pub const NAME: &str = hostmark_launch::relay::DIAL;

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
