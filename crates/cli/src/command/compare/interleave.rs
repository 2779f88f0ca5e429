//! Two commands that measure in turn, in random order, so that what drifts meanwhile meets both alike (Abedi & Brecht,
//! "Conducting repeatable experiments in highly variable cloud computing environments", ICPE 2017).

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use hostmark_engine::janitor::Charge;
use hostmark_engine::plan::allowance;
use hostmark_engine::sys::regular;
use hostmark_engine::{Observer, Wall};
use hostmark_launch::group::Group;
use hostmark_model::{Exit, Run, Scratch, load_run};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use super::sides::Side;
use crate::command::janitor::Janitor;
use crate::command::run::{ProfileName, scratch};
use crate::command::{lost, unwritten};
use crate::progress::Bar;
use crate::signals::StopRequest;
use crate::store;
use crate::wall::SinceStart;
use crate::words;

/// Beyond the profile's limit a command may take as much again, and this: a login to a far host, a slow disk.
const SLACK: Duration = Duration::from_secs(60);
/// How long a command that was asked to stop may take to end by itself.
const GRACE: Duration = Duration::from_secs(5);
/// One look whether it has.
const TURN: Duration = Duration::from_millis(20);
/// What the two are called in the names of files.
const LETTERS: [char; 2] = ['a', 'b'];

/// What is to be measured in turn.
pub struct Trial<'a> {
    /// The commands as typed.
    pub commands: [&'a String; 2],
    /// What to measure.
    pub filters: &'a [String],
    /// How often each.
    pub pairs: u32,
    /// In how much time.
    pub profile: ProfileName,
    /// Of the order, and of each pair's runs.
    pub seed: Option<u64>,
    /// Where the runs are kept, if anywhere.
    pub keep: Option<&'a Path>,
}

/// How a trial ended.
pub enum Ended {
    /// Every run is there.
    Whole(Vec<Side>),
    /// By this signal; nothing half is left.
    Stopped(u8),
}

/// Measures; each command runs `pairs` times.
pub fn run(trial: &Trial) -> Result<Ended> {
    let commands = trial.commands.map(|command| split(command));
    let [a, b] = commands;
    let commands = [a?, b?];
    if let Some(directory) = trial.keep {
        prepare(directory)?;
    }
    let stop = StopRequest::catch().map_err(|error| lost(format!("signals cannot be caught ({error}); try again")))?;
    let own = std::env::current_exe()
        .map_err(|error| lost(format!("the program's own file cannot be found ({error}); mount /proc")))?;
    let mut janitor = Janitor::start(&own).map_err(lost)?;
    // Whoever runs here keeps its run in a place of its own, which goes when this ends.
    let data = match janitor.directory(&scratch(None)) {
        Scratch::Made { path, .. } => OsString::from_vec(path.0),
        Scratch::Missing(reason) => return Err(lost(reason)),
    };

    let seed = trial.seed.unwrap_or_else(|| uuid::Uuid::now_v7().as_u64_pair().1);
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut runs: [Vec<Run>; 2] = Default::default();
    let mut bar = Bar::new();
    let (begin, all) = (SinceStart::now(), 2 * trial.pairs as usize);
    for pair in 0..trial.pairs {
        let first = usize::from(random.random::<bool>());
        // Both have their cases in the same order.
        let seed = random.random::<u32>();
        for side in [first, 1 - first] {
            let done = runs[0].len() + runs[1].len();
            let left = begin.elapsed() / done.max(1) as u32 * (all - done) as u32;
            let name = format!("{} {}/{} {}", LETTERS[side], pair + 1, trial.pairs, trial.commands[side]);
            bar.round(&name, done, all, if done == 0 { guess(trial) * all as u32 } else { left });
            let mut command = Command::new(&commands[side][0]);
            command.args(&commands[side][1..]).args(arguments(trial, seed)).env("XDG_DATA_HOME", &data);
            let turn = Turn { name: trial.commands[side], limit: guess(trial) * 2 + SLACK, stop: &stop };
            let Some(text) = turn.take(command, &mut janitor)? else {
                bar.finish();
                return Ok(Ended::Stopped(stop.signal().unwrap_or(2)));
            };
            runs[side].push(turn.read(&text)?);
            if let Some(directory) = trial.keep {
                keep(directory, side, pair, &text)?;
            }
        }
    }
    bar.finish();
    let sides = trial.commands.into_iter().zip(runs).map(|(name, runs)| Side { name: name.clone(), runs });
    Ok(Ended::Whole(sides.collect()))
}

fn split(command: &str) -> Result<Vec<String>> {
    let words = words::split(command)
        .map_err(|why| anyhow!("the command {command:?} cannot be split into words: {why}; quote it as for a shell"))?;
    if words.is_empty() {
        bail!("--interleave wants two commands that each end in a hostmark; one of them is empty");
    }
    Ok(words)
}

/// What stands behind a command's own words.
fn arguments(trial: &Trial, seed: u32) -> Vec<String> {
    let profile = trial.profile.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let mut arguments = vec!["run".to_owned()];
    arguments.extend(trial.filters.iter().cloned());
    arguments.extend([
        "--profile".into(),
        profile,
        "--format".into(),
        "json".into(),
        "--seed".into(),
        seed.to_string(),
    ]);
    arguments
}

/// How long a run takes at most.
fn guess(trial: &Trial) -> Duration {
    allowance(trial.profile.into()).limit
}

/// The directory for the runs, made where it is not there; one that holds runs of another trial is refused.
fn prepare(directory: &Path) -> Result<()> {
    let shown = directory.display();
    std::fs::create_dir_all(directory)
        .map_err(|error| unwritten(&error, &format!("{shown} cannot be made"), "give another directory"))?;
    if LETTERS.iter().any(|letter| directory.join(format!("{letter}-01.json")).exists()) {
        bail!("{shown} holds runs of an earlier trial; give another directory");
    }
    Ok(())
}

fn keep(directory: &Path, side: usize, pair: u32, text: &str) -> Result<()> {
    let file = directory.join(format!("{}-{:02}.json", LETTERS[side], pair + 1));
    store::write(&file, text)
        .map_err(|error| unwritten(&error, &format!("{} cannot be written", file.display()), "give another directory"))
}

/// One run of one command.
struct Turn<'a> {
    name: &'a str,
    limit: Duration,
    stop: &'a StopRequest,
}

impl Turn<'_> {
    /// What the command printed, when it ended well; none when the person asked to stop.
    fn take(&self, mut command: Command, janitor: &mut Janitor) -> Result<Option<String>> {
        let name = self.name;
        let complaints =
            tempfile::tempfile().map_err(|error| lost(format!("no file can be made ({error}); make room")))?;
        let errors = complaints.try_clone().context("a file cannot be shared; raise the limit of open files")?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
        let group = Group::spawn(&mut command);
        let group = group.map_err(|error| anyhow!("'{name}' cannot be started ({error}); give another command"))?;
        let mut running = Running(group);
        janitor.tell(&Charge::Group(running.0.id()));
        let heard = self.hear(&mut running);
        let ended = match &heard {
            Ok(Heard::Whole(_)) => running.ends_within(GRACE),
            _ => false,
        };
        let status = running.end();
        janitor.tell(&Charge::Reaped(running.0.id()));
        let text = match heard? {
            Heard::Stopped => return Ok(None),
            Heard::Whole(text) => text,
        };
        match status.filter(|_| ended).map(|status| (status.code(), status)) {
            // A case that failed is told in the comparison.
            Some((Some(code), _))
                if [Exit::Fine, Exit::CaseFailed].iter().any(|fine| i32::from(fine.code()) == code) => {}
            Some((_, status)) => bail!("'{name}' ended with {status}{}; try it by itself", last_line(complaints)),
            None => bail!("'{name}' closed its output and did not end; give another command"),
        }
        String::from_utf8(text).map(Some).map_err(|_| anyhow!("'{name}' printed no text; it must end in a hostmark"))
    }

    /// Everything that the command prints.
    fn hear(&self, running: &mut Running) -> Result<Heard> {
        let (name, begin, stop) = (self.name, SinceStart::now(), self.stop.readable());
        let stdout = running.0.streams().stdout.as_mut().context("a command has no output; try again")?;
        let mut text = Vec::new();
        let mut part = vec![0; 1 << 16];
        loop {
            let left = self.limit.saturating_sub(begin.elapsed());
            if left.is_zero() {
                bail!("'{name}' took over {} s; a far host must let hostmark in without asking", self.limit.as_secs());
            }
            let timeout = Timespec { tv_sec: left.as_secs() as i64 + 1, tv_nsec: 0 };
            let mut watched = [PollFd::new(&*stdout, PollFlags::IN), PollFd::new(&*stop, PollFlags::IN)];
            match poll(&mut watched, Some(&timeout)) {
                Err(rustix::io::Errno::INTR) | Ok(0) => continue,
                Err(error) => bail!("'{name}' cannot be heard ({error}); try again"),
                Ok(_) => {}
            }
            if !watched[1].revents().is_empty() {
                return Ok(Heard::Stopped);
            }
            match stdout.read(&mut part) {
                Ok(0) => return Ok(Heard::Whole(text)),
                Ok(length) => text.extend_from_slice(&part[..length]),
                Err(error) => bail!("'{name}' cannot be heard ({error}); try again"),
            }
            if text.len() as u64 > regular::MOST_BYTES {
                bail!("'{name}' printed over 256 MiB; the command must end with the hostmark executable");
            }
        }
    }

    /// The run that was printed.
    fn read(&self, text: &str) -> Result<Run> {
        if text.trim().is_empty() {
            bail!("'{}' printed nothing; it must end in a hostmark", self.name);
        }
        let run = load_run(text).map_err(|error| anyhow!("what '{}' printed {error}", self.name))?;
        match &run.interrupted {
            Some(why) => bail!("'{}' ended before its plan did ({why}); measure again", self.name),
            None => Ok(run),
        }
    }
}

enum Heard {
    Whole(Vec<u8>),
    Stopped,
}

/// A command in a process group of its own: whatever happens here, it ends.
struct Running(Group);

impl Running {
    /// Waits for its end, but no longer than this. Whether it has ended; nobody has taken note of it yet.
    fn ends_within(&self, at_most: Duration) -> bool {
        let begin = SinceStart::now();
        loop {
            match self.0.has_ended() {
                Ok(false) if begin.elapsed() < at_most => std::thread::sleep(TURN),
                has_ended => return has_ended.unwrap_or(false),
            }
        }
    }

    /// Asks it to stop, and makes it, with whatever is left of its group: how it ended.
    fn end(&mut self) -> Option<ExitStatus> {
        // Nobody listens any more: what it still has to say must not hold it up.
        drop(self.0.streams().stdout.take());
        if !self.0.has_ended().unwrap_or(true) {
            self.0.signal(Signal::INT);
            self.ends_within(GRACE);
        }
        self.0.end().ok()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// The last line that a command complained with, behind a colon.
fn last_line(mut complaints: File) -> String {
    let mut text = Vec::new();
    let _ = complaints.rewind();
    let _ = complaints.take(1 << 16).read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    last.map(|line| format!(": {}", line.trim_end_matches(['.', ';']))).unwrap_or_default()
}
