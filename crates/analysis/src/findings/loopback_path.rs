//! What stands on the loopback path: packet filters, a queue, programs, a small MTU.

use hostmark_model::{CaseRecord, Run, Text, Unit};

use super::evidence::believed;
use super::host::obstacles;
use super::short::short;
use super::{Conclusion, Demonstration, Doubt, Rule, WRONG};
use crate::bilingual::{Words, joined};

/// The probes whose packets take this machine's own loopback; others lay a network of their own.
const PREFIX: &str = "net.";
const OWN_NETWORK: &str = "net.tcp_offload";
/// The cases that are named.
const MOST_CASES: usize = 5;
/// What a round trip costs at least for each rule: two packets, each held against it in some 10 ns.
const RULE_NS: f64 = 20.0;

pub(super) static RULE: Rule = Rule {
    id: "run.loopback_path",
    shown: Demonstration::Host,
    probes: &[],
    cure: Some(Text {
        en: "Accept lo in the first rule: iptables -I INPUT -i lo -j ACCEPT. With nft: iif lo accept. Put many addresses in one set, and \
             remove what is not needed on lo (tc qdisc del dev lo root). To see the values without them, run hostmark under unshare -n.",
        zh: "在第一条规则中放行 lo：iptables -I INPUT -i lo -j ACCEPT。nft 用 iif lo accept。把大量地址放入一个集合，并去掉 lo \
             上不需要的队列（tc qdisc del dev lo root）。用 unshare -n 运行可看到没有它们时的数值。",
    }),
    doubt: Doubt { spoiled_by: WRONG, rivals: &[] },
    draw,
};

fn draw(run: &Run) -> Vec<Conclusion> {
    let obstacles = obstacles(&run.host.loopback);
    let Some(most) = obstacles.first() else { return Vec::new() };
    let rules = run.host.loopback.many_rules().unwrap_or(0) as f64;
    let unit = |case: &CaseRecord| run.probes.iter().find(|probe| probe.id == case.probe).map(|probe| probe.unit);
    // The part of a time that the rules take; of a rate it is not known.
    let part = |case: &CaseRecord| match unit(case)? {
        Unit::Nanoseconds => Some(rules * RULE_NS / believed(case)?.estimate.value()),
        _ => believed(case).map(|_| 0.0),
    };
    let over_loopback =
        |case: &&CaseRecord| case.probe.starts_with(PREFIX) && case.probe != OWN_NETWORK && case.peer().is_none();
    let cases = run.cases.iter().filter(over_loopback);
    let mut slowed: Vec<(f64, &CaseRecord)> = cases.filter_map(|case| Some((part(case)?, case))).collect();
    // Who loses most comes first.
    slowed.sort_by(|one, other| other.0.total_cmp(&one.0));
    let Some(&(cost, _)) = slowed.first() else { return Vec::new() };
    let Words { en, zh } = joined(&obstacles, Text { en: ", ", zh: "、" });
    let text = Text {
        en: format!(
            "{en} on the loopback path: every packet that this machine sends to itself passes them, and the values of net.* hold what \
             that costs. A machine without them is faster by as much."
        ),
        zh: format!(
            "环回路径上有{zh}：本机发给自己的每个包都要经过，net.* 的数值包含这一开销。没有它们的机器会相应地更快。"
        ),
    };
    let short = short(
        format!("{} on the loopback path: net.* is slower by that", most.en),
        format!("环回路径上有{}：net.* 因此变慢", most.zh),
    );
    let cases = slowed.iter().take(MOST_CASES).map(|(_, case)| case.id.clone()).collect();
    vec![Conclusion { short, text, cases, cost: cost.min(0.9) }]
}
