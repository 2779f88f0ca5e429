//! What a subject gave over time: its best, its percentiles by hour of day, and how often it was near its best.

use std::collections::BTreeMap;

use hostmark_model::timestamp::Timestamp;
use hostmark_stats::descriptive::quantile;
use serde::Serialize;

use super::{Line, NEAR_BEST, Subject, Turn, best};

/// A subject over time.
#[derive(Debug, Clone, Serialize)]
pub struct SubjectOverTime {
    #[serde(flatten)]
    pub subject: Subject,
    pub turns: usize,
    /// What it reaches in one of twenty turns.
    pub best: f64,
    /// What nine of ten turns deliver at least, half of them, one of ten.
    pub percentiles: [f64; 3],
    /// The share of the time in which it is within 10 % of its best.
    pub near_best: f64,
    /// By hour of the day (UTC), the hours that have a turn.
    pub hours: Vec<Hour>,
}

/// An hour of the day.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Hour {
    pub hour: u8,
    pub turns: usize,
    /// What nine of ten turns deliver at least, half of them, one of ten.
    pub percentiles: [f64; 3],
    /// What half of the turns lose at least beside the subject's best, 0 to 1.
    pub lost: f64,
}

/// The hour of the day, in UTC.
fn hour(time: Timestamp) -> u8 {
    (time.seconds().rem_euclid(86_400) / 3600) as u8
}

pub(super) fn of_line(line: &Line, turns: &[Turn]) -> SubjectOverTime {
    let best = best(&line.goodness);
    let mut by_hour: BTreeMap<u8, Vec<f64>> = BTreeMap::new();
    for (turn, goodness) in line.turns.iter().zip(&line.goodness) {
        by_hour.entry(hour(turns[*turn].started)).or_default().push(*goodness);
    }
    let percentiles =
        |goodness: &[f64]| [0.1, 0.5, 0.9].map(|p| line.subject.value(quantile(goodness, p).unwrap_or(best)));
    let of_hour = |(hour, goodness): (u8, Vec<f64>)| {
        let middle = quantile(&goodness, 0.5).unwrap_or(best);
        let lost = 1.0 - (middle - best).min(0.0).exp();
        Hour { hour, turns: goodness.len(), percentiles: percentiles(&goodness), lost }
    };
    let near = line.goodness.iter().filter(|goodness| **goodness >= best - NEAR_BEST).count();
    SubjectOverTime {
        subject: line.subject.clone(),
        turns: line.turns.len(),
        best: line.subject.value(best),
        percentiles: percentiles(&line.goodness),
        near_best: near as f64 / line.turns.len() as f64,
        hours: by_hour.into_iter().map(of_hour).collect(),
    }
}
