//! An agent at a place, as the commands of this machine have it.

pub mod agent;
pub mod on;
pub mod peers;
pub mod serve;
pub mod target;

use std::time::Duration;

use anyhow::Result;
use hostmark_engine::janitor::CleanupEntry;
use hostmark_launch::agent::{AgentError, AgentLink};
use hostmark_launch::program::Programs;
use hostmark_launch::supervise::{Ending, Errors, Membership, Terms};
use hostmark_launch::timing::timing;
use hostmark_launch::transport::TransportError;
use hostmark_model::{AgentAnswer, AgentRequest, Exit};

use self::target::Target;
use super::measure::machine;
use super::processes::janitor::Janitor;
use super::{EndsWith, lost};
use crate::language::{refused, said};
use crate::signals::StopRequest;

/// An agent under way, in the janitor's charge: whoever kills this process leaves nothing of it here.
pub struct RunningAgent {
    link: Option<AgentLink>,
    janitor: Janitor,
    /// Id of its process here, once there is one.
    process: Option<u32>,
}

impl RunningAgent {
    pub fn open(place: &Target, stop: &StopRequest) -> Result<RunningAgent> {
        let janitor = machine::janitor()?;
        let programs = programs()?;
        let (errors, ending) = (Errors::Captured, Ending::Killed);
        let terms = Terms { group: Membership::Own, has_input: true, errors, ending, stop: Some(stop.readable()) };
        // From its start on, so that the janitor is told of its end too where it comes to nothing.
        let mut far = RunningAgent { link: None, janitor, process: None };
        let link = AgentLink::open(place.leads_to(), place.shown(), &programs, terms, |id| {
            far.process = Some(id);
            far.janitor.record(&CleanupEntry::Group(id));
        });
        far.link = Some(link.map_err(|error| failed(error, stop))?);
        match place.wanted_digest() {
            Some(digest) if far.digest() != digest => {
                Err(refused!("the run was begun by another build of hostmark; go on with that one, or measure anew"))
            }
            _ => Ok(far),
        }
    }

    pub fn ask(&mut self, request: &AgentRequest) -> Result<(), AgentError> {
        self.link.as_mut().map_or(Err(AgentError::Stopped), |link| link.ask(request))
    }

    pub fn receive(&mut self) -> Result<AgentAnswer, AgentError> {
        self.link.as_mut().map_or(Err(AgentError::Stopped), AgentLink::receive)
    }

    /// SHA-256 of its program, hexadecimal.
    pub fn digest(&self) -> &str {
        self.link.as_ref().map_or("", AgentLink::digest)
    }

    /// Asks the run to stop, which gives what there is.
    pub fn stops(&mut self) {
        if let Some(link) = &mut self.link {
            link.stops_within(timing().stop);
            let _ = link.ask(&AgentRequest::Stop);
        }
    }

    /// All has to be over in this time, whatever lease it asks for.
    pub fn ends_within(&mut self, at_most: Duration) {
        if let Some(link) = &mut self.link {
            link.ends_within(at_most);
        }
    }

    pub fn finish(mut self) {
        let is_gone = self.link.take().is_none_or(AgentLink::finish);
        self.is_over(is_gone);
    }

    /// Ends the janitor's charge of a process that is gone; others stay in it.
    fn is_over(&mut self, is_gone: bool) {
        if let Some(process) = self.process.take()
            && is_gone
        {
            self.janitor.record(&CleanupEntry::Reaped(process));
        }
    }
}

impl Drop for RunningAgent {
    fn drop(&mut self) {
        let is_gone = self.link.take().is_none_or(AgentLink::abandon);
        self.is_over(is_gone);
    }
}

/// Executables that may be copied to another host.
pub fn programs() -> Result<Programs> {
    Programs::of_this(cfg!(target_feature = "crt-static"))
        .map_err(|error| lost(said!("this program cannot be read to be copied ({error}); mount /proc")))
}

/// An error of the far end as this command's: bad input stays bad input, whatever breaks off is a lost resource.
pub fn failed(error: AgentError, stop: &StopRequest) -> anyhow::Error {
    let exit = match &error {
        AgentError::Stopped | AgentError::Transport(TransportError::Stopped) => {
            Exit::Signal(stop.signal().unwrap_or(2))
        }
        AgentError::Reported { exit, .. } if *exit == Exit::NothingSelected.code() => Exit::NothingSelected,
        AgentError::Reported { exit, .. } if *exit == Exit::BadInput.code() => Exit::BadInput,
        AgentError::Transport(_) | AgentError::Version { .. } | AgentError::NotLetIn { .. } => Exit::BadInput,
        _ => Exit::ResourceLost,
    };
    EndsWith(exit, (&error).into()).into()
}
