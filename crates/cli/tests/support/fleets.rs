//! Fleets that tests measure: scripts in the place of ways and clients, what is left of a run, rows of its file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hostmark_model::{FleetRun, HostState};

use crate::support::{Home, PROGRAM};

/// A directory with scripts, lists and runs.
pub struct Fleet {
    pub home: Home,
    root: tempfile::TempDir,
}

impl Fleet {
    pub fn new() -> Fleet {
        Fleet { home: Home::new(), root: tempfile::tempdir().unwrap() }
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap_or_default()
    }

    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// A program that this script is.
    pub fn script(&self, name: &str, text: &str) -> String {
        let path = self.write(name, &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// `hostmark fleet run` with these words; what lies in `bin` comes first in PATH, and the program too.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = self.home.start("env");
        let folder = Path::new(PROGRAM).parent().unwrap().display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{folder}:{path}", self.at("bin").display()));
        command.env("FLEET", self.root.path()).stdin(Stdio::null());
        // Whoever tests may have started this with an interrupt ignored.
        command.args(["--default-signal=INT,HUP", PROGRAM, "fleet", "run"]).args(words);
        command
    }

    /// The states of the hosts in a directory, with their reasons.
    pub fn rows(&self, directory: &str) -> Vec<(String, HostState, String)> {
        let fleet =
            FleetRun::load(&self.text(&format!("{directory}/fleet.json"))).unwrap_or_else(|| panic!("{directory}"));
        fleet.hosts.into_iter().map(|row| (row.host, row.state, row.reason.unwrap_or_default())).collect()
    }

    /// The names of everything in a directory, hidden ones too.
    pub fn names(&self, directory: &str) -> Vec<String> {
        let listed = fs::read_dir(self.at(directory)).into_iter().flatten().flatten();
        let mut names: Vec<String> = listed.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}
