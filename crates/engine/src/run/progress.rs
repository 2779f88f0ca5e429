//! The state of one planned case: its rounds, and what the next ones need to know of them.

use std::time::Duration;

use hostmark_model::{Choice, Event, Reason};

use crate::record::RoundResult;
use crate::record::journal::Took;

/// The state of one planned case.
#[derive(Default)]
pub(super) struct Progress {
    /// Its rounds so far.
    pub(super) rounds: Vec<RoundResult>,
    /// What the last round took.
    pub(super) last: Option<Cost>,
    /// Iterations of a sample that its rounds found.
    pub(super) iterations: Option<u64>,
    /// No more rounds: it was skipped or failed.
    pub(super) ended: bool,
    /// There is no time for as many rounds as an interval needs, so the others have its time.
    pub(super) dropped: bool,
}

impl Progress {
    /// Takes a round into account. One that came to no value is the last, unless it is the first such and forgiven.
    pub(super) fn add(&mut self, round: RoundResult, took: &Took, is_forgiven: bool) {
        let is_lost = |round: &RoundResult| round.ended_by().is_some();
        self.ended |= is_lost(&round) && (!is_forgiven || self.rounds.iter().any(is_lost));
        self.iterations = round.learned().or(self.iterations);
        let (trials, first_touch) = (round.chosen().map(|(_, trials)| trials), round.first_touch());
        self.rounds.push(round);
        // No later round has trials, or touches memory that is kept.
        let spent = took.spent.saturating_sub(trials.unwrap_or_default() + first_touch);
        let stretch = spent.as_secs_f64() / took.granted.as_secs_f64().max(1e-3);
        self.last = Some(Cost { overhead: spent.saturating_sub(took.granted), stretch });
    }
}

/// What a round took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// Time that was not for samples: start, set-up, warm-up, journal.
    pub(super) overhead: Duration,
    /// All of its time over what was granted for samples.
    pub(super) stretch: f64,
}

impl RoundResult {
    /// Why it came to no value.
    pub(super) fn ended_by(&self) -> Option<&Reason> {
        match self.events.last() {
            Some(Event::Skipped { reason } | Event::Failed { reason }) => Some(reason),
            _ => None,
        }
    }

    /// The way that it chose for all rounds, and how long that took.
    pub(super) fn chosen(&self) -> Option<(Choice, Duration)> {
        self.events.iter().find_map(|event| match event {
            Event::Chosen { scope, way, trials_ns } => {
                let choice = Choice { scope: scope.clone(), way: way.clone() };
                Some((choice, Duration::from_nanos(*trials_ns as u64)))
            }
            _ => None,
        })
    }

    /// Time in which it touched memory that later rounds find.
    fn first_touch(&self) -> Duration {
        let time = match self.events.last() {
            Some(Event::Done { noise }) => noise.time.as_ref(),
            _ => None,
        };
        Duration::from_nanos(time.map_or(0, |time| time.first_touch_ns as u64))
    }

    fn learned(&self) -> Option<u64> {
        match self.events.last() {
            Some(Event::Done { noise }) if noise.iterations > 0 => Some(noise.iterations),
            _ => None,
        }
    }
}
