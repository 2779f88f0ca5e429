//! Datagrams that get lost although they never leave the machine.

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
        en: "Give the receiver a larger buffer (SO_RCVBUF, net.core.rmem_max). Take many datagrams at a time (recvmmsg, UDP_GRO), and let \
             the sender pace itself or wait for answers. Where none may be lost, use TCP or a Unix socket, which hold the sender back.",
        zh: "给接收方更大的缓冲区（SO_RCVBUF、net.core.rmem_max）。一次取走多个数据报（recvmmsg、UDP_GRO），发送方则控制节奏或等待应答。不容丢失时请用 \
             TCP 或 Unix 套接字，它们会使发送方等待。",
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
            "{share} of UDP datagrams ({size}) are lost within this machine, over loopback{full_en}. Nothing holds the sender back, and \
             the kernel drops what the receiver has not taken in time: logs, metrics and DNS sent this way are lost in bursts."
        ),
        zh: format!(
            "经本机环回接口发送的 UDP 数据报（{size}）有 {share} 丢失{full_zh}。没有任何机制使发送方放慢，接收方来不及取走的数据报由内核丢弃：以这种方式发送的日志、\
             指标与 DNS 会在突发时丢失。"
        ),
    };
    let short = short(
        format!("{share} of UDP datagrams ({size}) are lost over loopback, within this machine"),
        format!("环回接口上的 UDP 数据报（{size}）有 {share} 在本机内丢失"),
    );
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost: loss.value })
}
