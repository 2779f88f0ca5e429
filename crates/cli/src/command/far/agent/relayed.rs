//! The peers of a run that is measured here for another machine: who asked for the run asks them.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use hostmark_engine::Wall;
use hostmark_launch::timing::timing;
use hostmark_model::{AgentAnswer, Message, PeerAnswer, PeerRequest};
use hostmark_say::say;

use super::outbox::OutboxWriter;
use crate::command::far::peers::{NoAnswer, PeerLink};
use crate::signals::StopRequest;
use crate::wall::SinceStart;

/// The time between two looks at whether somebody asked to stop.
const TURN: Duration = Duration::from_millis(200);

/// The way to them.
pub struct Relayed<'a, 'b> {
    /// Says what is wanted.
    pub shared_outbox: OutboxWriter<'a, 'b>,
    /// What comes back.
    pub answers: Receiver<Result<PeerAnswer, String>>,
    /// What they are called.
    pub names: Vec<String>,
    /// Whether the run is to stop.
    pub stop: &'a StopRequest,
}

impl PeerLink for Relayed<'_, '_> {
    fn ask(&self, peer: usize, request: PeerRequest) -> Result<PeerAnswer, NoAnswer> {
        let lost = |how: Message| {
            NoAnswer::Lost(say!("{name} cannot be asked ({how}); look at the way there", name = self.names[peer]))
        };
        let wants = AgentAnswer::Wants { peer: self.names[peer].clone(), request };
        self.shared_outbox.0.borrow_mut().say(&wants).map_err(|error| lost(error.into()))?;
        // Both who asks and the peer may be silent.
        let (begin, limit) = (SinceStart::now(), timing().silence() * 2);
        loop {
            match self.answers.recv_timeout(TURN) {
                Ok(answer) => return answer.map_err(|why| NoAnswer::Lost(why.into())),
                Err(RecvTimeoutError::Disconnected) => return Err(NoAnswer::Stopped),
                Err(RecvTimeoutError::Timeout) if self.stop.signal().is_some() => return Err(NoAnswer::Stopped),
                Err(RecvTimeoutError::Timeout) if begin.elapsed() > limit => {
                    return Err(lost(say!("no answer within {silent:.0} s", silent = limit.as_secs())));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}
