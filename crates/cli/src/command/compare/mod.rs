//! `hostmark compare BASE NEW…`: whether something became slower, from runs that are kept or from runs made in turn.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::PossibleValuesParser;
use hostmark_analysis::compare::{Comparison, History, LOOKS, Pool, SAME};
use hostmark_analysis::over_time::{ComparedSubject, SeriesComparison, SeriesVerdict};
use hostmark_model::{Exit, Lang, Run};
use hostmark_present::export::{comparison, over_time};

use self::interleave::{Interleaved, TwoSides};
use super::measure::inputs::{ProfileName, seed};
use super::measure::{catch, inputs};
use super::runs::chosen;
use super::trial::Rounds;
use super::{hand_over, runs};
use crate::command::runs::kept;
use crate::isolate::Outside;
use crate::language::{refuse, said};
use crate::{output, store};

pub(super) mod interleave;
pub mod verdict;

pub(super) fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(comparison::FORMATS.iter().map(|format| format.name))
}

#[derive(Debug, Args)]
pub struct CompareArguments {
    /// Base run, then the runs to compare with it
    #[arg(value_name = "BASE NEW… | FILTER…")]
    names: Vec<String>,
    /// Compare a run with a reference, e.g. x220
    #[arg(long, value_name = "REFERENCE", conflicts_with_all = ["interleave", "strict", "threshold"])]
    against: Option<String>,
    /// Measure at two places in turn, in random order
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    interleave: Vec<String>,
    /// Read the token for tcp:HOST from this file
    #[arg(long, value_name = "FILE", requires = "interleave", hide_short_help = true)]
    token_file: Option<PathBuf>,
    /// Measure this command on both sides, and nothing else
    #[arg(long, value_name = "COMMAND", value_parser = command, requires = "interleave", conflicts_with = "names")]
    command: Option<String>,
    #[command(flatten)]
    sampled: inputs::SampledArguments,
    /// Number of pairs of runs
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000),
          requires = "interleave")]
    pairs: u32,
    /// Measure until every case differs or is the same
    #[arg(long, value_name = "PERCENT", value_parser = percent, requires = "interleave", conflicts_with_all = ["pairs", "threshold"])]
    resolve: Option<f64>,
    /// Time limit for --resolve, e.g. 90s, 10m or 1h30m
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "30m", requires = "resolve", hide_short_help = true)]
    at_most: Duration,
    /// Time limit of each run
    #[arg(long, value_enum, default_value = "quick", requires = "interleave")]
    profile: ProfileName,
    /// Seed of the order and of all runs, decimal or 0x…
    #[arg(long, value_name = "N", value_parser = seed, requires = "interleave", hide_short_help = true)]
    seed: Option<u64>,
    /// Store the runs in this directory
    #[arg(long, value_name = "DIR", requires = "interleave", hide_short_help = true)]
    keep: Option<PathBuf>,
    /// Exit 1 only if a case is slower by more than PERCENT
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    threshold: Option<f64>,
    /// Exit 6 unless every case is the same or faster
    #[arg(long)]
    strict: bool,
    /// Output format
    #[arg(long, default_value = "table", value_parser = formats())]
    format: String,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print every case and the basis of every verdict
    #[arg(long, short)]
    verbose: bool,
}

/// A command that can be split into words, as it was typed.
pub(super) fn command(typed: &str) -> Result<String, String> {
    inputs::command(typed).map(|_| typed.to_owned())
}

/// A share as a person types it: `5` or `5%`; the answer is a fraction.
fn percent(typed: &str) -> Result<f64, String> {
    let number: f64 = typed.strip_suffix('%').unwrap_or(typed).trim().parse().map_err(|_| no_percentage())?;
    if number.is_finite() && number >= 0.0 { Ok(number / 100.0) } else { Err(no_percentage()) }
}

/// A time as a person types it: `90s`, `10m`, `1h30m`.
pub(super) fn time(typed: &str) -> Result<Duration, String> {
    let wanted = || said!("it is no time; give a number with its unit, as 90s, 10m or 1h30m");
    // Each unit is smaller than the one before it.
    let (mut all, mut before) = (0_u64, u64::MAX);
    for part in typed.split_inclusive(['s', 'm', 'h']) {
        let seconds = match part.chars().last() {
            Some('s') => 1,
            Some('m') => 60,
            Some('h') => 3600,
            _ => return Err(wanted()),
        };
        let digits = &part[..part.len() - 1];
        let number: u64 = digits.parse().ok().filter(|_| !digits.starts_with('+')).ok_or_else(wanted)?;
        let more = number.checked_mul(seconds).filter(|_| seconds < before);
        all = more.and_then(|more| all.checked_add(more)).ok_or_else(wanted)?;
        before = seconds;
    }
    if (1..=MOST_SECONDS).contains(&all) { Ok(Duration::from_secs(all)) } else { Err(wanted()) }
}

const MOST_SECONDS: u64 = 7 * 24 * 3600;

fn no_percentage() -> String {
    said!("it is no percentage; give a number from 0 up, as 5")
}

/// The names of all sides; with `--against` the reference's is the first. The exit code where it has no runs, and all is said.
fn names(arguments: &CompareArguments, given: Vec<String>, lang: Lang) -> Result<Result<Vec<String>, Exit>> {
    let Some(against) = &arguments.against else { return Ok(Ok(given)) };
    let run = match given.as_slice() {
        [] => "last",
        [run] => run,
        _ => refuse!("--against holds one run against a reference; give one, or none for the last"),
    };
    let options = output::options_for(arguments.out.as_deref(), lang, arguments.verbose);
    match verdict::against_named(against, run, &arguments.format, &options, lang)? {
        ControlFlow::Continue(base) => Ok(Ok(vec![base, run.to_owned()])),
        ControlFlow::Break((text, exit)) => {
            hand_over(&text, arguments.out.as_deref())?;
            Ok(Err(exit))
        }
    }
}

pub fn compare(arguments: &CompareArguments, lang: Lang) -> Result<Exit> {
    output::refuse_flood(&arguments.format, arguments.out.as_deref(), "--out FILE")?;
    let (given, chosen) = match arguments.interleave.is_empty() && arguments.against.is_none() {
        true => chosen::parted(&arguments.names),
        false => (arguments.names.clone(), chosen::Chosen::default()),
    };
    let names = match names(arguments, given, lang)? {
        Ok(names) => names,
        Err(exit) => return Ok(exit),
    };
    if arguments.interleave.is_empty() && runs::are_two(&names) {
        return of_series(arguments, &runs::compare(&names, &chosen)?, lang);
    }
    let same_within = arguments.resolve.or(arguments.threshold.filter(|threshold| *threshold > 0.0)).unwrap_or(SAME);
    let mut sides = match arguments.interleave.as_slice() {
        [a, b] => {
            let token_file = arguments.token_file.as_deref();
            let typed = [interleave::TypedSide::of(a, token_file)?, interleave::TypedSide::of(b, token_file)?];
            let stop = catch(&Outside::default())?;
            let asked = TwoSides {
                names: [a, b],
                command: arguments.command.as_deref(),
                sampled: &arguments.sampled,
                rounds: match arguments.resolve {
                    Some(_) => Rounds::Until { looks: &LOOKS, at_most: arguments.at_most },
                    None => Rounds::Fixed(arguments.pairs),
                },
                profile: arguments.profile,
                seed: arguments.seed,
                keep: arguments.keep.as_deref(),
                stop: &stop,
            };
            match asked.run(&mut Interleaved::new(&asked, typed, &arguments.names, same_within)?)? {
                Ok(sides) => sides,
                Err(signal) => return Ok(Exit::Signal(signal)),
            }
        }
        _ => read(&names, lang)?,
    };
    chosen.narrow(sides.iter_mut().flat_map(|side| &mut side.runs))?;
    let pools: Vec<Pool> = sides.iter().map(NamedRuns::pool).collect();
    let Some((base, new)) = pools.split_first() else { refuse!("there is nothing to compare; give BASE and NEW") };
    let comparison = match (arguments.interleave.is_empty(), new) {
        // Of one or two pairs alone nothing tells how far they may be off.
        (false, [new]) if arguments.pairs > 2 || arguments.resolve.is_some() => {
            let these = [arguments.pairs as usize];
            Comparison::in_turn(*base, *new, if arguments.resolve.is_some() { &LOOKS } else { &these }, same_within)
        }
        _ => Comparison::of(*base, new, &history(&sides), same_within),
    };
    let format = comparison::format_named(&arguments.format);
    let format = format.with_context(|| said!("there is no such format; hostmark compare --help names them"))?;
    let out = arguments.out.as_deref();
    hand_over(&(format.render)(&comparison, &output::options_for(out, lang, arguments.verbose)), out)?;
    if comparison.has_nothing() {
        refuse!(
            "the runs have no case that can be compared; compare runs of the same probes and axes (hostmark report RUN shows them)"
        );
    }
    let limit = arguments.threshold.unwrap_or(0.0);
    let is_strict = arguments.strict || arguments.resolve.is_some();
    let failed = if arguments.interleave.is_empty() { Exit::Fine } else { interleave::failure(&sides) };
    Ok(verdict::exit(&comparison, limit, is_strict, lang).or(failed))
}

/// Shows two series beside each other: slower as of runs, and as strict.
fn of_series(arguments: &CompareArguments, all: &SeriesComparison, lang: Lang) -> Result<Exit> {
    let out = arguments.out.as_deref();
    let options = output::options_for(out, lang, arguments.verbose);
    hand_over(&over_time::compared(all, &arguments.format, &options).unwrap_or_default(), out)?;
    let limit = arguments.threshold.unwrap_or(0.0);
    let is_slower = |one: &ComparedSubject| one.verdict == SeriesVerdict::Slower && -one.change > limit;
    let is_open = |one: &ComparedSubject| one.verdict == SeriesVerdict::Undecided;
    Ok(match () {
        () if all.subjects.iter().any(is_slower) => Exit::Found,
        () if arguments.strict && all.subjects.iter().any(is_open) => Exit::Undecided,
        () => Exit::Fine,
    })
}

/// Earlier runs that are read at most, the newest: each is some megabytes of text.
const MOST_EARLIER: usize = 60;

/// One side: what it is called, and its runs.
pub struct NamedRuns {
    pub name: String,
    pub runs: Vec<Run>,
}

impl NamedRuns {
    /// The side as a comparison takes it.
    pub fn pool(&self) -> Pool<'_> {
        Pool { name: &self.name, runs: &self.runs }
    }
}

/// The sides that a person names, the base first.
pub fn read(names: &[String], lang: Lang) -> Result<Vec<NamedRuns>> {
    if names.len() < 2 {
        refuse!("a comparison has a base and something new; give both, as hostmark compare last-1 last");
    }
    let sides = names.iter().map(|name| side(name, lang)).collect::<Result<Vec<NamedRuns>>>()?;
    let mut seen: HashMap<&str, &str> = HashMap::new();
    for side in &sides {
        for run in &side.runs {
            if let Some(other) = seen.insert(&run.id, &side.name) {
                let (run, side) = (&run.name, &side.name);
                refuse!(
                    "the run {run} is in '{other}' and again in '{side}'; a run compared with itself tells nothing, so \
                     name each run once"
                );
            }
        }
    }
    Ok(sides)
}

/// The runs that an argument means.
pub fn side(name: &str, lang: Lang) -> Result<NamedRuns> {
    let runs = chosen::files(name)?.iter().map(|file| kept::checked(file, lang)).collect::<Result<Vec<Run>>>()?;
    // `last` is another run tomorrow.
    let name = match runs.as_slice() {
        [only] if !Path::new(name).exists() => only.name.clone(),
        _ => name.to_owned(),
    };
    Ok(NamedRuns { name, runs })
}

/// Spread between stored runs of the sides' hosts. Unreadable runs are ignored.
pub fn history(sides: &[NamedRuns]) -> History {
    let mut history = History::default();
    let hosts: HashSet<&str> = sides.iter().flat_map(|side| &side.runs).map(|run| run.host.hostname.as_str()).collect();
    let mut kept = store::kept().unwrap_or_default();
    let mut summaries = store::summaries(&kept).into_iter();
    kept.retain(|_| summaries.next().is_some_and(|run| run.is_ok_and(|run| hosts.contains(run.host.as_str()))));
    for run in kept.iter().rev().take(MOST_EARLIER).filter_map(|path| store::load(path).ok()) {
        history.add(&run);
    }
    history
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit() {
        assert_eq!(time("90s"), Ok(Duration::from_secs(90)));
        assert_eq!((time("10m"), time("2h")), (Ok(Duration::from_secs(600)), Ok(Duration::from_secs(7200))));
        assert_eq!((time("1m30s"), time("1h1s")), (Ok(Duration::from_secs(90)), Ok(Duration::from_secs(3601))));
        for wrong in ["", "10", "m", "-1s", "+1s", "1d", "0s", "99999999999999999h", "１m", "1m10", "1s1m", "1m 1s"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_threshold_is_a_percentage() {
        assert_eq!(percent("5"), Ok(0.05));
        assert_eq!(percent("2.5%"), Ok(0.025));
        for wrong in ["", "x", "-1", "nan", "inf"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
