//! A way to one worker, as who measures has it.

use std::io;
use std::time::Duration;

use hostmark_model::Message;

/// A way to one worker. It is always a process of the machine on which the run is: what goes elsewhere is a whole run.
pub trait WorkerLink {
    /// The next line, or why there is none.
    fn receive(&mut self, at_most: Duration) -> Received;
    /// Whether a part of the worker waits for a CPU or a device, and has had less CPU time than `enough` so far.
    fn is_starved(&mut self, enough: Duration) -> bool;
    /// Gives a worker that waits for one a further line.
    fn give(&mut self, _line: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Ends the worker and everything it started, and waits until it is gone.
    fn end(&mut self);
}

/// A way to one far end: who serves what a worker measures. It is started where it is to serve.
pub trait ServiceLink: WorkerLink {
    /// Tells it that it is not needed any more: it says what it has used, and ends.
    fn close_stdin(&mut self);
}

/// What came over a worker's link.
#[derive(Debug, Clone, PartialEq)]
pub enum Received {
    /// A line, without its end.
    Line(String),
    /// The worker ended; how, as a fragment that fits after "the worker".
    Ended(Message),
    /// The same of one that somebody else killed.
    Killed(Message),
    /// Nothing came in the time given.
    TimedOut,
    /// The person asked to stop.
    Interrupted,
}
