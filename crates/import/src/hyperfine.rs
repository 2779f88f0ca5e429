//! Reads the JSON of hyperfine (`--export-json FILE`): the time of every run of a command.

use std::io::BufRead;

use hostmark_model::{AxisKind, Run, Unit};
use serde::Deserialize;

use super::bounded::{Amount, AtMost, Short, each_document, or_default};
use super::foreign::{Foreign, ForeignQuantity, Further, ImportedValue, Source, no_result};
use super::{ImportError, ImportFormat};
use crate::texts::hyperfine as texts;

/// hyperfine's JSON.
pub(super) const FORMAT: ImportFormat = ImportFormat { name: "hyperfine", description: texts::DESCRIPTION, read };

static SOURCE: Source = Source {
    format: "hyperfine",
    tool: "hyperfine",
    section: texts::SECTION,
    reading: texts::READING,
    programs: &[ForeignQuantity {
        id: "hyperfine.time",
        title: texts::TIME_TITLE,
        unit: Unit::Nanoseconds,
        axes: &[("command", AxisKind::Choice)],
        also: &[
            Further("user", Unit::Nanoseconds, term!("user time, mean")),
            Further("system", Unit::Nanoseconds, term!("system time, mean")),
        ],
        what: texts::TIME,
    }],
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
    #[serde(default, deserialize_with = "or_default")]
    user: Amount,
    #[serde(default, deserialize_with = "or_default")]
    system: Amount,
    #[serde(default, deserialize_with = "or_default")]
    times: AtMost<Amount, MOST_RUNS>,
    /// None for one that a signal ended.
    #[serde(default, deserialize_with = "or_default")]
    exit_codes: AtMost<Option<i64>, MOST_RUNS>,
}

fn read(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    let what = "what hyperfine wrote with --export-json";
    let mut run = Foreign::of(&SOURCE);
    let (line, rest) = each_document(input, what, |file: HyperfineFile| {
        file.results.0.iter().try_for_each(|command| keep_command(&mut run, command))
    })?;
    run.rest = rest;
    run.finish(line, || no_result(what))
}

fn keep_command(
    run: &mut Foreign,
    HyperfineCommand { command, mean, user, system, times, exit_codes }: &HyperfineCommand,
) -> Result<(), String> {
    let times = if times.0.is_empty() { vec![*mean] } else { times.0.clone() };
    let mut value = ImportedValue::new("hyperfine.time", times.iter().map(|time| time.0 * 1e9).collect())
        .at("command", run.distinct(&command.0))
        .and("user", Some(user.0 * 1e9))
        .and("system", Some(system.0 * 1e9))
        .note("command", &command.0);
    let bad = exit_codes.0.iter().filter(|code| **code != Some(0)).count();
    value.unconfirmed = (bad > 0).then(|| format!("{bad} of {} runs did not end with exit code 0", exit_codes.0.len()));
    run.keep(value)
}
