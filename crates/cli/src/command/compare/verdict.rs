//! Verdicts: what a comparison comes to for who asked (its exit code, and what keeps it from being green), and references to compare
//! with.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::Result;
use hostmark_analysis::compare::{Comparison, Open, SAME};
use hostmark_analysis::escape::visible;
use hostmark_analysis::references::{self, Reference, SCHEMA, Standing, usual};
use hostmark_model::{Exit, HostFacts, Lang, Run};
use hostmark_present::RenderOptions;
use hostmark_present::export::comparison;
use hostmark_present::render::against::{Against, against};
use hostmark_say::say;

use super::{NamedRuns, history};
use crate::command::EndsWith;
use crate::command::runs::kept;
use crate::language::{refuse, refused, said};
use crate::{output, store};

/// Expectation that a run is compared with.
pub enum Expected {
    Runs(NamedRuns),
    /// Reference of servers of the same design.
    Usual,
    /// The same, which is shown beside it and decides nothing.
    BesideUsual,
    /// A reference, which is shown beside it and decides nothing.
    Beside(Box<Reference>),
}

/// The word for [`Expected::Usual`].
pub const USUAL: &str = "usual";

impl Expected {
    /// Refuses what nothing is known of, before anything is measured on this host.
    pub fn check(&self, host: &HostFacts) -> Result<()> {
        match self {
            Expected::Usual | Expected::BesideUsual => usual_for(host).map(drop),
            _ => Ok(()),
        }
    }

    /// Tells whether it decides the exit code.
    pub fn decides(&self) -> bool {
        matches!(self, Expected::Runs(_) | Expected::Usual)
    }

    /// Verdict on the run; prints the comparison.
    pub fn verdict(self, run: Run, lang: Lang) -> Exit {
        match self {
            Expected::Runs(runs) => held_against(runs, run, lang),
            Expected::Usual => against_usual(&run, lang),
            Expected::BesideUsual => match usual(&run.host) {
                Some(reference) => show_reference(&run, reference, lang),
                None => Exit::Fine,
            },
            Expected::Beside(reference) => show_reference(&run, &reference, lang),
        }
    }
}

fn show_reference(run: &Run, reference: &Reference, lang: Lang) -> Exit {
    match in_common(run, reference) {
        Ok(values) => output::print(&format!("\n{}", values.table(&output::options(lang, false)))),
        Err(nothing) => output::complain(&nothing.to_string()),
    }
    Exit::Fine
}

fn usual_for(host: &HostFacts) -> Result<&'static Reference> {
    usual(host).ok_or_else(|| no_usual(host))
}

fn no_usual(host: &HostFacts) -> anyhow::Error {
    let name = visible(&host.cpu.named_model().unwrap_or_else(|| host.cpu.architecture.clone()));
    refused!("nothing is known of what is usual for {name}; hostmark list --references shows for which it is")
}

/// Prints a run beside what is usual for its design; the exit code says whether a value is worse than nine of ten such servers deliver.
fn against_usual(run: &Run, lang: Lang) -> Exit {
    let Some(usual) = usual(&run.host) else {
        output::complain(&no_usual(&run.host).to_string());
        return Exit::Undecided;
    };
    let Some(beside) = against(run, usual) else {
        output::complain(&said!("the run has no value of which the usual is known; measure memory.hierarchy"));
        return Exit::Undecided;
    };
    output::print(&beside.table(&output::options(lang, false)));
    exit_beside_usual(&beside)
}

/// A run against a reference, in words or as JSON; `usual` stands for the base of the run's own design, whose verdicts decide the exit code.
pub fn against_named(
    name: &str,
    run: &str,
    format: &str,
    options: &RenderOptions,
    lang: Lang,
) -> Result<ControlFlow<(String, Exit), String>> {
    let (reference, run) = match name {
        USUAL => {
            let run = kept::found(run, lang)?;
            (usual_for(&run.host)?.clone(), run)
        }
        name => match find(name)? {
            NamedReference::Runs(base) => return Ok(ControlFlow::Continue(base)),
            NamedReference::Reference(reference) => (*reference, kept::found(run, lang)?),
        },
    };
    let beside = in_common(&run, &reference)?;
    let text = match format {
        "table" => beside.table(options),
        "json" => beside.json(),
        other => refuse!("--format {other} does not go with --against {name}; give table or json"),
    };
    let exit = if name == USUAL { exit_beside_usual(&beside) } else { Exit::Fine };
    Ok(ControlFlow::Break((text, exit)))
}

/// Exit code beside usual values: values not known to be usual are counted on standard error.
fn exit_beside_usual(beside: &Against) -> Exit {
    if beside.standings().any(|standing| standing == Standing::Worse) {
        return Exit::Found;
    }
    match beside.standings().filter(|standing| !standing.is_fine()).count() {
        0 => Exit::Fine,
        unknown => {
            output::complain(&said!("{unknown} of the values are not known to be as usual"));
            Exit::Undecided
        }
    }
}

/// Verdict on a run beside others: a comparison of the requested cases; fails if any is slower by more than [`SAME`].
fn held_against(mut expected: NamedRuns, run: Run, lang: Lang) -> Exit {
    for other in &mut expected.runs {
        other.cases.retain(|case| run.cases.iter().any(|own| own.id == case.id));
    }
    let sides = [expected, NamedRuns { name: run.name.clone(), runs: vec![run] }];
    let comparison = Comparison::of(sides[0].pool(), &[sides[1].pool()], &history(&sides), SAME);
    let table =
        comparison::format_named("table").map(|format| (format.render)(&comparison, &output::options(lang, false)));
    output::print(&table.unwrap_or_default());
    exit(&comparison, SAME, true, lang)
}

/// The exit code of a comparison; a change within `limit` is no regression. If `is_strict`, a case that is not known to be the same or faster
/// is named and keeps the code from being 0.
pub fn exit(comparison: &Comparison, limit: f64, is_strict: bool, lang: Lang) -> Exit {
    let is_open = is_strict && has_open(comparison, limit, lang);
    match comparison.has_regression(limit) {
        true => Exit::Found,
        false if is_open => Exit::Undecided,
        false => Exit::Fine,
    }
}

/// Cases that are named on standard error.
const MOST_NAMED: usize = 20;

/// Tells whether a case is not known to be the same or faster; prints which and why, those that more runs would decide by their number.
fn has_open(comparison: &Comparison, limit: f64, lang: Lang) -> bool {
    let all = comparison.open(limit);
    let (undecided, others): (Vec<&Open>, Vec<&Open>) = all.iter().partition(|open| open.is_undecided());
    for open in others.iter().take(MOST_NAMED) {
        let (id, side, why) = (open.case.typed(), open.side, open.why(lang));
        output::complain(&said!("{id} ({side}): {why}"));
    }
    if let more @ 1.. = others.len().saturating_sub(MOST_NAMED) {
        output::complain(&said!("{more} more cases as these"));
    }
    if !undecided.is_empty() {
        let count = undecided.len();
        output::complain(&said!("{count} undecided; more runs or a quieter machine would tell"));
    }
    if comparison.has_no_verdict() {
        output::complain(&said!("no case could be compared; the reasons stand in the comparison"));
    }
    !all.is_empty() || comparison.has_no_verdict()
}

/// Files that are read of the directory at most: each may be as large as a run.
const MOST_FILES: usize = 64;

/// Directory of a person's own references: beside the runs.
fn directory() -> Option<PathBuf> {
    Some(store::directory()?.parent()?.join("references"))
}

/// A person's own references, each by the name of its file; with a sentence for each file that is none.
fn own() -> (Vec<(Reference, PathBuf)>, Vec<String>) {
    let (mut found, mut complaints) = (Vec::new(), Vec::new());
    let Some(directory) = directory() else { return (found, complaints) };
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return (found, complaints),
        Err(error) => {
            let at = directory.display();
            complaints.push(said!("the references in {at} cannot be read ({error}); become the directory's owner"));
            return (found, complaints);
        }
    };
    // Neither a pipe, which would be waited for, nor a device.
    let mut paths: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_file()).collect();
    store::only_runs(&mut paths);
    if paths.len() > MOST_FILES {
        let (count, at) = (paths.len(), directory.display());
        complaints.push(said!("of the {count} references in {at} the first {MOST_FILES} are taken; move others away"));
        paths.truncate(MOST_FILES);
    }
    for path in paths {
        match read(&path) {
            Ok(reference) => found.push((reference, path)),
            Err(error) => complaints.push(error.to_string()),
        }
    }
    (found, complaints)
}

/// Reads a file as a reference, whichever of the two kinds it is.
fn read(path: &Path) -> Result<Reference> {
    let text = store::text(path)?;
    let (shown, name) = (path.display(), path.file_name().unwrap_or_default().to_string_lossy());
    let read = Reference::parse(&text, store::stem(&name).unwrap_or(&name), &shown.to_string());
    read.map_err(|error| refused!("{shown} {error}; mend it, or move it away"))
}

/// Brings a person's own references along for what is printed; what is wrong with a file is said and nothing else.
pub fn bring() {
    let (found, complaints) = own();
    complaints.iter().for_each(|sentence| output::complain(sentence));
    references::bring(found.into_iter().map(|(reference, _)| reference).collect());
}

/// Target of `--against`.
pub enum NamedReference {
    /// A reference in a file's slim form, or one of the program's.
    Reference(Box<Reference>),
    /// A run, or several in a directory: they are compared as any others.
    Runs(String),
}

/// Finds a target by its name: a file or a directory, a person's own reference, one of the program's, or a stored run.
pub fn find(name: &str) -> Result<NamedReference> {
    let path = Path::new(name);
    if path.is_dir() {
        return Ok(NamedReference::Runs(name.to_owned()));
    }
    if path.exists() {
        return in_file(path);
    }
    let is_file_name = !name.is_empty() && !name.contains('/');
    let own = directory().filter(|_| is_file_name).map(|at| at.join(format!("{name}.json")));
    if let Some(path) = own.filter(|path| path.is_file()) {
        return in_file(&path);
    }
    if let Some(reference) = references::built_in().iter().find(|reference| reference.name == name) {
        return Ok(NamedReference::Reference(Box::new(reference.clone())));
    }
    match store::find(name) {
        Ok(_) => Ok(NamedReference::Runs(name.to_owned())),
        Err(_) => {
            refuse!("there is no reference '{name}'; hostmark list --references shows them, and a file is one too")
        }
    }
}

fn in_file(path: &Path) -> Result<NamedReference> {
    // A run is compared by all that it has, and what is wrong with its file is told as of any run.
    let text = store::text(path)?;
    if !text.get(..LOOKED_AT.min(text.len())).unwrap_or(&text).contains(SCHEMA) {
        return Ok(NamedReference::Runs(path.display().to_string()));
    }
    Ok(NamedReference::Reference(Box::new(read(path)?)))
}

/// The schema stands among the first bytes of a file.
const LOOKED_AT: usize = 4096;

/// A reference of the program or a person's own, and no run.
pub fn reference(name: &str) -> Result<Reference> {
    match find(name)? {
        NamedReference::Reference(reference) => Ok(*reference),
        NamedReference::Runs(runs) => {
            refuse!("{runs} is a run, and --against of a run takes a reference; give --expect {runs}")
        }
    }
}

pub fn in_common<'a>(run: &'a Run, reference: &'a Reference) -> Result<Against<'a>> {
    against(run, reference).ok_or_else(|| {
        let (run, name) = (&run.name, &reference.name);
        let sentence =
            say!("the run {run} has none of the values of {name}; measure what hostmark explain {name} lists");
        EndsWith(Exit::BadInput, sentence).into()
    })
}
