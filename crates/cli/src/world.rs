//! What a command has around it: streams, variables, clocks, and who measures. A test gives it another world than the process's.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::SystemTime;

use hostmark_engine::clock::Calibration;
use hostmark_engine::{Meters, OpenLink, Wall};
use hostmark_model::HostFacts;
use hostmark_report::timestamp::Timestamp;
use rustix::fd::AsFd;

use crate::wall::SinceStart;

/// What a command has around it.
pub struct World {
    /// What it speaks by.
    pub surroundings: Rc<Surroundings>,
    /// The time since it was given.
    pub wall: Box<dyn Wall>,
    /// What a run measures in the place of this machine.
    pub made_up: Option<MadeUp>,
}

impl World {
    /// The process's own.
    pub fn real() -> World {
        World { wall: Box::new(SinceStart::now()), surroundings: Rc::new(Surroundings::real()), made_up: None }
    }
}

/// Gives an environment variable's value.
pub type Variable = dyn Fn(&str) -> Option<OsString>;

/// Where a command prints and complains, and what it reads of its surroundings.
pub struct Surroundings {
    /// Standard output.
    pub output: RefCell<Box<dyn Stream>>,
    /// Standard error.
    pub errors: RefCell<Box<dyn Stream>>,
    /// The value of an environment variable.
    pub variable: Box<Variable>,
    /// The time of day.
    pub now: Box<dyn Fn() -> Timestamp>,
    /// The program's file, which processes of its own are started from.
    pub program: Box<dyn Fn() -> io::Result<PathBuf>>,
}

impl Surroundings {
    fn real() -> Surroundings {
        Surroundings {
            output: RefCell::new(Box::new(io::stdout())),
            errors: RefCell::new(Box::new(io::stderr())),
            variable: Box::new(|name| std::env::var_os(name)),
            now: Box::new(time_of_day),
            program: Box::new(std::env::current_exe),
        }
    }
}

/// The time of day that the system tells.
#[expect(clippy::disallowed_methods, reason = "says when a run was made, and measures nothing")]
pub fn time_of_day() -> Timestamp {
    SystemTime::now().into()
}

/// Standard output or standard error.
pub trait Stream: Write {
    /// Whether a person sees what is written at once.
    fn is_terminal(&self) -> bool {
        false
    }

    /// The columns of a terminal that tells them.
    fn columns(&self) -> Option<usize> {
        None
    }
}

impl Stream for io::Stdout {
    fn is_terminal(&self) -> bool {
        IsTerminal::is_terminal(self)
    }

    fn columns(&self) -> Option<usize> {
        columns_of(self)
    }
}

impl Stream for io::Stderr {
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

/// A machine that is none: a run measures it without a process, and without waiting.
pub struct MadeUp {
    /// What is told of it.
    pub host: HostFacts,
    /// The clock of its workers.
    pub calibration: Calibration,
    /// Opens a link to what stands for a worker.
    pub open: Box<OpenLink<'static>>,
    /// Who used its CPUs.
    pub meters: Box<dyn Meters>,
    /// The signal that asked the run to stop; 0: none did.
    pub asked: Arc<AtomicUsize>,
}

thread_local! {
    /// A command keeps to one thread, and what it starts besides says nothing.
    static ENTERED: RefCell<Rc<Surroundings>> = RefCell::new(Rc::new(Surroundings::real()));
}

/// What the command of this thread has around it: what the process has, unless it was given another.
pub(crate) fn around() -> Rc<Surroundings> {
    ENTERED.with_borrow(Rc::clone)
}

/// From now on this thread's command is in this world, until what is returned is dropped.
pub(crate) fn enter(world: &World) -> Entered {
    Entered(ENTERED.replace(Rc::clone(&world.surroundings)))
}

/// A thread's command in a world, and the surroundings before.
pub(crate) struct Entered(Rc<Surroundings>);

impl Drop for Entered {
    fn drop(&mut self) {
        ENTERED.set(Rc::clone(&self.0));
    }
}
