//! The machine that a run measures: this one, inside the layers of `--isolate`, or a mock.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use hostmark_engine::clock::{self, Calibration};
use hostmark_engine::look_at_memory;
use hostmark_host::Root;
use hostmark_model::{HostFacts, Inputs, MemoryLook, Message, Scratch};
use hostmark_say::say;

use super::inputs;
use super::quiet::CpuWatch;
use crate::command::lost;
use crate::command::processes::{self, janitor::Janitor};
use crate::isolate::{self, Layer, Outside};
use crate::signals::StopRequest;
use crate::wall::SinceStart;
use crate::world::{MockMachine, context};

/// What a run measures.
pub enum MeasuredMachine<'a> {
    /// This machine.
    Local {
        /// The file from which workers and the janitor are started, where it is not this process's own.
        program: Option<PathBuf>,
        /// What is outside of the run's layers.
        outside: Outside,
        /// How busy its CPUs are.
        look: CpuWatch,
    },
    /// A mock.
    Mock(&'a mut MockMachine),
}

impl MeasuredMachine<'_> {
    /// This machine, from inside these layers.
    pub fn local(program: Option<PathBuf>, layers: &[Layer]) -> Result<MeasuredMachine<'static>> {
        let outside = isolate::enter(layers)?;
        Ok(MeasuredMachine::Local { program, outside, look: CpuWatch::begin(&Root::here()) })
    }

    /// Its facts.
    pub fn facts(&self, inputs: &Inputs) -> HostFacts {
        match self {
            MeasuredMachine::Local { outside, .. } => {
                let scratch = inputs::named_scratch(inputs);
                let mut host = hostmark_host::read_with_scratch(&Root::here(), scratch.as_deref());
                outside.correct(&mut host);
                host
            }
            MeasuredMachine::Mock(mock) => mock.host.clone(),
        }
    }

    /// Notes how busy each CPU is, where a run chooses among them.
    pub fn note_busy(&self, inputs: &Inputs, host: &mut HostFacts) {
        if let MeasuredMachine::Local { look, .. } = self
            && inputs.cpus.is_none()
        {
            look.end(&Root::here(), host);
        }
    }

    /// Looks at memory, by which sizes and time are planned.
    pub fn memory_look(&self, host: &HostFacts) -> Option<MemoryLook> {
        match self {
            MeasuredMachine::Local { program, .. } => {
                let program = program.clone().map_or_else(own_program, Ok).ok()?;
                look_at_memory(host, &mut |job| processes::alone(&program, job), &SinceStart::now())
            }
            MeasuredMachine::Mock(_) => None,
        }
    }

    /// Chooses and calibrates the clock.
    pub fn clock(&self, host: &HostFacts) -> Calibration {
        match self {
            MeasuredMachine::Local { .. } => clock::choose(host),
            MeasuredMachine::Mock(mock) => mock.calibration.clone(),
        }
    }

    /// From now on a person's request to stop is heard.
    pub fn catch(&self) -> Result<StopRequest> {
        match self {
            MeasuredMachine::Local { outside, .. } => catch(outside),
            MeasuredMachine::Mock(mock) => Ok(StopRequest::mock(&mock.asked)?),
        }
    }
}

/// The file through which this program is started again.
pub fn own_program() -> Result<PathBuf> {
    (context().program)().map_err(|error| lost(not_found(&error)))
}

/// The name of the program's own file, for others than this process to start. An error is a sentence.
pub fn own_file() -> Result<PathBuf, Message> {
    std::env::current_exe().map_err(|error| not_found(&error))
}

fn not_found(error: &io::Error) -> Message {
    say!("the program's own file cannot be found ({error}); mount /proc")
}

/// Who cleans up where this process is killed.
pub fn janitor() -> Result<Janitor> {
    Janitor::start(&own_program()?).map_err(lost)
}

/// The same, and where programs that are started here keep runs that nobody asked for: a directory that goes with it.
pub fn janitor_of_runs(program: &Path) -> Result<(Janitor, OsString)> {
    let mut janitor = Janitor::start(program).map_err(lost)?;
    match janitor.directory(&inputs::scratch(&Inputs::default())) {
        Scratch::Made { path, .. } => Ok((janitor, OsString::from_vec(path.0))),
        Scratch::Missing(reason) => Err(lost(reason)),
    }
}

/// From now on a person's request to stop is heard.
pub fn catch(outside: &Outside) -> Result<StopRequest> {
    StopRequest::catch(outside.signal_log()).map_err(|error| {
        lost(say!(
            "signals cannot be caught (pipe2, fcntl or sigaction: {error}); raise the limit of open files (ulimit -n)"
        ))
    })
}
