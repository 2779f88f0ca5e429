//! The journal: every round written as it ends, so that kill -9 loses at most the round under way, and synced with its worker.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hostmark_model::{Elsewhere, JsonLine, Message, PathBytes, RoundLine, json_fault};
use hostmark_say::say;
use rustix::fs::{Mode, OFlags};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::plan::Plan;
use crate::record::RoundResult;
use crate::sys::call::Call;
use crate::sys::place::Place;
use crate::sys::regular;

/// An open journal, `NAME.partial.jsonl`.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    entry: Place,
}

/// Others may read a journal, and not write to it.
const MODE: Mode = Mode::from_raw_mode(0o644);

/// First characters of a header's line.
const HEADER_START: &str = r#"{"run":"#;

#[derive(Serialize)]
struct HeaderLine<'a, R> {
    run: &'a R,
    plan: &'a PlanLine,
    origin: &'a Origin,
}

/// Plan in a journal's header.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PlanLine {
    /// The run's seed.
    pub seed: u64,
    /// Ids of its cases, in order.
    pub cases: Vec<String>,
}

impl PlanLine {
    /// Returns the line of a plan.
    pub fn of(plan: &Plan) -> PlanLine {
        let cases = plan.cases.iter().map(|case| case.id.to_string()).collect();
        PlanLine { seed: plan.request.seed, cases }
    }
}

/// Origin of a journal: only the same program may resume it, and for the same file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Origin {
    /// Fingerprint of the program's binary.
    pub binary: String,
    /// Name of the run file that is to lie beside the journal.
    pub file: PathBytes,
    /// Remote place of the measurement; `None`: this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Elsewhere>,
}

/// The first line of a journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Header<R> {
    /// The run before its first round.
    pub run: R,
    /// Ids of the planned cases, in order.
    pub cases: Vec<String>,
    /// Writer of the journal.
    pub origin: Origin,
    /// Lines behind it that are damaged, as a kill or a loss of power leaves them; nothing of them is taken.
    pub damaged: usize,
}

/// A round as the journal has it.
#[derive(Debug, Clone, PartialEq)]
pub struct PastRound {
    /// The case id.
    pub case: String,
    /// Result of the round.
    pub round: RoundResult,
    /// Timing of the round.
    pub took: Took,
}

impl PastRound {
    /// Converts a line of the journal.
    pub fn of(line: RoundLine) -> PastRound {
        let time = Duration::from_nanos;
        let took = Took { until: time(line.until_ns), spent: time(line.spent_ns), granted: time(line.granted_ns) };
        let round = RoundResult { round: line.round, cpus: line.cpus, events: line.events, others: None };
        PastRound { case: line.case, round, took }
    }
}

/// A round as a line has it.
pub fn line_of(case: &str, round: &RoundResult, took: &Took) -> RoundLine {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    RoundLine {
        case: case.to_owned(),
        round: round.round,
        cpus: round.cpus.clone(),
        until_ns: ns(took.until),
        spent_ns: ns(took.spent),
        granted_ns: ns(took.granted),
        events: round.events.clone(),
    }
}

/// Sink for the rounds of a run as they end.
pub trait RoundSink {
    /// Takes a round that has ended. Where it cannot be kept, the run goes on without.
    fn append(&mut self, case: &str, round: &RoundResult, took: &Took) -> io::Result<()>;

    /// Brings all that was taken to where it is safe; called when nothing is timed.
    fn sync(&mut self) -> io::Result<()>;
}

/// Timing of a round: its end and its duration.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Took {
    /// The run's time when it had ended.
    pub until: Duration,
    /// All of its time.
    pub spent: Duration,
    /// Time granted for samples.
    pub granted: Duration,
}

/// Reason why a journal cannot be resumed. Fragments that fit after a file name, and end with what to do.
#[derive(Debug)]
pub enum ResumeError {
    /// Journal that cannot be opened, read or cut.
    Io(io::Error),
    /// Journal that somebody else may have written.
    OfOthers,
    /// Journal of a process that still lives.
    UnderWay,
    /// Journal whose first line is no header.
    NoHeader(String),
}

impl ResumeError {
    /// Message for the person.
    pub fn message(&self) -> Message {
        match self {
            ResumeError::Io(what) => say!("cannot be read and written ({what}); give another journal"),
            ResumeError::OfOthers => say!("belongs to another user, or others may write to it; measure anew"),
            ResumeError::UnderWay => say!("is the journal of a run that is under way; wait for its end"),
            ResumeError::NoHeader(what) => {
                say!("is no journal that this version can go on with ({what}); measure anew")
            }
        }
    }
}

impl fmt::Display for ResumeError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(to)
    }
}

impl std::error::Error for ResumeError {}

impl From<io::Error> for ResumeError {
    fn from(error: io::Error) -> ResumeError {
        ResumeError::Io(error)
    }
}

#[derive(Deserialize)]
struct ReadHeader<R> {
    run: R,
    plan: PlanLine,
    origin: Origin,
}

impl Journal {
    /// Creates the journal exclusively and writes its header: the run so far, its seed and its cases, and the program that may resume
    /// it. It is locked while it is open, which tells a run under way from one that was cut short. The journal of a run that ended
    /// inside its header is taken over: nobody can resume it.
    pub fn create(path: &Path, run: &impl Serialize, planned: &PlanLine, origin: &Origin) -> io::Result<Journal> {
        let entry = Place::entry(path)?;
        let file = match entry.create_new(MODE) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => headerless(&entry)?.ok_or(error)?,
            created => created?,
        };
        // A file system without locks has journals all the same.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            // Between its creation and its lock another run has taken it over.
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let mut journal = Journal { file, path: path.to_owned(), entry };
        let header = HeaderLine { run, plan: planned, origin };
        let header = serde_json::to_string(&header).map_err(io::Error::from);
        match header.and_then(|header| journal.append_line(&(header + "\n"))).and_then(|()| journal.sync()) {
            Ok(()) => Ok(journal),
            Err(error) => {
                // A journal without a header is nothing, and would stand in the way of the next.
                let _ = journal.remove();
                Err(error)
            }
        }
    }

    /// Reads a journal: its header, its whole rounds, and whether its run is under way.
    pub fn read<R: DeserializeOwned>(path: &Path) -> Result<(Header<R>, Vec<PastRound>, bool), ResumeError> {
        let file = regular::open(OpenOptions::new().read(true), path)?;
        let is_under_way = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        let (header, rounds, _) = parse(&text(&file)?)?;
        Ok((header, rounds, is_under_way))
    }

    /// Opens a journal to go on with it: a last line that has no end is cut off.
    pub fn resume<R: DeserializeOwned>(path: &Path) -> Result<(Journal, Header<R>, Vec<PastRound>), ResumeError> {
        let entry = Place::find(path)?;
        let mut file = regular::open(OpenOptions::new().read(true).write(true), path)?;
        // It says what is run and which file is written: who wrote it acts as this user.
        let status = file.metadata()?;
        if status.uid() != rustix::process::geteuid().as_raw() || status.mode() & 0o022 != 0 || status.nlink() != 1 {
            return Err(ResumeError::OfOthers);
        }
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(ResumeError::UnderWay);
        }
        let (header, rounds, whole) = parse(&text(&file)?)?;
        file.set_len(whole)?;
        file.seek(SeekFrom::Start(whole))?;
        Ok((Journal { file, path: path.to_owned(), entry }, header, rounds))
    }

    /// Appends a round as a line has it.
    pub fn append_round(&mut self, line: &RoundLine) -> io::Result<()> {
        self.append_line(&line.to_line()?)
    }

    fn append_line(&mut self, text: &str) -> io::Result<()> {
        self.file.write_all(text.as_bytes()).call("write")
    }

    /// Path of the journal.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it, once the run file stands.
    pub fn remove(self) -> io::Result<()> {
        self.entry.remove()
    }
}

impl RoundSink for Journal {
    /// Appends the round; a killed run has it from then on. Loss of power is up to `sync`.
    fn append(&mut self, case: &str, round: &RoundResult, took: &Took) -> io::Result<()> {
        self.append_round(&line_of(case, round, took))
    }

    /// Puts all that was appended onto its device.
    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data().call("fdatasync")
    }
}

/// The file at `path`, emptied and locked, if it is a journal whose header was cut off before its first byte or inside it, and
/// no run has it open.
fn headerless(entry: &Place) -> io::Result<Option<File>> {
    // Not through a link, and no pipe that would be waited for: a journal is a regular file that a run made here.
    let Ok(mut file) = entry.open(OFlags::RDWR) else { return Ok(None) };
    let status = file.metadata()?;
    if !status.is_file() || status.nlink() != 1 || status.uid() != rustix::process::geteuid().as_raw() {
        return Ok(None);
    }
    // Where nothing can be locked, nobody can tell whether its run is under way.
    if file.try_lock().is_err() {
        return Ok(None);
    }
    let mut start = [0; HEADER_START.len()];
    let mut length = 0;
    while length < start.len() {
        match file.read(&mut start[length..])? {
            0 => break,
            more => length += more,
        }
    }
    let is_ours = start[..length] == HEADER_START.as_bytes()[..length];
    if !is_ours || text(&file)?.contains(&b'\n') {
        return Ok(None);
    }
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(Some(file))
}

fn text(file: &File) -> io::Result<Vec<u8>> {
    let too_large = || io::Error::other(say!("it has over {most_bytes} MiB", most_bytes = regular::MOST_BYTES >> 20));
    regular::all_of(file)?.ok_or_else(too_large)
}

/// The header, the rounds, and the length of what is whole, bytes.
fn parse<R: DeserializeOwned>(bytes: &[u8]) -> Result<(Header<R>, Vec<PastRound>, u64), ResumeError> {
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let mut lines = bytes[..whole].split_inclusive(|&byte| byte == b'\n');
    let header: ReadHeader<R> = match lines.next() {
        None => return Err(ResumeError::NoHeader("it has no whole line".into())),
        Some(line) => {
            let header = text_of(line).and_then(|line| serde_json::from_str(line).map_err(|error| json_fault(&error)));
            header.map_err(ResumeError::NoHeader)?
        }
    };
    let (mut rounds, mut damaged) = (Vec::new(), 0);
    for line in lines {
        // A page of zeros before a whole line is damage, and the line is none.
        let zeros = line.iter().take_while(|&&byte| byte == 0).count();
        let round = text_of(&line[zeros..]).ok().and_then(|line| RoundLine::from_line(line).ok());
        damaged += usize::from(zeros > 0 || round.is_none());
        rounds.extend(round.map(PastRound::of));
    }
    // A process that was killed leaves the start of a line, a loss of power pages of zeros.
    damaged += usize::from(whole < bytes.len());
    let ReadHeader { run, plan, origin } = header;
    Ok((Header { run, cases: plan.cases, origin, damaged }, rounds, whole as u64))
}

/// The text of a line; JSON is read from text as run files are, one way less in the program.
fn text_of(line: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(line).map_err(|error| error.to_string())
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
