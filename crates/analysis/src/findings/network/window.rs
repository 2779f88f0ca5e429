//! A window or a buffer that keeps the sender waiting for acknowledgements.

use super::super::short::short;
use super::super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, YIELDS};
use super::{TCP, also, cases, falls_short, proven, rate, way, way_in_short};
use crate::format::percent;
use crate::network::{LinkDirection, flows};
use crate::texts::findings::network::window as texts;

pub(in super::super) static RULE: Rule = Rule {
    id: "net.link_window",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[TCP],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw: |run| flows(run).iter().filter_map(conclusion).collect(),
};

/// Least share of the sender's time that makes a window the limit.
const MUCH: f64 = 0.5;

fn conclusion(flow: &LinkDirection) -> Option<Conclusion> {
    let measured = proven(flow)?;
    // A sender in front of a full link waits too: the link is what it waits for.
    if flow.capacity().is_some_and(|capacity| !falls_short(measured, capacity.bytes_per_s)) {
        return None;
    }
    let ends = [
        ("receiver_limited", term!("the receiver's window"), term!("receive window")),
        ("buffer_limited", term!("its own send buffer"), term!("send buffer")),
    ];
    let limits = ends.into_iter().filter_map(|(name, limit, in_short)| Some((also(flow, name)?, limit, in_short)));
    let (share, limit, in_short) =
        limits.filter(|(share, ..)| share.low >= MUCH).max_by(|one, other| one.0.low.total_cmp(&other.0.low))?;
    let (way, achieved, of_time) = (way(flow), rate(measured.value), percent(share.value.min(1.0)));
    let text = texts::text!(way, achieved, limit, of_time);
    let way = way_in_short(flow);
    let short = short(texts::short!(way, achieved, limit = in_short, of_time));
    Some(Conclusion { short, text, cases: cases(flow), cost: share.low.min(1.0) })
}
