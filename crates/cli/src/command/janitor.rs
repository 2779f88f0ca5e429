//! `hostmark janitor`: started by a run, outlives it, and removes what it left.

use std::io;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hostmark_engine::janitor::Charge;
use hostmark_engine::sys::call::{Call, named, spawned};
use hostmark_engine::sys::scratch::{fresh_name, remove_left, remove_unanswered};
use hostmark_model::{PathBytes, Scratch};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::emulator;

/// The word that starts it; no command for people.
pub const NAME: &str = "janitor";
/// It is there after milliseconds, also on a busy host.
const PATIENCE_S: i64 = 5;

/// Serves until standard input ends.
pub fn serve() -> ExitCode {
    // Who kills the program by its name (`killall hostmark`) leaves who cleans up after it.
    let _ = rustix::thread::set_name(c"hm-janitor");
    // What it makes is its user's, whatever the user's umask says; it starts no other program.
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // A janitor that cannot be asked to go is the better one; without it there is still the end of its input.
        let _ = signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)));
    }
    // The run waits for this line: what is started here is this program, and it works.
    let mut out = io::stdout().lock();
    if out.write_all(b"\n").and_then(|()| out.flush()).is_err() {
        return ExitCode::FAILURE;
    }
    hostmark_engine::janitor::serve(io::stdin().lock(), out);
    ExitCode::SUCCESS
}

/// The run's side of the janitor.
pub struct Janitor {
    child: Child,
    answers: Option<ChildStdout>,
    /// What it made, for the case that it is killed itself.
    made: Vec<Scratch>,
    /// What it was asked to make, where and under which name, and has not answered: killed meanwhile, it may have made it.
    asked: Vec<(PathBuf, String)>,
}

impl Janitor {
    /// Starts it, in a process group of its own, and waits until it is there: what can start the janitor can start
    /// workers. Otherwise the sentence that says why it cannot.
    pub fn start(program: &Path) -> Result<Janitor, String> {
        let mut command = Command::new(program);
        command.arg(NAME).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().map_err(|error| not_started(program, &spawned(error).to_string()))?;
        let answers = child.stdout.take();
        let mut janitor = Janitor { child, answers, made: Vec::new(), asked: Vec::new() };
        match janitor.answer() {
            Ok(Some(_)) => Ok(janitor),
            Ok(None) => {
                // It has ended, or must be made to: nothing is in its charge yet.
                let _ = janitor.child.kill();
                let how = janitor.child.wait().map_or_else(|error| error.to_string(), describe);
                Err(not_started(program, &how))
            }
            Err(error) => Err(not_started(program, &error.to_string())),
        }
    }

    /// Its next line, if that comes in time; none as well when it has ended.
    fn answer(&mut self) -> io::Result<Option<String>> {
        let Some(stdout) = self.answers.as_mut() else { return Ok(None) };
        let timeout = Timespec { tv_sec: PATIENCE_S, tv_nsec: 0 };
        let mut line = Vec::new();
        loop {
            match poll(&mut [PollFd::new(&*stdout, PollFlags::IN)], Some(&timeout)) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(named("ppoll", error.into())),
                Ok(0) => return Ok(None),
                Ok(_) => {}
            }
            let mut byte = [0];
            match (stdout.read(&mut byte).call("read")?, byte) {
                (0, _) => return Ok(None),
                (_, [b'\n']) => return Ok(Some(String::from_utf8_lossy(&line).into_owned())),
                (_, [byte]) => line.push(byte),
            }
        }
    }

    /// Its number, which is nobody else's until it is waited for.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Tells it. A janitor that is gone cannot be told, and the worker's parent-death signal remains.
    pub fn tell(&mut self, charge: &Charge) {
        if let Some(stdin) = self.child.stdin.as_mut() {
            let _ = charge.line().and_then(|line| stdin.write_all(line.as_bytes()));
        }
    }

    /// Has it make a directory in `base` for the run's files, which it removes when the run has ended.
    pub fn directory(&mut self, base: &Path) -> Scratch {
        let scratch = self.make(base).unwrap_or_else(|error| {
            // What might still come would be taken for the answer to another question.
            self.answers = None;
            let base = base.display();
            Scratch::Missing(format!("no directory could be made in {base} ({error}); name another by --scratch"))
        });
        self.made.push(scratch.clone());
        scratch
    }

    fn make(&mut self, base: &Path) -> io::Result<Scratch> {
        let name = fresh_name()?;
        self.asked.push((base.to_owned(), name.clone()));
        self.tell(&Charge::Directory { base: PathBytes(base.as_os_str().as_bytes().to_vec()), name });
        let line = self.answer()?.ok_or_else(|| io::Error::other("no answer"))?;
        let scratch = serde_json::from_str(&line)?;
        self.asked.pop();
        Ok(scratch)
    }
}

fn describe(status: ExitStatus) -> String {
    status.code().map_or_else(|| status.to_string(), |code| format!("status {code}"))
}

/// Why this program cannot start itself, and what to do.
fn not_started(program: &Path, how: &str) -> String {
    let program = program.display();
    match emulator::name() {
        Some(emulator) => format!(
            "{emulator} executes this program and cannot start it again for its workers ({how}); \
             run it natively, or register the emulator with binfmt_misc"
        ),
        None => format!(
            "{program} cannot be started for the workers ({how}); start hostmark by its own file, \
             and look at the limits of processes and of memory (ulimit -a)"
        ),
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // One that was stopped would be waited for without an end. Until it is waited for, its number is nobody else's.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = rustix::process::kill_process(Pid::from_child(&self.child), Signal::CONT);
        }
        if !self.child.wait().is_ok_and(|status| status.success()) {
            self.made.iter().for_each(remove_left);
            self.asked.iter().for_each(|(base, name)| remove_unanswered(base, name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_a_janitor_made_before_it_was_killed_without_an_answer_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().join("base");
        fs::create_dir(&base).unwrap();
        let program = place.path().join("janitor");
        let script = "#!/bin/sh\necho\nread -r line\nname=${line##*'name\":\"'}\nmkdir -m 700 \"${0%/*}/base/${name%%'\"'*}\"\nls \"${0%/*}/base\" > \"${0%/*}/made\"\nkill -9 $$\n";
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        let mut janitor = Janitor::start(&program).unwrap();
        assert!(matches!(janitor.directory(&base), Scratch::Missing(_)));
        drop(janitor);
        assert!(fs::read_to_string(place.path().join("made")).unwrap().starts_with("hostmark-"));
        assert_eq!(fs::read_dir(&base).unwrap().count(), 0);
    }
}
