//! How long a process is waited for that has a line to say: one that is short of a CPU or waits for a device longer than others.

use std::time::Duration;

use hostmark_launch::{Received, WorkerLink};
use hostmark_model::{Message, ReasonCode};
use hostmark_say::say;

use crate::clock::wall::Wall;
use crate::round_error::RoundError;

/// A process that waits for a CPU or a device is waited for in turn, until this multiple of the patience.
const MOST_PATIENCE: u32 = 3;
/// The time between two looks at one.
const LOOK: Duration = Duration::from_secs(1);

/// What became of a wait.
#[derive(Debug, PartialEq)]
pub(crate) enum Waited {
    /// A line has come: the patience begins anew.
    Line(String),
    /// There will be none. How it ended, as a fragment that fits after "the worker".
    Ended(Message),
    /// The same of one that somebody else killed.
    Killed(Message),
    /// It had the CPU, and has said nothing for so long.
    Hung(Duration),
    /// It had too little of a CPU, or waited for a device, and has said nothing for so long.
    Starved(Duration),
    /// Nothing is waited for any more.
    OutOfTime,
    /// The person asked to stop.
    Interrupted,
}

/// Skipped, since a process had nothing to say for so long, for want of a CPU or a device.
pub(crate) fn starved(silent: Duration) -> RoundError {
    RoundError::skipped(
        ReasonCode::Disturbed,
        say!(
            "in {silent:.0} s it had too little of a CPU, or waited for a device: look for a process of real-time priority, a CPU \
             quota or a slow disk",
            silent = silent.as_secs_f64()
        ),
    )
}

/// The patience with one process.
pub(crate) struct Patience<'a> {
    wall: &'a dyn Wall,
    /// Time for which one may say nothing.
    pub(crate) patience: Duration,
    limit: Duration,
    last_line: Duration,
    hung: Duration,
}

impl Patience<'_> {
    /// One has hung that has said nothing for `patience` although it had the CPU; nothing is waited for beyond `limit`.
    pub(crate) fn new(wall: &dyn Wall, patience: Duration, limit: Duration) -> Patience<'_> {
        let last_line = wall.elapsed();
        Patience { wall, patience, limit, last_line, hung: last_line + patience }
    }

    /// The patience begins anew: what passed since its last line was not its to fill.
    pub(crate) fn renew(&mut self) {
        self.last_line = self.wall.elapsed();
        self.hung = self.last_line + self.patience;
    }

    /// Waits for its next line.
    pub(crate) fn line(&mut self, link: &mut dyn WorkerLink) -> Waited {
        loop {
            match link.receive(self.hung.min(self.limit).saturating_sub(self.wall.elapsed())) {
                Received::Line(line) => {
                    self.renew();
                    return Waited::Line(line);
                }
                Received::Ended(how) => return Waited::Ended(how),
                Received::Killed(how) => return Waited::Killed(how),
                // Which of the two it waited for, and not the clock, decides: a wait may end a little early.
                Received::TimedOut if self.limit <= self.hung => return Waited::OutOfTime,
                Received::TimedOut => {
                    let silent = self.hung.saturating_sub(self.last_line);
                    if !link.is_starved(self.patience) {
                        return Waited::Hung(silent);
                    }
                    if silent >= MOST_PATIENCE * self.patience {
                        return Waited::Starved(silent);
                    }
                    self.hung += LOOK;
                }
                Received::Interrupted => return Waited::Interrupted,
            }
        }
    }
}
