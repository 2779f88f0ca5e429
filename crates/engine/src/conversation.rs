//! What one worker says of its round, until it is complete, wrong, silent for too long, or the run is stopped.

use std::time::Duration;

use hostmark_launch::{Received, WorkerLink};
use hostmark_model::{Event, PROTOCOL};

use crate::run::Wall;

/// A round is a handful of lines; a worker that goes on and on would fill the parent's memory.
const MOST_LINES: usize = 10_000;

/// A worker that waits for a CPU or a device is waited for in turn, until this multiple of the patience.
const MOST_PATIENCE: u32 = 3;
/// The time between two looks at one.
const LOOK: Duration = Duration::from_secs(1);

/// How a conversation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With the round's last event: done, skipped, or failed.
    Complete,
    /// The run's time is over.
    OutOfTime,
    /// The person asked to stop.
    Interrupted,
}

/// Hears a worker out; it has hung when nothing was heard of it for `patience` although it had the CPU, and the run is over
/// at `limit`.
pub(crate) fn hear(
    link: &mut dyn WorkerLink,
    wall: &dyn Wall,
    patience: Duration,
    limit: Duration,
) -> (Vec<Event>, End) {
    let (mut heard, mut hung, mut fills) = (wall.elapsed(), wall.elapsed() + patience, 0);
    let mut events = Vec::new();
    let wrong = loop {
        let until = hung.min(limit);
        match link.receive(until.saturating_sub(wall.elapsed())) {
            Received::Line(line) => match event(&line, events.is_empty()) {
                // It is on its way, and this is no part of what it measured.
                Ok(Event::Filled { .. }) if fills < MOST_LINES => {
                    (heard, fills) = (wall.elapsed(), fills + 1);
                    hung = heard + patience;
                }
                Ok(event) => {
                    heard = wall.elapsed();
                    hung = heard + patience;
                    let is_last = matches!(event, Event::Done { .. } | Event::Skipped { .. } | Event::Failed { .. });
                    events.push(event);
                    if is_last {
                        return (events, End::Complete);
                    }
                    if events.len() >= MOST_LINES {
                        break format!("the worker wrote {MOST_LINES} lines and was not done");
                    }
                }
                Err(reason) => break reason,
            },
            Received::Ended(how) => break format!("the worker {how}"),
            // Which of the two it waited for, and not the clock, decides: a wait may end a little early.
            Received::TimedOut if limit <= hung => return (events, End::OutOfTime),
            Received::TimedOut => {
                let silent = hung.saturating_sub(heard);
                let waited = silent.as_secs_f64();
                if !link.is_starved(patience) {
                    break format!("no answer within {waited:.0} s");
                }
                if silent >= MOST_PATIENCE * patience {
                    let reason = format!(
                        "in {waited:.0} s it had too little of a CPU, or waited for a device: look for a process of \
                         real-time priority, a CPU quota or a slow disk"
                    );
                    events.push(Event::Skipped { reason });
                    return (events, End::Complete);
                }
                hung += LOOK;
            }
            Received::Interrupted => return (events, End::Interrupted),
        }
    };
    events.push(Event::Failed { reason: wrong });
    (events, End::Complete)
}

/// The event of a line; the first one is a greeting in our protocol.
fn event(line: &str, is_first: bool) -> Result<Event, String> {
    match serde_json::from_str(line) {
        Ok(Event::Hello { protocol, .. }) if protocol != PROTOCOL => {
            Err(format!("the worker speaks protocol {protocol}, not {PROTOCOL}"))
        }
        Ok(Event::Hello { .. }) if !is_first => Err("the worker greeted twice".into()),
        Ok(event @ Event::Hello { .. }) => Ok(event),
        Ok(_) if is_first => Err("the worker did not say which protocol it speaks".into()),
        Ok(event) => Ok(event),
        Err(error) => Err(format!("the worker wrote what is no event: {error}")),
    }
}
