//! Facts that are hidden here: unknown, and not absent.

use hostmark_model::{Disturbed, HostFacts, HostWeight, LimitFacts, Message, Resource, Sight, Text};

use super::HostRule;
use crate::texts::findings::host::unseen as texts;
use crate::typography::cut;
use crate::words;

/// A group's name is cut to so many letters, so that the effect stays on its line.
const GROUP_CHARS: usize = 24;

/// The limits of which as much could be seen.
fn limits_with(limits: &LimitFacts, sight: Sight) -> Option<Text> {
    match [Resource::Cpu, Resource::Memory].map(|resource| limits.sight(resource) == sight) {
        [true, true] => Some(term!("CPU quota and memory limit")),
        [true, false] => Some(term!("the CPU quota")),
        [false, true] => Some(term!("the memory limit")),
        [false, false] => None,
    }
}

/// Limits that this process may have, and their group; none where its own group could be read.
pub fn limits_unseen(host: &HostFacts) -> Option<Text<String>> {
    let limits = limits_with(&host.limits, Sight::Nothing)?;
    match host.limits.unseen_groups().first() {
        Some(group) => {
            let group = cut(group, GROUP_CHARS);
            Some(texts::limits_group_effect!(limits, group))
        }
        None => Some(texts::limits_effect!(limits)),
    }
}

pub(super) static LIMITS: HostRule = HostRule {
    id: "host.limits_unseen",
    weight: HostWeight::Unknown,
    cure: texts::LIMITS_CURE,
    see: |host, _| limits_unseen(host),
};

pub(super) static LIMITS_ABOVE: HostRule = HostRule {
    id: "host.limits_above_unseen",
    weight: HostWeight::Note,
    cure: texts::LIMITS_ABOVE_CURE,
    see: |host, _| {
        let limits = limits_with(&host.limits, Sight::NotAbove)?;
        Some(texts::limits_above_effect!(limits))
    },
};

fn missing(host: &HostFacts, disturbed: &Disturbed) -> Vec<Text> {
    [
        (host.memory.total_bytes == 0, term!("memory")),
        (host.activity.load.or(disturbed.load).is_none(), term!("load")),
        (host.activity.uptime_s.is_none(), Text { en: "steal", zh: "CPU steal" }),
        (disturbed.processes_unseen, term!("processes")),
        (host.process.policy.is_none(), term!("scheduling")),
    ]
    .into_iter()
    .filter(|(is_missing, _)| *is_missing)
    .map(|(_, what)| what)
    .collect()
}

pub(super) static NO_PROC: HostRule = HostRule {
    id: "host.no_proc",
    weight: HostWeight::Unknown,
    cure: texts::NO_PROC_CURE,
    see: |host, disturbed| {
        // What another tool measured tells neither the memory nor the size of a page.
        let is_here = host.limits.unknown || host.memory.page_bytes > 0;
        (is_here && host.memory.total_bytes == 0).then_some(())?;
        Some(texts::no_proc_effect!(missing = words(Message::joined(missing(host, disturbed), term!(", ", "list")))))
    },
};

pub(super) static COUNTERS: HostRule = HostRule {
    id: "host.counters_stand",
    weight: HostWeight::Unknown,
    cure: texts::COUNTERS_CURE,
    see: |_, disturbed| disturbed.counters_stand.then(|| texts::counters_effect!()),
};

pub(super) static PROCESSES: HostRule = HostRule {
    id: "host.processes_unseen",
    weight: HostWeight::Note,
    cure: texts::PROCESSES_CURE,
    see: |host, disturbed| {
        (disturbed.processes_unseen && host.memory.total_bytes > 0).then_some(())?;
        Some(texts::processes_effect!())
    },
};
