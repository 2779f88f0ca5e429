//! Obstacles on the loopback path: packet filters, a queue, programs, a small MTU.

use hostmark_model::{CaseRecord, Lang, Message, Run, Unit};

use super::evidence::believed;
use super::host::{obstacles, small_buffer};
use super::short::short;
use super::{Conclusion, Demonstration, Doubt, Rule, WRONG};
use crate::format::value;
use crate::texts::findings::loopback_path as texts;
use crate::words;

/// The probes whose packets take this machine's own loopback; others lay a network of their own.
const PREFIX: &str = "net.";
const OWN_NETWORK: &str = "net.tcp_offload";
/// The cases that are named.
const MOST_CASES: usize = 5;
/// Least cost of a rule for a round trip, ns: two packets, each checked in some 10 ns.
const RULE_NS: f64 = 20.0;
const TCP: &str = "net.tcp_bandwidth";
/// Cost of buffers that are too small for a stream.
pub(super) const MOST_COST: f64 = 0.9;

pub(super) static RULE: Rule = Rule {
    id: "run.loopback_path",
    shown: Demonstration::Host,
    probes: &[],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: WRONG, rivals: &[] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    let obstacles = obstacles(&run.host.loopback);
    let Some(most) = obstacles.first() else { return Vec::new() };
    let rules = run.host.loopback.many_rules().unwrap_or(0) as f64;
    let unit = |case: &CaseRecord| run.probes.iter().find(|probe| probe.id == case.probe).map(|probe| probe.unit);
    // The part of a time that the rules take; of a rate it is not known.
    let buffer = small_buffer(&run.host.loopback);
    let part = |case: &CaseRecord| match unit(case)? {
        // A window of a few packets makes a stream wait for each of them.
        Unit::BytesPerSecond if buffer.is_some() && case.probe.starts_with(TCP) => believed(case).map(|_| MOST_COST),
        Unit::Nanoseconds => Some(rules * RULE_NS / believed(case)?.estimate.value()),
        _ => believed(case).map(|_| 0.0),
    };
    let over_loopback =
        |case: &&CaseRecord| case.probe.starts_with(PREFIX) && case.probe != OWN_NETWORK && case.peer().is_none();
    let cases = run.cases.iter().filter(over_loopback);
    let mut slowed: Vec<(f64, &CaseRecord)> = cases.filter_map(|case| Some((part(case)?, case))).collect();
    // Who loses most comes first.
    slowed.sort_by(|one, other| other.0.total_cmp(&one.0));
    let Some(&(cost, slowest)) = slowed.first() else { return Vec::new() };
    let text = texts::text!(obstacles = words(Message::joined(&obstacles, term!(", ", "list"))));
    let short = match buffer.zip(believed(slowest)) {
        Some(((name, bytes), measured)) if unit(slowest) == Some(Unit::BytesPerSecond) => {
            let [rate, size] = [(measured.estimate.value(), Unit::BytesPerSecond), (bytes as f64, Unit::Bytes)]
                .map(|(of, unit)| value(of, unit, Lang::En));
            short(texts::buffer_short!(rate, name, size))
        }
        _ => short(texts::short!(most = words(most))),
    };
    let cases = slowed.iter().take(MOST_CASES).map(|(_, case)| case.id.clone()).collect();
    vec![Conclusion { short, text, cases, cost: cost.min(MOST_COST) }]
}
