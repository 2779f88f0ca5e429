//! Two commands that measure in turn, in random order, so that what drifts meanwhile meets both alike (Abedi & Brecht,
//! "Conducting repeatable experiments in highly variable cloud computing environments", ICPE 2017).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;
use hostmark_engine::janitor::CleanupEntry;
use hostmark_engine::plan::profile_limits;
use hostmark_engine::sys::regular;
use hostmark_engine::{Observer, Wall};
use hostmark_launch::supervise::{Ending, Errors, Heard, Membership, Supervised, Terms};
use hostmark_model::{Exit, Inputs, Run, Scratch, load_run};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::sides::Side;
use crate::command::inputs::scratch;
use crate::command::janitor::Janitor;
use crate::command::run::ProfileName;
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
    let stop =
        StopRequest::catch(None).map_err(|error| lost(format!("signals cannot be caught ({error}); try again")))?;
    let own = std::env::current_exe()
        .map_err(|error| lost(format!("the program's own file cannot be found ({error}); mount /proc")))?;
    let mut janitor = Janitor::start(&own).map_err(lost)?;
    // Whoever runs here keeps its run in a place of its own, which goes when this ends.
    let data = match janitor.directory(&scratch(&Inputs::default())) {
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
    profile_limits(trial.profile.into()).limit
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
    fn take(&self, command: Command, janitor: &mut Janitor) -> Result<Option<String>> {
        let name = self.name;
        let (errors, ending) = (Errors::Heard, Ending::Asked(GRACE));
        let stop = Some(self.stop.readable());
        let terms = Terms { group: Membership::Own, has_input: false, errors, ending, stop };
        let mut process = Supervised::start(command, terms)
            .map_err(|error| anyhow!("'{name}' cannot be started ({error}); give another command"))?;
        janitor.tell(&CleanupEntry::Group(process.id()));
        let heard = process.hear_out(self.limit, regular::MOST_BYTES as usize);
        let text = process.heard();
        let has_ended = matches!(heard, Ok(Heard::Closed)) && process.ends_within(GRACE);
        let status = process.end();
        // One that cannot be ended stays in the janitor's charge.
        if status.is_ok() {
            janitor.tell(&CleanupEntry::Reaped(process.id()));
        }
        match heard.map_err(|error| anyhow!("'{name}' cannot be heard ({error}); try again"))? {
            Heard::Stopped => return Ok(None),
            Heard::TimedOut => {
                bail!("'{name}' took over {} s; a far host must let hostmark in without asking", self.limit.as_secs())
            }
            Heard::TooLong => bail!("'{name}' printed over 256 MiB; the command must end with the hostmark executable"),
            Heard::Closed | Heard::Line(_) => {}
        }
        let Some(status) = status.ok().filter(|_| has_ended) else {
            bail!("'{name}' closed its output and did not end; give another command")
        };
        // A case that failed is told in the comparison.
        if ![Exit::Fine, Exit::CaseFailed].iter().any(|fine| status.code() == Some(fine.code().into())) {
            bail!("'{name}' ended with {status}{}; try it by itself", because(&mut process));
        }
        String::from_utf8(text).map(Some).map_err(|_| anyhow!("'{name}' printed no text; it must end in a hostmark"))
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

/// What a command complained of last, behind a colon.
fn because(process: &mut Supervised) -> String {
    let last = process.last_word();
    last.map(|line| format!(": {}", line.trim_end_matches(['.', ';']))).unwrap_or_default()
}
