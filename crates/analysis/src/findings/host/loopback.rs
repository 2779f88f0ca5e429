//! What stands on the way of packets that a machine sends to itself.

use hostmark_model::{HostWeight, LoopbackFacts, Text};

use super::{HostRule, text};
use crate::bilingual::{Words, same};
use crate::network::queue_text;

/// A name of the kernel's is cut to so many letters, and so many programs are named, so that the effect stays on its line.
const NAME_CHARS: usize = 20;
const MOST_PROGRAMS: usize = 2;

/// Each thing that makes loopback slower than the kernel makes it, most first.
pub(crate) fn obstacles(lo: &LoopbackFacts) -> Vec<Words> {
    let cut = |name: &str| name.chars().take(NAME_CHARS).collect::<String>();
    let rules = lo
        .many_rules()
        .map(|rules| Words { en: format!("{rules} packet-filter rules"), zh: format!("{rules} 条包过滤规则") });
    let queue = lo.waits_in().map(|queue| cut(&queue_text(queue)));
    let queue = queue.map(|queue| Words { en: format!("queue {queue}"), zh: format!("队列 {queue}") });
    let programs = lo.programs.iter().flatten().take(MOST_PROGRAMS).map(|name| same(cut(name)));
    let mtu = lo.small_mtu().map(|mtu| same(format!("MTU {mtu}")));
    rules.into_iter().chain(queue).chain(programs).chain(mtu).collect()
}

pub(super) static OBSTACLES: HostRule = HostRule {
    id: "host.loopback_path",
    weight: HostWeight::Shifts,
    cure: Text {
        en: "nft list ruleset; iptables-save; tc qdisc show dev lo; ip link show lo",
        zh: "查看 nft list ruleset、iptables-save、tc qdisc show dev lo",
    },
    see: |host, _| {
        // The page has a row with all.
        let Words { en, zh } = obstacles(&host.loopback).into_iter().next()?;
        text(format!("on loopback: {en}; net.* is slower"), format!("环回路径上有{zh}：net.* 因此变慢"))
    },
};

pub(super) static FILTER_UNSEEN: HostRule = HostRule {
    id: "host.packet_filter_unseen",
    weight: HostWeight::Note,
    cure: Text {
        en: "run as root: CAP_NET_ADMIN shows them", zh: "以 root 运行：查看它们需要 CAP_NET_ADMIN"
    },
    see: |host, _| {
        // Of a host that another kind of file describes nobody asked.
        let LoopbackFacts { queue, filter_rules, programs, .. } = &host.loopback;
        (queue.is_some() && (filter_rules.is_none() || programs.is_none())).then_some(())?;
        text(
            "packet filters or BPF programs on loopback are hidden here",
            "这里看不到环回路径上的包过滤规则或 BPF 程序",
        )
    },
};
