//! Segments that had to be sent again, without a rate limit that drops them.

use super::super::short::short;
use super::super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, YIELDS};
use super::rate_limit::holds;
use super::{TCP, also, cases, proven, rate, way, way_in_short};
use crate::format::{number, percent};
use crate::network::{LinkDirection, Protocol, flows, payload_bytes};
use crate::texts::findings::network::loss as texts;

pub(in super::super) static RULE: Rule = Rule {
    id: "net.link_loss",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[TCP],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw: |run| flows(run).iter().filter_map(conclusion).collect(),
};

/// One segment in a thousand halves what cubic makes of a long way.
const MUCH: f64 = 1e-3;
/// A packet where nobody tells of its size.
const USUAL_MTU: u64 = 1500;

fn conclusion(flow: &LinkDirection) -> Option<Conclusion> {
    // A limit tells TCP its rate by dropping: that is no fault.
    if holds(flow) {
        return None;
    }
    let again = also(flow, "retransmits_per_gb")?;
    let mtu = flow.peer.path.as_ref().and_then(|path| path.path_mtu_bytes).unwrap_or(USUAL_MTU);
    let is_v6 = flow.peer.address.is_some_and(|address| address.is_ipv6());
    let segments = 1e9 / payload_bytes(mtu, is_v6, Protocol::Tcp)? as f64;
    if again.low / segments < MUCH {
        return None;
    }
    let (way, achieved) = (way(flow), rate(proven(flow)?.value));
    let (share, count) = (percent((again.value / segments).min(1.0)), number(again.value));
    let text = texts::text!(way, achieved, share, count);
    let way = way_in_short(flow);
    let short = short(texts::short!(way, achieved, share, count));
    // What is sent again is lost time, and all that cubic waits besides.
    Some(Conclusion { short, text, cases: cases(flow), cost: (again.value / segments).min(1.0) })
}
