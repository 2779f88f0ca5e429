//! `hostmark watch`: measures in short turns for hours or weeks, each a run of one series.

mod pace;
mod timer;
mod turns;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use hostmark_model::timestamp::Timestamp;
use hostmark_model::{Exit, Lang, SeriesTurn};

use self::pace::{Load, Pace, shown, span};
use self::turns::{TurnFiles, Turns};
use super::measure::machine::{MeasuredMachine, own_file};
use super::run::run_name;
use crate::language::{refuse, refused, said};
use crate::world::World;
use crate::{output, store};

/// A series of which nobody gave the name is called so, or so with a number.
const USUAL_NAME: &str = "watch";

#[derive(Debug, Args)]
pub struct WatchArguments {
    /// What to measure: groups, probes or cases [default: the constants of the first screen]
    ///
    /// A turn takes 10 seconds at most, whatever is asked for; see `hostmark run --profile glance`.
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Time from turn to turn, e.g. 90s, 10m or 1h [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = span)]
    every: Option<f64>,
    /// How long to watch, e.g. 3h, 24h or 7d [default: 24h]
    #[arg(long = "for", value_name = "TIME", value_parser = span)]
    for_s: Option<f64>,
    /// Name of the series [default: watch, watch-2, …]
    ///
    /// Wherever runs are named, the name stands for all of its turns. They lie in a directory of this name beside the run
    /// store, about 1 MB each; remove that to remove the series. `hostmark report NAME` shows how steady the machine was.
    #[arg(long, value_name = "NAME", value_parser = run_name)]
    series: Option<String>,
    /// Continue this series, e.g. after a reboot
    ///
    /// With its filters, its time from turn to turn and the CPU time that takes, until the end that was set when it began, or
    /// for --for.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["filters", "series", "once", "print_timer"])]
    resume: Option<String>,
    /// CPU time of all turns at most, in percent of one CPU [default: 2]
    ///
    /// A shorter --every than that allows is refused. A turn of a machine with many CPUs may cost more than 10 s of CPU
    /// time: the next one waits until the average is kept.
    #[arg(long, value_name = "PERCENT", value_parser = percent, hide_short_help = true)]
    max_cpu: Option<f64>,
    /// Measure one turn, and end: for a timer
    ///
    /// The turn is added to the series, whether that is new or not.
    #[arg(long, requires = "series", conflicts_with = "for_s")]
    once: bool,
    /// Write each turn to this file for node_exporter's textfile collector
    #[arg(long, value_name = "FILE")]
    prometheus: Option<PathBuf>,
    /// Append each turn's cases to this file, one line of JSON each
    #[arg(long, value_name = "FILE")]
    jsonl: Option<PathBuf>,
    /// Print a systemd service and timer that take the turns
    ///
    /// They survive reboots. Everything on the command line goes into them; nothing is measured.
    #[arg(long, requires = "series", conflicts_with_all = ["for_s", "once"])]
    print_timer: bool,
}

/// A part of one CPU, as percent.
fn percent(typed: &str) -> Result<f64, String> {
    let number = typed.trim_end_matches('%').parse::<f64>().ok().filter(|percent| *percent > 0.0 && *percent <= 100.0);
    number.ok_or_else(|| said!("give percent above 0 and up to 100, e.g. 2"))
}

/// What is measured, how often and until when.
struct Watch {
    filters: Vec<String>,
    series: String,
    every_s: f64,
    /// How long from now; none for a single turn.
    for_s: Option<f64>,
    load: Load,
}

pub fn watch(arguments: &WatchArguments, lang: Lang, world: &mut World) -> Result<Exit> {
    let load = Load::of_percent(arguments.max_cpu);
    let (watch, past) = match &arguments.resume {
        Some(name) => resumed(arguments, name, load)?,
        None => (begun(arguments, load)?, Vec::new()),
    };
    watch.load.check(watch.every_s)?;
    for file in [&arguments.prometheus, &arguments.jsonl].into_iter().flatten() {
        check_directory(file)?;
    }
    if arguments.print_timer {
        let program = own_file().map_err(anyhow::Error::msg)?;
        output::print(&timer::units(
            &watch.series,
            watch.every_s,
            &arguments.again(&watch),
            &program,
            &arguments.files(),
        ));
        return Ok(Exit::Fine);
    }
    let until = watch.for_s.map(|for_s| store::now().after(std::time::Duration::from_secs_f64(for_s)).to_string());
    if !output::is_quiet() {
        output::print(&beginning(&watch, until.as_deref()));
    }
    let World { wall, mock_machine, .. } = world;
    let pace = Pace::new(&**wall, mock_machine.is_none());
    let stop = match mock_machine {
        Some(mock) => MeasuredMachine::Mock(mock).catch()?,
        None => MeasuredMachine::local(None, &[])?.catch()?,
    };
    let turn_of = SeriesTurn { name: watch.series.clone(), every_s: watch.every_s, until };
    let files = TurnFiles { prometheus: arguments.prometheus.as_deref(), jsonl: arguments.jsonl.as_deref() };
    let turns = Turns { filters: &watch.filters, series: turn_of, files, lang, stop: &stop, wall: &**wall };
    turns.measure_all(watch.for_s, watch.load, pace, mock_machine, &past)
}

/// A new series, or one more turn of one that a timer takes.
fn begun(arguments: &WatchArguments, load: Load) -> Result<Watch> {
    let series = match &arguments.series {
        Some(name) if store::has_turns(name) && !arguments.once && !arguments.print_timer => {
            refuse!("there is a series {name} already; continue it by --resume {name}, or give another name")
        }
        Some(name) => name.clone(),
        None => {
            let numbered = (2..).map(|number| format!("{USUAL_NAME}-{number}"));
            let mut names = std::iter::once(USUAL_NAME.to_owned()).chain(numbered);
            names.find(|name| !store::has_turns(name)).unwrap_or_default()
        }
    };
    Ok(Watch {
        filters: arguments.filters.clone(),
        series,
        every_s: arguments.every.unwrap_or(600.0),
        for_s: (!arguments.once).then(|| arguments.for_s.unwrap_or(86_400.0)),
        load,
    })
}

/// The rest of a series, and its latest turns' files.
fn resumed(arguments: &WatchArguments, name: &str, load: Load) -> Result<(Watch, Vec<PathBuf>)> {
    let files = store::turns(name)?;
    let newest = files.iter().rev().find_map(|file| store::load(file).ok());
    let Some((run, of)) = newest.and_then(|run| run.series.clone().map(|of| (run, of))) else {
        refuse!("no turn of the series {name} can be read; begin a new one")
    };
    let left_s = of.until.as_deref().and_then(Timestamp::parse).map(|until| until.since(store::now()));
    let Some(for_s) = arguments.for_s.or(left_s.filter(|left_s| *left_s > 0.0)) else {
        refuse!("the series {name} has ended; give --for to go on with it")
    };
    let (filters, every_s) = (run.settings.filters, arguments.every.unwrap_or(of.every_s));
    // What was allowed when it began.
    let load = if arguments.max_cpu.is_none() { load.at_least_of(of.every_s) } else { load };
    Ok((Watch { filters, series: name.to_owned(), every_s, for_s: Some(for_s), load }, files))
}

/// What is going to be done, and what it costs.
fn beginning(watch: &Watch, until: Option<&str>) -> String {
    let Watch { series, every_s, load, .. } = watch;
    let Some(until) = until else { return String::new() };
    let (every, cpu) = (shown(*every_s), load.of(*every_s));
    said!("series {series}: a turn every {every} until {until}, at most 10 s each: {cpu} of one CPU on average\n")
}

fn check_directory(file: &Path) -> Result<()> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match directory.is_dir() {
        true => Ok(()),
        false => Err(refused!(
            "there is no directory {directory} for {file}; create it first",
            directory = directory.display(),
            file = file.display()
        )),
    }
}

impl WatchArguments {
    /// The words by which a timer takes a turn.
    fn again(&self, watch: &Watch) -> Vec<String> {
        let mut words = watch.filters.clone();
        words.extend(["--series".to_owned(), watch.series.clone(), "--once".to_owned()]);
        words.extend(["--every".to_owned(), shown(watch.every_s)]);
        words.extend(self.max_cpu.iter().flat_map(|percent| ["--max-cpu".to_owned(), percent.to_string()]));
        for (option, file) in [("--prometheus", &self.prometheus), ("--jsonl", &self.jsonl)] {
            words.extend(file.iter().flat_map(|file| [option.to_owned(), whole(file).display().to_string()]));
        }
        words
    }

    /// Directories that a turn writes to besides the store.
    fn files(&self) -> Vec<PathBuf> {
        let all = [&self.prometheus, &self.jsonl].into_iter().flatten();
        all.filter_map(|file| Some(whole(file).parent()?.to_owned())).collect()
    }
}

/// A path from the root: a service begins elsewhere.
fn whole(file: &Path) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned())
}
