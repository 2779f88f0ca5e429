//! The turns of a watch: each is measured, kept and told before the next.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use anyhow::Result;
use hostmark_analysis::over_time::{THINNED, Turn, slower};
use hostmark_engine::Wall;
use hostmark_engine::sys::place::Place;
use hostmark_engine::sys::usage;
use hostmark_engine::worker::far::NoPeers;
use hostmark_model::{CaseRecord, Exit, Inputs, Lang, Message, Outcome, Profile, Run, RunRequest, SeriesTurn};
use hostmark_present::{RenderOptions, export};

use super::{Load, Pace, shown};
use crate::command::measure::ready::{Ready, RunWall};
use crate::command::measure::{Means, MeasuredMachine};
use crate::command::runs::kept;
use crate::command::{exit_of, measure, sentence};
use crate::language::said;
use crate::progress::Bar;
use crate::signals::StopRequest;
use crate::store::RunFiles;
use crate::world::MockMachine;
use crate::{output, store};

/// Turns that a new one is held against, at most.
const BEFORE: usize = 20;
/// Values that are told of a turn.
const FEW: usize = 3;

/// A turn's run, and where it goes or why nowhere.
type MeasuredTurn = (Run, Result<RunFiles, String>);

/// The files that each turn is written to besides the series, where a person asked for them.
pub struct TurnFiles<'a> {
    pub prometheus: Option<&'a Path>,
    pub jsonl: Option<&'a Path>,
}

pub struct Turns<'a> {
    pub filters: &'a [String],
    pub series: SeriesTurn,
    pub most_bytes: u64,
    pub files: TurnFiles<'a>,
    pub lang: Lang,
    pub stop: &'a StopRequest,
    pub wall: &'a dyn Wall,
}

impl Turns<'_> {
    /// Takes turns for so long, or one; ends sooner where the person asks to stop. A turn that fails is told.
    pub fn measure_all(
        self,
        for_s: Option<f64>,
        load: Load,
        mut pace: Pace,
        mock: &mut Option<MockMachine>,
        past: &[PathBuf],
    ) -> Result<Exit> {
        let (end, every) = (for_s.map(Duration::from_secs_f64), Duration::from_secs_f64(self.series.every_s));
        let latest = past.iter().rev().take(BEFORE).rev();
        let mut before: Vec<Turn> = latest.filter_map(|file| Turn::of(&store::load(file).ok()?)).collect();
        let mut number = past.len();
        let (mut exit, mut kept, mut taken, mut is_put_off) = (Exit::Fine, 0, 0_u32, false);
        // A mock's process does other things as well.
        let counted: fn() -> io::Result<u64> = if mock.is_none() { usage::cpu_ns_of_all_own } else { || Ok(0) };
        let used_before = counted().unwrap_or(0);
        let used = || Duration::from_nanos(counted().unwrap_or(0).saturating_sub(used_before));
        loop {
            let begun = pace.elapsed();
            (number, taken) = (number + 1, taken + 1);
            match self.measure_one(mock) {
                Ok(None) => {}
                Ok(Some((run, place))) => {
                    let (line, (is_kept, saved)) = (self.line(&run, &before, number), self.save(&run, place));
                    kept += usize::from(is_kept);
                    exit = exit.or(saved).or(crate::command::run::exit_of(&run, None));
                    if !output::is_quiet() {
                        output::print(&line);
                    }
                    if let Some((case, why)) = run.cases.iter().find_map(failure) {
                        output::complain(&said!("turn {number}: {case} failed: {why}"));
                    }
                    before.extend(Turn::of(&run));
                    before.drain(..before.len().saturating_sub(BEFORE));
                }
                // What cannot be measured at all is not tried for a day.
                Err(error) if taken == 1 => return Err(error),
                Err(error) => {
                    let why = sentence(&error);
                    output::complain(&said!("turn {number} failed: {why}"));
                    exit = exit.or(exit_of(&error));
                }
            }
            let used = used();
            if let Some(signal) = self.stop.signal() {
                exit = exit.or(Exit::Signal(signal));
                break;
            }
            let Some(end) = end else { break };
            let next = (begun + every).max(pace.elapsed());
            let kept_after = load.kept_after(used);
            if kept_after > next && !is_put_off {
                is_put_off = true;
                let (cost, wait) = (shown(used.as_secs_f64() / f64::from(taken)), shown(kept_after.as_secs_f64()));
                output::remark(&said!(
                    "a turn costs {cost} of CPU time here, more than expected: the next one waits until {wait} after the start"
                ));
            }
            let next = next.max(kept_after);
            if next >= end {
                break;
            }
            pace.wait(next, self.stop);
            if let Some(signal) = self.stop.signal() {
                exit = exit.or(Exit::Signal(signal));
                break;
            }
        }
        if !output::is_quiet() {
            output::print(&self.ending(kept, used(), pace.elapsed()));
        }
        Ok(exit)
    }

    /// Measures a turn; none where the person asked to stop meanwhile: a part of a glance says little.
    fn measure_one(&self, mock: &mut Option<MockMachine>) -> Result<Option<MeasuredTurn>> {
        let before = [self.wall.elapsed(), self.wall.report_delay()];
        let wall = RunWall { wall: self.wall, before, used: Duration::ZERO };
        let machine = match mock {
            Some(mock) => MeasuredMachine::Mock(mock),
            None => MeasuredMachine::local(None, &[])?,
        };
        let inputs = Inputs::default();
        let host = machine.facts(&inputs);
        let request = RunRequest {
            filters: self.filters.to_vec(),
            profile: Profile::Glance,
            seed: None,
            set: Vec::new(),
            table: None,
            inputs,
            via: Vec::new(),
            begun: None,
        };
        let mut ready = Ready::fresh(&request, host, &machine, &wall)?;
        // What cannot be measured at all leaves no series.
        let place = RunFiles::of_turn(&self.series.name, &ready.run.host.hostname);
        ready.run.series = Some(self.series.clone());
        if let Ok(place) = &place {
            ready.run.name.clone_from(&place.name);
        }
        let mut bar = Bar::new();
        let means = Means { machine, stop: self.stop, wall: &wall, peers: &NoPeers };
        let measured = measure::measure(ready, means, &mut bar, None);
        bar.finish();
        let mut run = measured?.run;
        if run.interrupted.is_some() {
            return Ok(None);
        }
        if let Some(nothing) = measure::error(&run) {
            return Err(nothing);
        }
        kept::judge(&mut run);
        Ok(Some((run, place)))
    }

    /// Keeps a turn, and writes the files that a person asked for. Each that cannot be written is told, and the watch goes on.
    /// True where the turn itself was kept.
    fn save(&self, run: &Run, place: Result<RunFiles, String>) -> (bool, Exit) {
        let mut exit = Exit::Fine;
        let mut failed = |what: &str, why: &dyn std::fmt::Display| {
            exit = Exit::ResourceLost;
            output::complain(&said!(
                "{what} could not be written ({why}); make room or free the path: the watch goes on"
            ));
        };
        let unkept = match place {
            Err(why) => Some((self.series.name.clone(), why)),
            Ok(place) => place.save(run).err().map(|error| (place.file.display().to_string(), error.to_string())),
        };
        if let Some((what, why)) = &unkept {
            failed(what, why);
        }
        let series = &self.series.name;
        match thin(series, self.most_bytes) {
            Ok(others) => others.iter().for_each(|(other, turns)| {
                output::remark(&said!(
                    "--max-size: the oldest turns of {other} were removed ({turns}); all series share it"
                ));
            }),
            Err(error) => {
                output::complain(&said!("old turns of {series} cannot be removed ({error}); become their owner"));
            }
        }
        let text = |format: &str| {
            let format = export::format_named(format);
            format.map_or_else(String::new, |format| format.render_one(run, &RenderOptions::default()))
        };
        if let Some(file) = self.files.prometheus
            && let Err(error) = store::write(file, &text("prometheus"))
        {
            failed(&file.display().to_string(), &error);
        }
        if let Some(file) = self.files.jsonl
            && let Err(error) = append(file, &text("jsonl"))
        {
            failed(&file.display().to_string(), &error);
        }
        (unkept.is_none(), exit)
    }

    /// Line about a turn: the number of values, and the ones slower than before.
    fn line(&self, run: &Run, before: &[Turn], number: usize) -> String {
        let turn = Turn::of(run);
        let values = turn.as_ref().map_or(0, |turn| turn.values.len());
        let slower = turn.as_ref().map_or_else(Vec::new, |turn| slower(turn, before));
        let named =
            slower.iter().take(FEW).map(|(subject, times)| format!("{} {times:.2}x", subject.name.get(self.lang)));
        let named = named.collect::<Vec<_>>().join(said!(", ").as_str());
        let started = &run.started;
        match (slower.len(), slower.len().saturating_sub(FEW)) {
            (0, _) => {
                said!("{started}  turn {number}: {values} values\n")
            }
            (_, 0) => said!("{started}  turn {number}: {values} values; slower than before: {named}\n"),
            (_, more) => {
                said!("{started}  turn {number}: {values} values; slower than before: {named} and {more} more\n")
            }
        }
    }

    fn ending(&self, kept: usize, used: Duration, elapsed: Duration) -> String {
        let name = &self.series.name;
        let directory = store::series(name).map_or_else(String::new, |path| path.display().to_string());
        let share = used.as_secs_f64() / elapsed.as_secs_f64().max(self.series.every_s);
        let share = hostmark_analysis::format::percent(share);
        said!("{kept:turn} kept in {directory}, {share} of one CPU on average\nreport: hostmark report {name}\n")
    }
}

/// The case and its reason, where it failed.
fn failure(case: &CaseRecord) -> Option<(&str, Message)> {
    match &case.outcome {
        Outcome::Failed { reason } => Some((&case.id, reason.into())),
        _ => None,
    }
}

/// Adds lines to a file, also where another watch has made it meanwhile.
fn append(file: &Path, text: &str) -> io::Result<()> {
    let append = || Place::find(file)?.append(text.as_bytes());
    append().or_else(|error| if error.kind() == io::ErrorKind::AlreadyExists { append() } else { Err(error) })
}

/// Characters of a turn's name that are its time, its hour and its day: `20261121T061500Z-…`.
const TIME: [usize; 3] = [16, 11, 8];

/// Removes turns of this series that are one too many, and of all that exceed the size the oldest; never the newest of a series. A file
/// that is no turn by its name stays. Returns how many turns of which other series went.
pub fn thin(series: &str, most_bytes: u64) -> Result<BTreeMap<String, usize>> {
    let now = store::now();
    let [hourly, daily] =
        THINNED.map(|(days, _)| now.days_before(days).map_or(String::new(), |time| store::moment(time).0));
    let length = |time: &str| TIME[usize::from(*time < *hourly) + usize::from(*time < *daily)];
    let (mut unwanted, mut kept) = (Vec::new(), Vec::new());
    for name in store::series_names() {
        let mut before = String::new();
        let mut turns: Vec<(String, PathBuf)> = store::turns(&name)?.into_iter().filter_map(timed).collect();
        let newest = turns.pop();
        for (time, file) in turns {
            let part = time[..length(&time)].to_owned();
            match name == series && part == before && part.len() < TIME[0] {
                true => unwanted.push((name.clone(), file)),
                false => kept.push((time, name.clone(), file)),
            }
            before = part;
        }
        kept.extend(newest.map(|(_, file)| (String::from("newest"), name, file)));
    }
    kept.sort();
    let mut bytes = 0;
    for (time, name, file) in kept.into_iter().rev() {
        bytes += fs::symlink_metadata(&file).map_or(0, |facts| facts.len());
        if bytes > most_bytes && time != "newest" {
            unwanted.push((name, file));
        }
    }
    let mut others = BTreeMap::new();
    for (name, file) in unwanted {
        match Place::entry(&file).and_then(|place| place.remove()) {
            // Another watch was faster.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            Ok(()) if name != series => *others.entry(name).or_default() += 1,
            _ => {}
        }
    }
    Ok(others)
}

/// A turn's file, behind the time in its name.
fn timed(file: PathBuf) -> Option<(String, PathBuf)> {
    let time = file.file_name()?.to_str()?.get(..TIME[0])?.to_owned();
    let is_time = time.bytes().enumerate().all(|(at, byte)| match at {
        8 => byte == b'T',
        15 => byte == b'Z',
        _ => byte.is_ascii_digit(),
    });
    is_time.then_some((time, file))
}
