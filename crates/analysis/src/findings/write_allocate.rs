//! Writing that lies below reading, and copying below both, in memory: what the bus moves beside what was asked for.

use hostmark_model::{Lang, Message, Run, Text, Unit, size_text};
use hostmark_say::say;

use super::evidence::lost;
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, Rule};
use crate::curve::{CurvePoint, curve};
use crate::format::{number, value};
use crate::levels::{LEVELS, last_cache_size};
use crate::texts::findings::write_allocate as texts;
use crate::words;

const READ: &str = "memory.read";
const WRITE: &str = "memory.write";
const COPY: &str = "memory.copy";

/// Least factor between two values that is worth a word.
const NOTABLE: f64 = 1.1;
/// Buffers from this multiple of the last cache on lie in memory for the most part.
const IN_MEMORY: f64 = 1.5;
/// Bytes on the bus for a byte written by plain stores, and for one copied by them.
const WRITTEN: f64 = 2.0;
const COPIED: f64 = 3.0;

/// Kernels, as cases note them, whose stores are no plain ones.
const OTHER_STORES: [&str; 3] = ["nt", "rep", "libc"];

pub(super) static RULE: Rule = Rule {
    id: "memory.write_allocate",
    shown: Demonstration::Explain("memory.write"),
    probes: &[READ, WRITE, COPY],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    let Some(beyond) = in_memory(run) else { return Vec::new() };
    let mut read_write_copy = [READ, WRITE, COPY].map(|probe| curve(run, probe, "size", &[]));
    read_write_copy[1..].iter_mut().for_each(|points| points.retain(is_plain));
    let [read, write, copy] = read_write_copy;
    let both = |point: &&CurvePoint| point.at as f64 >= beyond && at(&read, point.at).is_some();
    let Some(stored) = write.iter().rfind(both) else { return Vec::new() };
    let Some(loaded) = at(&read, stored.at).filter(|loaded| loaded.is_above(stored, NOTABLE)) else {
        return Vec::new();
    };
    let factor = number(loaded.estimate.value() / stored.estimate.value());
    let [reads, writes, bus] =
        [loaded.estimate.value(), stored.estimate.value(), WRITTEN * stored.estimate.value()].map(rate);
    let size = size_text(stored.at);
    let mut text = vec![Message::from(texts::text!(size, writes, reads, factor, bus))];
    let short = short(texts::short!(writes, reads));
    let mut cases = vec![loaded.case.id.clone(), stored.case.id.clone()];
    if let Some(copied) = at(&copy, stored.at).filter(|copied| stored.is_above(copied, NOTABLE)) {
        let [copies, bus] = [copied.estimate.value(), COPIED * copied.estimate.value()].map(rate);
        text.push(say!(
            " Copying gets {copies} and lies below both: the source is read, the destination read and written back, three \
             bytes for each byte copied, {bus} in all."
        ));
        cases.push(copied.case.id.clone());
    }
    // Plain stores lose what other stores are proven to save; where none is measured, nothing is known to be lost.
    let mut cost = 0.0_f64;
    for (kernel, name) in [("nt", NON_TEMPORAL), ("rep", STRING)] {
        let other = curve(run, WRITE, "size", &[("kernel", kernel)]);
        let ahead = add_other_stores(&mut text, &mut cases, name, &write, &other, beyond);
        cost = cost.max(ahead.unwrap_or(0.0));
    }
    vec![Conclusion { short, text: words(Message::joined(text, "")), cases, cost }]
}

const NON_TEMPORAL: Text = term!("Non-temporal stores, which skip that read,");
const STRING: Text = term!("String stores (rep stosb)");

/// Adds the rates of another kind of stores in memory beside plain ones of the same size, and their crossing; returns the share that plain
/// stores lose there, where that is proven.
fn add_other_stores(
    text: &mut Vec<Message>,
    cases: &mut Vec<String>,
    name: Text,
    plain: &[CurvePoint],
    other: &[CurvePoint],
    beyond: f64,
) -> Option<f64> {
    let pairs: Vec<(&CurvePoint, &CurvePoint)> =
        other.iter().filter_map(|other| Some((plain.iter().find(|plain| plain.at == other.at)?, other))).collect();
    let (stored, others) = pairs.last().filter(|(plain, _)| plain.at as f64 >= beyond)?;
    let [rate_of_others, ratio] =
        [rate(others.estimate.value()), number(others.estimate.value() / stored.estimate.value())];
    let size = size_text(others.at);
    cases.push(others.case.id.clone());
    // Ahead from here on: at every size that is left no interval says otherwise.
    let is_ahead = |(plain, other): &&(&CurvePoint, &CurvePoint)| other.is_above(plain, 1.0);
    let ahead = pairs.iter().rev().take_while(is_ahead).count();
    let behind = pairs.len() - ahead;
    if ahead > 0 && behind > 0 && pairs[behind - 1].0.is_above(pairs[behind - 1].1, 1.0) {
        let [before, from] = [behind - 1, behind].map(|index| size_text(pairs[index].0.at));
        text.push(say!(
            " {name} get {rate_of_others} at {size}, {ratio} × plain; they fall behind up to {before} and lead from {from} on."
        ));
    } else if pairs.len() > 1 && pairs.iter().all(|(plain, other)| plain.is_above(other, 1.0)) {
        text.push(say!(
            " {name} get {rate_of_others} at {size}, {ratio} × plain; they stay behind at every size measured."
        ));
    } else {
        text.push(say!(" {name} get {rate_of_others} at {size}, {ratio} × plain."));
    }
    others.is_above(stored, 1.0).then(|| lost(others.estimate.value(), stored.estimate.value()))
}

/// Tells whether a point was written or copied by plain stores. Others do not read the line first, or are unknown.
fn is_plain(point: &CurvePoint) -> bool {
    let kernel = point.case.measured().and_then(|measured| measured.notes.get("kernel"));
    !kernel.is_some_and(|kernel| OTHER_STORES.contains(&kernel.as_str()))
}

fn at<'a>(points: &'a [CurvePoint<'a>], size: u64) -> Option<&'a CurvePoint<'a>> {
    points.iter().find(|point| point.at == size)
}

/// Size from which on buffers lie in memory by all that is known of the caches, bytes; none where nothing is.
fn in_memory(run: &Run) -> Option<f64> {
    let reported = LEVELS.iter().filter_map(|level| Some(level.reported(run)?.size_bytes as f64));
    let last = reported.chain(last_cache_size(run)).fold(0.0, f64::max);
    (last > 0.0).then_some(IN_MEMORY * last)
}

fn rate(bytes_per_second: f64) -> String {
    value(bytes_per_second, Unit::BytesPerSecond, Lang::En)
}
