//! What one worker says of its round, until it is complete, wrong, silent for too long, or the run is stopped.

use std::time::Duration;

use hostmark_model::{Event, PROTOCOL, Received};

use crate::run::{Wall, WorkerLink};

/// A round is a handful of lines; a worker that goes on and on would fill the parent's memory.
const MOST_LINES: usize = 10_000;

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

/// Hears a worker out; it has hung when it is not done at `hung`, and the run is over at `limit`.
pub(crate) fn hear(link: &mut dyn WorkerLink, wall: &dyn Wall, hung: Duration, limit: Duration) -> (Vec<Event>, End) {
    let began = wall.elapsed();
    let until = hung.min(limit);
    let mut events = Vec::new();
    let wrong = loop {
        match link.receive(until.saturating_sub(wall.elapsed())) {
            Received::Line(line) => match event(&line, events.is_empty()) {
                Ok(event) => {
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
                break format!("no answer within {:.0} s", (hung.saturating_sub(began)).as_secs_f64());
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
