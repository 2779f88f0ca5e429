//! What one worker says of its round, until it is complete, wrong, silent for too long, or the run is stopped.

use std::time::Duration;

use hostmark_launch::WorkerLink;
use hostmark_model::{Event, PROTOCOL};

use crate::patience::{Patience, Waited};
use crate::wall::Wall;

/// A round is a handful of lines; a worker that goes on and on would fill the parent's memory.
const MOST_LINES: usize = 10_000;

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With the round's last event: done, skipped, or failed.
    Complete,
    /// The run's time is over.
    OutOfTime,
    /// The person asked to stop.
    Interrupted,
}

/// What was heard of a worker.
#[derive(Debug)]
pub(crate) struct Heard {
    /// The events of each case of its job, as far as these came to their end; the greeting is among the first's.
    pub rounds: Vec<Vec<Event>>,
    /// How it ended.
    pub end: End,
}

/// Hears a worker out that has a job of so many cases, or one warm-up; it has hung when nothing was heard of it for `patience`
/// although it had the CPU, and the run is over at `limit`. Of a worker that went wrong, all cases that it had not done fail.
pub(crate) fn collect_events(
    link: &mut dyn WorkerLink,
    cases: usize,
    wall: &dyn Wall,
    patience: Duration,
    limit: Duration,
) -> Heard {
    let (mut patience, mut fills) = (Patience::new(wall, patience, limit), 0);
    let (mut rounds, mut events, mut has_greeted) = (Vec::new(), Vec::new(), false);
    let last = loop {
        match patience.line(link) {
            Waited::Line(line) => match event(&line, !has_greeted) {
                // It is on its way, and this is no part of what it measured.
                Ok(Event::Filled { .. }) if fills < MOST_LINES => fills += 1,
                Ok(event) => {
                    has_greeted = true;
                    let is_last = event.is_last();
                    events.push(event);
                    if is_last {
                        rounds.push(std::mem::take(&mut events));
                        if rounds.len() >= cases {
                            return Heard { rounds, end: End::Complete };
                        }
                    }
                    if events.len() >= MOST_LINES {
                        let reason = format!("the worker wrote {MOST_LINES} lines and was not done");
                        break Event::Failed { reason };
                    }
                }
                Err(reason) => break Event::Failed { reason },
            },
            Waited::Ended(how) => break Event::Failed { reason: format!("the worker {how}") },
            Waited::Hung(silent) => {
                break Event::Failed { reason: format!("no answer within {:.0} s", silent.as_secs_f64()) };
            }
            Waited::Starved(silent) => {
                let reason = format!(
                    "in {:.0} s it had too little of a CPU, or waited for a device: look for a process of real-time \
                     priority, a CPU quota or a slow disk",
                    silent.as_secs_f64()
                );
                break Event::Skipped { reason };
            }
            Waited::OutOfTime => return Heard { rounds, end: End::OutOfTime },
            Waited::Interrupted => return Heard { rounds, end: End::Interrupted },
        }
    };
    while rounds.len() < cases {
        let mut events = std::mem::take(&mut events);
        events.push(last.clone());
        rounds.push(events);
    }
    Heard { rounds, end: End::Complete }
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

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use hostmark_launch::Received;
    use hostmark_model::RoundNoise;

    use super::*;

    /// A worker that has written these lines, and ends.
    struct Written(VecDeque<String>);

    impl WorkerLink for Written {
        fn receive(&mut self, _: Duration) -> Received {
            self.0.pop_front().map_or_else(|| Received::Ended("ended with status 1".into()), Received::Line)
        }

        fn is_starved(&mut self, _: Duration) -> bool {
            false
        }

        fn end(&mut self) {}
    }

    struct NoTime;

    impl Wall for NoTime {
        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }
    }

    fn heard(cases: usize, events: &[Event]) -> Heard {
        let lines = events.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
        collect_events(&mut Written(lines), cases, &NoTime, Duration::from_secs(1), Duration::from_secs(9))
    }

    const HELLO: Event = Event::Hello { protocol: PROTOCOL, pid: 1 };

    fn note(value: &str) -> Event {
        Event::Note { key: "kernel".into(), value: value.into() }
    }

    #[test]
    fn each_last_event_ends_a_case_of_the_job() {
        let done = Event::Done { noise: RoundNoise::default() };
        let skipped = Event::Skipped { reason: "no device".into() };
        let events = [HELLO, note("one"), done.clone(), skipped.clone(), note("three"), done.clone()];
        let all = heard(3, &events);
        assert_eq!(all.end, End::Complete);
        assert_eq!(all.rounds, [vec![HELLO, note("one"), done.clone()], vec![skipped], vec![note("three"), done]]);
        // Nothing is waited for after the last case.
        assert_eq!(heard(1, &events).rounds, all.rounds[..1]);
    }

    #[test]
    fn a_worker_that_ends_early_fails_the_cases_that_it_had_not_done() {
        let done = Event::Done { noise: RoundNoise::default() };
        let failed = || Event::Failed { reason: "the worker ended with status 1".into() };
        let told = heard(3, &[HELLO, done.clone(), note("half")]);
        assert_eq!(told.end, End::Complete);
        assert_eq!(told.rounds, [vec![HELLO, done], vec![note("half"), failed()], vec![failed()]]);
    }
}
