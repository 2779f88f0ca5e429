//! Reads the JSON of hyperfine (`--export-json FILE`): the time of every run of a command.

use std::collections::HashSet;
use std::io::BufRead;

use hostmark_model::AxisKind::Choice;
use hostmark_model::Run;
use hostmark_model::Unit::Nanoseconds;
use hostmark_stats::descriptive::median;
use serde::Deserialize;

use super::bounded::{Amount, AtMost, NameMap, Short, shortened};
use super::foreign::{Foreign, Further, ImportedValue, quantity, read_documents};
use super::{ImportError, ImportFormat};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "hyperfine",
    tool: "hyperfine",
    what: "what hyperfine wrote with --export-json",
    nothing: "the file has no result",
    texts: crate::texts::hyperfine::TEXTS,
    programs: &[quantity("hyperfine.time", Nanoseconds, &[("command", Choice)]).with(&[
        Further("user", Nanoseconds, term!("user time, mean")),
        Further("system", Nanoseconds, term!("system time, mean")),
    ])],
    read,
};

const MOST_RUNS: usize = 20_000;

#[derive(Deserialize)]
struct HyperfineFile {
    results: AtMost<HyperfineCommand, 2000>,
}

#[derive(Deserialize)]
struct HyperfineCommand {
    command: Short,
    mean: Amount,
    user: Option<Amount>,
    system: Option<Amount>,
    times: Option<AtMost<Amount, MOST_RUNS>>,
    parameters: Option<NameMap<Short>>,
    /// None for one that a signal ended.
    exit_codes: Option<AtMost<Option<i64>, MOST_RUNS>>,
}

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    read_documents(&FORMAT, input, |run, file: HyperfineFile| {
        let mut commands = file.results.0;
        let names: HashSet<String> = commands.iter().map(|one| one.command.0.clone()).collect();
        // A name of the user's own (`-n`) is the same for all parameters.
        let is_ambiguous = names.len() < commands.len();
        for HyperfineCommand { command, parameters, .. } in &mut commands {
            let parameters = parameters.take().filter(|_| is_ambiguous).unwrap_or_default().0;
            command.0.extend(parameters.iter().map(|(name, value)| format!(" {name}={}", value.0)));
        }
        commands.into_iter().try_for_each(|command| keep_command(run, command))
    })
}

fn keep_command(
    run: &mut Foreign,
    HyperfineCommand { command: Short(command), mean, user, system, times, exit_codes, .. }: HyperfineCommand,
) -> Result<(), String> {
    let ns = |Amount(seconds): Amount| seconds * 1e9;
    let times = times.map(|times| times.0).filter(|times| !times.is_empty()).unwrap_or_else(|| vec![mean]);
    let is_zero = median(&times.iter().map(|time| time.0).collect::<Vec<f64>>()) == Some(0.0);
    let mut value = ImportedValue::new("hyperfine.time", times.into_iter().map(ns).collect())
        .at("command", run.distinct(&command))
        .and("user", user.map(ns))
        .and("system", system.map(ns))
        .note("command", &command);
    let codes = exit_codes.unwrap_or_default().0;
    let bad = codes.iter().filter(|code| **code != Some(0)).count();
    let problem = (bad > 0).then(|| format!("{bad} of {} runs did not end with exit code 0", codes.len()));
    (value.failed, value.unconfirmed) = if bad == codes.len() { (problem, None) } else { (None, problem) };
    if is_zero && value.failed.is_none() {
        let command = shortened(&command);
        return Err(format!(
            "the median time of '{command}' is 0, below hyperfine's resolution; measure more in a run"
        ));
    }
    run.keep(value)
}
