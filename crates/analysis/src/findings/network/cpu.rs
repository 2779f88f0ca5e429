//! An end of a link whose CPU has no time left while the link has room.

use hostmark_model::{Message, NetworkPath, Text};
use hostmark_say::say;

use super::super::short::short;
use super::super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, YIELDS};
use super::{TCP, also, cases, falls_short, proven, rate, way, way_in_short};
use crate::format::number;
use crate::network::{Direction, LinkDirection, bits, flows};
use crate::texts::findings::network::cpu as texts;
use crate::words;

pub(in super::super) static RULE: Rule = Rule {
    id: "net.link_cpu",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[TCP],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw: |run| flows(run).iter().filter_map(conclusion).collect(),
};

/// CPUs that an end of one stream keeps busy, from which there is no time left.
const BUSY: f64 = 0.9;
/// Packets of this length or less are many for the CPU.
const SMALL_MTU: u64 = 1500;

fn conclusion(flow: &LinkDirection) -> Option<Conclusion> {
    let measured = proven(flow)?;
    let streams: f64 = flow.fastest?.params.get("streams").and_then(|streams| streams.parse().ok()).unwrap_or(1.0);
    // Where nobody knows what the link can carry, a CPU that is busy throughout is the limit all the same.
    if flow.capacity().is_some_and(|capacity| !falls_short(measured, capacity.bytes_per_s)) {
        return None;
    }
    let ends = [("sender_cpus", term!("sending")), ("receiver_cpus", term!("receiving"))];
    let busy = ends.into_iter().filter_map(|(name, doing)| Some((also(flow, name)?, doing)));
    let (cpus, doing) = busy
        .filter(|(cpus, ..)| cpus.low >= BUSY * streams.max(1.0))
        .max_by(|one, other| one.0.value.total_cmp(&other.0.value))?;
    let (way, achieved, cpus) = (way(flow), rate(measured.value), number(cpus.value));
    let of = flow.capacity().map(|capacity| (rate(capacity.bytes_per_s), bits(capacity.bits_per_s)));
    let of = of.map(|(possible, speed)| words(say!(" of the {possible} that {speed} can carry"))).unwrap_or_default();
    let why = why(flow);
    let text = texts::text!(way, achieved, of, doing, cpus, why);
    let way = way_in_short(flow);
    let of = match flow.capacity().map(|capacity| rate(capacity.bytes_per_s)) {
        Some(possible) => words(say!(" of {possible}")),
        None => Default::default(),
    };
    let short = short(texts::short!(way, achieved, of, doing, cpus));
    let cost = flow.capacity().map_or(0.0, |capacity| 1.0 - measured.value / capacity.bytes_per_s);
    Some(Conclusion { short, text, cases: cases(flow), cost })
}

/// Reasons why each byte is expensive, as far as the facts tell.
fn why(flow: &LinkDirection) -> Text<String> {
    let mut why = Vec::new();
    let (sender, receiver): (Option<&NetworkPath>, Option<&NetworkPath>) = match flow.direction {
        Direction::Send => (flow.peer.path.as_ref(), flow.peer.path_back.as_ref()),
        Direction::Receive => (flow.peer.path_back.as_ref(), flow.peer.path.as_ref()),
    };
    if let Some(mtu) = sender.and_then(|path| path.path_mtu_bytes).filter(|mtu| *mtu <= SMALL_MTU) {
        why.push(say!(" Packets have {mtu} bytes."));
    }
    if sender.is_some_and(|path| path.offloads.tso == Some(false)) {
        why.push(say!(" The sender's TSO is off."));
    }
    if receiver.is_some_and(|path| path.offloads.gro == Some(false)) {
        why.push(say!(" The receiver's GRO is off."));
    }
    words(Message::joined(why, ""))
}
