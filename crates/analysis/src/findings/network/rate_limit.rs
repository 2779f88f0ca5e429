//! A queue's rate that TCP reaches and does not exceed.

use super::super::short::short;
use super::super::{Conclusion, Demonstration, Doubt, Rule, WRONG};
use super::{CLOSE, TCP, cases, place, proven, rate, reaches, way, way_in_short};
use crate::network::{CapacityCause, LinkDirection, bits, flows};
use crate::texts::findings::network::rate_limit as texts;

pub(in super::super) static RULE: Rule = Rule {
    id: "net.rate_limit",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[TCP],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: WRONG, rivals: &[] },
    draw: |run| flows(run).iter().filter_map(conclusion).collect(),
};

/// Tells whether a direction is as fast as its queue allows: more would prove that the limit is elsewhere.
pub(super) fn holds(flow: &LinkDirection) -> bool {
    let limit =
        flow.capacity().filter(|capacity| capacity.cause == CapacityCause::Limit).map(|limit| limit.bytes_per_s);
    let is_there = |limit, rate| reaches(rate, limit) && rate.high <= limit * (1.0 + CLOSE);
    limit.zip(proven(flow)).is_some_and(|(limit, rate)| is_there(limit, rate))
}

fn conclusion(flow: &LinkDirection) -> Option<Conclusion> {
    let limit = flow.capacity().filter(|_| holds(flow))?;
    let (way, place, measured) = (way(flow), place(flow, limit), rate(proven(flow)?.value));
    let (kind, of, possible) = (&limit.queue, bits(limit.bits_per_s), rate(limit.bytes_per_s));
    let (payload, frame) = (limit.payload_bytes, limit.frame_bytes);
    let text = texts::text!(way, measured, of, place, kind, payload, frame, possible);
    let (way, interface) = (way_in_short(flow), limit.interface.as_deref().unwrap_or("?"));
    let short = short(texts::short!(way, measured, of, interface));
    // What it costs depends on the link behind it.
    let link = flow.capacities.iter().find(|capacity| capacity.cause == CapacityCause::Link);
    let cost = link.map_or(0.0, |link| 1.0 - limit.bytes_per_s / link.bytes_per_s);
    Some(Conclusion { short, text, cases: cases(flow), cost })
}
