//! A place that a test makes, and what is seen of it from here.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hostmark_launch::program::Programs;
use hostmark_launch::supervise::{Ending, ReadOutcome, Supervised, Terms};
use hostmark_launch::transport::{Started, Transport, TransportError};
use tempfile::TempDir;

use super::{SOON, says, terms};

/// A place, and what is seen of it from here.
pub struct Spot {
    pub place: Transport,
    /// Its directory for temporary files.
    pub temporary: TempDir,
    /// Where its root directory is, and the programs of this test are.
    pub outside: TempDir,
}

impl Spot {
    pub fn new(prefix: impl FnOnce(&Path, &Path) -> Option<Vec<OsString>>) -> Spot {
        let (temporary, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = prefix(outside.path(), temporary.path()).map_or(Transport::Here, Transport::Command);
        Spot { place, temporary, outside }
    }

    /// Behind the words that are made of its directory for temporary files.
    pub fn of(words: impl FnOnce(&str) -> Vec<String>) -> Spot {
        Spot::new(|_, temporary| Some(words(temporary.to_str().unwrap()).into_iter().map(OsString::from).collect()))
    }

    pub fn here() -> Spot {
        Spot::new(|_, _| None)
    }

    /// Behind these words, of which a shell makes what it likes of the `sh` that follows.
    pub fn behind(script: &str) -> Spot {
        Spot::new(|_, temporary| {
            let temporary = format!("TMPDIR={}", temporary.display());
            Some(["env", &temporary, "sh", "-c", script, "sh"].map(OsString::from).to_vec())
        })
    }

    /// Below a root directory of its own, made by this script; none where no namespace can be made.
    pub fn apart(script: &str) -> Option<Spot> {
        let can = Command::new("unshare").args(["-r", "--mount", "chroot", "/", "true"]).output();
        can.ok().filter(|output| output.status.success())?;
        Some(Spot::new(|outside, temporary| {
            let root = outside.join("root");
            fs::create_dir(&root).unwrap();
            let words = ["env", "-u", "TMPDIR", "-u", "HOME", "-u", "XDG_RUNTIME_DIR"];
            let words = words.into_iter().chain(["unshare", "-r", "--mount", "sh", "-c", script]).map(OsString::from);
            Some(words.chain([root.into(), temporary.into()]).collect())
        }))
    }

    /// A program of this text.
    pub fn program(&self, text: &str) -> PathBuf {
        let file = self.outside.path().join("program");
        // By another process: what this one has open for writing, a child of another thread has open for a moment as well,
        // and nothing that is written to is executed.
        let script = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\"";
        assert!(Command::new("sh").args(["-c", script]).arg(&file).arg(text).status().unwrap().success());
        file
    }

    /// A program of this text, and of so many bytes more.
    pub fn large(&self, text: &str, bytes: usize) -> PathBuf {
        let file = self.program(&format!("{text}\nexit"));
        let script = "head -c $1 /dev/zero | tr '\\0' '#' >> \"$0\"";
        assert!(Command::new("sh").args(["-c", script]).arg(&file).arg(bytes.to_string()).status().unwrap().success());
        file
    }

    /// An executable file beside the programs of this test, of this text.
    pub fn tool(&self, name: &str, text: &str) -> String {
        let file = self.outside.path().join(name);
        fs::rename(self.program(text), &file).unwrap();
        file.to_str().unwrap().to_owned()
    }

    /// Starts a program there, which is told, heard and ended as one here is; it is copied there.
    #[track_caller]
    pub fn works(&self) {
        let text = "read -r a; echo \"got $a $#\"; cat; echo why >&2; exit 3";
        let own = self.large(text, 300_000);
        let started =
            self.start_file(&own, &["a b", "it's"], terms(Ending::Killed)).unwrap_or_else(|error| panic!("{error}"));
        let mut process = started.process;
        assert!(started.has_copied && !started.is_static);
        process.send("one\n").unwrap();
        says(&mut process, "got one 2");
        process.send_last("and all the rest\n").unwrap();
        says(&mut process, "and all the rest");
        assert_eq!(process.read_line_within(SOON).unwrap(), ReadOutcome::Closed);
        assert!(process.ends_within(SOON));
        assert_eq!((process.end().unwrap().code(), process.last_word().as_deref()), (Some(3), Some("why")));
    }

    /// Waits until nothing is left in its directory for temporary files: who lost its link ends in its own time.
    pub fn is_cleared(&self) -> bool {
        (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            fs::read_dir(self.temporary.path()).unwrap().next().is_none()
        })
    }

    pub fn start(&self, text: &str, terms: Terms) -> Supervised {
        self.start_file(&self.program(text), &[], terms).unwrap().process
    }

    pub fn start_file(&self, own: &Path, arguments: &[&str], terms: Terms) -> Result<Started, TransportError> {
        self.place.start(&Programs::of(own, false, self.outside.path()), arguments, terms)
    }

    /// Why no program can be started there.
    pub fn refusal(&self) -> String {
        self.start_file(&self.program("exit 0"), &[], terms(Ending::Killed)).unwrap_err().to_string()
    }
}

impl Drop for Spot {
    fn drop(&mut self) {
        let left: Vec<_> = fs::read_dir(self.temporary.path()).unwrap().collect();
        assert!(left.is_empty() || std::thread::panicking(), "{left:?}");
    }
}
