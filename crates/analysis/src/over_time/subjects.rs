//! Values of a subject over time: its best, its percentiles by hour of day, and how often it was near its best.

use std::collections::BTreeMap;

use hostmark_model::timestamp::Timestamp;
use hostmark_stats::descriptive::quantile;
use serde::Serialize;

use super::{Line, NEAR_BEST, Subject, Turn, best};

#[derive(Debug, Clone, Serialize)]
pub struct SubjectOverTime {
    #[serde(flatten)]
    pub subject: Subject,
    pub turns: usize,
    /// Value reached in one of twenty turns.
    pub best: f64,
    /// Delivered rate of nine of ten turns at least, of half of them, of one of ten.
    pub percentiles: [f64; 3],
    /// The share of the time in which it is within 10 % of its best.
    pub near_best: f64,
    /// Hours of the day (UTC) that have a turn.
    pub hours: Vec<Hour>,
    /// Median loss of the turns in each part of a [`Course`]; none in a part without turns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub course: Vec<Option<f64>>,
}

/// The parts of a series of less than a day, of which the hours of the day say little.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Course {
    /// Length of a part, seconds: so many turns, as a rule.
    pub part_s: f64,
    pub parts: usize,
}

/// Parts of a course at most: as many as a terminal has room for.
const MOST_PARTS: usize = 48;
const DAY_S: f64 = 86_400.0;

impl Course {
    /// Course of these turns, in order; none of a day or more.
    pub(super) fn of(turns: &[Turn], every_s: f64) -> Option<Course> {
        let span_s = turns.last()?.started.since(turns.first()?.started);
        let places = (span_s / every_s).round() as usize + 1;
        let of_part = places.div_ceil(MOST_PARTS);
        (span_s < DAY_S).then(|| Course { part_s: every_s * of_part as f64, parts: places.div_ceil(of_part) })
    }

    /// The part of a turn, which may begin a little early.
    fn part(self, turns: &[Turn], turn: usize, every_s: f64) -> usize {
        let since_s = turns[turn].started.since(turns[0].started) + every_s / 2.0;
        ((since_s / self.part_s) as usize).min(self.parts - 1)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Hour {
    pub hour: u8,
    pub turns: usize,
    /// Delivered rate of nine of ten turns at least, of half of them, of one of ten.
    pub percentiles: [f64; 3],
    /// Median loss of the turns beside the subject's best, 0 to 1.
    pub lost: f64,
}

fn hour(time: Timestamp) -> u8 {
    (time.seconds().rem_euclid(86_400) / 3600) as u8
}

pub(super) fn of_line(line: &Line, turns: &[Turn], course: Option<Course>, every_s: f64) -> SubjectOverTime {
    let best = best(&line.goodness);
    let mut by_hour: BTreeMap<u8, Vec<f64>> = BTreeMap::new();
    let mut by_part: Vec<Vec<f64>> = vec![Vec::new(); course.map_or(0, |course| course.parts)];
    for (turn, goodness) in line.turns.iter().zip(&line.goodness) {
        by_hour.entry(hour(turns[*turn].started)).or_default().push(*goodness);
        if let Some(course) = course {
            by_part[course.part(turns, *turn, every_s)].push(*goodness);
        }
    }
    let lost = |goodness: &[f64]| Some(1.0 - (quantile(goodness, 0.5)? - best).min(0.0).exp());
    let percentiles =
        |goodness: &[f64]| [0.1, 0.5, 0.9].map(|p| line.subject.value(quantile(goodness, p).unwrap_or(best)));
    let of_hour = |(hour, goodness): (u8, Vec<f64>)| {
        let lost = lost(&goodness).unwrap_or(0.0);
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
        course: by_part.iter().map(|goodness| lost(goodness)).collect(),
    }
}
