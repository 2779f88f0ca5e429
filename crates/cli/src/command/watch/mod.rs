//! `hostmark watch`: measures in short turns for hours or weeks, each a run of one series.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hostmark_analysis::format::percent;
use hostmark_engine::Wall;
use hostmark_engine::plan::profile_limits;
use hostmark_model::timestamp::Timestamp;
use hostmark_model::{Exit, Lang, Profile, SeriesTurn};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use self::turns::{TurnFiles, Turns};
use super::measure::inputs::bytes;
use super::measure::{MeasuredMachine, own_file};
use super::run::run_name;
use crate::language::{refuse, refused, said};
use crate::signals::StopRequest;
use crate::world::World;
use crate::{output, store};

mod turns;

/// A series of which nobody gave the name is called so, or so with a number.
const USUAL_NAME: &str = "watch";

#[derive(Debug, Args)]
pub struct WatchArguments {
    /// What to measure: groups, probes or cases [default: the constants of the first screen]
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Time from turn to turn, e.g. 90s, 10m or 1h [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = span)]
    every: Option<f64>,
    /// How long to watch, e.g. 3h, 24h or 7d [default: 24h]
    #[arg(long = "for", value_name = "TIME", value_parser = span)]
    for_s: Option<f64>,
    /// Name of the series [default: watch, watch-2, …]
    #[arg(long, value_name = "NAME", value_parser = run_name)]
    series: Option<String>,
    /// Continue this series, e.g. after a reboot
    #[arg(long, value_name = "NAME", conflicts_with_all = ["filters", "series", "once", "print_timer"])]
    resume: Option<String>,
    /// CPU time of all turns at most, in percent of one CPU [default: 2]
    #[arg(long, value_name = "PERCENT", value_parser = typed_percent, hide_short_help = true)]
    max_cpu: Option<f64>,
    /// Bytes of all series of the store at most, e.g. 500M [default: 2G]
    #[arg(long, value_name = "SIZE", value_parser = bytes, hide_short_help = true)]
    max_size: Option<u64>,
    /// Measure one turn, and end: for a timer
    #[arg(long, requires = "series", conflicts_with = "for_s")]
    once: bool,
    /// Write each turn to this file for node_exporter's textfile collector
    #[arg(long, value_name = "FILE")]
    prometheus: Option<PathBuf>,
    /// Append each turn's cases to this file, one line of JSON each
    #[arg(long, value_name = "FILE")]
    jsonl: Option<PathBuf>,
    /// Print a systemd service and timer that take the turns
    #[arg(long, requires = "series", conflicts_with_all = ["for_s", "once"])]
    print_timer: bool,
}

/// A part of one CPU, as percent.
fn typed_percent(typed: &str) -> Result<f64, String> {
    let number = typed.trim_end_matches('%').parse::<f64>().ok().filter(|percent| *percent > 0.0 && *percent <= 100.0);
    number.ok_or_else(|| said!("give percent above 0 and up to 100, e.g. 2"))
}

/// Cases, interval and duration of a watch.
struct Watch {
    filters: Vec<String>,
    series: String,
    every_s: f64,
    /// Duration from now; none for a single turn.
    for_s: Option<f64>,
    load: Load,
}

pub fn watch(arguments: &WatchArguments, lang: Lang, world: &mut World) -> Result<Exit> {
    let load = Load::of_percent(arguments.max_cpu);
    let (watch, past) = match &arguments.resume {
        Some(name) => resumed(arguments, name, load)?,
        None => {
            let watch = begun(arguments, load)?;
            // A timer's turns follow each other.
            let is_followed = arguments.once && store::has_turns(&watch.series);
            let past = if is_followed { store::turns(&watch.series)? } else { Vec::new() };
            (watch, past)
        }
    };
    watch.load.check(watch.every_s)?;
    for file in [&arguments.prometheus, &arguments.jsonl].into_iter().flatten() {
        check_directory(file)?;
    }
    if arguments.print_timer {
        let program = own_file().map_err(anyhow::Error::msg)?;
        output::print(&units(&watch.series, watch.every_s, &arguments.again(&watch), &program, &arguments.files()));
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
    let most_bytes = arguments.max_size.unwrap_or(store::SERIES_BYTES);
    let turns = Turns { filters: &watch.filters, series: turn_of, most_bytes, files, lang, stop: &stop, wall: &**wall };
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
    let of_series = newest.and_then(|run| run.series.clone().map(|of| (run, of)));
    let Some((run, of)) = of_series.filter(|(_, of)| SPANS_S.contains(&of.every_s)) else {
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

/// Announcement of the watch, and its cost.
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
        words.extend(self.max_size.iter().flat_map(|bytes| ["--max-size".to_owned(), bytes.to_string()]));
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

/// Longest turn, seconds, most of which one CPU is busy: a turn is a glance.
const TURN_S: f64 = profile_limits(Profile::Glance).limit.as_secs() as f64;
/// The share of one CPU that is taken unless somebody asks otherwise.
const USUAL_SHARE: f64 = 0.02;

/// The share of one CPU that a watch may use on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load(f64);

impl Load {
    fn of_percent(percent: Option<f64>) -> Load {
        Load(percent.map_or(USUAL_SHARE, |percent| percent / 100.0))
    }

    /// This, or what turns of this distance use.
    fn at_least_of(self, every_s: f64) -> Load {
        Load(self.0.max((TURN_S / every_s).min(1.0)))
    }

    /// Refuses turns that follow each other faster than that.
    pub fn check(self, every_s: f64) -> Result<()> {
        // An error of rounding is no second.
        let least_s = (TURN_S / self.0 - 1e-6).ceil();
        if every_s >= least_s {
            return Ok(());
        }
        let (every, least, used, most) = (shown(every_s), shown(least_s), self.of(every_s), percent(self.0));
        Err(refused!(
            "--every {every} would use {used} of one CPU, and {most} is the limit; give --every {least} or longer, or raise --max-cpu"
        ))
    }

    /// Largest CPU share of turns at this distance, as text.
    pub fn of(self, every_s: f64) -> String {
        percent(TURN_S / every_s)
    }

    /// Time after which the average load is met again after so much CPU time.
    fn kept_after(self, used: Duration) -> Duration {
        Duration::from_secs_f64(used.as_secs_f64() / self.0)
    }
}

/// The time of a watch since it began. A mock's goes on without waiting.
pub struct Pace<'a> {
    wall: &'a dyn Wall,
    begun: Duration,
    waits: bool,
    skipped: Duration,
}

impl<'a> Pace<'a> {
    pub fn new(wall: &'a dyn Wall, waits: bool) -> Pace<'a> {
        Pace { wall, begun: wall.elapsed(), waits, skipped: Duration::ZERO }
    }

    pub fn elapsed(&self) -> Duration {
        self.wall.elapsed().saturating_sub(self.begun) + self.skipped
    }

    pub fn wait(&mut self, until: Duration, stop: &StopRequest) {
        if !self.waits {
            self.skipped += until.saturating_sub(self.elapsed());
            return;
        }
        let readable = stop.readable();
        while let Some(left) = until.checked_sub(self.elapsed()).filter(|left| !left.is_zero())
            && stop.signal().is_none()
        {
            // A signal ends the wait as well.
            let _ = poll(&mut [PollFd::new(&*readable, PollFlags::IN)], Timespec::try_from(left).ok().as_ref());
        }
    }
}

/// Units of a span, the largest first.
const UNITS: [(char, f64); 4] = [('d', 86_400.0), ('h', 3600.0), ('m', 60.0), ('s', 1.0)];

/// Times that are taken, seconds. A year at most: who watches for longer resumes.
const SPANS_S: std::ops::RangeInclusive<f64> = 1.0..=366.0 * 86_400.0;

/// A time as a person types it, in seconds: `90s`, `10m`, `1h30m`, `7d`.
pub fn span(typed: &str) -> Result<f64, String> {
    let mut seconds = 0.0;
    let mut rest = typed;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest[..digits].parse::<u32>().ok();
        let unit = rest[digits..].chars().next().and_then(|c| UNITS.iter().find(|(unit, _)| *unit == c));
        let (Some(number), Some((_, of_unit))) = (number, unit) else { return Err(no_span()) };
        seconds += f64::from(number) * of_unit;
        rest = &rest[digits + 1..];
    }
    if SPANS_S.contains(&seconds) { Ok(seconds) } else { Err(no_span()) }
}

fn no_span() -> String {
    said!("give a time up to a year, e.g. 90s, 10m, 24h or 7d")
}

/// A time as it is typed: `8m20s`.
pub fn shown(seconds: f64) -> String {
    let mut left = seconds.round();
    let mut text = String::new();
    for (unit, of_unit) in UNITS {
        // A day is `24h` to everybody.
        let count = if unit == 'd' && left < 2.0 * of_unit { 0.0 } else { (left / of_unit).floor() };
        left -= count * of_unit;
        if count > 0.0 {
            text += &format!("{count}{unit}");
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// Both units in one text, each under its file's name. `again` is what follows `hostmark watch`.
pub fn units(series: &str, every_s: f64, again: &[String], program: &Path, writes_to: &[PathBuf]) -> String {
    let name = format!("hostmark-watch-{series}");
    let words: Vec<String> = again.iter().map(|word| quoted(word)).collect();
    let mut text = format!(
        "# /etc/systemd/system/{name}.service\n\
         [Unit]\n\
         Description=A turn of the hostmark series {series}\n\
         Documentation=man:hostmark(1)\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         StateDirectory=hostmark\n\
         Environment=XDG_DATA_HOME=%S\n\
         ExecStart={} --quiet watch {}\n\
         TimeoutStartSec=2min\n\
         KillMode=mixed\n\
         # Mounts alone confine it: a seccomp filter or a limit of CPU would be measured.\n\
         ProtectSystem=strict\n\
         ProtectHome=read-only\n\
         PrivateTmp=yes\n",
        quoted(&program.display().to_string()),
        words.join(" "),
    );
    for directory in writes_to {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "ReadWritePaths={}", quoted(&directory.display().to_string()));
    }
    let every = shown(every_s);
    text + &format!(
        "\n# /etc/systemd/system/{name}.timer; then: systemctl enable --now {name}.timer\n\
         # XDG_DATA_HOME=/var/lib hostmark report {series}\n\
         [Unit]\n\
         Description=Turns of the hostmark series {series}\n\
         \n\
         [Timer]\n\
         OnBootSec=2min\n\
         OnUnitActiveSec={every}\n\
         AccuracySec=1s\n\
         \n\
         [Install]\n\
         WantedBy=timers.target\n"
    )
}

/// A word as systemd reads it: its own signs mean nothing in it.
fn quoted(word: &str) -> String {
    let text = word.replace('%', "%%").replace('$', "$$");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./@=,:%$".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text,
        false => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_shown() {
        for (typed, seconds) in [("90s", 90.0), ("10m", 600.0), ("1h30m", 5400.0), ("24h", 86_400.0), ("7d", 604_800.0)]
        {
            assert_eq!(span(typed).unwrap(), seconds, "{typed}");
            assert_eq!(span(&shown(seconds)).unwrap(), seconds, "{typed}");
        }
        assert_eq!(shown(500.0), "8m20s");
        assert_eq!(shown(86_400.0), "24h");
        for wrong in ["", "10", "m", "0s", "1w", "-1h", "2000d", "1.5h", "10 m", "99999999999s", "5秒"] {
            assert!(span(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn turns_that_cost_more_than_is_allowed_are_refused_with_the_shortest_that_fits() {
        let two_percent = Load::of_percent(None);
        assert!(two_percent.check(500.0).is_ok());
        assert!(two_percent.check(499.0).unwrap_err().to_string().contains("--every 8m20s"));
        assert!(Load::of_percent(Some(50.0)).check(20.0).is_ok());
        // A series goes on as often as it was allowed to.
        for every_s in [5.0, 60.0, 70.0, 333.0, 3600.0] {
            assert!(two_percent.at_least_of(every_s).check(every_s.max(TURN_S)).is_ok(), "{every_s}");
        }
        assert_eq!(two_percent.at_least_of(3600.0), two_percent);
        // What a turn used beyond what was expected puts off the next.
        assert_eq!(two_percent.kept_after(Duration::from_secs(20)), Duration::from_secs(1000));
    }

    #[test]
    fn words_mean_to_systemd_what_they_meant_to_the_shell() {
        assert_eq!(quoted("memory.read@size=64M,page=base"), "memory.read@size=64M,page=base");
        assert_eq!(quoted("/srv/100%/a b"), "\"/srv/100%%/a b\"");
        assert_eq!(quoted("$HOME\"\\"), "\"$$HOME\\\"\\\\\"");
    }
}
