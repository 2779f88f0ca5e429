//! Options that give a run its inputs: what to measure with, beside the axes.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};
use hostmark_engine::plan::Request;
use hostmark_model::{Inputs, PathBytes, PrintedUnit, Profile, Sampled};
use regex_lite::Regex;
use rustix::fs::Access;
use rustix::io::Errno;

use crate::isolate::Layer;
use crate::language::{refuse, refused, said};
use crate::{language, store};

#[derive(Debug, Args)]
#[command(next_help_heading = "Where")]
pub struct InputArguments {
    /// Use only these CPUs, e.g. 0-3,8
    #[arg(long, value_name = "LIST")]
    pub cpu: Option<String>,
    /// Directory for file and disk probes [default: $TMPDIR or /tmp]
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub scratch: Option<PathBuf>,
    /// Measure this command, and nothing else
    #[arg(help_heading = "What to measure", long, value_name = "COMMAND", value_parser = command)]
    pub command: Option<CommandWords>,
    #[command(flatten, next_help_heading = "What to measure")]
    pub sampled: SampledArguments,
    /// Measure inside these container layers
    #[arg(long, value_name = "LAYER,…", value_enum, value_delimiter = ',', hide_short_help = true)]
    pub isolate: Vec<Layer>,
    /// Read counters beside the values: instructions, misses, energy
    #[arg(help_heading = "How", long, hide_short_help = true)]
    pub counters: bool,
}

/// Part of a command's output that is its value.
#[derive(Debug, Clone, Default, Args)]
pub struct SampledArguments {
    /// Bytes that the command moves, e.g. 10G: its value is the rate
    #[arg(long, value_name = "SIZE", value_parser = bytes, requires = "command", conflicts_with_all = ["value", "unit"], hide_short_help = true)]
    pub bytes: Option<u64>,
    /// Regular expression that finds the value in its output
    #[arg(long, value_name = "REGEX", value_parser = pattern, requires_all = ["command", "unit"], hide_short_help = true)]
    pub value: Option<String>,
    /// Unit of that value, e.g. us, MB/s or ops/s
    #[arg(long, value_name = "UNIT", value_parser = unit, requires = "value", hide_short_help = true)]
    pub unit: Option<String>,
}

impl SampledArguments {
    /// Sampled quantity, if it is not the command's time.
    pub fn given(&self) -> Option<Sampled> {
        let printed = || Some(Sampled::Printed { pattern: self.value.clone()?, unit: self.unit.clone()? });
        self.bytes.map(Sampled::Bytes).or_else(printed)
    }

    /// The options as they would be typed again.
    pub fn typed(&self) -> Vec<String> {
        let bytes = self.bytes.map(|bytes| bytes.to_string());
        let all = [("--bytes", bytes), ("--value", self.value.clone()), ("--unit", self.unit.clone())];
        // A pattern may begin with a hyphen.
        all.into_iter().filter_map(|(option, value)| Some(format!("{option}={}", value?))).collect()
    }
}

/// The time limit of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProfileName {
    /// At most 10 seconds; the first screen alone unless something is named
    Glance,
    /// At most 60 seconds
    Quick,
    /// At most 5 minutes
    Standard,
    /// At most 30 minutes
    Thorough,
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Profile {
        match name {
            ProfileName::Glance => Profile::Glance,
            ProfileName::Quick => Profile::Quick,
            ProfileName::Standard => Profile::Standard,
            ProfileName::Thorough => Profile::Thorough,
        }
    }
}

/// A seed as a person types it, or pastes it from a run's table.
pub fn seed(typed: &str) -> Result<u64, String> {
    let number = match typed.strip_prefix("0x").or_else(|| typed.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => typed.parse(),
    };
    number.map_err(|_| said!("it is no seed; give a number below 2^64, decimal or hexadecimal as 0x7f3a"))
}

/// A number of bytes above 0, as a person types it: `10G`, `64M`, `4096`.
pub fn bytes(typed: &str) -> Result<u64, String> {
    let (digits, shift) = match typed.char_indices().last() {
        Some((at, 'K' | 'k')) => (&typed[..at], 10),
        Some((at, 'M' | 'm')) => (&typed[..at], 20),
        Some((at, 'G' | 'g')) => (&typed[..at], 30),
        Some((at, 'T' | 't')) => (&typed[..at], 40),
        _ => (typed, 0),
    };
    let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u64>().ok()).flatten();
    number
        .and_then(|number| number.checked_mul(1 << shift))
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| said!("it is no size above 0; give bytes, or 64K, 100M, 10G, 1T"))
}

/// A regular expression that can be searched for.
fn pattern(typed: &str) -> Result<String, String> {
    match Regex::new(typed) {
        Ok(_) if typed.is_empty() => {
            Err(said!("it matches nothing in particular; write what stands around the number, as 'avg=([0-9.]+)'"))
        }
        Ok(_) => Ok(typed.to_owned()),
        Err(error) => Err(said!("{error}; write it as for grep -E, the number in (…)")),
    }
}

/// A unit in which programs print numbers.
pub fn unit(typed: &str) -> Result<String, String> {
    match PrintedUnit::of_name(typed) {
        Some(unit) => Ok(unit.name.to_owned()),
        None => Err(said!("choose from {names}", names = PrintedUnit::names())),
    }
}

/// The words of a command, at least one.
#[derive(Debug, Clone)]
pub struct CommandWords(Vec<String>);

impl From<CommandWords> for Vec<String> {
    fn from(words: CommandWords) -> Vec<String> {
        words.0
    }
}

impl InputArguments {
    /// The layers that were named, each once, in the order in which they are entered.
    pub fn layers(&self) -> Vec<Layer> {
        let mut layers = self.isolate.clone();
        layers.sort_unstable();
        layers.dedup();
        layers
    }

    /// Inputs, resolved on this machine.
    pub fn given(&self) -> Result<Inputs> {
        on_this_machine(self.as_typed())
    }

    pub fn as_typed(&self) -> Inputs {
        Inputs {
            cpus: self.cpu.clone(),
            scratch: self.scratch.clone().map(|path| PathBytes(path.into_os_string().into_vec())),
            command: self.command.clone().map_or_else(Vec::new, |command| command.0),
            sampled: self.sampled.given(),
            isolate: self.layers().iter().map(|layer| layer.name().to_owned()).collect(),
            peers: Vec::new(),
            limit_s: None,
            counters: self.counters,
            tried: None,
        }
    }
}

/// The directory that a person named for the run's files.
pub fn named_scratch(inputs: &Inputs) -> Option<PathBuf> {
    inputs.scratch.as_ref().map(|path| PathBuf::from(OsStr::from_bytes(&path.0)))
}

/// Directory of the run's files: the named one, else the usual one. Absolute, since other processes look for it.
pub fn scratch(inputs: &Inputs) -> PathBuf {
    let named = named_scratch(inputs).unwrap_or_else(std::env::temp_dir);
    std::path::absolute(named).unwrap_or_else(|_| "/tmp".into())
}

/// Settings for a run file, as text: the axes as typed, and the inputs, which are no axes.
pub fn settings_set(request: &Request) -> BTreeMap<String, String> {
    let axes = request.set.iter().filter_map(|set| set.split_once('='));
    let axes = axes.map(|(axis, values)| (axis.to_owned(), values.to_owned()));
    axes.chain(request.inputs.given().into_iter().map(|(name, text)| (name.to_owned(), text))).collect()
}

pub fn command(typed: &str) -> Result<CommandWords, String> {
    match language::split(typed) {
        Ok(words) if words.is_empty() => Err(said!("it has no word; name a program")),
        Ok(words) => Ok(CommandWords(words)),
        Err(why) => Err(said!("{why}; quote it as for a shell")),
    }
}

/// Refuses a command that cannot be started, before anything is measured.
pub fn check_command(inputs: &Inputs) -> Result<()> {
    let Some(name) = inputs.command.first() else { return Ok(()) };
    executable(name).map_err(|error| {
        refused!("--command {name} cannot be started ({error}); name a program that is there and may be executed")
    })
}

/// Checks that a program can be executed: a name without a slash is looked for as execvp(3) does it.
fn executable(name: &str) -> io::Result<()> {
    let at = |path: &Path| match std::fs::metadata(path)?.is_dir() {
        true => Err(Errno::ISDIR.into()),
        false => Ok(rustix::fs::access(path, Access::EXEC_OK)?),
    };
    if name.contains('/') {
        return at(Path::new(name));
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let mut found = Err(Errno::NOENT.into());
    for directory in std::env::split_paths(&path) {
        match at(&directory.join(name)) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => found = Err(error),
            Err(_) => {}
        }
    }
    found
}

/// Inputs whose directory is there, and named whole: other processes look for it. Its name may be any that the kernel takes.
pub fn on_this_machine(inputs: Inputs) -> Result<Inputs> {
    let Some(typed) = named_scratch(&inputs) else { return Ok(inputs) };
    let shown = typed.display();
    match std::fs::canonicalize(&typed) {
        Ok(path) if path.is_dir() => {
            store::check(&path).map_err(|error| {
                refused!("nothing can be made in --scratch {shown} ({error}); name a directory that may be written to")
            })?;
            Ok(Inputs { scratch: Some(PathBytes(path.into_os_string().into_vec())), ..inputs })
        }
        Ok(_) => refuse!("--scratch {shown} is no directory; name a directory that may be written to"),
        Err(error) => refuse!("--scratch {shown}: {error}; name a directory that may be written to"),
    }
}
