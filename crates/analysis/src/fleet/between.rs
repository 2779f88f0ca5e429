//! Pairs of hosts whose way is worse than both hosts' other ways.

use std::collections::BTreeMap;

use hostmark_model::{Estimate, FleetPair};
use hostmark_stats::descriptive::median;
use hostmark_stats::scale::qn;
use serde::Serialize;

/// A host that met fewer others has no value.
pub(super) const LEAST_MET: usize = 3;
/// A way is told where it delivers this much less than both hosts' other ways let one expect, on logarithms: a fifth.
const LEAST_APART: f64 = 0.223;
/// Least deviation of such a pair, in multiples of the scatter of ways.
const LEAST_SCALES: f64 = 4.0;
/// Quantity measured between a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Carried {
    /// TCP bandwidth, bytes a second.
    Bandwidth,
    /// TCP round trip, nanoseconds.
    RoundTrip,
}

/// A way that is worse than both hosts' other ways.
#[derive(Debug, Clone, Serialize)]
pub struct PairApart {
    /// The host that sent and asked.
    pub from: String,
    /// The host that received and answered.
    pub to: String,
    pub carried: Carried,
    pub value: f64,
    /// Deviation from the rate that is expected of the two: −0.2 is a fifth less.
    pub change: f64,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct BetweenHosts {
    /// Pairs with a value, both ways counted.
    pub measured: usize,
    pub failed: Vec<FailedPair>,
    /// Ways that are worse than both hosts' other ways, the worst first.
    pub apart: Vec<PairApart>,
}

#[derive(Debug, Clone, Serialize)]
pub struct FailedPair {
    /// The host that was to send.
    pub from: String,
    /// The host that was to receive.
    pub to: String,
    pub reason: String,
}

/// The logarithms of what ways carry, less being worse, by the hosts at their ends.
pub(super) type Ways<'a> = Vec<(&'a str, &'a str, f64)>;

pub(super) fn ways(pairs: &[FleetPair], carried: Carried) -> Ways<'_> {
    let value = |pair: &FleetPair| -> Option<f64> {
        let (estimate, sign) = match carried {
            Carried::Bandwidth => (pair.bandwidth.as_ref(), 1.0),
            Carried::RoundTrip => (pair.round_trip.as_ref(), -1.0),
        };
        let value = estimate.map(Estimate::value).filter(|value| value.is_finite() && *value > 0.0)?;
        Some(sign * value.ln())
    };
    pairs.iter().filter_map(|pair| Some((pair.from.as_str(), pair.to.as_str(), value(pair)?))).collect()
}

pub(super) fn between(pairs: &[FleetPair]) -> BetweenHosts {
    let mut found = BetweenHosts::default();
    for pair in pairs {
        match &pair.failed {
            Some(reason) => {
                found.failed.push(FailedPair { from: pair.from.clone(), to: pair.to.clone(), reason: reason.clone() })
            }
            None => found.measured += 1,
        }
    }
    for carried in [Carried::Bandwidth, Carried::RoundTrip] {
        found.apart.extend(apart(&ways(pairs, carried), carried));
    }
    found.apart.sort_by(|one, other| one.change.total_cmp(&other.change));
    found
}

/// The ways that are worse than the median of what the first host sends and that of what the second receives let one expect: the sum
/// of their distances from the median of all, as in an analysis of two ways.
fn apart(ways: &Ways, carried: Carried) -> Vec<PairApart> {
    let mut sent: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut received: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (from, to, value) in ways {
        sent.entry(from).or_default().push(*value);
        received.entry(to).or_default().push(*value);
    }
    let all: Vec<f64> = ways.iter().map(|(_, _, value)| *value).collect();
    let Some(middle) = median(&all) else { return Vec::new() };
    let of = |values: Option<&Vec<f64>>| values.filter(|values| values.len() >= LEAST_MET).and_then(|all| median(all));
    let left: Vec<(usize, f64)> = ways
        .iter()
        .enumerate()
        .filter_map(|(index, (from, to, value))| {
            Some((index, value - (of(sent.get(from))? + of(received.get(to))? - middle)))
        })
        .collect();
    let scale = qn(&left.iter().map(|(_, left)| *left).collect::<Vec<f64>>()).unwrap_or(f64::INFINITY);
    let least = LEAST_APART.max(LEAST_SCALES * scale);
    left.into_iter()
        .filter(|(_, left)| -left > least)
        .map(|(index, left)| {
            let (from, to, value) = &ways[index];
            let value = match carried {
                Carried::Bandwidth => value.exp(),
                Carried::RoundTrip => (-value).exp(),
            };
            PairApart { from: (*from).to_owned(), to: (*to).to_owned(), carried, value, change: left.exp_m1() }
        })
        .collect()
}
