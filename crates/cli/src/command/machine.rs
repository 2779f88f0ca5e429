//! The machine that a run measures: this one, whatever layers the run is in, or one that is made up.

use std::path::PathBuf;

use anyhow::Result;
use hostmark_engine::clock::{self, Calibration};
use hostmark_host::Root;
use hostmark_model::{HostFacts, Inputs};

use super::quiet::Look;
use super::{inputs, lost};
use crate::language::both;
use crate::signals::StopRequest;
use crate::within::{self, Layer, Outside};
use crate::world::{MadeUp, around};

/// What a run measures.
pub enum Machine<'a> {
    /// This machine.
    This {
        /// This program's file, which workers and the janitor are started from.
        program: PathBuf,
        /// What is outside of the run's layers.
        outside: Outside,
        /// How busy its CPUs are.
        look: Look,
    },
    /// One that is none.
    MadeUp(&'a mut MadeUp),
}

impl Machine<'_> {
    /// This one, from within these layers.
    pub fn this(program: PathBuf, layers: &[Layer]) -> Result<Machine<'static>> {
        let outside = within::enter(layers)?;
        Ok(Machine::This { program, outside, look: Look::begin(&Root::here()) })
    }

    /// What is told of it.
    pub fn facts(&self, inputs: &Inputs) -> HostFacts {
        match self {
            Machine::This { outside, .. } => {
                let scratch = inputs::named_scratch(inputs);
                let mut host = hostmark_host::read_with_scratch(&Root::here(), scratch.as_deref());
                outside.correct(&mut host);
                host
            }
            Machine::MadeUp(made_up) => made_up.host.clone(),
        }
    }

    /// Notes how busy each CPU is, where a run chooses among them.
    pub fn note_busy(&self, inputs: &Inputs, host: &mut HostFacts) {
        if let Machine::This { look, .. } = self
            && inputs.cpus.is_none()
        {
            look.end(&Root::here(), host);
        }
    }

    /// Chooses and calibrates the clock.
    pub fn clock(&self, host: &HostFacts) -> Calibration {
        match self {
            Machine::This { .. } => clock::choose(host),
            Machine::MadeUp(made_up) => made_up.calibration.clone(),
        }
    }

    /// From now on a person's request to stop is heard.
    pub fn catch(&self) -> Result<StopRequest> {
        match self {
            Machine::This { outside, .. } => catch(outside),
            Machine::MadeUp(made_up) => Ok(StopRequest::made_up(&made_up.asked)?),
        }
    }
}

/// This program's file.
pub fn own_program() -> Result<PathBuf> {
    (around().program)().map_err(|error| {
        lost(both!(
            "the program's own file cannot be found ({error}); mount /proc",
            "找不到程序自身的文件（{error}）；请挂载 /proc"
        ))
    })
}

/// From now on a person's request to stop is heard.
pub fn catch(outside: &Outside) -> Result<StopRequest> {
    StopRequest::catch(outside.heard()).map_err(|error| {
        lost(both!(
            "signals cannot be caught (pipe2, fcntl or sigaction: {error}); raise the limit of open files (ulimit -n)",
            "无法捕获信号（pipe2、fcntl 或 sigaction：{error}）；请提高打开文件数上限（ulimit -n）"
        ))
    })
}
