//! An end of a link whose CPU has no time left while the link has room.

use hostmark_model::{NetworkPath, Run, Text};

use super::super::short::short;
use super::super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, YIELDS};
use super::{TCP, also, cases, falls_short, proven, rate, way, way_in_short};
use crate::bilingual::Words;
use crate::format::number;
use crate::network::{Direction, LinkDirection, bits, flows};
use crate::texts::findings::network::cpu as texts;

pub(in super::super) static RULE: Rule = Rule {
    id: "net.link_cpu",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[TCP],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw,
};

/// CPUs that an end of one stream keeps busy, from which there is no time left.
const BUSY: f64 = 0.9;
/// Packets of this length or less are many for the CPU.
const SMALL_MTU: u64 = 1500;

fn draw(run: &Run) -> Vec<Conclusion> {
    flows(run).iter().filter_map(conclusion).collect()
}

fn conclusion(flow: &LinkDirection) -> Option<Conclusion> {
    let measured = proven(flow)?;
    let streams: f64 = flow.fastest?.params.get("streams").and_then(|streams| streams.parse().ok()).unwrap_or(1.0);
    // Where nobody knows what the link can carry, a CPU that is busy throughout is the limit all the same.
    if flow.capacity().is_some_and(|capacity| !falls_short(measured, capacity.bytes_per_s)) {
        return None;
    }
    let ends = [("sender_cpus", "sending", "发送"), ("receiver_cpus", "receiving", "接收")];
    let busy = ends.into_iter().filter_map(|(name, en, zh)| Some((also(flow, name)?, en, zh)));
    let (cpus, en, zh) = busy
        .filter(|(cpus, ..)| cpus.low >= BUSY * streams.max(1.0))
        .max_by(|one, other| one.0.value.total_cmp(&other.0.value))?;
    let (way, achieved, cpus) = (way(flow), rate(measured.value), number(cpus.value));
    let of = flow.capacity().map(|capacity| (rate(capacity.bytes_per_s), bits(capacity.bits_per_s)));
    let of_en =
        of.as_ref().map_or(String::new(), |(possible, speed)| format!(" of the {possible} that {speed} can carry"));
    let of_zh = of.map_or(String::new(), |(possible, speed)| format!("（{speed} 最多承载 {possible}）"));
    let why = why(flow);
    let text = texts::text!(way, achieved, of = Text { en: of_en, zh: of_zh }, doing = Text { en, zh }, cpus, why);
    let way = way_in_short(flow);
    let [of_en, of_zh] = match flow.capacity().map(|capacity| rate(capacity.bytes_per_s)) {
        Some(possible) => [format!(" of {possible}"), format!("（上限 {possible}）")],
        None => Default::default(),
    };
    let short = short(texts::short!(way, achieved, of = Text { en: of_en, zh: of_zh }, doing = Text { en, zh }, cpus));
    let cost = flow.capacity().map_or(0.0, |capacity| 1.0 - measured.value / capacity.bytes_per_s);
    Some(Conclusion { short, text, cases: cases(flow), cost })
}

/// What makes each byte dear, as far as the facts tell.
fn why(flow: &LinkDirection) -> Words {
    let mut why = Words::default();
    let (sender, receiver): (Option<&NetworkPath>, Option<&NetworkPath>) = match flow.direction {
        Direction::Send => (flow.peer.path.as_ref(), flow.peer.path_back.as_ref()),
        Direction::Receive => (flow.peer.path_back.as_ref(), flow.peer.path.as_ref()),
    };
    let mut add = |en: String, zh: String| {
        why.en += &en;
        why.zh += &zh;
    };
    if let Some(mtu) = sender.and_then(|path| path.path_mtu_bytes).filter(|mtu| *mtu <= SMALL_MTU) {
        add(format!(" Packets have {mtu} bytes."), format!("每个包 {mtu} 字节。"));
    }
    if sender.is_some_and(|path| path.offloads.tso == Some(false)) {
        add(" The sender's TSO is off.".to_owned(), "发送方的 TSO 已关闭。".to_owned());
    }
    if receiver.is_some_and(|path| path.offloads.gro == Some(false)) {
        add(" The receiver's GRO is off.".to_owned(), "接收方的 GRO 已关闭。".to_owned());
    }
    why
}
