//! Hears who asked for a run while it goes on: acknowledgements, a request to stop, the end of the link; and ends the agent when
//! nobody hears it any more.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use hostmark_launch::timing::timing;
use hostmark_model::{AgentRequest, Exit, PeerAnswer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::inbox::Inbox;
use super::outbox::Link;
use crate::signals::Asker;

/// Where answers of the run's peers go.
pub type Relays = Sender<Result<PeerAnswer, String>>;

/// Begins to hear.
pub fn begin(inbox: Inbox, woken: OwnedFd, link: &Arc<Link>, asker: Asker, relays: Relays) -> io::Result<()> {
    let link = Arc::clone(link);
    // It sleeps until something comes.
    std::thread::Builder::new().name("hm-watch".into()).stack_size(256 << 10).spawn(move || {
        if read_requests(inbox, &woken, &link, &asker, &relays) == WatchEnd::Bye {
            // A run that is over needs no more time, and is not to be stopped.
            std::thread::sleep(timing().end);
        }
        asker.ask();
        // What the run does not put in order by then, the janitor does.
        std::thread::sleep(timing().end);
        // The run's thread may be writing to where nobody reads.
        std::process::exit(Exit::ResourceLost.code().into());
    })?;
    Ok(())
}

/// How the hearing ended.
#[derive(Debug, PartialEq, Eq)]
enum WatchEnd {
    /// By a word.
    Bye,
    /// The other end is gone, or makes no sense.
    Gone,
}

fn read_requests(mut inbox: Inbox, woken: &OwnedFd, link: &Link, asker: &Asker, relays: &Relays) -> WatchEnd {
    loop {
        loop {
            match inbox.whole_line() {
                Ok(None) => break,
                Ok(Some(AgentRequest::Acknowledge { lines })) if link.acknowledge(lines) => {}
                Ok(Some(AgentRequest::Stop)) => asker.ask(),
                // A run that is over waits for none.
                Ok(Some(AgentRequest::Relayed(answer))) => drop(relays.send(answer)),
                Ok(Some(AgentRequest::Bye)) => return WatchEnd::Bye,
                Ok(Some(_)) | Err(_) => return WatchEnd::Gone,
            }
        }
        let left = link.left();
        if left.is_some_and(|left| left.is_zero()) {
            return WatchEnd::Gone;
        }
        let mut watched = [PollFd::new(&inbox, PollFlags::IN), PollFd::new(woken, PollFlags::IN)];
        let at_most = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut watched, at_most.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return WatchEnd::Gone,
        }
        let (has_line, is_woken) = (!watched[0].revents().is_empty(), !watched[1].revents().is_empty());
        if is_woken {
            let _ = rustix::io::read(woken, &mut [0; 64]);
        }
        if has_line && !matches!(inbox.read(Some(Duration::ZERO)), Ok(None | Some(1..))) {
            return WatchEnd::Gone;
        }
    }
}
