//! Two series beside each other: two machines, or two times of one, with time as a block.
//!
//! What the hour does to both is no difference between them: each hour of the day that both have gives one difference of medians, and
//! these differ by what is left. Days of a series differ besides.

use std::collections::BTreeMap;

use hostmark_stats::compare::{Difference, benjamini_hochberg};
use hostmark_stats::descriptive::{mean, median, stddev};
use serde::Serialize;

use super::{LEAST_STEP, LEAST_TURNS, Line, Subject, Turn, lines};
use crate::difference::FALSE_DISCOVERIES;

/// The schema of `--format json`.
pub const SCHEMA: &str = "hostmark.series-comparison/1";
/// Fewer blocks say nothing of what is left.
const LEAST_BLOCKS: usize = 6;
const HOUR_S: i64 = 3600;
const DAY_S: i64 = 86_400;
/// Blocks of series that share too few hours: parts of each from its beginning.
const PARTS: usize = 8;
/// Days at least that tell how much days differ.
const LEAST_DAYS: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesVerdict {
    Slower,
    Faster,
    /// Within 5 % for certain.
    Same,
    Undecided,
}

#[derive(Debug, Clone, Serialize)]
pub struct ComparedSubject {
    #[serde(flatten)]
    pub subject: Subject,
    /// The medians of all turns.
    pub base: f64,
    pub new: f64,
    /// Change of the delivered rate: −0.1 is a tenth less in the new series; and its 95 % interval.
    pub change: f64,
    pub interval: [f64; 2],
    /// Probability of so large a difference by chance, adjusted for the number of subjects.
    pub q: f64,
    pub verdict: SeriesVerdict,
}

/// Two series beside each other.
#[derive(Debug, Clone, Serialize)]
pub struct SeriesComparison {
    pub schema: &'static str,
    pub turns: [usize; 2],
    pub hosts: [String; 2],
    /// Blocks of time that both have, and whether these are hours of the day.
    pub blocks: usize,
    pub by_hour: bool,
    pub subjects: Vec<ComparedSubject>,
}

type BlockOf = dyn Fn(&[Turn], usize) -> i64;

fn hour(turns: &[Turn], turn: usize) -> i64 {
    turns[turn].started.seconds().rem_euclid(DAY_S) / HOUR_S
}

fn part(turns: &[Turn], turn: usize) -> i64 {
    (turn * PARTS / turns.len().max(1)) as i64
}

/// Holds one series against the other; none where they share no subject in blocks enough.
pub fn compared(mut base: Vec<Turn>, mut new: Vec<Turn>) -> Option<SeriesComparison> {
    for side in [&mut base, &mut new] {
        side.sort_by_key(|turn| turn.started);
        if side.len() < LEAST_TURNS {
            return None;
        }
    }
    let hours =
        |turns: &[Turn]| (0..turns.len()).map(|turn| hour(turns, turn)).collect::<std::collections::BTreeSet<i64>>();
    let by_hour = hours(&base).intersection(&hours(&new)).count() >= LEAST_BLOCKS;
    let block: &BlockOf = if by_hour { &hour } else { &part };
    let (of_base, of_new) = (lines(&base), lines(&new));
    let pairs = of_base.iter().filter_map(|line| {
        let other = of_new.iter().find(|other| other.subject.key == line.subject.key)?;
        let (blocks, difference) = difference([(line, &base), (other, &new)], block)?;
        Some((line, other, blocks, difference))
    });
    let pairs: Vec<(&Line, &Line, usize, Difference)> = pairs.collect();
    let blocks = pairs.iter().map(|(_, _, blocks, _)| *blocks).max()?;
    let q = benjamini_hochberg(&pairs.iter().map(|(.., difference)| difference.p_changed()).collect::<Vec<f64>>());
    let mut subjects: Vec<ComparedSubject> = pairs
        .into_iter()
        .zip(q)
        .filter_map(|((line, other, _, difference), q)| {
            let of = |line: &Line| median(&line.goodness).map(|goodness| line.subject.value(goodness));
            let (low, high) = difference.interval();
            let verdict = match () {
                () if q <= FALSE_DISCOVERIES && difference.logarithm <= -LEAST_STEP => SeriesVerdict::Slower,
                () if q <= FALSE_DISCOVERIES && difference.logarithm >= LEAST_STEP => SeriesVerdict::Faster,
                () if low.ln() >= -LEAST_STEP && high.ln() <= LEAST_STEP => SeriesVerdict::Same,
                () => SeriesVerdict::Undecided,
            };
            Some(ComparedSubject {
                subject: line.subject.clone(),
                base: of(line)?,
                new: of(other)?,
                change: difference.ratio() - 1.0,
                interval: [low - 1.0, high - 1.0],
                q,
                verdict,
            })
        })
        .collect();
    subjects.sort_by(|one, other| one.change.total_cmp(&other.change));
    let host = |turns: &[Turn]| turns.last().map(|turn| turn.host.clone()).unwrap_or_default();
    let (turns, hosts) = ([base.len(), new.len()], [host(&base), host(&new)]);
    Some(SeriesComparison { schema: SCHEMA, turns, hosts, blocks, by_hour, subjects })
}

/// The mean of the blocks' differences of medians; its error is what these differ by, and what days of a side do.
fn difference(sides: [(&Line, &Vec<Turn>); 2], block: &BlockOf) -> Option<(usize, Difference)> {
    let medians = |(line, turns): (&Line, &Vec<Turn>), of: &BlockOf| -> BTreeMap<i64, f64> {
        let mut by_block: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        for (turn, goodness) in line.turns.iter().zip(&line.goodness) {
            by_block.entry(of(turns, *turn)).or_default().push(*goodness);
        }
        by_block.into_iter().filter_map(|(block, values)| Some((block, median(&values)?))).collect()
    };
    let [base, new] = sides.map(|side| medians(side, block));
    let differences: Vec<f64> = base.iter().filter_map(|(block, value)| Some(new.get(block)? - value)).collect();
    let count = differences.len();
    let of_blocks = stddev(&differences).filter(|_| count >= LEAST_BLOCKS)?.powi(2) / count as f64;
    let day = |turns: &[Turn], turn: usize| turns[turn].started.seconds().div_euclid(DAY_S);
    let of_days = sides.map(|side| {
        let days: Vec<f64> = medians(side, &day).into_values().collect();
        stddev(&days)
            .filter(|_| days.len() >= LEAST_DAYS)
            .map(|deviation| (deviation.powi(2) / days.len() as f64, days.len()))
    });
    let more: f64 = of_days.iter().flatten().map(|(variance, _)| variance).sum();
    // Of two sources the degrees of freedom of the fewer.
    let fewest = of_days.iter().flatten().map(|(_, days)| *days).chain([count]).min()?;
    let logarithm = mean(&differences)?;
    Some((count, Difference { logarithm, error: (of_blocks + more).sqrt(), freedom: (fewest - 1) as f64 }))
}
