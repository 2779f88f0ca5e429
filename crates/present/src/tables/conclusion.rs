//! Conclusions from a list of latencies by size: where it rises out of a cache, and how long a load from that cache takes.

use std::fmt::Write;

use hostmark_analysis::format::{amount, number};
use hostmark_analysis::levels::{LEVELS, Level, level_of_lines, lines_of};
use hostmark_analysis::spoken;
use hostmark_model::{Lang, Message, Run, Text, Unit};
use hostmark_say::say;

/// Least factor of the latency over a step: a TLB miss that hits its second level, and noise, add less.
const STEP: f64 = 1.3;
/// Largest factor between the rows of a flat part.
const FLAT: f64 = 1.15;

/// A row whose value is not in doubt.
#[derive(Debug, Clone, Copy)]
pub(super) struct TablePoint {
    pub(super) bytes: u64,
    pub(super) ns: f64,
    /// Low end of its interval, or of its rounds.
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The sentences below a list, one a step.
pub(super) fn conclusions(run: &Run, stride: u64, points: &[TablePoint], lang: Lang) -> String {
    let mut text = String::new();
    for before in 0..points.len().saturating_sub(1) {
        let Some(level) = step(run, stride, points, before) else { continue };
        let sentence = sentence(run, stride, [points[before], points[before + 1]], level);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    {}", spoken(&sentence, lang));
    }
    text
}

/// Tells whether the latency rises for good behind the row `before`, and out of which cache, where the host tells one that ends there.
fn step(run: &Run, stride: u64, points: &[TablePoint], before: usize) -> Option<Option<&'static Level>> {
    let level_of = |point: &TablePoint| level_of_lines(run, point.bytes, stride);
    let last = points[before];
    let flat = (0..=before).rev().take_while(|&from| is_flat(&points[from..=before])).last()?;
    let top = points[flat..=before].iter().map(|point| point.high).fold(last.high, f64::max);
    let rises = points[before + 1..].iter().all(|later| later.low >= STEP * top);
    let named = level_of(&last).filter(|level| {
        let of_level: Vec<usize> = (0..points.len()).filter(|&at| level_of(&points[at]) == Some(*level)).collect();
        level.cache.is_some() && of_level.iter().all(|at| (flat..=before).contains(at))
    });
    // Else it may be a slope, of which more is seen where the sizes lie further apart.
    let is_long = last.bytes as f64 / points[flat].bytes as f64 >= points[before + 1].bytes as f64 / last.bytes as f64;
    (rises && is_long).then_some(named)
}

fn is_flat(points: &[TablePoint]) -> bool {
    let values = || points.iter().map(|point| point.ns);
    values().fold(0.0, f64::max) <= FLAT * values().fold(f64::INFINITY, f64::min)
}

fn sentence(run: &Run, stride: u64, [last, next]: [TablePoint; 2], level: Option<&Level>) -> Message {
    let size = |bytes: u64| amount(bytes as f64, Unit::Bytes);
    let (from, to, low, high) = (size(last.bytes), size(next.bytes), number(last.ns), number(next.ns));
    let factor = next.ns / last.ns;
    let times = Text { en: times(factor), zh: format!("{factor:.1}") };
    let rise = say!("between {from} and {to} the latency {times}, from {low} to {high} ns");
    let Some((level, cache)) = level.and_then(|level| Some((level, level.reported(run)?))) else { return rise };
    let (name, holds) = (level.name, size(cache.size_bytes));
    let [fit, too_many] = [last, next].map(|point| lines_of(run, point.bytes, stride));
    // Beyond the first cache a prefetcher may have been faster than the cache.
    let load = match LEVELS.first() == Some(level) {
        true => term!("a load from it"),
        false => term!("at this stride a load from it"),
    };
    match (last.bytes..next.bytes).contains(&cache.size_bytes) {
        true => say!("{rise}: {name} has {holds}, and {load} takes {low} ns"),
        false => say!(
            "{rise}: {name} of {holds} holds {fit} lines of this stride and not {too_many}, and {load} takes {low} ns"
        ),
    }
}

fn times(factor: f64) -> String {
    match (10.0 * factor).round() as u64 {
        19..=21 => "doubles".to_owned(),
        29..=31 => "triples".to_owned(),
        _ => format!("is {factor:.1} times as high"),
    }
}
