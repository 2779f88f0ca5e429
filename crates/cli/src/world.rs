//! The dependencies of a command: streams, environment variables, clocks, and the machine. Tests replace them.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::read_link;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant, SystemTime};

use hostmark_engine::clock::Calibration;
use hostmark_engine::sys::usage::thread_wait;
use hostmark_engine::{Meters, OpenLink, Wall};
use hostmark_launch::program::OWN;
use hostmark_model::HostFacts;
use hostmark_model::timestamp::Timestamp;
use rustix::fd::AsFd;

pub struct World {
    /// Streams, variables and time of day.
    pub context: Rc<ProcessContext>,
    /// The time since the command was started.
    pub wall: Box<dyn Wall>,
    /// The machine to measure instead of this one.
    pub mock_machine: Option<MockMachine>,
}

impl World {
    /// The real one: everything is this process's.
    pub fn real() -> World {
        World { wall: Box::new(SinceStart::now()), context: Rc::new(ProcessContext::real()), mock_machine: None }
    }
}

/// Looks up an environment variable.
pub type Variable = dyn Fn(&str) -> Option<OsString>;

/// Context that a process gives to the command that it executes.
pub struct ProcessContext {
    pub output: RefCell<Box<dyn StandardStream>>,
    pub errors: RefCell<Box<dyn StandardStream>>,
    pub variable: Box<Variable>,
    pub now: Box<dyn Fn() -> Timestamp>,
    /// The file through which it starts workers and the janitor.
    pub program: Box<dyn Fn() -> io::Result<PathBuf>>,
}

impl ProcessContext {
    fn real() -> ProcessContext {
        ProcessContext {
            output: RefCell::new(Box::new(io::stdout())),
            errors: RefCell::new(Box::new(io::stderr())),
            variable: Box::new(|name| std::env::var_os(name)),
            now: Box::new(time_of_day),
            program: Box::new(own_file),
        }
    }
}

/// Path of the running program, also when its file has been replaced or deleted meanwhile.
fn own_file() -> io::Result<PathBuf> {
    match name() {
        // The kernel's link leads to the emulator.
        Some(_) => std::env::current_exe(),
        None => Path::new(OWN).metadata().map(|_| OWN.into()),
    }
}

/// The time of day that the system tells.
#[expect(clippy::disallowed_methods, reason = "says when a run was made, and measures nothing")]
pub fn time_of_day() -> Timestamp {
    SystemTime::now().into()
}

pub trait StandardStream: Write {
    fn is_terminal(&self) -> bool {
        false
    }

    fn columns(&self) -> Option<usize> {
        None
    }
}

impl StandardStream for io::Stdout {
    fn is_terminal(&self) -> bool {
        IsTerminal::is_terminal(self)
    }

    fn columns(&self) -> Option<usize> {
        columns_of(self)
    }
}

impl StandardStream for io::Stderr {
    fn is_terminal(&self) -> bool {
        IsTerminal::is_terminal(self)
    }

    fn columns(&self) -> Option<usize> {
        columns_of(self)
    }
}

fn columns_of(stream: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// A mock of the machine: a run of it starts no process and does not wait.
pub struct MockMachine {
    pub host: HostFacts,
    /// The clock of its workers.
    pub calibration: Calibration,
    pub open: Box<OpenLink<'static>>,
    pub meters: Box<dyn Meters>,
    /// The signal that asked the run to stop; 0 if none did.
    pub asked: Arc<AtomicUsize>,
}

thread_local! {
    /// A command runs in one thread; the threads that it starts print nothing.
    static ENTERED: RefCell<Rc<ProcessContext>> = RefCell::new(Rc::new(ProcessContext::real()));
}

/// The context of this thread's command: the process's own by default.
pub(crate) fn context() -> Rc<ProcessContext> {
    ENTERED.with_borrow(Rc::clone)
}

/// Uses the world's context in this thread until the guard is dropped.
pub(crate) fn enter(world: &World) -> EnterGuard {
    EnterGuard(ENTERED.replace(Rc::clone(&world.context)))
}

/// Restores the previous context.
pub(crate) struct EnterGuard(Rc<ProcessContext>);

impl Drop for EnterGuard {
    fn drop(&mut self) {
        ENTERED.set(Rc::clone(&self.0));
    }
}

/// Counts from when it was made.
#[derive(Debug, Clone, Copy)]
pub struct SinceStart {
    start: Instant,
    /// The time that this thread had waited for a CPU by then.
    waited: Duration,
}

impl SinceStart {
    #[expect(clippy::disallowed_methods, reason = "bounds the run; nothing is measured with it")]
    pub fn now() -> SinceStart {
        SinceStart { start: Instant::now(), waited: thread_wait().unwrap_or_default() }
    }
}

impl Wall for SinceStart {
    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn report_delay(&self) -> Duration {
        // The estimates and the report take no more CPU time than this thread has had, and so wait no longer.
        thread_wait().unwrap_or_default().saturating_sub(self.waited)
    }
}

pub fn name() -> Option<String> {
    // An emulator answers the first with the program that it executes. The second it leaves to the kernel, which names
    // the emulator.
    let named = std::env::current_exe().ok()?;
    let executed = read_link(format!("/proc/self/task/{}/exe", std::process::id())).ok()?;
    let name = executed.file_name()?.to_string_lossy().into_owned();
    (named != executed).then_some(name)
}
