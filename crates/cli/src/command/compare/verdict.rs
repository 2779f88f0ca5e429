//! What a comparison comes to for who asked: its exit code, and on standard error what keeps it from being green.

use std::ops::ControlFlow;

use anyhow::Result;
use hostmark_analysis::compare::{Comparison, Open, SAME};
use hostmark_analysis::escape::visible;
use hostmark_analysis::references::{Reference, Standing, usual};
use hostmark_model::{Exit, HostFacts, Lang, Run};
use hostmark_present::RenderOptions;
use hostmark_present::export::comparison;
use hostmark_present::render::against::{Against, against};

use super::references::{self, NamedReference};
use super::sides::{NamedRuns, history};
use crate::command::runs::load;
use crate::language::{refuse, refused, said};
use crate::output;

/// What a run is held against.
pub enum Expected {
    /// Runs.
    Runs(NamedRuns),
    /// What is usual for servers of the same design.
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

    /// Whether it decides the exit code.
    pub fn decides(&self) -> bool {
        matches!(self, Expected::Runs(_) | Expected::Usual)
    }

    /// What the run comes to; the comparison is printed.
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

/// The values of a reference beside a run's.
fn show_reference(run: &Run, reference: &Reference, lang: Lang) -> Exit {
    let options = output::options(lang, false);
    match references::values_in_common(run, reference, &options) {
        Ok(table) => output::print(&format!("\n{table}")),
        Err(nothing) => output::complain(&nothing.to_string()),
    }
    Exit::Fine
}

/// What is usual for servers of a host's design.
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
            let run = load::found(run, lang)?;
            (usual_for(&run.host)?.clone(), run)
        }
        name => match references::find(name)? {
            NamedReference::Runs(base) => return Ok(ControlFlow::Continue(base)),
            NamedReference::Reference(reference) => (*reference, load::found(run, lang)?),
        },
    };
    let beside = references::in_common(&run, &reference)?;
    let text = match format {
        "table" => beside.table(options),
        "json" => beside.json(),
        other => refuse!("--format {other} does not go with --against {name}; give table or json"),
    };
    let exit = if name == USUAL { exit_beside_usual(&beside) } else { Exit::Fine };
    Ok(ControlFlow::Break((text, exit)))
}

/// What values come to beside what is usual: those that are not known to be as usual are counted on standard error.
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

/// What is told of a run that is held against others: a comparison of the cases that it was asked for, and whether any is slower by more
/// than [`SAME`].
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

/// Whether a case is not known to be the same or faster; says which and why, those that more runs would decide by their number.
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
