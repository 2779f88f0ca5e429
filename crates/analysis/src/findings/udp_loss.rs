//! Datagrams of a flood that get lost although they never leave the machine: the default receive buffer is small.

use hostmark_model::{Run, Text, size_text};

use super::evidence::{Proven, case_at};
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, LOOPBACK, QUOTA_OF_ONE, Rule, YIELDS};
use crate::format::percent;

const UDP: &str = "net.udp_bandwidth";
/// What is lost below this, a scheduler's delay now and then explains.
const NOTABLE: f64 = 0.05;

pub(super) static RULE: Rule = Rule {
    id: "net.udp_loss",
    shown: Demonstration::Try("udp-buffer"),
    probes: &[UDP],
    cure: Some(Text {
        en: "Give the receiver a larger buffer (SO_RCVBUF, net.core.rmem_max). 4 MiB hold what comes in some milliseconds. Where the \
             receiver is slower than the sender for longer, take many datagrams at a time (recvmmsg, UDP_GRO), or let the sender pace \
             itself. Where none may be lost, use TCP or a Unix socket, which hold the sender back.",
        zh: "给接收方更大的缓冲区（SO_RCVBUF、net.core.rmem_max）。4 MiB 可容纳数毫秒内到达的数据报。若接收方长时间慢于发送方，应一次取走多个数据报（recvmmsg、UDP_GRO），\
             或让发送方控制节奏。不容丢失时请用 TCP 或 Unix 套接字，它们会使发送方等待。",
    }),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &LOOPBACK] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    conclusion(run).into_iter().collect()
}

fn conclusion(run: &Run) -> Option<Conclusion> {
    let case = case_at(run, UDP, &[])?;
    let loss = Proven::also(case, "loss").filter(|loss| loss.low >= NOTABLE && loss.high <= 1.0)?;
    let size = case.params.get("datagram")?.parse().ok().map(size_text)?;
    let (share, full) = (percent(loss.value), Proven::also(case, "overrun").map(|full| percent(full.value)));
    let (full_en, full_zh) = match full {
        Some(full) => (
            format!(": the receiver's buffer was full for {full} of what was sent"),
            format!("：占发送总数 {full} 的数据报到达时接收缓冲区已满"),
        ),
        None => Default::default(),
    };
    let text = Text {
        en: format!(
            "{share} of UDP datagrams ({size}) are lost where a sender floods a receiver over loopback{full_en}. The default buffer \
             (net.core.rmem_default) is small on every Linux, and nothing holds the sender back: bursts of logs, metrics and DNS are \
             lost so."
        ),
        zh: format!(
            "发送方经环回接口不停顿地发送时，UDP 数据报（{size}）有 {share} 丢失{full_zh}。所有 Linux 的默认缓冲区（net.core.rmem_default）都很小，也没有任何机制使发送方放慢：\
             突发的日志、指标与 DNS 会因此丢失。"
        ),
    };
    let short = short(
        format!("A UDP flood on loopback loses {share}: the default receive buffer is small"),
        format!("环回接口上的 UDP 洪流丢失 {share}：默认接收缓冲区较小"),
    );
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost: loss.value })
}
