//! Obstacles on the way of packets that a machine sends to itself.

use hostmark_model::{HostWeight, LoopbackFacts, Message};
use hostmark_say::say;

use super::HostRule;
use crate::network::queue_text;
use crate::texts::findings::host::loopback as texts;
use crate::words;

/// A name of the kernel's is cut to so many letters, and so many programs are named, so that the effect stays on its line.
const NAME_CHARS: usize = 20;
const MOST_PROGRAMS: usize = 2;

/// Each thing that makes loopback slower than the kernel makes it, most first.
pub(crate) fn obstacles(lo: &LoopbackFacts) -> Vec<Message> {
    let cut = |name: &str| name.chars().take(NAME_CHARS).collect::<String>();
    let rules = lo.many_rules().map(|rules| say!("{rules} packet-filter rules"));
    let queue = lo.waits_in().map(|queue| cut(&queue_text(queue)));
    let queue = queue.map(|queue| say!("queue {queue}"));
    let programs = lo.programs.iter().flatten().take(MOST_PROGRAMS).map(|name| Message::plain(cut(name)));
    let mtu = lo.small_mtu().map(|mtu| Message::plain(format_args!("MTU {mtu}")));
    rules.into_iter().chain(queue).chain(programs).chain(mtu).collect()
}

pub(super) static OBSTACLES: HostRule = HostRule {
    id: "host.loopback_path",
    weight: HostWeight::Shifts,
    cure: texts::OBSTACLES_CURE,
    see: |host, _| {
        // The page has a row with all.
        let obstacle = words(obstacles(&host.loopback).into_iter().next()?);
        Some(texts::obstacles_effect!(obstacle))
    },
};

pub(super) static FILTER_UNSEEN: HostRule = HostRule {
    id: "host.packet_filter_unseen",
    weight: HostWeight::Note,
    cure: texts::FILTER_UNSEEN_CURE,
    see: |host, _| {
        // Of a host that another kind of file describes nobody asked.
        let LoopbackFacts { queue, filter_rules, programs, .. } = &host.loopback;
        (queue.is_some() && (filter_rules.is_none() || programs.is_none())).then_some(())?;
        Some(texts::filter_unseen_effect!())
    },
};
