//! `hostmark janitor`: started by a run, outlives it, and removes what it left.

use std::io;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hostmark_engine::janitor::Charge;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// The word that starts it; no command for people.
pub const NAME: &str = "janitor";

/// Serves until standard input ends.
pub fn serve() -> ExitCode {
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // A janitor that cannot be asked to go is the better one; without it there is still the end of its input.
        let _ = signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)));
    }
    hostmark_engine::janitor::serve(io::stdin().lock());
    ExitCode::SUCCESS
}

/// The run's side of the janitor.
pub struct Janitor {
    child: Child,
}

impl Janitor {
    /// Starts it, in a process group of its own.
    pub fn start(program: &std::path::Path) -> io::Result<Janitor> {
        let mut command = Command::new(program);
        command.arg(NAME).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        Ok(Janitor { child: command.spawn()? })
    }

    /// Tells it. A janitor that is gone cannot be told, and the worker's parent-death signal remains.
    pub fn tell(&mut self, charge: &Charge) {
        if let Some(stdin) = self.child.stdin.as_mut() {
            let _ = stdin.write_all(charge.line().as_bytes());
        }
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
