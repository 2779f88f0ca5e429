//! A queue's rate that TCP reaches and does not exceed.

use hostmark_model::{Run, Text};

use super::super::short::short;
use super::super::{Conclusion, Demonstration, Doubt, Rule, WRONG};
use super::{CLOSE, TCP, cases, place, proven, rate, reaches, way, way_in_short};
use crate::network::{CapacityCause, LinkDirection, bits, flows};

pub(in super::super) static RULE: Rule = Rule {
    id: "net.rate_limit",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[TCP],
    cure: Some(Text {
        en: "Raise or remove the limit where it is set: tc qdisc, or the instance. It may be on that interface, or be the bandwidth of the \
             instance, container or virtual machine. No setting of TCP gets past it.",
        zh: "在设置处提高或取消限速：tc qdisc，或实例的带宽配额。它在该接口上，或在实例、容器、虚拟机上。调整 TCP 无法突破它。",
    }),
    doubt: Doubt { spoiled_by: WRONG, rivals: &[] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    flows(run).iter().filter_map(conclusion).collect()
}

/// Whether a direction goes as fast as its queue lets it: more would prove that the limit is elsewhere.
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
    let text = Text {
        en: format!(
            "{} gives {measured}: a rate limit of {of} on {} ({kind}) holds it. With {payload} of every {frame} bytes for data, it \
             lets {possible} through.",
            way.en, place.en
        ),
        zh: format!(
            "{}为 {measured}：受 {} 上 {of} 的限速（{kind}）约束。每 {frame} 字节中有 {payload} 字节是数据，因此最多通过 {possible}。",
            way.zh, place.zh
        ),
    };
    let (way, interface) = (way_in_short(flow), limit.interface.as_deref().unwrap_or("?"));
    let short = short(
        format!("{} {measured}: rate limit of {of} on {interface}", way.en),
        format!("{} {measured}：受 {interface} 上 {of} 的限速约束", way.zh),
    );
    // What it costs depends on the link behind it.
    let link = flow.capacities.iter().find(|capacity| capacity.cause == CapacityCause::Link);
    let cost = link.map_or(0.0, |link| 1.0 - limit.bytes_per_s / link.bytes_per_s);
    Some(Conclusion { short, text, cases: cases(flow), cost })
}
