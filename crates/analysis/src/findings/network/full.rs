//! A link that carries all it can while the CPUs of both ends have time left.

use super::super::short::short;
use super::super::{Conclusion, Demonstration, Doubt, Rule, WRONG};
use super::{TCP, also, cases, proven, rate, reaches, way, way_in_short};
use crate::format::number;
use crate::network::{CapacityCause, LinkDirection, bits, flows};
use crate::texts::findings::network::full as texts;

pub(in super::super) static RULE: Rule = Rule {
    id: "net.link_full",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[TCP],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: WRONG, rivals: &[] },
    draw: |run| flows(run).iter().filter_map(conclusion).collect(),
};

/// CPUs that an end keeps busy, below which it has as much time left as it uses.
const IDLE: f64 = 0.5;

fn conclusion(flow: &LinkDirection) -> Option<Conclusion> {
    let link = flow.capacity().filter(|capacity| capacity.cause == CapacityCause::Link)?;
    let measured = proven(flow).filter(|rate| reaches(*rate, link.bytes_per_s))?;
    let (sends, receives) = (also(flow, "sender_cpus")?, also(flow, "receiver_cpus")?);
    if sends.high >= IDLE || receives.high >= IDLE {
        return None;
    }
    let way = way(flow);
    let (measured, possible, speed) = (rate(measured.value), rate(link.bytes_per_s), bits(link.bits_per_s));
    let (sends, receives) = (number(sends.value), number(receives.value));
    let text = texts::text!(way, measured, possible, speed, sends, receives);
    let way = way_in_short(flow);
    let short = short(texts::short!(way, measured, possible));
    Some(Conclusion { short, text, cases: cases(flow), cost: 0.0 })
}
