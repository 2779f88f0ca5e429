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

#[derive(Serialize, Deserialize)]
struct HeaderLine<R, P, O> {
    run: R,
    plan: P,
    origin: O,
}

/// Plan in a journal's header.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PlanLine {
    pub seed: u64,
    /// Ids of its cases, in order.
    pub cases: Vec<String>,
}

impl PlanLine {
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
    pub origin: Origin,
    /// Lines behind it that are damaged, as a kill or a loss of power leaves them; nothing of them is taken.
    pub damaged: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PastRound {
    pub case: String,
    pub round: RoundResult,
    pub took: Took,
}

impl PastRound {
    pub fn of(line: RoundLine) -> PastRound {
        let time = Duration::from_nanos;
        let took = Took { until: time(line.until_ns), spent: time(line.spent_ns), granted: time(line.granted_ns) };
        let round = RoundResult { round: line.round, cpus: line.cpus, events: line.events, others: None };
        PastRound { case: line.case, round, took }
    }
}

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

impl Journal {
    /// Creates the journal exclusively and writes its header: the run so far, seed, cases, and the program that may resume it. Its lock,
    /// held while it is open, tells a run under way from one cut short. A journal without a whole header is taken over.
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

    pub fn append_round(&mut self, line: &RoundLine) -> io::Result<()> {
        self.append_line(&line.to_line()?)
    }

    fn append_line(&mut self, text: &str) -> io::Result<()> {
        self.file.write_all(text.as_bytes()).call("write")
    }

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

/// The file at `path`, emptied and locked, if it is a journal cut off before the end of its header that no run has open.
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
    let header = lines.next().ok_or_else(|| ResumeError::NoHeader("it has no whole line".into()))?;
    let header = text_of(header).and_then(|line| serde_json::from_str(line).map_err(|error| json_fault(&error)));
    let HeaderLine { run, plan: PlanLine { cases, .. }, origin } = header.map_err(ResumeError::NoHeader)?;
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
    Ok((Header { run, cases, origin, damaged }, rounds, whole as u64))
}

/// The text of a line; JSON is read from text as run files are, one way less in the program.
fn text_of(line: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(line).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use hostmark_model::{Event, Histogram, PathBytes, Profile, RoundNoise};
    use serde_json::{Value, json};

    use super::*;
    use crate::fixture::{CATALOGUE, planned, resumed};

    impl Journal {
        pub(crate) fn on_full_device() -> Journal {
            let path = Path::new("/dev/full");
            let file = OpenOptions::new().write(true).open(path).unwrap();
            Journal { file, path: path.to_owned(), entry: Place::entry(path).unwrap() }
        }
    }

    fn round(number: u32, ns: f64) -> RoundResult {
        let samples = Event::Samples {
            ns: vec![ns, 0.1 + 0.2],
            iterations: vec![1, u64::MAX],
            amount: 0,
            disturbance_flags: vec![0, 3],
        };
        let note = Event::Note { key: "pages".into(), value: "pmd, \"half\"\nbase 大页".into() };
        let also = Event::Also { name: "loss".into(), values: vec![0.1 + 0.2, 1e-300] };
        let histogram = Event::Histogram(Histogram { values: vec![1, u64::MAX], counts: vec![u64::MAX, 1] });
        RoundResult {
            round: number,
            cpus: vec![1, 3],
            events: vec![note, samples, histogram, also, Event::Done { noise: RoundNoise::default() }],
            others: None,
        }
    }

    fn origin() -> Origin {
        Origin { binary: "0.1.0 abc".into(), file: PathBytes(b"x\n \xff.json".to_vec()), elsewhere: None }
    }

    fn took(number: u64) -> Took {
        let time = |ms: u64| Duration::from_millis(ms) + Duration::from_nanos(number);
        Took { until: time(700), spent: time(20), granted: time(10) }
    }

    /// A journal of this run and two cases.
    fn create(path: &Path, run: &impl Serialize) -> io::Result<Journal> {
        Journal::create(path, run, &PlanLine::of(&planned(CATALOGUE, &["net"], Profile::Quick)), &origin())
    }

    #[test]
    fn the_header_comes_first_and_the_rounds_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.partial.jsonl");
        let mut journal = create(&path, &json!({ "id": "abc" })).unwrap();
        let written = [("net.tcp", round(0, 1.5)), ("net.tcp_connect", round(0, 2.5)), ("net.tcp", round(1, -0.25))];
        let written: Vec<PastRound> = (0..)
            .zip(written)
            .map(|(number, (case, round))| PastRound { case: case.to_owned(), round, took: took(number) })
            .collect();
        for past in &written {
            journal.append(&past.case, &past.round, &past.took).unwrap();
        }
        assert_eq!(journal.path(), path);
        assert!(Journal::read::<Value>(&path).unwrap().2, "its run is under way");
        assert!(matches!(Journal::resume::<Value>(&path), Err(ResumeError::UnderWay)));
        drop(journal);
        drop(resumed::<Value>(&path).unwrap());

        let (header, rounds, is_under_way) = Journal::read::<Value>(&path).unwrap();
        let cases = vec!["net.tcp".to_owned(), "net.tcp_connect".to_owned()];
        assert_eq!(header, Header { run: json!({ "id": "abc" }), cases, origin: origin(), damaged: 0 });
        assert_eq!((&rounds, is_under_way), (&written, false));

        // Killed while it wrote a line: what is whole stays, and the next line follows it.
        let text = std::fs::read(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 9]).unwrap();
        let (mut journal, _, rounds) = resumed::<Value>(&path).unwrap();
        assert_eq!(rounds, written[..2]);
        journal.append(&written[2].case, &written[2].round, &written[2].took).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), text);
        journal.remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn what_is_no_journal_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        let refused = |text: &str| {
            std::fs::write(&path, text).unwrap();
            resumed::<Value>(&path).map(drop).unwrap_err().to_string()
        };
        for text in ["", "{\"run\":1", "{}\n", "no\n"] {
            let sentence = refused(text);
            assert!(sentence.starts_with("is no journal that this version can go on with ("), "{sentence}");
            assert!(sentence.ends_with("); measure anew"), "{sentence}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn every_whole_line_is_kept_whatever_lies_between() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.partial.jsonl");
        let mut journal = create(&path, &json!({})).unwrap();
        (0..4).for_each(|number| journal.append("net.tcp", &round(number, 1.0), &took(0)).unwrap());
        drop(journal);
        let text = std::fs::read(&path).unwrap();
        let ends: Vec<usize> = (0..text.len()).filter(|&at| text[at] == b'\n').map(|at| at + 1).collect();
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let (header, rounds, _) = Journal::read::<Value>(&path).unwrap();
            (header.damaged, rounds.iter().map(|past| past.round.round).collect::<Vec<_>>())
        };
        // A page of zeros over the end of a line and the start of the next.
        let mut zeroed = text.clone();
        zeroed[ends[2] - 20..ends[2] + 20].fill(0);
        assert_eq!(read(&zeroed), (1, vec![0, 3]));
        for line in &ends[..4] {
            assert_eq!(read(&[&text[..*line], &[0; 4096], &text[*line..]].concat()), (1, vec![0, 1, 2, 3]));
        }
        let torn = [&text[..ends[1]], &text[ends[1] + 5..]].concat();
        assert_eq!(read(&torn), (1, vec![0, 2, 3]));
        assert_eq!(read(&[&text[..ends[4]], &[0; 4096]].concat()), (1, vec![0, 1, 2, 3]));
        for end in ends[0]..text.len() {
            let whole = ends[1..].iter().filter(|&&line| line <= end).count() as u32;
            assert_eq!(read(&text[..end]), (usize::from(!ends.contains(&end)), (0..whole).collect()), "{end}");
        }
        // What goes on writes behind the last whole line.
        std::fs::write(&path, [&text[..ends[3]], &[0; 4096]].concat()).unwrap();
        let (mut journal, header, _) = resumed::<Value>(&path).unwrap();
        journal.append("net.tcp", &round(3, 1.0), &took(0)).unwrap();
        assert_eq!((header.damaged, std::fs::read(&path).unwrap()), (1, text));
    }

    #[test]
    fn a_header_that_cannot_be_written_leaves_nothing() {
        struct Unspeakable;
        impl Serialize for Unspeakable {
            fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                Err(serde::ser::Error::custom("no"))
            }
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        assert!(create(&path, &Unspeakable).is_err());
        assert!(!path.exists());
    }

    #[test]
    fn what_was_ended_inside_its_header_does_not_keep_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.partial.jsonl");
        let create = || create(&path, &json!({ "id": "abc" }));
        for left in
            ["", "{", "{\"run\":", "{\"run\":{\"id\":\"old\",\"long\":\"............................................."]
        {
            std::fs::write(&path, left).unwrap();
            // A process that another test is starting has the last one's lock until it executes its program.
            let created =
                (0..400).find_map(|_| create().map_err(|_| std::thread::sleep(Duration::from_millis(5))).ok());
            drop(created.expect("the name is free again"));
            let (header, rounds, _) = Journal::read::<Value>(&path).unwrap();
            assert_eq!((header.run, rounds.len()), (json!({ "id": "abc" }), 0), "{left}");
        }
        // A header, and what is none of ours, stays.
        let whole = std::fs::read_to_string(&path).unwrap();
        for other in [whole.as_str(), "{}\n", "mine", "{\"run\":\n"] {
            std::fs::write(&path, other).unwrap();
            assert_eq!(create().unwrap_err().kind(), io::ErrorKind::AlreadyExists, "{other}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), other);
        }
    }

    #[test]
    fn a_journal_under_way_keeps_its_name_before_its_header_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.partial.jsonl");
        let create = |path: &Path| create(path, &json!({}));
        let begun = File::create(&path).unwrap();
        begun.lock().unwrap();
        assert_eq!(create(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        // Nothing is emptied through a link.
        let (target, link) = (directory.path().join("target"), directory.path().join("l.partial.jsonl"));
        std::fs::write(&target, "").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert_eq!(create(&link).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&target).unwrap(), b"");
    }

    #[test]
    fn a_journal_that_others_may_have_written_is_not_gone_on_with() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        let header = r#"{"run":1,"plan":{"seed":1,"cases":[]},"origin":{"binary":"b","file":[102]}}"#;
        std::fs::write(&path, format!("{header}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(resumed::<Value>(&path).is_ok());
        let refused = |path: &Path| resumed::<Value>(path).map(drop).unwrap_err().to_string();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert!(refused(&path).starts_with("belongs to another user, or others may write to it"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        std::fs::hard_link(&path, directory.path().join("y")).unwrap();
        assert!(refused(&path).starts_with("belongs to another user"));
        // What has no end, or is waited for, is no journal.
        let zero = directory.path().join("z");
        symlink("/dev/zero", &zero).unwrap();
        assert!(refused(&zero).contains("it is a device"), "{}", refused(&zero));
        assert!(Journal::read::<Value>(&zero).is_err());
    }
}
