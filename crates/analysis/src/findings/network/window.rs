//! A window or a buffer that keeps the sender waiting for acknowledgements.

use hostmark_model::{Run, Text};

use super::super::short::short;
use super::super::{Conclusion, DISTURBED, Demonstration, Doubt, QUOTA_OF_ONE, Rule, YIELDS};
use super::{TCP, also, cases, falls_short, proven, rate, way, way_in_short};
use crate::format::percent;
use crate::network::{LinkDirection, flows};

pub(in super::super) static RULE: Rule = Rule {
    id: "net.link_window",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[TCP],
    cure: Some(Text {
        en: "Raise net.ipv4.tcp_rmem (receiver) and tcp_wmem (sender). The largest buffers need twice the rate times the round trip. Leave \
             SO_RCVBUF and SO_SNDBUF alone: who sets them ends the kernel's own tuning. Or use several streams.",
        zh: "提高接收方的 net.ipv4.tcp_rmem 与发送方的 tcp_wmem。缓冲区上限应为速率乘以往返时间的两倍。不要设置 SO_RCVBUF 与 \
             SO_SNDBUF，否则会关闭内核的自动调节。或使用多个流。",
    }),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw,
};

/// From this share of the sender's time on a window is what limits it.
const MUCH: f64 = 0.5;

fn draw(run: &Run) -> Vec<Conclusion> {
    flows(run).iter().filter_map(conclusion).collect()
}

fn conclusion(flow: &LinkDirection) -> Option<Conclusion> {
    let measured = proven(flow)?;
    // A sender in front of a full link waits too: the link is what it waits for.
    if flow.capacity().is_some_and(|capacity| !falls_short(measured, capacity.bytes_per_s)) {
        return None;
    }
    let ends = [
        ("receiver_limited", ("the receiver's window", "receive window"), "接收窗口"),
        ("buffer_limited", ("its own send buffer", "send buffer"), "自身的发送缓冲区"),
    ];
    let limits = ends.into_iter().filter_map(|(name, en, zh)| Some((also(flow, name)?, en, zh)));
    let (share, (en, by), zh) =
        limits.filter(|(share, ..)| share.low >= MUCH).max_by(|one, other| one.0.low.total_cmp(&other.0.low))?;
    let (way, achieved, of_time) = (way(flow), rate(measured.value), percent(share.value.min(1.0)));
    let text = Text {
        en: format!(
            "Waiting limits the link: {} gives {achieved}, and the sender is held by {en} for {of_time} of its time.",
            way.en
        ),
        zh: format!("瓶颈在等待：{}为 {achieved}，发送方有 {of_time} 的时间受{zh}限制。", way.zh),
    };
    let way = way_in_short(flow);
    let short = short(
        format!("{} {achieved}: limited by the {by} {of_time} of the time", way.en),
        format!("{} {achieved}：{of_time} 的时间受{zh}限制", way.zh),
    );
    Some(Conclusion { short, text, cases: cases(flow), cost: share.low.min(1.0) })
}
