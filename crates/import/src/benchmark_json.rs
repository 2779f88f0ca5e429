//! Reads the JSON of hyperfine (`--export-json FILE`) and of google-benchmark (`--benchmark_out=FILE`), whose repetitions are samples.

use std::collections::{BTreeMap, HashSet};
use std::io::BufRead;

use hostmark_model::AxisKind::{Choice, Count};
use hostmark_model::Unit::{BytesPerSecond, Nanoseconds, OperationsPerSecond};
use hostmark_model::timestamp::Timestamp;
use hostmark_model::{Message, ReasonCode, Run};
use hostmark_say::say;
use hostmark_stats::descriptive::median;
use serde::Deserialize;

use crate::bounded::{Amount, AtMost, NameMap, Plain, Short, shortened};
use crate::foreign::{Foreign, Further, ImportedValue, UnitKind, known, quantity, read_documents};
use crate::{ImportError, ImportFormat, NOTHING};

pub(super) const HYPERFINE: ImportFormat = ImportFormat {
    name: "hyperfine",
    tool: "hyperfine",
    what: term!("what hyperfine wrote with --export-json"),
    nothing: NOTHING,
    texts: crate::texts::hyperfine::TEXTS,
    programs: &[quantity("hyperfine.time", Nanoseconds, &[("command", Choice)]).with(&[
        Further("user", Nanoseconds, term!("user time, mean")),
        Further("system", Nanoseconds, term!("system time, mean")),
    ])],
    read: read_hyperfine,
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

fn read_hyperfine(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    read_documents(&HYPERFINE, input, |run, file: HyperfineFile| {
        let mut commands = file.results.0;
        let names: HashSet<String> = commands.iter().map(|one| one.command.0.clone()).collect();
        // A name of the user's own (`-n`) is the same for all parameters.
        let is_ambiguous = names.len() < commands.len();
        for HyperfineCommand { command, parameters, .. } in &mut commands {
            let parameters = parameters.take().filter(|_| is_ambiguous).unwrap_or_default().0;
            command.0.extend(parameters.iter().map(|(name, value)| format!(" {name}={}", value.0)));
        }
        let is_zero = |one: &HyperfineCommand| median(&one.seconds()) == Some(0.0) && one.exits().1 == 0;
        if let Some(one) = commands.first().filter(|_| commands.iter().all(is_zero)) {
            let command = shortened(&one.command.0);
            return Err(say!(
                "the median time of '{command}' is 0, below hyperfine's resolution; measure more in a run"
            ));
        }
        commands.into_iter().try_for_each(|command| keep_command(run, command))
    })
}

impl HyperfineCommand {
    fn seconds(&self) -> Vec<f64> {
        let times = self.times.iter().flat_map(|times| &times.0).map(|time| time.0).collect::<Vec<f64>>();
        if times.is_empty() { vec![self.mean.0] } else { times }
    }

    /// Number of its runs with an exit code, and of those whose code is not 0.
    fn exits(&self) -> (usize, usize) {
        let codes = self.exit_codes.as_ref().map_or(&[][..], |codes| &codes.0);
        (codes.len(), codes.iter().filter(|code| **code != Some(0)).count())
    }
}

fn keep_command(run: &mut Foreign, one: HyperfineCommand) -> Result<(), Message> {
    let ns = |seconds: f64| seconds * 1e9;
    let ((runs, bad), command) = (one.exits(), &one.command.0);
    let mut value = ImportedValue::new("hyperfine.time", one.seconds().into_iter().map(ns).collect())
        .at("command", run.distinct(command))
        .and("user", one.user.map(|time| ns(time.0)))
        .and("system", one.system.map(|time| ns(time.0)))
        .note("command", command);
    let problem = (bad > 0).then(|| say!("{bad} of {runs} runs did not end with exit code 0"));
    (value.failed, value.unconfirmed) = if bad == runs { (problem, None) } else { (None, problem) };
    run.keep(value)
}

pub(super) const GOOGLE_BENCHMARK: ImportFormat = ImportFormat {
    name: "google-benchmark",
    tool: "google-benchmark",
    what: term!("what google-benchmark wrote with --benchmark_out and --benchmark_out_format=json"),
    nothing: NOTHING,
    texts: crate::texts::google_benchmark::TEXTS,
    programs: &[quantity(
        "google_benchmark.time",
        Nanoseconds,
        &[("name", Choice), ("threads", Count), ("statistic", Choice)],
    )
    .with(&[
        Further("cpu", Nanoseconds, term!("CPU time")),
        Further("bytes", BytesPerSecond, term!("bytes")),
        Further("items", OperationsPerSecond, term!("items")),
    ])],
    read: read_google_benchmark,
};

/// Endings of the names of aggregates, for versions that do not say what is one.
const AGGREGATES: [&str; 6] = ["mean", "median", "stddev", "cv", "BigO", "RMS"];

/// Parts of the context that name the machine, the program and the time.
const NOT_ASKED: &str =
    "date host_name executable num_cpus mhz_per_cpu caches load_avg library_version json_schema_version";
#[derive(Deserialize)]
struct GoogleBenchmarkFile {
    #[serde(default)]
    context: NameMap<Plain>,
    benchmarks: AtMost<GoogleEntry, 20_000>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct GoogleEntry {
    name: Short,
    run_type: Short,
    threads: Option<Amount>,
    real_time: Option<Amount>,
    cpu_time: Option<Amount>,
    time_unit: Short,
    bytes_per_second: Option<Amount>,
    items_per_second: Option<Amount>,
    label: Short,
    error_occurred: bool,
    error_message: Short,
    skipped: bool,
    skip_message: Short,
}

impl GoogleEntry {
    /// Of which benchmark it is, and what of it.
    fn parts(&self) -> (&str, &str) {
        let ending = self.name.0.rsplit_once('_').filter(|(_, ending)| AGGREGATES.contains(ending));
        match self.run_type.0.as_str() {
            "iteration" => (&self.name.0, "each"),
            "aggregate" => ending.unwrap_or((&self.name.0, "another")),
            _ => ending.unwrap_or((&self.name.0, "each")),
        }
    }
}

fn read_google_benchmark(input: &mut dyn BufRead) -> Result<Run, ImportError> {
    read_documents(&GOOGLE_BENCHMARK, input, |run, GoogleBenchmarkFile { context, benchmarks }: GoogleBenchmarkFile| {
        let context = context.0;
        let told = |name: &str| context.get(name).map_or("", |Plain(text)| text.as_str());
        run.version_is(told("library_version"));
        told("host_name").clone_into(&mut run.host.hostname);
        run.has_cpus(told("num_cpus"));
        run.started = Timestamp::parse(told("date")).map(|time| time.to_string()).unwrap_or_default();
        run.date_is(told("date"));
        let parts = || benchmarks.0.iter().map(GoogleEntry::parts);
        let whole: HashSet<&str> = parts().filter(|(_, what)| *what == "each").map(|(name, _)| name).collect();
        benchmarks.0.iter().try_for_each(|entry| keep_entry(run, entry, &whole, &context))
    })
}

fn keep_entry(
    run: &mut Foreign,
    entry: &GoogleEntry,
    whole: &HashSet<&str>,
    context: &BTreeMap<String, Plain>,
) -> Result<(), Message> {
    let is_debug = context.get("library_build_type").is_some_and(|kind| kind.0 == "debug");
    let (name, statistic) = entry.parts();
    // What an aggregate is of says it better.
    if !["each", "mean", "median"].contains(&statistic) || (statistic != "each" && whole.contains(name)) {
        return Ok(());
    }
    let unit = known(&entry.time_unit.0).filter(|(kind, _)| *kind == UnitKind::Time).map(|(_, ns)| ns);
    let ns = |time: Option<Amount>| Some(time?.0 * unit?);
    let samples = if entry.skipped { None } else { ns(entry.real_time) };
    let mut value = ImportedValue::new("google_benchmark.time", samples.into_iter().collect())
        .at("name", run.distinct(name))
        .at("threads", entry.threads.map_or("unknown".to_owned(), |threads| threads.0.to_string()))
        .at("statistic", statistic)
        .and("cpu", ns(entry.cpu_time))
        .and("bytes", entry.bytes_per_second.map(|rate| rate.0))
        .and("items", entry.items_per_second.map(|rate| rate.0))
        .note("name", name)
        .note("label", &entry.label.0)
        .asked_but(NOT_ASKED, context);
    let (error, skip) = (&entry.error_message.0, &entry.skip_message.0);
    value.failed = entry.error_occurred.then(|| say!("the benchmark ended with an error ({error})"));
    value.unconfirmed = is_debug.then(|| say!("google-benchmark's library was built as debug, which adds time"));
    let skipped = || ReasonCode::Imported.because(say!("the benchmark was skipped ({skip})"));
    value.absent = entry.skipped.then(skipped);
    if value.samples.is_empty() && value.failed.is_none() && value.absent.is_none() {
        let (name, unit) = (shortened(name), shortened(&entry.time_unit.0));
        return Err(say!("the time of {name} is in no unit that is known ({unit})"));
    }
    run.keep(value)
}
