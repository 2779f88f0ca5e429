//! A device on which a synced record takes too long for a consensus store, always or after a burst.

use hostmark_model::{Estimate, Lang, Measured, Run, Text, Unit};

use super::evidence::{case_at, lost};
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, IO_LIMIT, QUOTA_OF_ONE, Rule, YIELDS};
use crate::format::value;
use crate::texts::findings::sync_latency as texts;

const SYNC: &str = "disk.fsync";
/// The case of etcd's own record size, in a file that is made ready as etcd does it.
const BLOCK: (&str, &str) = ("block", "2300");
const SPACE: (&str, &str) = ("space", "preallocated");
/// Largest 99th percentile of fdatasync by etcd's hardware guide, ns.
const MOST_NS: f64 = 10e6;

pub(super) static RULE: Rule = Rule {
    id: "disk.slow_sync",
    shown: Demonstration::Run,
    probes: &[SYNC],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &IO_LIMIT] },
    draw,
};

/// A mean over this many medians, and over a millisecond: most operations do not show what the device sustains.
const BURSTS: f64 = 3.0;
const LEAST_MEAN_NS: f64 = 1e6;
/// The share of operations that p99 speaks of, where they are too few for a percentile, and the fewest slow ones that count.
const SLOW_SHARE: f64 = 0.01;
const LEAST_SLOW: u64 = 3;

fn draw(run: &Run) -> Vec<Conclusion> {
    let Some(case) = case_at(run, SYNC, &[BLOCK, SPACE]) else { return Vec::new() };
    let Some(measured) = case.measured() else { return Vec::new() };
    let too_slow = match measured.also.get("p99") {
        Some(p99) => by_percentile(&p99.estimate),
        None => by_count(measured),
    };
    let drawn = |(short, text, cost)| Conclusion { short, text, cases: vec![case.id.clone()], cost };
    too_slow.into_iter().chain(by_mean(measured)).map(drawn).collect()
}

/// Finding in a line, in full, and its cost.
type Costed = (Text<String>, Text<String>, f64);

/// Verdict, where it is proven and where it is not.
fn verdict(is_proven: bool) -> Text {
    match is_proven {
        true => term!("is too slow for"),
        false => term!("may be too slow for"),
    }
}

/// Judges by the 99th percentile, with enough operations for one.
fn by_percentile(p99: &Estimate) -> Option<Costed> {
    if p99.value() <= MOST_NS {
        return None;
    }
    let took = value(p99.value(), Unit::Nanoseconds, Lang::En);
    // An interval that reaches below the limit proves nothing.
    let is_proven = p99.interval().is_some_and(|(low, _)| low > MOST_NS);
    let verdict = verdict(is_proven);
    let may = if is_proven { Text::default() } else { term!("may ") };
    let text = texts::by_percentile_text!(verdict, took);
    let short = short(texts::by_percentile_short!(may, took));
    Some((short, text, lost(p99.value(), MOST_NS)))
}

/// Judges by the slow operations, where a slow device serves too few for a percentile.
fn by_count(measured: &Measured) -> Option<Costed> {
    let histogram = measured.histogram.as_ref()?;
    let of_all = || histogram.values.iter().zip(&histogram.counts);
    let all = of_all().map(|(_, &count)| count).fold(0, u64::saturating_add);
    let slow = of_all().filter(|&(&ns, _)| ns as f64 > MOST_NS).map(|(_, &count)| count).fold(0, u64::saturating_add);
    let most = SLOW_SHARE * all as f64;
    if slow < LEAST_SLOW || slow as f64 <= most {
        return None;
    }
    // Two standard deviations of a count.
    let verdict = verdict(slow as f64 - 2.0 * (slow as f64).sqrt() > most);
    let text = texts::by_count_text!(verdict, slow, all);
    let short = short(texts::by_count_short!(slow, all));
    Some((short, text, 1.0 - most / slow as f64))
}

/// The mean of all, which stalls after bursts are in.
fn by_mean(measured: &Measured) -> Option<Costed> {
    let sustained = measured.also.get("sustained")?.estimate.value();
    let (mean, median) = (1e9 / sustained, measured.estimate.typical);
    if mean < BURSTS * median || mean < LEAST_MEAN_NS {
        return None;
    }
    let ns = |ns: f64| value(ns, Unit::Nanoseconds, Lang::En);
    let (usual, on_average) = (ns(median), ns(mean));
    let text = texts::by_mean_text!(usual, on_average, sustained);
    let short = short(texts::by_mean_short!(usual, on_average));
    Some((short, text, lost(mean, median)))
}
