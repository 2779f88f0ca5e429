//! A place in a guest that this program has booted: each start is a new agent there.

use std::rc::Rc;

use rustix::fd::{AsRawFd, OwnedFd};

use super::Started;
use crate::guest_session::SESSION;
use crate::program::{Programs, command};
use crate::supervise::{Supervised, Terms};
use crate::transport_error::TransportError;

/// A guest's channel, of which one agent at a time has the use, and QEMU's monitor beside it.
#[derive(Debug, Clone)]
pub struct GuestPlace {
    channel: Rc<OwnedFd>,
    monitor: Rc<OwnedFd>,
    digest: String,
}

impl GuestPlace {
    /// The one behind these, in which a program of this digest answers.
    pub(crate) fn new(channel: Rc<OwnedFd>, monitor: Rc<OwnedFd>, digest: String) -> GuestPlace {
        GuestPlace { channel, monitor, digest }
    }

    /// Starts the process that leads there.
    pub(crate) fn start(&self, programs: &Programs, terms: Terms) -> Result<Started, TransportError> {
        // Only these are inherited, and only by this process: nothing else is started while they are there.
        let of = |descriptor: &OwnedFd| rustix::io::dup(descriptor).map_err(std::io::Error::from);
        let (channel, monitor) = (of(&self.channel)?, of(&self.monitor)?);
        let mut command = command(programs.own());
        command.arg(SESSION);
        command.args([&channel, &monitor].map(|descriptor| descriptor.as_raw_fd().to_string()));
        let process = Supervised::start(command, terms)?;
        Ok(Started { process, digest: Some(self.digest.clone()), has_copied: true, is_static: true })
    }
}

impl PartialEq for GuestPlace {
    fn eq(&self, other: &GuestPlace) -> bool {
        Rc::ptr_eq(&self.channel, &other.channel)
    }
}

impl Eq for GuestPlace {}
