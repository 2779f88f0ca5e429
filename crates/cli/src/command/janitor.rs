//! `hostmark janitor`: started by a run, outlives it, and removes what it left.

use std::io;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hostmark_engine::janitor::Charge;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
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
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // A janitor that cannot be asked to go is the better one; without it there is still the end of its input.
        let _ = signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)));
    }
    // The run waits for this line: what is started here is this program, and it works.
    let mut out = io::stdout().lock();
    if out.write_all(b"\n").and_then(|()| out.flush()).is_err() {
        return ExitCode::FAILURE;
    }
    hostmark_engine::janitor::serve(io::stdin().lock());
    ExitCode::SUCCESS
}

/// The run's side of the janitor.
pub struct Janitor {
    child: Child,
}

impl Janitor {
    /// Starts it, in a process group of its own, and waits until it is there: what can start the janitor can start
    /// workers. Otherwise the sentence that says why it cannot.
    pub fn start(program: &Path) -> Result<Janitor, String> {
        let mut command = Command::new(program);
        command.arg(NAME).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let child = command.spawn().map_err(|error| not_started(program, &error.to_string()))?;
        let mut janitor = Janitor { child };
        match janitor.is_there() {
            Ok(true) => Ok(janitor),
            Ok(false) => {
                // It has ended, or must be made to: nothing is in its charge yet.
                let _ = janitor.child.kill();
                let how = janitor.child.wait().map_or_else(|error| error.to_string(), describe);
                Err(not_started(program, &how))
            }
            Err(error) => Err(not_started(program, &error.to_string())),
        }
    }

    /// Whether its line came in time.
    fn is_there(&mut self) -> io::Result<bool> {
        let Some(mut stdout) = self.child.stdout.take() else { return Ok(false) };
        let timeout = Timespec { tv_sec: PATIENCE_S, tv_nsec: 0 };
        loop {
            match poll(&mut [PollFd::new(&stdout, PollFlags::IN)], Some(&timeout)) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
                Ok(0) => return Ok(false),
                Ok(_) => return Ok(stdout.read(&mut [0])? == 1),
            }
        }
    }

    /// Tells it. A janitor that is gone cannot be told, and the worker's parent-death signal remains.
    pub fn tell(&mut self, charge: &Charge) {
        if let Some(stdin) = self.child.stdin.as_mut() {
            let _ = stdin.write_all(charge.line().as_bytes());
        }
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
        let _ = self.child.wait();
    }
}
