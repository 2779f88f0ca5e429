//! `hostmark try TUNING`: one setting off and on within one comparison, and what it does here.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use hostmark_analysis::compare::{Comparison, Pool, SAME};
use hostmark_engine::plan;
use hostmark_engine::probe::Entry;
use hostmark_host::{Placement, Root};
use hostmark_model::{CaseId, CaseRecord, Exit, HostFacts, Lang, Outcome, Run, Text};
use hostmark_present::RenderOptions;
use hostmark_present::export::comparison;
use hostmark_present::render::trial;
use hostmark_present::render::trial::{Listed, TrialText};
use hostmark_probes::CATALOGUE;
use setting::{During, MachineSetting, Mechanism, NEAR, Neighbour, TUNINGS, Tuning, TuningSide, named};

use super::compare::NamedRuns as Runs;
use super::compare::interleave::{self, TwoSides};
use super::measure::catch;
use super::measure::inputs::{ProfileName, SampledArguments, seed};
use super::processes::Work;
use super::trial::Rounds;
use super::{compare, hand_over, measure};
use crate::command::processes::janitor;
use crate::isolate::Outside;
use crate::language::{current, refuse, refused, said};
use crate::output;

mod setting;

pub use setting::TuningTexts;

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
    /// Put back the settings that a killed try left changed
    #[arg(long, conflicts_with_all = ["tuning", "command"])]
    undo: bool,
    /// Measure this command instead
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
    if arguments.undo {
        return janitor::undo();
    }
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
    if matches!(tuning.turn, Mechanism::Axis(_)) && arguments.command.is_some() {
        refuse!("{tuning} is tried by an axis of hostmark's own probes; leave out --command", tuning = tuning.name);
    }
    let possible = sides(tuning, &host, Path::new("/"))
        .map_err(|why| refused!("{tuning} cannot be tried: {why}", tuning = tuning.name, why = why.get(lang)))?;
    let own = match arguments.filters.is_empty() && arguments.command.is_none() {
        true => own(tuning, &host),
        false => Vec::new(),
    };
    let filters: Vec<String> = own.iter().map(|(filter, _)| filter.clone()).chain(arguments.filters.clone()).collect();
    let names = [0, 1].map(|side: usize| tuning.texts.sides[side].get(lang));
    let ([without, with], [off, on]) = (of_sides(tuning, &filters)?, possible.during);
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
    let mut runs = match asked.run(&mut setting::TuningSides::new(&asked, sides, possible.cpus)?)? {
        Ok(runs) => runs,
        Err(signal) => return Ok(Exit::Signal(signal)),
    };
    runs.iter_mut().flat_map(|side| &mut side.runs).for_each(|run| make_alike(tuning, run));
    let (makes, permanent, pairs) = (tuning.texts.makes, tuning.texts.permanent, arguments.pairs);
    show(arguments, &TrialText { makes, names: own, permanent, pairs }, &runs, lang)?;
    Ok(interleave::failure(&runs))
}

/// Shows the effect here, the verdicts, and how to make it permanent.
fn show(arguments: &TryArguments, text: &TrialText, runs: &[Runs], lang: Lang) -> Result<()> {
    let pools: Vec<Pool> = runs.iter().map(Runs::pool).collect();
    let [base, new] = pools[..] else { refuse!("a trial has two sides; try again") };
    let mut comparison = match arguments.pairs > 2 {
        true => Comparison::in_turn(base, new, &[arguments.pairs as usize], SAME),
        false => Comparison::of(base, &[new], &compare::history(runs), SAME),
    };
    trial::say(&mut comparison, text);
    let format = comparison::format_named(&arguments.format);
    let format = format.with_context(|| said!("there is no such format; hostmark try --help names them"))?;
    let options = output::options_for(arguments.out.as_deref(), lang, arguments.verbose);
    hand_over(&(format.render)(&comparison, &options), arguments.out.as_deref())?;
    measure::of_all(runs.iter().flat_map(|side| &side.runs)).map_or(Ok(()), Err)
}

/// The settings that there are, and what of them this machine can try.
fn list(host: &HostFacts, options: &RenderOptions) -> String {
    let listed = TUNINGS.iter().map(|tuning| Listed {
        name: tuning.name,
        what: tuning.texts.what,
        findings: tuning.findings,
        possible: sides(tuning, host, Path::new("/")).map(drop),
    });
    trial::list(&listed.collect::<Vec<_>>(), options)
}

pub fn settings() -> impl Iterator<Item = &'static Tuning> {
    TUNINGS.iter()
}

/// The settings that concern a probe, by their names.
pub fn of_probe(id: &str) -> Vec<&'static str> {
    let is_of = |filter: &str| filter.split('@').next() == Some(id);
    let concern = TUNINGS.iter().filter(|tuning| tuning.cases.iter().any(|case| is_of(case.filter)));
    concern.map(|tuning| tuning.name).collect()
}

/// Facts about this machine that a trial needs.
#[derive(Debug, Clone)]
pub struct Sides {
    /// Conditions without, and with.
    pub during: [During; 2],
    /// The CPUs that both keep to; none for all.
    pub cpus: Option<String>,
}

/// The sides, or why there are none here.
pub fn sides(tuning: &Tuning, host: &HostFacts, root: &Path) -> Result<Sides, Text<String>> {
    let both = |during: [During; 2]| Ok(Sides { during, cpus: None });
    match tuning.turn {
        Mechanism::Axis(_) => {
            match tuning.cases.iter().all(|case| case.filter.contains(NEAR)) && near(host).is_none() {
                true => Err(two_cpus()),
                false => both([During::Usual, During::Usual]),
            }
        }
        Mechanism::HugePages if host.memory.transparent_huge_pages.as_deref().is_none_or(|mode| mode == "never") => {
            Err(term!(
                "the kernel gives no huge pages (/sys/kernel/mm/transparent_hugepage/enabled); set it to madvise first"
            )
            .to_owned_text())
        }
        Mechanism::HugePages => both([During::WithoutHugePages, During::Usual]),
        Mechanism::Neighbour(Neighbour::Idle) => match near(host) {
            Some(_) => both([During::Usual, During::Beside(Work::Spin, host.usable_cpus())]),
            None => Err(two_cpus()),
        },
        Mechanism::Neighbour(Neighbour::Busy) => {
            let Some([one, other]) = near(host).and_then(|placement| hostmark_host::pair(host, placement).ok()) else {
                return Err(two_cpus());
            };
            let during = [During::Usual, During::Beside(Work::Read, vec![other])];
            Ok(Sides { during, cpus: Some(one.to_string()) })
        }
        Mechanism::Machine(MachineSetting::NumaBalancing) if host.nodes.len() < 2 => {
            Err(term!("this machine has one memory node, between which nothing is moved").to_owned_text())
        }
        Mechanism::Machine(machine) => {
            let all = machine.here(root)?;
            let side = |side: usize| {
                During::Settings(all.iter().map(|(setting, words)| (*setting, words[side].clone())).collect())
            };
            both([side(0), side(1)])
        }
    }
}

/// The nearest placement on two CPUs that the host has.
pub fn near(host: &HostFacts) -> Option<Placement> {
    Placement::ALL.into_iter().skip(1).find(|placement| hostmark_host::pair(host, *placement).is_ok())
}

fn two_cpus() -> Text<String> {
    term!("it takes two CPUs, and one can be used here; allow hostmark more (taskset, cpuset)").to_owned_text()
}

/// Note of a case on the pages that it got. Where the trial is of pages they differ, and do not prevent a comparison.
const PAGES: &str = "pages";

/// The filters of the setting's own cases, as this host has them, and what each measures.
pub fn own(tuning: &Tuning, host: &HostFacts) -> Vec<(String, Text)> {
    let near = near(host).map(|placement| placement.name());
    let possible = tuning.cases.iter().filter(|case| near.is_some() || !case.filter.contains(NEAR));
    possible.map(|case| (case.filter.replace(NEAR, near.unwrap_or_default()), case.name)).collect()
}

fn of_sides(tuning: &Tuning, filters: &[String]) -> Result<[Vec<String>; 2]> {
    let Mechanism::Axis(axes) = tuning.turn else { return Ok([filters.to_vec(), filters.to_vec()]) };
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for filter in filters {
        let (name, points) = filter.split_once('@').map_or((filter.as_str(), ""), |(name, points)| (name, points));
        for entry in plan::pick(CATALOGUE, &[name.to_owned()])? {
            let Some([axis, off, on]) = axis_of(axes, &entry, points) else { continue };
            let id = entry.id();
            let points = if points.is_empty() { String::new() } else { format!("{points},") };
            without.push(format!("{id}@{points}{axis}={off}"));
            with.push(format!("{id}@{points}{axis}={on}"));
        }
    }
    if without.is_empty() {
        let names: Vec<&str> = axes.iter().map(|[axis, ..]| *axis).collect();
        let (tuning, names, filters) = (tuning.name, names.join("/"), filters.join(", "));
        refuse!(
            "{tuning} tries the axis {names}, and no probe of {filters} has it, or its point is given; leave the filter out \
             (hostmark list shows the axes)"
        );
    }
    Ok([without, with])
}

/// The first of these axes that a probe has; none where the filter itself says where it stands.
fn axis_of<'a>(axes: &'a [[&'static str; 3]], entry: &Entry, points: &str) -> Option<&'a [&'static str; 3]> {
    let has = |name: &str| entry.axes().iter().any(|axis| axis.name == name);
    let axis = axes.iter().find(|[name, ..]| has(name))?;
    let is_given = points.split(',').any(|point| point.split('=').next() == Some(axis[0]));
    (!is_given).then_some(axis)
}

/// Makes the cases of a run those that the other side has as well: without the axis that is tried, and whatever pages they got.
fn make_alike(tuning: &Tuning, run: &mut Run) {
    match tuning.turn {
        Mechanism::Axis(axes) => {
            let side = |case: &CaseRecord| {
                axes.iter()
                    .find(|[axis, off, on]| case.params.get(axis).is_some_and(|value| value == *off || value == *on))
            };
            // They differ by what is tried and nothing else.
            run.settings.filters.clear();
            for case in &mut run.cases {
                if let Some([axis, ..]) = side(case) {
                    case.params.0.retain(|(name, _)| name != axis);
                    case.id = CaseId { probe: case.probe.clone(), params: case.params.clone() }.to_string();
                }
            }
        }
        Mechanism::HugePages => {
            for case in &mut run.cases {
                if let Outcome::Measured(measured) = &mut case.outcome {
                    measured.notes.remove(PAGES);
                }
            }
        }
        Mechanism::Neighbour(_) | Mechanism::Machine(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use hostmark_host::Placement;

    use super::*;
    use setting::{TUNINGS, named};

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

    #[test]
    fn an_axis_is_off_on_one_side_and_on_on_the_other() {
        let filters = |name: &str, filters: &[&str]| {
            let filters: Vec<String> = filters.iter().map(|filter| (*filter).to_owned()).collect();
            of_sides(named(name).unwrap(), &filters)
        };
        let [without, with] = filters("pipe-size", &["ipc.bandwidth@message=4K"]).unwrap();
        assert_eq!(without, ["ipc.bandwidth@message=4K,capacity=default"]);
        assert_eq!(with, ["ipc.bandwidth@message=4K,capacity=1m"]);
        let [without, _] = filters("binding", &["memory.random_access", "ipc.round_trip"]).unwrap();
        assert_eq!(without, ["memory.random_access@bind=none", "ipc.round_trip@cpus=free"]);
        let [without, with] = filters("pipe-size", &["ipc"]).unwrap();
        assert_eq!((without.len(), with.len()), (1, 1), "of a group those that have the axis");
        for wrong in ["syscall.null", "ipc.bandwidth@capacity=1m"] {
            let error = filters("pipe-size", &[wrong]).unwrap_err().to_string();
            assert!(error.starts_with("pipe-size tries the axis capacity"), "{error}");
        }
        assert!(filters("pipe-size", &["no.such"]).is_err());
        let [without, with] = filters("huge-pages", &["memory.latency"]).unwrap();
        assert_eq!(without, with);
    }

    #[test]
    fn every_case_of_every_setting_is_one_of_the_catalogue() {
        for tuning in TUNINGS {
            let filters: Vec<String> =
                tuning.cases.iter().map(|case| case.filter.replace(NEAR, Placement::SameCache.name())).collect();
            // As they stand in case ids, so that the sentence finds them.
            let points = filters.iter().filter_map(|filter| filter.split_once('@'));
            let mut values = points.flat_map(|(_, points)| points.split(',')).filter_map(|point| point.split_once('='));
            assert!(values.all(|(_, value)| hostmark_model::is_axis_value(value)), "{}", tuning.name);
            for side in of_sides(tuning, &filters).unwrap() {
                assert_eq!(side.len(), tuning.cases.len(), "{}", tuning.name);
                plan::pick(CATALOGUE, &side).unwrap();
            }
        }
    }
}
