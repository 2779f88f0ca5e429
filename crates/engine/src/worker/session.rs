//! Session of one worker during a round, until it is complete, wrong, silent for too long, or the run is stopped.

use std::io;
use std::time::Duration;

use hostmark_launch::{Received, WorkerLink};
use hostmark_model::{Event, Job, JsonLine, Message, PROTOCOL, ReasonCode};
use hostmark_say::say;

use crate::clock::Wall;
use crate::round_error::RoundError;

/// A round is a handful of lines; a worker that goes on and on would fill the parent's memory.
const MOST_LINES: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionEnd {
    /// Round with its last event: done, skipped, or failed.
    Complete,
    /// The worker ended after the round before, and said nothing of this one.
    Gone,
    OutOfTime,
    /// The person asked to stop.
    Interrupted,
}

#[derive(Debug, PartialEq)]
pub(crate) struct RoundEvents {
    /// Events as far as they came; the greeting is among those of a worker's first round.
    pub events: Vec<Event>,
    pub end: SessionEnd,
}

/// Session of a worker with a job of some cases, each told when it is done, or of one warm-up.
pub(crate) struct WorkerSession<'a> {
    link: Box<dyn WorkerLink>,
    patience: Patience<'a>,
    /// Process id, once it has greeted.
    pid: Option<u32>,
    is_over: bool,
}

impl WorkerSession<'_> {
    /// The worker has hung when nothing was heard of it for `patience` although it had the CPU, and the run is over at `limit`.
    pub(crate) fn new(
        link: Box<dyn WorkerLink>,
        wall: &dyn Wall,
        patience: Duration,
        limit: Duration,
    ) -> WorkerSession<'_> {
        WorkerSession { link, patience: Patience::new(wall, patience, limit), pid: None, is_over: false }
    }

    /// Gives a worker that has done its job, and waits, another.
    pub(crate) fn give(&mut self, job: &Job, patience: Duration) -> io::Result<()> {
        self.patience.patience = patience;
        self.link.give(job.to_line()?.trim_end())
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Hears out its next round; that of a worker that goes wrong fails.
    pub(crate) fn round(&mut self) -> RoundEvents {
        let (mut events, mut fills) = (Vec::new(), 0);
        // Writing down the round before may have taken long.
        self.patience.renew();
        let reason = loop {
            match self.patience.line(self.link.as_mut()) {
                Waited::Line(line) => match event(&line, self.pid.is_none()) {
                    // That it is still setting up is no part of what it measured.
                    Ok(Event::Filled { .. }) if fills < MOST_LINES => fills += 1,
                    Ok(event) => {
                        if let Event::Hello { pid, .. } = event {
                            self.pid = Some(pid);
                        }
                        let is_last = event.is_last();
                        events.push(event);
                        if is_last {
                            return RoundEvents { events, end: SessionEnd::Complete };
                        }
                        if events.len() >= MOST_LINES {
                            let text = say!("the worker wrote {MOST_LINES} lines and was not done");
                            break Event::Failed { reason: ReasonCode::Protocol.because(text) };
                        }
                    }
                    Err(text) => break Event::Failed { reason: ReasonCode::Protocol.because(text) },
                },
                Waited::Ended(_) if self.pid.is_some() && events.is_empty() => {
                    return self.cut_short(events, SessionEnd::Gone);
                }
                // One that was killed may have been filling memory for this round, and so may the next.
                Waited::Ended(how) | Waited::Killed(how) => {
                    break Event::Failed { reason: ReasonCode::ProcessDied.because(say!("the worker {how}")) };
                }
                Waited::Hung(silent) => {
                    let text = say!("no answer within {silent:.0} s", silent = silent.as_secs_f64());
                    break Event::Failed { reason: ReasonCode::TimedOut.because(text) };
                }
                Waited::Starved(silent) => break starved(silent).into(),
                Waited::OutOfTime => return self.cut_short(events, SessionEnd::OutOfTime),
                Waited::Interrupted => return self.cut_short(events, SessionEnd::Interrupted),
            }
        };
        events.push(reason);
        self.cut_short(events, SessionEnd::Complete)
    }

    fn cut_short(&mut self, events: Vec<Event>, end: SessionEnd) -> RoundEvents {
        self.is_over = true;
        RoundEvents { events, end }
    }

    /// Tells whether nothing more is to be heard of this worker: what is left of its job needs another.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    pub(crate) fn end(mut self) {
        self.link.end();
    }
}

/// The event of a line; the first one is a greeting in our protocol.
fn event(line: &str, is_first: bool) -> Result<Event, Message> {
    match Event::from_line(line) {
        Ok(Event::Hello { protocol, .. }) if protocol != PROTOCOL => {
            Err(say!("the worker speaks protocol {protocol}, not {PROTOCOL}"))
        }
        Ok(Event::Hello { .. }) if !is_first => Err(say!("the worker greeted twice")),
        Ok(event @ Event::Hello { .. }) => Ok(event),
        Ok(_) if is_first => Err(say!("the worker did not say which protocol it speaks")),
        Ok(event) => Ok(event),
        Err(error) => Err(say!("the worker wrote what is no event: {error}")),
    }
}

/// A process that waits for a CPU or a device is waited for in turn, until this multiple of the patience.
const MOST_PATIENCE: u32 = 3;
/// The time between two looks at one.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug, PartialEq)]
pub(crate) enum Waited {
    /// A line has come: the patience begins anew.
    Line(String),
    /// Worker that has ended, and how: a fragment that fits after "the worker".
    Ended(Message),
    /// The same of one that somebody else killed.
    Killed(Message),
    /// Worker that had the CPU, and was silent for so long.
    Hung(Duration),
    /// Worker that had too little of a CPU, or waited for a device, and was silent for so long.
    Starved(Duration),
    /// Session without time left to wait.
    OutOfTime,
    /// The person asked to stop.
    Interrupted,
}

/// Returns the Skipped error of a process that had nothing to say for so long, for want of a CPU or a device.
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

pub(crate) struct Patience<'a> {
    wall: &'a dyn Wall,
    /// Time for which one may say nothing.
    pub(crate) patience: Duration,
    limit: Duration,
    last_line: Duration,
    hung: Duration,
}

impl Patience<'_> {
    /// Returns limits: a worker has hung after `patience` of silence although it had the CPU; nothing is waited for beyond `limit`.
    pub(crate) fn new(wall: &dyn Wall, patience: Duration, limit: Duration) -> Patience<'_> {
        let last_line = wall.elapsed();
        Patience { wall, patience, limit, last_line, hung: last_line + patience }
    }

    /// The patience begins anew: what passed since its last line was not its to fill.
    pub(crate) fn renew(&mut self) {
        self.last_line = self.wall.elapsed();
        self.hung = self.last_line + self.patience;
    }

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

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use hostmark_launch::Received;
    use hostmark_model::{RoundNoise, out_of_memory};

    use super::*;

    /// A worker that has written these lines, and then is gone like this.
    struct Written(VecDeque<String>, Received);

    impl WorkerLink for Written {
        fn receive(&mut self, _: Duration) -> Received {
            self.0.pop_front().map_or_else(|| self.1.clone(), Received::Line)
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

    fn session(events: &[Event]) -> WorkerSession<'static> {
        ended_by(events, Received::Ended("ended with status 1".into()))
    }

    fn ended_by(events: &[Event], end: Received) -> WorkerSession<'static> {
        let lines = events.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
        WorkerSession::new(Box::new(Written(lines, end)), &NoTime, Duration::from_secs(1), Duration::from_secs(9))
    }

    fn complete(events: &[Event]) -> RoundEvents {
        RoundEvents { events: events.to_vec(), end: SessionEnd::Complete }
    }

    const HELLO: Event = Event::Hello { protocol: PROTOCOL, pid: 1 };

    fn note(value: &str) -> Event {
        Event::Note { key: "kernel".into(), value: value.into() }
    }

    #[test]
    fn each_last_event_ends_a_case_of_the_job() {
        let done = Event::Done { noise: RoundNoise::default() };
        let skipped = Event::Skipped { reason: ReasonCode::MissingFile.because("no device") };
        let events = [HELLO, note("one"), done.clone(), skipped.clone(), note("three"), done.clone()];
        let mut session = session(&events);
        let events_of: Vec<RoundEvents> = (0..3).map(|_| session.round()).collect();
        assert_eq!(events_of, [complete(&events[..3]), complete(&events[3..4]), complete(&events[4..])]);
        assert!(!session.is_over());
    }

    #[test]
    fn a_worker_that_ends_between_two_rounds_fails_neither() {
        let done = Event::Done { noise: RoundNoise::default() };
        let mut gone = session(&[HELLO, done.clone()]);
        assert_eq!(gone.round(), complete(&[HELLO, done]));
        assert_eq!(gone.round(), RoundEvents { events: Vec::new(), end: SessionEnd::Gone });
        assert!(gone.is_over());
        // One that never greeted has failed its first.
        let RoundEvents { events, end } = session(&[]).round();
        assert!(end == SessionEnd::Complete && matches!(events[..], [Event::Failed { .. }]), "{events:?}");
    }

    #[test]
    fn a_worker_that_was_killed_before_it_said_a_word_of_a_round_fails_that() {
        let done = Event::Done { noise: RoundNoise::default() };
        let mut session = ended_by(&[HELLO, done], Received::Killed(out_of_memory()));
        session.round();
        let reason = ReasonCode::ProcessDied.because(say!("the worker {how}", how = out_of_memory()));
        assert_eq!(session.round(), complete(&[Event::Failed { reason }]));
        assert!(session.is_over());
    }

    #[test]
    fn a_worker_that_ends_early_fails_the_case_under_way_and_has_reported_those_before() {
        let done = Event::Done { noise: RoundNoise::default() };
        let failed = Event::Failed { reason: ReasonCode::ProcessDied.because("the worker ended with status 1") };
        let mut session = session(&[HELLO, done.clone(), note("half")]);
        assert_eq!(session.round(), complete(&[HELLO, done]));
        assert!(!session.is_over());
        assert_eq!(session.round(), complete(&[note("half"), failed]));
        assert!(session.is_over());
    }
}
