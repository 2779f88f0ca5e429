//! A link that carries less both ways at once than each way allows.

use hostmark_model::{CaseRecord, Run};

use super::super::evidence::{Proven, lost};
use super::super::short::{peer as short_name, short};
use super::super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, YIELDS};
use super::{CLOSE, TCP, proven, rate};
use crate::format::percent;
use crate::network::{CapacityCause, Direction, LinkDirection, cases_to, flows};
use crate::texts::findings::network::both_ways as texts;

pub(in super::super) static RULE: Rule = Rule {
    id: "net.link_both_ways",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[TCP],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw: |run| flows(run).chunks_exact(Direction::BOTH.len()).filter_map(|ways| conclusion(run, ways)).collect(),
};

fn conclusion(run: &Run, ways: &[LinkDirection]) -> Option<Conclusion> {
    let [first, ..] = ways else { return None };
    let is_both = |case: &&CaseRecord| case.params.get("direction") == Some("both");
    let at_once =
        cases_to(run, TCP, first.peer).filter(is_both).filter_map(|case| Some((Proven::of_case(case)?, case)));
    let (together, case) = at_once.max_by(|one, other| one.0.value.total_cmp(&other.0.value))?;
    // What each way gives alone, or is known to carry.
    let alone = |way: &LinkDirection| {
        let carries = |bytes| (bytes, bytes);
        proven(way).map(|rate| (rate.low, rate.value)).or_else(|| Some(carries(way.capacity()?.bytes_per_s)))
    };
    let all = ways.iter().map(alone).collect::<Option<Vec<(f64, f64)>>>()?;
    let least: f64 = all.iter().map(|(low, _)| low).sum();
    let apart: f64 = all.iter().map(|(_, value)| value).sum();
    // Acknowledgements of each way are in the other.
    if together.high >= least * (1.0 - 2.0 * CLOSE) {
        return None;
    }
    let name = &first.peer.name;
    let (gives, each, share) = (rate(together.value), rate(apart), percent(together.value / apart));
    let is_limited = |way: &LinkDirection| way.capacity().is_some_and(|it| it.cause == CapacityCause::Limit);
    let why = match ways.iter().any(is_limited) {
        true => term!(
            "A token bucket that limits the rate is empty after its burst, and what it earns while the CPU that sends is late is lost"
        ),
        false => {
            term!("Data of one way and acknowledgements of the other share queues, and each end does the work of both")
        }
    };
    let text = texts::text!(name, gives, share, each, why);
    let peer = short_name(name);
    let short = short(texts::short!(peer, gives, each));
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost: lost(apart, together.value) })
}
