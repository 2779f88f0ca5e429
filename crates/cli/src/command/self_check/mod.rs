//! `hostmark self-check`: puts in things whose values are known, and checks that they come back.

use std::any::Any;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use bench::Bench;
use clap::{Args, ValueEnum};
use hostmark_analysis::fleet::planted::MadeUp;
use hostmark_analysis::reasons::in_both;
use hostmark_analysis::typography::SEMICOLON;
use hostmark_analysis::{spoken, words};
use hostmark_engine::sys::place::Directory;
use hostmark_launch::supervise::Supervised;
use hostmark_model::{Exit, HostFacts, Lang, Message, Reason, ReasonCode, Text};
use hostmark_say::say;
use limits::MeasureIn;
use serde::{Deserialize, Serialize};

use super::measure::own_program;
use super::measure::ready::own_digest;
use super::processes::janitor::Janitor;
use super::runs::kept;
use super::{lost, processes};
use crate::language::said;
use crate::{output, store};

pub mod bench;
pub mod checks;
pub mod limits;

/// The schema of a result and its major version.
const SCHEMA: &str = "hostmark.self-check/1";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
}

#[derive(Debug, Args)]
pub struct SelfCheckArguments {
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// Stored report of a self-check, for this host, boot and program.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    pub schema: String,
    pub started: String,
    pub hostname: String,
    pub boot_id: Option<String>,
    pub version: String,
    /// SHA-256 of the program.
    pub digest: Option<String>,
    pub cpu: usize,
    pub outcome: Outcome,
    pub checks: Vec<Line>,
}

pub fn self_check(arguments: &SelfCheckArguments, lang: Lang) -> Result<Exit> {
    let started = store::now().to_string();
    let mut bench = Bench::here().ok_or_else(|| lost(said!("no CPU may be used; choose some by taskset")))?;
    let is_table = arguments.format == Format::Table;
    let cpu = bench.cpu;
    if is_table && !output::is_quiet() {
        output::print(&said!(
            "Known values on CPU {cpu}, for at most 60 s; changes no setting. Without root the quota and the disk are left out\n\n"
        ));
    }
    let program = own_program()?;
    let mut start = |cpu, percent| compete(&program, cpu, percent);
    let mut measure = |around, filters: &[&str]| limits::measure_in(&program, around, filters);
    let put = PutIn::of(&bench);
    let checks = run(&mut bench, &put, &mut start, &mut measure, |line| {
        if is_table {
            output::print(&line.text(lang));
        }
    });
    let HostFacts { hostname, boot_id, .. } = bench.host;
    let (version, digest) = (env!("CARGO_PKG_VERSION").to_owned(), own_digest());
    let (schema, outcome) = (SCHEMA.to_owned(), outcome_of(&checks));
    let report = Report { schema, started, hostname, boot_id, version, digest, cpu, outcome, checks };
    let json = serde_json::to_string_pretty(&report)?;
    match arguments.format {
        Format::Json => output::print(&output::json(&json)),
        Format::Table => output::print(&summary(&report)),
    }
    store(&report, &json)?;
    Ok(exit_of(&report.checks))
}

/// Known inputs of the checks, and their expected results.
struct PutIn {
    delay_ns: Known<u64>,
    clock_rate: f64,
    cycles: RangeInclusive<u32>,
    /// Size of the L1 cache by the machine.
    l1_bytes: Option<u64>,
    slower: Known<f64>,
    competitor: Known<u8>,
    fleet: MadeUp,
    mbit: Known<u32>,
    relay: Known<(Duration, u32)>,
    quota: Known<u8>,
    reads: Known<u32>,
}

impl PutIn {
    fn of(bench: &Bench) -> PutIn {
        PutIn {
            delay_ns: Known::of(checks::PUT_DELAY_NS * bench.stretch),
            clock_rate: 1.0,
            cycles: checks::CYCLES,
            l1_bytes: bench.host.cache(bench.cpu, 1).map(|cache| cache.size_bytes),
            slower: Known::of(checks::SLOWER),
            competitor: Known::of(checks::PERCENT),
            fleet: checks::planted(),
            mbit: Known::of(limits::MBIT),
            relay: Known::of(limits::RELAYED),
            quota: Known::of(limits::QUOTA_PERCENT),
            reads: Known::of(limits::READS),
        }
    }
}

/// A check, and what it may take in seconds.
type WeighedCheck<'a> = (u32, &'a mut dyn FnMut(&mut Bench) -> Line);

/// All checks, each told as it ends. Each has its share of the time that is left, by what it may take: looks that others disturb, and
/// that are made again, leave the last ones theirs.
fn run(
    bench: &mut Bench,
    put: &PutIn,
    start: &mut checks::Start,
    measure: &mut MeasureIn,
    mut reported: impl FnMut(&Line),
) -> Vec<Line> {
    let measure = RefCell::new(measure);
    // Runs between two hosts, which take longest beside others, come last.
    let checks: [WeighedCheck; 11] = [
        (6, &mut |bench| checks::delay(bench, &put.delay_ns)),
        (3, &mut |bench| checks::sleep(bench, put.clock_rate)),
        (8, &mut |bench| checks::multiply(bench, put.cycles.clone())),
        (8, &mut |bench| checks::l1_cache(bench, put.l1_bytes)),
        (10, &mut |bench| checks::copies(bench, &put.slower)),
        (10, &mut |bench| checks::competitor(bench, &put.competitor, start)),
        (1, &mut |bench| checks::fleet(bench, &put.fleet)),
        (10, &mut |bench| limits::quota(bench, &put.quota, &mut **measure.borrow_mut())),
        (10, &mut |bench| limits::disk(bench, &put.reads, &mut **measure.borrow_mut())),
        (10, &mut |bench| limits::link(bench, &put.mbit, &mut **measure.borrow_mut())),
        (10, &mut |bench| limits::relayed(bench, &put.relay, &mut **measure.borrow_mut())),
    ];
    let mut weight_left: u32 = checks.iter().map(|(weight, _)| weight).sum();
    let done = checks.into_iter().map(|(weight, check)| {
        let now = bench.elapsed();
        bench.until = now + limits::LATEST.saturating_sub(now) * weight / weight_left;
        weight_left -= weight;
        let line = check(bench);
        reported(&line);
        line
    });
    done.collect()
}

fn outcome_of(checks: &[Line]) -> Outcome {
    let has = |outcome: Outcome| checks.iter().any(|line| line.outcome == outcome);
    [Outcome::Failed, Outcome::Error, Outcome::NotPossible]
        .into_iter()
        .find(|outcome| has(*outcome))
        .unwrap_or(Outcome::Passed)
}

/// Exit code: a check that went wrong comes before a wrong value, as in any command.
fn exit_of(checks: &[Line]) -> Exit {
    let of = |line: &Line| match line.outcome {
        Outcome::Failed => Exit::Found,
        Outcome::Error => Exit::CaseFailed,
        Outcome::Passed | Outcome::NotPossible => Exit::Fine,
    };
    checks.iter().map(of).fold(Exit::Fine, Exit::or)
}

/// The last line of a table.
fn summary(report: &Report) -> String {
    let count = |outcome: Outcome| report.checks.iter().filter(|line| line.outcome == outcome).count();
    let [passed, failed, not_possible, errors] =
        [Outcome::Passed, Outcome::Failed, Outcome::NotPossible, Outcome::Error].map(count);
    let wrong = if errors == 0 { String::new() } else { said!(", {errors} went wrong") };
    said!("\n{passed} passed, {failed} failed, {not_possible} not possible{wrong}\n")
}

/// Stores it; without a home there is no place for it, and without the boot and the program nothing that it would be known by.
fn store(report: &Report, json: &str) -> Result<()> {
    let Report { hostname, boot_id, digest, .. } = report;
    let Some(file) = kept::file(hostname, boot_id.as_deref(), digest.as_deref()) else { return Ok(()) };
    let Some(directory) = file.parent() else { return Ok(()) };
    let stored = Directory::make(directory).and_then(|_| store::write(&file, &format!("{json}\n")));
    stored.map_err(|error| {
        let file = file.display();
        lost(said!(
            "the result could not be stored in {file} ({error}); make room, or set XDG_DATA_HOME to another place"
        ))
    })
}

/// A competitor, in its janitor's charge: it ends when this is dropped, and with this process.
struct Competitor {
    process: Supervised,
    janitor: Janitor,
}

impl Drop for Competitor {
    fn drop(&mut self) {
        let _ = self.janitor.end(&mut self.process);
    }
}

/// Starts one from this program's file.
pub fn compete(program: &Path, cpu: usize, percent: u8) -> Result<Box<dyn Any>, String> {
    let mut janitor = Janitor::start(program)?;
    let process = processes::start(program, processes::Work::Duty(percent), &[cpu], &mut janitor)?;
    Ok(Box::new(Competitor { process, janitor }))
}

const MOST_LOOKS: usize = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Input came back within its bound.
    Passed,
    /// Input did not come back, and nothing known disturbed the check.
    Failed,
    /// The check itself went wrong.
    Error,
    /// This machine lacks something, or others disturbed every look.
    NotPossible,
}

impl Outcome {
    const fn word(self) -> Text {
        match self {
            Outcome::Passed => term!("ok          "),
            Outcome::Failed => term!("FAILED      "),
            Outcome::Error => term!("ERROR       "),
            Outcome::NotPossible => term!("not possible"),
        }
    }
}

/// Input and expected result: another value only where a test breaks a bound.
pub struct Known<T> {
    pub put: T,
    pub expected: T,
}

impl<T: Copy> Known<T> {
    pub fn of(put: T) -> Known<T> {
        Known { put, expected: put }
    }
}

pub struct Attempt {
    pub back: Message,
    /// True where that lies within the bound; or the reason why the attempt cannot tell.
    pub is_within: Result<bool, Message>,
}

/// A check, and how it ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Line {
    pub id: String,
    pub outcome: Outcome,
    put_in: Text<String>,
    /// Result; none where nothing came back.
    came_back: Option<Text<String>>,
    pub bound: Text<String>,
    /// Reason why it is not possible, or what went wrong.
    pub reason: Option<Text<String>>,
    pub looks: usize,
    pub seconds: f64,
}

impl Line {
    /// The line as a person reads it.
    pub fn text(&self, lang: Lang) -> String {
        let (word, put, bound) = (self.outcome.word().say(lang), self.put_in.get(lang), &self.bound);
        let parts = Message::joined(self.came_back.iter().chain(&self.reason), SEMICOLON);
        spoken(&say!("{word}  {put}: {parts} (bound: {bound})\n"), lang)
    }
}

/// Input of a check, and the bound of its result.
pub struct Check {
    pub id: &'static str,
    put_in: Message,
    pub bound: Message,
    /// After this time no further look begins.
    pub limit: Duration,
    /// True where the input uses the CPU as other programs do: each attempt says by itself whether others disturbed it.
    puts_others_in: bool,
}

impl Check {
    /// Looks until what came back is within the bound. Others and other guests can hide the right value, for seconds and
    /// without a trace in the kernel's counters, and cannot make one; a wrong method is wrong in every look. A check fails
    /// where nothing disturbed most of its looks.
    pub fn judge(self, bench: &mut Bench, mut look: impl FnMut(&mut Bench) -> Result<Attempt, Unseen>) -> Line {
        let begun = bench.elapsed();
        let (mut looks, mut undisturbed, mut last, mut why) = (0, 0, None, None);
        let outcome = loop {
            let (looked, disturbance) = bench.watched(&mut look);
            let disturbance = disturbance.filter(|_| !self.puts_others_in);
            let mut is_over = looked.is_err();
            match looked {
                Err(Unseen::Error(reason)) => {
                    why = Some(reason);
                    break Outcome::Error;
                }
                Err(Unseen::Impossible(reason)) => why = Some(reason),
                Ok(Attempt { back, is_within }) => {
                    looks += 1;
                    last = Some(back);
                    match (is_within, disturbance) {
                        (Ok(true), _) => break Outcome::Passed,
                        (Ok(false), None) => undisturbed += 1,
                        (Ok(false), disturbance) => why = disturbance,
                        (Err(untold), disturbance) => why = disturbance.or(Some(untold)),
                    }
                }
            }
            is_over |= looks >= MOST_LOOKS || bench.elapsed() >= (begun + self.limit).min(bench.until);
            if is_over {
                break if 2 * undisturbed > looks { Outcome::Failed } else { Outcome::NotPossible };
            }
        };
        let why = why.filter(|_| matches!(outcome, Outcome::NotPossible | Outcome::Error));
        let seconds = (bench.elapsed() - begun).as_secs_f64();
        self.ended(outcome, last, why, (looks, seconds))
    }

    /// One that cannot be made here.
    pub fn impossible(self, reason: Message) -> Line {
        self.ended(Outcome::NotPossible, None, Some(reason), (0, 0.0))
    }

    fn ended(
        self,
        outcome: Outcome,
        came_back: Option<Message>,
        reason: Option<Message>,
        (looks, seconds): (usize, f64),
    ) -> Line {
        let [put_in, bound] = [self.put_in, self.bound].map(words);
        let [came_back, reason] = [came_back, reason].map(|said| said.map(words));
        Line { id: self.id.into(), outcome, put_in, came_back, bound, reason, looks, seconds }
    }
}

#[derive(Debug)]
pub enum Unseen {
    /// This machine lacks something, or others had it.
    Impossible(Message),
    Error(Message),
}

impl From<Message> for Unseen {
    fn from(why: Message) -> Unseen {
        Unseen::Impossible(why)
    }
}

impl From<String> for Unseen {
    fn from(why: String) -> Unseen {
        Unseen::Impossible(in_both(Message::finished(why)))
    }
}

impl From<&Reason> for Unseen {
    /// Converts the reason for a missing value: wrong data and dying processes are no property of a machine on which this can be measured.
    fn from(reason: &Reason) -> Unseen {
        use ReasonCode::{CheckFailed, Internal, MemoryError, NoValue, ProcessDied, Protocol};
        let why = in_both(reason);
        match reason.code {
            Some(CheckFailed | Internal | MemoryError | NoValue | ProcessDied | Protocol) => Unseen::Error(why),
            _ => Unseen::Impossible(why),
        }
    }
}

#[cfg(test)]
mod tests;
