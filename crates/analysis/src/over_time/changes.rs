//! Turns from which on a machine is slower for good, or faster.

use std::collections::BTreeMap;

use hostmark_stats::descriptive::mean;
use serde::Serialize;

use super::turn::{Together, together};
use super::{LEAST_STEP, Line, Subject, Turn, changed_facts};
use crate::fleet::Changed;

/// A level that holds for fewer turns on either side is none for good: an eighth of all, and so many at least.
const LEAST_PART: usize = 8;
const LEAST_SIDE: usize = 6;
/// A change explains so much at least of what levels differ by: else what comes and goes would be one.
const LEAST_GAIN: f64 = 0.3;
/// The means of a change's sides differ by so much of what their middles do at least.
const LEAST_BY_MEAN: f64 = 0.5;
/// Changes of subjects so many turns apart are one.
const NEAR: usize = 2;

#[derive(Debug, Clone, Serialize)]
pub struct LastingChange {
    /// The first turn of the new level, by its place.
    #[serde(skip)]
    pub turn: usize,
    /// Time of the change: its run's start.
    pub since: String,
    pub run: String,
    /// Changed subjects, the most first, with the usual value before and since.
    pub subjects: Vec<ChangedSubject>,
    /// Facts of the machine that the turn has otherwise than the one before it, or one near it.
    pub facts: Vec<Changed>,
    /// Load by others that is higher on the slower side of it.
    pub together: Vec<Together>,
}

impl LastingChange {
    /// Tells whether the machine is slower since, by the subject that changed most.
    pub fn is_slower(&self) -> bool {
        self.subjects.first().is_some_and(|of| of.times < 1.0)
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct ChangedSubject {
    #[serde(flatten)]
    pub subject: Subject,
    pub before: f64,
    pub since: f64,
    /// Speedup since: below 1 where it is slower.
    pub times: f64,
}

/// Lines that change at a turn.
struct Found {
    turn: usize,
    /// Each line's index, and whether it is slower since.
    lines: Vec<(usize, bool)>,
}

impl Found {
    fn is_like(&self, other: &[(usize, bool)]) -> bool {
        self.lines.iter().any(|(_, way)| other.iter().any(|(_, its)| its == way))
    }
}

pub(super) fn changes(turns: &[Turn], lines: &[Line]) -> Vec<LastingChange> {
    let mut at: BTreeMap<usize, Vec<(usize, bool)>> = BTreeMap::new();
    for (index, line) in lines.iter().enumerate() {
        for (place, is_slower) in places(line, 0, line.goodness.len(), turns.len()) {
            at.entry(line.turn(place)).or_default().push((index, is_slower));
        }
    }
    // What was found a turn or two apart and goes the same way is one change, where most have it.
    let mut merged: Vec<Found> = Vec::new();
    for (turn, mut found) in at {
        match merged.last_mut() {
            Some(known) if turn - known.turn <= NEAR && known.is_like(&found) => {
                if found.len() > known.lines.len() {
                    known.turn = turn;
                }
                known.lines.append(&mut found);
            }
            _ => merged.push(Found { turn, lines: found }),
        }
    }
    let of = |(index, Found { turn, lines: own }): (usize, &Found)| {
        let first = index.checked_sub(1).map_or(0, |before| merged[before].turn);
        let end = merged.get(index + 1).map_or(turns.len(), |next| next.turn);
        // Beside another change there are too few turns to tell of others than those that were found.
        let is_long = (turn - first).min(end - turn) >= LEAST_SIDE;
        let is_told = |index: usize| is_long || own.iter().any(|(one, _)| *one == index);
        let told = lines.iter().enumerate().filter(|(index, _)| is_told(*index));
        let mut subjects: Vec<ChangedSubject> = told.filter_map(|(_, line)| changed(line, first, *turn, end)).collect();
        subjects.sort_by(|one, other| other.times.ln().abs().total_cmp(&one.times.ln().abs()));
        let (since, run) = (turns[*turn].started.to_string(), turns[*turn].name.clone());
        let mut near = (turn.saturating_sub(1)..=turn + 1).map(|near| changed_facts(turns, near));
        let facts = near.find(|facts| !facts.is_empty()).unwrap_or_default();
        let mut change = LastingChange { turn: *turn, since, run, subjects, facts, together: Vec::new() };
        let [before, after]: [Vec<usize>; 2] = [(first..*turn).collect(), (*turn..end).collect()];
        let (slow, fast) = if change.is_slower() { (after, before) } else { (before, after) };
        change.together = together(turns, &slow, &fast);
        (!change.subjects.is_empty()).then_some(change)
    };
    merged.iter().enumerate().filter_map(of).collect()
}

fn changed(line: &Line, first: usize, turn: usize, end: usize) -> Option<ChangedSubject> {
    let (first, turn, end) = (line.place(first), line.place(turn), line.place(end));
    let (before, since) = (line.usual(first, turn), line.usual(turn, end));
    let is_known = first < turn && turn < end;
    (is_known && (since - before).abs() >= LEAST_STEP).then(|| ChangedSubject {
        subject: line.subject.clone(),
        before: line.subject.value(before),
        since: line.subject.value(since),
        times: (since - before).exp(),
    })
}

/// The places from which a line stays at another level, and whether it is slower: where two usual levels explain more than one.
fn places(line: &Line, first: usize, end: usize, turns: usize) -> Vec<(usize, bool)> {
    let least = (turns / LEAST_PART).max(LEAST_SIDE);
    let cost = |first: usize, end: usize| -> f64 {
        let usual = line.usual(first, end);
        let of = |phase: &super::Phase| {
            let count = phase.end.min(end).saturating_sub(phase.first.max(first));
            count as f64 * (phase.level - usual).abs()
        };
        line.phases.iter().map(of).sum()
    };
    let whole = cost(first, end);
    let ends =
        line.phases.iter().map(|phase| phase.first).filter(|place| *place >= first + least && place + least <= end);
    let best =
        ends.map(|place| (place, cost(first, place) + cost(place, end))).min_by(|one, other| one.1.total_cmp(&other.1));
    let Some((place, left)) = best else { return Vec::new() };
    // Values that jump to and fro have a middle that does as well, and a mean that does not.
    let average = |first: usize, end: usize| mean(&line.goodness[first..end]).unwrap_or(0.0);
    let by_mean = average(place, end) - average(first, place);
    let step = line.usual(place, end) - line.usual(first, place);
    let is_shared = by_mean.signum() == step.signum() && by_mean.abs() >= LEAST_BY_MEAN * step.abs();
    if step.abs() < LEAST_STEP || !is_shared || left > (1.0 - LEAST_GAIN) * whole {
        return Vec::new();
    }
    let mut all = places(line, first, place, turns);
    all.push((place, step < 0.0));
    all.extend(places(line, place, end, turns));
    all
}
