//! Obstacles on the way of packets that a machine sends to itself.

use hostmark_model::{HostWeight, Lang, LoopbackFacts, Message, Unit};
use hostmark_say::say;

use super::HostRule;
use crate::format::value;
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
    let buffer = small_buffer(lo).map(|(name, bytes)| {
        Message::plain(format_args!("{name} {size}", size = value(bytes as f64, Unit::Bytes, Lang::En)))
    });
    rules.into_iter().chain(buffer).chain(queue).chain(programs).chain(mtu).collect()
}

/// A buffer that can grow to no more than this holds TCP to small windows, bytes; the kernel's own limits are 4 MiB and more.
const SMALL_BYTES: u64 = 128 << 10;

/// The setting of the network namespace that lets TCP have the smallest buffer, and its size, where that is too small.
pub(in crate::findings) fn small_buffer(lo: &LoopbackFacts) -> Option<(&'static str, u64)> {
    let most = |name: &'static str| Some((name, lo.sysctls.get(name)?.split(' ').next_back()?.parse().ok()?));
    let small = ["tcp_wmem", "tcp_rmem"].into_iter().filter_map(most).filter(|(_, bytes)| *bytes < SMALL_BYTES);
    small.min_by_key(|(_, bytes)| *bytes)
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
