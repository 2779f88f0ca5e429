//! The directory of a fleet's runs: one file a host, each whole, and beside them what became of every host.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use hostmark_engine::sys::place::{self, Kind};
use hostmark_model::{FLEET_RUN_FILE, FLEET_RUN_SCHEMA, FleetHost, FleetPair, FleetRequest, FleetRun, HostState};
use rustix::fs::{FlockOperation, OFlags, flock};

use super::hosts;
use crate::command::unwritten;
use crate::language::{refuse, refused, said};
use crate::store;

/// Directory of unfinished runs. Hidden, so that nothing takes them for whole ones.
const UNDER_WAY: &str = ".under-way";
/// Held by the hostmark that measures into the directory.
const LOCK: &str = "lock";

/// A directory that this process measures into; no other does meanwhile.
pub struct Directory {
    path: PathBuf,
    held: place::Directory,
    under_way: place::Directory,
    fleet: FleetRun,
    _lock: File,
}

impl Directory {
    /// A new one, or an empty or foreign one that a person named.
    pub fn make(named: Option<&Path>, request: FleetRequest, engine: &str) -> Result<Directory> {
        let path = match named {
            Some(path) => path.to_owned(),
            None => store::fresh_directory("fleet")?,
        };
        let shown = path.display();
        let held = place::Directory::make(&path)
            .map_err(|error| unwritten(&error, &said!("{shown} cannot be made"), &another_directory()))?;
        if held.entry(FLEET_RUN_FILE.as_ref()).is_ok_and(|entry| entry.kind() != Kind::Nothing) {
            refuse!("{shown} holds a fleet already; go on with it by --resume, or give another directory");
        }
        let (under_way, lock) = locked(&held, &path)?;
        let started = store::now().to_string();
        let (schema, engine, hosts, pairs) = (FLEET_RUN_SCHEMA.to_owned(), engine.to_owned(), Vec::new(), Vec::new());
        let fleet = FleetRun { schema, engine, started, request, hosts, pairs };
        Ok(Directory { path, held, under_way, fleet, _lock: lock })
    }

    /// One that was measured into before, by the same request.
    pub fn open(path: &Path, request: &FleetRequest, engine: &str) -> Result<Directory> {
        let shown = path.display();
        let text = store::text(&path.join(FLEET_RUN_FILE)).map_err(|error| {
            refused!("{shown} holds no fleet to go on with ({error}); give the directory of a fleet run")
        })?;
        let Some(mut fleet) = FleetRun::load(&text).filter(is_sound) else {
            refuse!("{shown}/{FLEET_RUN_FILE} is not what fleet run writes; measure anew into another directory")
        };
        if fleet.request != *request || fleet.engine != engine {
            refuse!(
                "{shown} was measured with other filters, options or another engine; give the same, or measure anew by --out"
            );
        }
        let held = place::Directory::open(path).map_err(|error| cannot_be_written(path, error))?;
        let (under_way, lock) = locked(&held, path)?;
        for host in &mut fleet.hosts {
            if host.state == HostState::Measured && !is_whole(&path.join(&host.file)) {
                host.state = HostState::Waiting;
            }
        }
        Ok(Directory { path: path.to_owned(), held, under_way, fleet, _lock: lock })
    }

    /// The rows of these hosts, which are added where they are new.
    pub fn rows_of(&mut self, names: &[String]) -> Vec<usize> {
        let mut taken: HashSet<String> = self.fleet.hosts.iter().map(|host| host.file.to_ascii_lowercase()).collect();
        taken.insert(FLEET_RUN_FILE.to_owned());
        if self.fleet.hosts.is_empty() {
            // What a person has lying there stays.
            let listed = fs::read_dir(&self.path).into_iter().flatten().flatten();
            taken.extend(listed.map(|entry| entry.file_name().to_string_lossy().to_ascii_lowercase()));
        }
        let mut rows = Vec::new();
        for host in names {
            let known = self.fleet.hosts.iter().position(|row| row.host == *host);
            rows.push(known.unwrap_or_else(|| {
                let file = hosts::file_of(host, &mut taken);
                let (state, reason, elapsed_s) = (HostState::Waiting, None, None);
                self.fleet.hosts.push(FleetHost { host: host.clone(), state, reason, elapsed_s, file });
                self.fleet.hosts.len() - 1
            }));
        }
        rows
    }

    pub fn row(&mut self, row: usize, state: HostState, reason: Option<String>, elapsed_s: Option<f64>) {
        let host = &mut self.fleet.hosts[row];
        (host.state, host.reason, host.elapsed_s) = (state, reason, elapsed_s);
    }

    /// Creates an empty place in which a host's run is written while it goes on.
    pub fn begin(&self, row: usize) -> io::Result<PathBuf> {
        let name = &self.fleet.hosts[row].file;
        let journal = store::journal_of(Path::new(name));
        for left in [OsStr::new(name), journal.as_os_str()] {
            let left = self.under_way.entry(left)?;
            if left.kind() != Kind::Nothing {
                left.remove()?;
            }
        }
        Ok(self.path.join(UNDER_WAY).join(name))
    }

    /// Gives a host the run that lies there, if it is whole: the number of its cases that failed.
    pub fn take(&mut self, row: usize, file: &Path) -> Result<usize> {
        let run = store::load(file)?;
        if let Some(why) = &run.interrupted {
            refuse!("the run did not come to its end ({why})");
        }
        let name = OsStr::new(&self.fleet.hosts[row].file);
        let renamed = self.held.entry(name).and_then(|whole| self.under_way.entry(name)?.rename_to(&whole));
        renamed.map_err(|error| cannot_be_written(&self.path.join(name), error))?;
        Ok(run.cases.iter().filter(|case| matches!(case.outcome, hostmark_model::Outcome::Failed { .. })).count())
    }

    /// Writes down what became of every host.
    pub fn save(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.fleet)? + "\n";
        let written = self.held.entry(FLEET_RUN_FILE.as_ref()).and_then(|entry| entry.write(text.as_bytes(), true));
        written.map_err(|error| cannot_be_written(&self.path.join(FLEET_RUN_FILE), error))
    }

    /// Tells whether there is a measurement between two hosts, from the first.
    pub fn has_pair(&self, from: &str, to: &str) -> bool {
        self.pairs().iter().any(|pair| pair.failed.is_none() && pair.from == from && pair.to == to)
    }

    /// Adds a pair, in the place of an earlier try.
    pub fn add_pair(&mut self, pair: FleetPair) {
        self.fleet.pairs.retain(|known| known.from != pair.from || known.to != pair.to);
        self.fleet.pairs.push(pair);
    }

    pub fn pairs(&self) -> &[FleetPair] {
        &self.fleet.pairs
    }

    /// Tells whether all measured hosts met each other.
    pub fn has_all_pairs(&self) -> bool {
        let hosts = self.fleet.hosts.iter().filter(|host| host.state == HostState::Measured).count();
        self.pairs().iter().filter(|pair| pair.failed.is_none()).count() >= hosts * hosts.saturating_sub(1)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn hosts(&self) -> &[FleetHost] {
        &self.fleet.hosts
    }

    pub fn request(&self) -> &FleetRequest {
        &self.fleet.request
    }

    pub fn is_measured(&self, row: usize) -> bool {
        self.fleet.hosts[row].state == HostState::Measured
    }

    pub fn is_whole(&self) -> bool {
        self.missing().is_empty()
    }

    pub fn missing(&self) -> Vec<String> {
        let missing = self.fleet.hosts.iter().filter(|host| host.state != HostState::Measured);
        missing.map(|host| host.host.clone()).collect()
    }
}

/// Removes the unfinished runs.
impl Drop for Directory {
    fn drop(&mut self) {
        let _ = self.held.remove_below(UNDER_WAY);
    }
}

/// Tells whether all names and files are valid: the file may be anybody's.
fn is_sound(fleet: &FleetRun) -> bool {
    let mut files = HashSet::from([FLEET_RUN_FILE.to_owned()]);
    let mut hosts = HashSet::new();
    fleet.hosts.iter().all(|host| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let is_file = host.file.ends_with(".json") && host.file.chars().all(is_plain) && !host.file.starts_with('.');
        let is_new = hosts.insert(host.host.clone()) && files.insert(host.file.to_ascii_lowercase());
        hosts::refused(&host.host).is_none() && is_file && is_new
    })
}

/// Tells whether a host's run is complete.
fn is_whole(file: &Path) -> bool {
    store::load(file).is_ok_and(|run| run.interrupted.is_none())
}

fn another_directory() -> String {
    said!("give another directory by --out")
}

fn cannot_be_written(path: &Path, error: io::Error) -> anyhow::Error {
    unwritten(&error, &said!("{display} cannot be written", display = path.display()), &another_directory())
}

/// The directory below for runs under way, and the lock in it, which ends with this process.
fn locked(held: &place::Directory, path: &Path) -> Result<(place::Directory, File)> {
    let (below, shown) = (path.join(UNDER_WAY), path.display());
    let under_way = held.make_below(UNDER_WAY).map_err(|error| match error.kind() {
        // A link in its place would lead elsewhere.
        io::ErrorKind::NotADirectory => {
            refused!("{below} is no directory; remove it, or give another directory by --out", below = below.display())
        }
        _ => cannot_be_written(path, error),
    })?;
    let lock = under_way.entry(LOCK.as_ref()).and_then(|lock| lock.open(OFlags::WRONLY | OFlags::CREATE));
    let lock = lock.map_err(|error| cannot_be_written(path, error))?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => {
            refuse!("another hostmark measures into {shown}; wait for its end, or give another directory")
        }
        // A filesystem without locks is taken at its user's word.
        _ => Ok((under_way, lock)),
    }
}
