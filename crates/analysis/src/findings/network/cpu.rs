//! An end of a link whose CPU has no time left while the link has room.

use hostmark_model::{NetworkPath, Run, Text};

use super::super::short::short;
use super::super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, YIELDS};
use super::{TCP, also, cases, falls_short, proven, rate, way, way_in_short};
use crate::bilingual::Words;
use crate::format::number;
use crate::network::{Direction, LinkDirection, bits, flows};

pub(in super::super) static RULE: Rule = Rule {
    id: "net.link_cpu",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[TCP],
    cure: Some(Text {
        en: "Spread the work: several streams, several queues (ethtool -L, RPS). And take interrupts on other CPUs than the program. Make \
             each byte cheaper: TSO and GRO on (ethtool -K), an MTU of 9000 where the network allows it, sendfile, fewer packet filters.",
        zh: "分散负载：多个流、多个队列（ethtool -L、RPS）。并让中断与程序使用不同的 CPU。降低每字节开销：打开 TSO 与 GRO（ethtool \
             -K），网络允许时用 9000 的 MTU，使用 sendfile，减少包过滤。",
    }),
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
    let text = Text {
        en: format!(
            "The CPU limits the link: {} gives {achieved}{of_en}, and {en} keeps {cpus} CPUs busy.{}",
            way.en, why.en
        ),
        zh: format!("瓶颈在 CPU：{}为 {achieved}{of_zh}，{zh}占用 {cpus} 个 CPU。{}", way.zh, why.zh),
    };
    let way = way_in_short(flow);
    let [of_en, of_zh] = match flow.capacity().map(|capacity| rate(capacity.bytes_per_s)) {
        Some(possible) => [format!(" of {possible}"), format!("（上限 {possible}）")],
        None => Default::default(),
    };
    let short = short(
        format!("{} {achieved}{of_en}: {en} keeps {cpus} CPUs busy", way.en),
        format!("{} {achieved}{of_zh}：{zh}占用 {cpus} 个 CPU", way.zh),
    );
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
