//! Turns from which on a machine is slower for good, or faster.

use std::collections::BTreeMap;

use hostmark_stats::descriptive::mean;
use serde::Serialize;

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

/// A change for good.
#[derive(Debug, Clone, Serialize)]
pub struct LastingChange {
    /// The first turn of the new level, by its place.
    #[serde(skip)]
    pub turn: usize,
    /// When that began, and its run.
    pub since: String,
    pub run: String,
    /// What it changed, the most first: the subject, its usual value before and since.
    pub subjects: Vec<ChangedSubject>,
    /// Facts of the machine that the turn has otherwise than the one before it.
    pub facts: Vec<Changed>,
}

/// What a change did to a subject.
#[derive(Debug, Clone, Serialize)]
pub struct ChangedSubject {
    #[serde(flatten)]
    pub subject: Subject,
    pub before: f64,
    pub since: f64,
    /// How many times faster it is since: below 1 where it is slower.
    pub times: f64,
}

/// The changes, in the order of time.
pub(super) fn changes(turns: &[Turn], lines: &[Line]) -> Vec<LastingChange> {
    let mut at: BTreeMap<usize, usize> = BTreeMap::new();
    for line in lines {
        for place in places(line, 0, line.goodness.len(), turns.len()) {
            *at.entry(line.turn(place)).or_default() += 1;
        }
    }
    // What was found a turn or two apart is one change, where most have it.
    let mut merged: Vec<(usize, usize)> = Vec::new();
    for (turn, count) in at {
        match merged.last_mut() {
            Some((known, of_known)) if turn - *known <= NEAR => {
                if count > *of_known {
                    *known = turn;
                }
                *of_known += count;
            }
            _ => merged.push((turn, count)),
        }
    }
    let ends: Vec<usize> = merged.into_iter().map(|(turn, _)| turn).collect();
    let of = |(index, turn): (usize, &usize)| {
        let first = index.checked_sub(1).map_or(0, |before| ends[before]);
        let end = ends.get(index + 1).copied().unwrap_or(turns.len());
        let mut subjects: Vec<ChangedSubject> =
            lines.iter().filter_map(|line| changed(line, first, *turn, end)).collect();
        subjects.sort_by(|one, other| other.times.ln().abs().total_cmp(&one.times.ln().abs()));
        let (since, run) = (turns[*turn].started.to_string(), turns[*turn].name.clone());
        let near = (turn.saturating_sub(1)..=turn + 1).find(|near| !changed_facts(turns, *near).is_empty());
        let facts = near.map(|near| changed_facts(turns, near)).unwrap_or_default();
        (!subjects.is_empty()).then_some(LastingChange { turn: *turn, since, run, subjects, facts })
    };
    ends.iter().enumerate().filter_map(of).collect()
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

/// The places from which on a line stays at another level: where two usual levels explain most more than one does.
fn places(line: &Line, first: usize, end: usize, turns: usize) -> Vec<usize> {
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
    all.push(place);
    all.extend(places(line, place, end, turns));
    all
}
