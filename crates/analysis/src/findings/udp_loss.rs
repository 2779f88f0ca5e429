//! Datagrams of a flood that get lost although they never leave the machine: the default receive buffer is small.

use hostmark_model::{Run, size_text};
use hostmark_say::say;

use super::evidence::{Proven, case_at};
use super::short::short;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, LOOPBACK, QUOTA_OF_ONE, Rule, YIELDS};
use crate::format::percent;
use crate::texts::findings::udp_loss as texts;
use crate::words;

const UDP: &str = "net.udp_bandwidth";
/// Least share lost: less is explained by a scheduler's delay now and then.
const NOTABLE: f64 = 0.05;

pub(super) static RULE: Rule = Rule {
    id: "net.udp_loss",
    shown: Demonstration::Try("udp-buffer"),
    probes: &[UDP],
    cure: Some(texts::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &LOOPBACK] },
    draw: |run| conclusion(run).into_iter().collect(),
};

fn conclusion(run: &Run) -> Option<Conclusion> {
    let case = case_at(run, UDP, &[])?;
    let loss = Proven::also(case, "loss").filter(|loss| loss.low >= NOTABLE && loss.high <= 1.0)?;
    let size = case.params.get("datagram")?.parse().ok().map(size_text)?;
    let (share, full) = (percent(loss.value), Proven::also(case, "overrun").map(|full| percent(full.value)));
    let full = match full {
        Some(full) => words(say!(": the receiver's buffer was full for {full} of what was sent")),
        None => Default::default(),
    };
    let text = texts::text!(share, size, full);
    let short = short(texts::short!(share));
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost: loss.value })
}
