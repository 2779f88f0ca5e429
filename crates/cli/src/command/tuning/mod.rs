//! `hostmark try TUNING`: one setting off and on within one comparison, and what it does here.

mod cases;
mod catalogue;
mod possible;
mod setting;
mod side;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use hostmark_analysis::compare::{Comparison, Pool, SAME};
use hostmark_host::Root;
use hostmark_model::{Exit, HostFacts, Lang};
use hostmark_present::RenderOptions;
use hostmark_present::export::comparison;
use hostmark_present::render::trial::{self, Listed, TrialText};

pub use self::catalogue::TuningTexts;
use self::catalogue::{TUNINGS, Tuning, named};
use self::side::{TuningSide, TuningSides};
use super::compare::interleave::TwoSides;
use super::compare::sides::{self, NamedRuns as Runs};
use super::measure::empty;
use super::measure::inputs::{ProfileName, SampledArguments, seed};
use super::measure::machine::catch;
use super::trial::Rounds;
use super::{compare, hand_over};
use crate::isolate::Outside;
use crate::language::{current, refuse, refused, said};
use crate::output;

/// The settings whose names begin so, for a shell.
fn offered(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let candidate =
        |tuning: &Tuning| CompletionCandidate::new(tuning.name).help(Some(tuning.texts.what.say(current()).into()));
    TUNINGS.iter().filter(|tuning| tuning.name.starts_with(&*typed)).map(candidate).collect()
}

#[derive(Debug, Args)]
pub struct TryArguments {
    /// Setting to try [default: list them, and what this machine can try]
    #[arg(value_name = "TUNING", add = ArgValueCompleter::new(offered))]
    tuning: Option<String>,
    /// What to measure [default: the cases that the setting concerns]
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Measure this command instead
    ///
    /// Works like run --command.
    #[arg(long, value_name = "COMMAND", value_parser = compare::command, conflicts_with = "filters", requires = "tuning")]
    command: Option<String>,
    #[command(flatten)]
    sampled: SampledArguments,
    /// Number of pairs of runs
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pairs: u32,
    /// Time limit of each run
    #[arg(long, value_enum, default_value = "quick")]
    profile: ProfileName,
    /// Seed of the order, decimal or 0x… [default: a new one]
    #[arg(long, value_name = "N", value_parser = seed, hide_short_help = true)]
    seed: Option<u64>,
    /// Keep the runs in this directory
    ///
    /// They are named a-01.json (without) and b-01.json (with).
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    keep: Option<PathBuf>,
    /// Output format
    #[arg(long, default_value = "table", value_parser = compare::formats())]
    format: String,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Show every case and the basis of every verdict
    #[arg(long, short)]
    verbose: bool,
}

pub fn try_out(arguments: &TryArguments, lang: Lang) -> Result<Exit> {
    output::refuse_flood(&arguments.format, arguments.out.as_deref(), "--out FILE")?;
    let host = hostmark_host::read(&Root::here());
    let Some(name) = &arguments.tuning else {
        let out = arguments.out.as_deref();
        hand_over(&list(&host, &output::options_for(out, lang, false)), out)?;
        return Ok(Exit::Fine);
    };
    let Some(tuning) = named(name) else {
        let names: Vec<&str> = TUNINGS.iter().map(|tuning| tuning.name).collect();
        refuse!("there is no setting '{name}' to try; choose from {names}", names = names.join(", "))
    };
    if matches!(tuning.turn, catalogue::Mechanism::Axis(_)) && arguments.command.is_some() {
        refuse!("{tuning} is tried by an axis of hostmark's own probes; leave out --command", tuning = tuning.name);
    }
    let possible = possible::sides(tuning, &host, Path::new("/"))
        .map_err(|why| refused!("{tuning} cannot be tried: {why}", tuning = tuning.name, why = why.get(lang)))?;
    let own = match arguments.filters.is_empty() && arguments.command.is_none() {
        true => cases::own(tuning, &host),
        false => Vec::new(),
    };
    let filters: Vec<String> = own.iter().map(|(filter, _)| filter.clone()).chain(arguments.filters.clone()).collect();
    let names = [0, 1].map(|side: usize| tuning.texts.sides[side].get(lang));
    let ([without, with], [off, on]) = (cases::of_sides(tuning, &filters)?, possible.during);
    let side = |filters, during, word| TuningSide { filters, tried: format!("{}={word}", tuning.name), during };
    let stop = catch(&Outside::default())?;
    let asked = TwoSides {
        names,
        command: arguments.command.as_deref(),
        sampled: &arguments.sampled,
        rounds: Rounds::Fixed(arguments.pairs),
        profile: arguments.profile,
        seed: arguments.seed,
        keep: arguments.keep.as_deref(),
        stop: &stop,
    };
    let sides = [side(without, off, "off"), side(with, on, "on")];
    let mut runs = match asked.run(&mut TuningSides::new(&asked, sides, possible.cpus)?)? {
        Ok(runs) => runs,
        Err(signal) => return Ok(Exit::Signal(signal)),
    };
    runs.iter_mut().flat_map(|side| &mut side.runs).for_each(|run| cases::make_alike(tuning, run));
    let (makes, permanent, pairs) = (tuning.texts.makes, tuning.texts.permanent, arguments.pairs);
    show(arguments, &TrialText { makes, names: own, permanent, pairs }, &runs, lang)?;
    Ok(Exit::Fine)
}

/// What it does here, the verdicts, and how to make it permanent.
fn show(arguments: &TryArguments, text: &TrialText, runs: &[Runs], lang: Lang) -> Result<()> {
    let pools: Vec<Pool> = runs.iter().map(Runs::pool).collect();
    let [base, new] = pools[..] else { refuse!("a trial has two sides; try again") };
    let mut comparison = match arguments.pairs > 2 {
        true => Comparison::in_turn(base, new, &[arguments.pairs as usize], SAME),
        false => Comparison::of(base, &[new], &sides::history(runs), SAME),
    };
    trial::say(&mut comparison, text);
    let format = comparison::format_named(&arguments.format);
    let format = format.with_context(|| said!("there is no such format; hostmark try --help names them"))?;
    let options = output::options_for(arguments.out.as_deref(), lang, arguments.verbose);
    hand_over(&(format.render)(&comparison, &options), arguments.out.as_deref())?;
    empty::of_all(runs.iter().flat_map(|side| &side.runs)).map_or(Ok(()), Err)
}

/// The settings that there are, and what of them this machine can try.
fn list(host: &HostFacts, options: &RenderOptions) -> String {
    let listed = TUNINGS.iter().map(|tuning| Listed {
        name: tuning.name,
        what: tuning.texts.what,
        findings: tuning.findings,
        possible: possible::sides(tuning, host, Path::new("/")).map(drop),
    });
    trial::list(&listed.collect::<Vec<_>>(), options)
}

/// Every setting.
pub fn settings() -> impl Iterator<Item = &'static Tuning> {
    TUNINGS.iter()
}

/// The settings that concern a probe, by their names.
pub fn of_probe(id: &str) -> Vec<&'static str> {
    let is_of = |filter: &str| filter.split('@').next() == Some(id);
    let concern = TUNINGS.iter().filter(|tuning| tuning.cases.iter().any(|case| is_of(case.filter)));
    concern.map(|tuning| tuning.name).collect()
}

/// Texts of the settings, for tests.
#[cfg(test)]
fn texts() -> impl Iterator<Item = hostmark_model::Text> {
    TUNINGS.iter().flat_map(|tuning| {
        let cases = tuning.cases.iter().map(|case| case.name);
        let TuningTexts { what, makes, sides, permanent } = &tuning.texts;
        [*what, *permanent].into_iter().chain(*makes).chain(*sides).chain(cases)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_there_in_both_languages() {
        for text in texts() {
            assert!(!text.en.is_empty() && !text.zh.is_empty(), "{text:?}");
            assert!(!text.en.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c)), "{text:?}");
        }
    }

    #[test]
    fn names_are_words_of_their_own_and_findings_are_rules() {
        let rules: Vec<&str> = hostmark_analysis::findings::RULES.iter().map(|rule| rule.id).collect();
        for (index, tuning) in TUNINGS.iter().enumerate() {
            assert!(TUNINGS[..index].iter().all(|other| other.name != tuning.name), "{}", tuning.name);
            for finding in tuning.findings {
                assert!(rules.contains(finding) || finding.starts_with("host."), "{finding}");
            }
        }
    }
}
