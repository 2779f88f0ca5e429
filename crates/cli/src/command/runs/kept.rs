//! Places of kept runs: a run's file, its journal while it goes on, what earlier runs tell of a new one, and self-checks.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use hostmark_analysis::compare::has_circumstances_of;
use hostmark_analysis::escape::visible;
use hostmark_analysis::repetition::Earlier;
use hostmark_analysis::trust::{trust, with_self_check};
use hostmark_analysis::{consistency, findings, repetition, spoken};
use hostmark_engine::sys::place::Place;
use hostmark_engine::{Journal, Origin, PlanLine, Wall};
use hostmark_model::{Elsewhere, HostFacts, Lang, PathBytes, Run, SelfChecked, Trust};
use hostmark_say::say;
use serde::Deserialize;

use super::chosen;
use crate::command::{EndsWith, exit_of, message, unwritten};
use crate::language::{refused, said};
use crate::store::RunFiles;
use crate::world::SinceStart;
use crate::{language, output, store};

/// Destination of a run: none where it cannot be kept.
#[derive(Default)]
pub struct RunDestination {
    pub place: Option<RunFiles>,
    pub journal: Option<Journal>,
    /// The command line that goes on with it, where one can.
    pub resume: Option<String>,
    /// True where it was to be kept and cannot be.
    pub is_lost: bool,
}

/// Author of a run, which alone may resume it.
pub struct Author {
    pub binary: String,
    pub elsewhere: Option<Elsewhere>,
}

impl RunDestination {
    /// Makes the place of a run that begins, and names the run after it: the file that a person named, else one with the others.
    pub fn begin(
        run: &mut Run,
        named: Option<&RunFiles>,
        planned: &PlanLine,
        author: Author,
    ) -> Result<RunDestination> {
        let place = match named {
            Some(place) => Some(place.clone()),
            None => keep(&run.host.hostname),
        };
        let Some(place) = place else { return Ok(RunDestination { is_lost: true, ..RunDestination::default() }) };
        run.name.clone_from(&place.name);
        let resume = chosen::line(&place.journal, &run.settings.inputs, author.elsewhere.as_ref());
        let journal = open_journal(&place, named.is_some(), run, planned, author)?;
        let is_lost = journal.is_none();
        Ok(RunDestination { place: Some(place).filter(|_| !is_lost), journal, resume, is_lost })
    }

    /// Saves the run's file, and removes the journal, which would only be a copy: by that of a run that was stopped it goes on.
    /// A journal that cannot be removed is told of. None where the run is not kept.
    pub fn save(self, run: &Run) -> Option<(RunFiles, io::Result<Option<String>>)> {
        let goes_on = self.goes_on(run).is_some();
        let place = self.place?;
        let saved = place.save(run).map(|()| self.journal.filter(|_| !goes_on).and_then(left));
        Some((place, saved))
    }

    /// The command line that goes on with this run, where it was stopped.
    pub fn goes_on(&self, run: &Run) -> Option<&str> {
        run.interrupted.as_ref().and(self.journal.as_ref()).and(self.resume.as_deref())
    }

    /// Remedy by the rounds in the journal: the run can be resumed, unless a server measured it. None without a journal.
    pub fn what_to_do(&self) -> Option<String> {
        let path = self.journal.as_ref()?.path().display().to_string();
        let report =
            || format!("hostmark report --reestimate {}", language::quoted(&path).unwrap_or_else(|| visible(&path)));
        Some(self.resume.clone().unwrap_or_else(report))
    }

    /// An error after which there are rounds, told with what can be done with them.
    pub fn goes_on_later(self, error: anyhow::Error, rounds: usize) -> anyhow::Error {
        let Some(what) = self.what_to_do() else { return error };
        let (exit, sentence) = (exit_of(&error), message(&error));
        let sentence = match rounds {
            1 => say!("{sentence}; 1 round is kept: {what}"),
            _ => say!("{sentence}; {rounds} rounds are kept: {what}"),
        };
        EndsWith(exit, sentence).into()
    }

    /// Removes the journal of a run without any measurement.
    pub fn forget(self) {
        self.journal.and_then(left).iter().for_each(|sentence| output::complain(sentence));
    }
}

/// Removes a journal that nobody needs any more; a sentence where it cannot be removed.
fn left(journal: Journal) -> Option<String> {
    let path = visible(&journal.path().display().to_string());
    let error = journal.remove().err()?;
    Some(said!("the journal {path} is not needed any more and cannot be removed ({error}); remove it"))
}

/// A sentence of [`RunDestination::goes_on_later`] without what can be done with the rounds: for who does not keep them.
pub fn without_rounds(sentence: &str) -> &str {
    let at =
        ["hostmark run --resume ", "hostmark report --reestimate "].iter().find_map(|command| sentence.find(command));
    let before = at.and_then(|at| sentence[..at].strip_suffix(": ").or(sentence[..at].strip_suffix("：")));
    let end = before.and_then(|before| before.rfind("; ").max(before.rfind("；")));
    end.map_or(sentence, |end| &sentence[..end])
}

/// Refuses a place where a run that begins would be refused, and leaves nothing there.
pub fn check(place: &RunFiles) -> Result<()> {
    let is_taken = place.journal.symlink_metadata().is_ok() && !is_of_stopped(place);
    let directory = place.journal.parent().filter(|parent| !parent.as_os_str().is_empty());
    let tried = match is_taken {
        true => Err(io::ErrorKind::AlreadyExists.into()),
        false => store::check(directory.unwrap_or(Path::new("."))),
    };
    tried.map_err(|error| unopened(place, &error))
}

/// Files of a run for which nobody named one. Without them the run is measured all the same.
fn keep(hostname: &str) -> Option<RunFiles> {
    match RunFiles::begun_now(hostname) {
        Ok(place) => Some(place),
        Err(reason) => {
            output::complain(&said!("the run cannot be kept ({reason}); name a file by --out"));
            None
        }
    }
}

/// Tells whether the journal in this place belongs to the file beside it, of a run that was stopped and does not go on at the moment.
fn is_of_stopped(place: &RunFiles) -> bool {
    Journal::read::<Run>(&place.journal)
        .is_ok_and(|(header, _, is_under_way)| !is_under_way && store::is_part_of(&place.file, &header.run.id))
}

/// The run's journal. One that cannot be made is an error where a person named the file, and else only said.
fn open_journal(
    place: &RunFiles,
    is_named: bool,
    run: &Run,
    planned: &PlanLine,
    by: Author,
) -> Result<Option<Journal>> {
    let bytes = |path: &OsStr| PathBytes(path.as_bytes().to_vec());
    let file = bytes(place.file.file_name().unwrap_or_default());
    let origin = Origin { binary: by.binary, file, elsewhere: by.elsewhere };
    let create = || Journal::create(&place.journal, run, planned, &origin);
    let created = match create() {
        // Who has a stopped run replaced has its journal replaced as well.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_named && is_of_stopped(place) => {
            Place::entry(&place.journal).and_then(|entry| entry.remove()).and_then(|()| create())
        }
        created => created,
    };
    let error = match created {
        Ok(journal) => return Ok(Some(journal)),
        Err(error) => error,
    };
    if !is_named {
        let path = place.journal.display();
        output::complain(&said!("the run cannot be kept ({path}: {error}); name a file by --out"));
        return Ok(None);
    }
    Err(unopened(place, &error))
}

/// Error that a run cannot be kept in a file that a person named.
fn unopened(place: &RunFiles, error: &io::Error) -> anyhow::Error {
    let path = place.journal.display();
    match error.kind() {
        io::ErrorKind::AlreadyExists => {
            refused!("{path} is the journal of a run under way or cut short; remove it, or name another file by --out")
        }
        _ => unwritten(error, &said!("the journal {path} cannot be written"), &said!("name another file by --out")),
    }
}

const MOST_BYTES: u64 = 1 << 20;

/// Part of a stored result that is read.
#[derive(Deserialize)]
struct Stored {
    started: String,
    checks: Vec<StoredCheck>,
}

#[derive(Deserialize)]
struct StoredCheck {
    outcome: String,
}

/// File of a result, beside the runs; none without a home, or where the boot or the program cannot be told from others.
pub fn file(hostname: &str, boot_id: Option<&str>, digest: Option<&str>) -> Option<PathBuf> {
    let part = |text: &str| store::file_part(&text.chars().take(8).collect::<String>());
    let name = [store::file_part(hostname), part(boot_id?), part(digest?)].join("-");
    Some(store::directory()?.with_file_name("self-checks").join(format!("{name}.json")))
}

/// Last result on a host since its boot, with the program of this digest; none where there is none that can be read.
pub fn of(host: &HostFacts, digest: Option<&str>) -> Option<SelfChecked> {
    let mut text = String::new();
    let file = File::open(file(&host.hostname, host.boot_id.as_deref(), digest)?).ok()?;
    file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    let Stored { started, checks } = serde_json::from_str(&text).ok()?;
    let count = |outcome: &str| checks.iter().filter(|check| check.outcome == outcome).count() as u32;
    let [passed, failed, error, not_possible] = ["passed", "failed", "error", "not_possible"].map(count);
    // What a check that went wrong put in has not come back either.
    Some(SelfChecked { started, passed, failed: failed + error, not_possible })
}

/// Number of the latest runs that suffice.
const MOST_RUNS: usize = 20;
/// Longest time of reading them: the person waits for the table.
const MOST_TIME: Duration = Duration::from_millis(500);

/// Says of each value where another run's is to be expected, and how far the run can be trusted.
pub fn judge(run: &mut Run) {
    // One at a time: all of them together would take more memory than the run.
    let earlier = Earlier::of(run, earlier(run).filter(has_circumstances_of(run)));
    let left_out = repetition::add(run, &earlier);
    let self_check = of(&run.host, run.tool.digest.as_deref());
    run.trust = trust(run).map(|trust| Trust { left_out, ..with_self_check(trust, self_check) });
    run.findings = findings(run);
}

/// The latest runs of this host that are kept, as far as they can be read: whatever lies there besides is nobody's fault.
fn earlier(run: &Run) -> impl Iterator<Item = Run> + use<> {
    let began = SinceStart::now();
    let host = format!("-{}-", store::file_part(&run.host.hostname));
    let named = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(&host));
    let mut files = store::kept().unwrap_or_default();
    files.retain(|path| named(path));
    let latest = files.into_iter().rev().take(MOST_RUNS);
    latest.map_while(move |path| (began.elapsed() < MOST_TIME).then(|| store::load(&path).ok())).flatten()
}

/// The run that a person means: a file, or one that is kept.
pub fn found(run: &str, lang: Lang) -> Result<Run> {
    checked(&store::find(run)?, lang)
}

/// Reads a run to be shown, and says on standard error what in its file does not fit.
pub fn checked(path: &Path, lang: Lang) -> Result<Run> {
    let run = store::load(path)?;
    if let Some(what) = consistency::sentence(&run) {
        let file = path.display();
        output::remark(&spoken(&say!("{file} contradicts itself: {what}; measure again, or restore the file"), lang));
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_keeps_no_rounds_gets_the_rest_of_the_sentence() {
        let lost = crate::command::lost("'ssh a' broke off; look there");
        let bare = RunDestination::default().goes_on_later(lost, 3).to_string();
        assert_eq!(without_rounds(&bare), "'ssh a' broke off; look there");
        let text = "'ssh a' broke off; look there; 3 rounds are kept: hostmark run --resume /runs/a.partial.jsonl";
        assert_eq!(without_rounds(text), "'ssh a' broke off; look there");
        let text = "“ssh a”中断；请检查；已保存 3 轮：hostmark run --resume /runs/a.partial.jsonl";
        assert_eq!(without_rounds(text), "“ssh a”中断；请检查");
        assert_eq!(without_rounds("its disk is full; make room"), "its disk is full; make room");
    }
}
