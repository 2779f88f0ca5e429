//! What the place that would tell it does not tell here: unknown, and not absent.

use hostmark_model::{Disturbed, HostFacts, HostWeight, LimitFacts, Resource, Sight, Text};

use super::{HostRule, text};
use crate::bilingual::{Words, cut, fixed, joined};

/// A group's name is cut to so many letters, so that the effect stays on its line.
const GROUP_CHARS: usize = 24;

/// The limits of which as much could be seen.
fn limits_with(limits: &LimitFacts, sight: Sight) -> Option<Text> {
    match [Resource::Cpu, Resource::Memory].map(|resource| limits.sight(resource) == sight) {
        [true, true] => Some(Text { en: "CPU quota and memory limit", zh: "CPU 配额与内存限额" }),
        [true, false] => Some(Text { en: "the CPU quota", zh: "CPU 配额" }),
        [false, true] => Some(Text { en: "the memory limit", zh: "内存限额" }),
        [false, false] => None,
    }
}

/// Which limits this process may have, and in which group; none where its own group was looked at.
pub fn limits_unseen(host: &HostFacts) -> Option<Text<String>> {
    let limits = limits_with(&host.limits, Sight::Nothing)?;
    match host.limits.unseen_groups().first() {
        Some(group) => {
            let group = cut(group, GROUP_CHARS);
            text(
                format!("{} of group {group} cannot be seen", limits.en),
                format!("看不到控制组 {group} 的{}", limits.zh),
            )
        }
        None => text(
            format!("{} unknown: control groups cannot be seen", limits.en),
            format!("{}未知：看不到控制组", limits.zh),
        ),
    }
}

pub(super) static LIMITS: HostRule = HostRule {
    id: "host.limits_unseen",
    weight: HostWeight::Unknown,
    cure: Text {
        en: "mount /proc and /sys/fs/cgroup here, or look at the group from outside",
        zh: "在此挂载 /proc 与 /sys/fs/cgroup，或从外部查看该控制组",
    },
    see: |host, _| limits_unseen(host),
};

pub(super) static LIMITS_ABOVE: HostRule = HostRule {
    id: "host.limits_above_unseen",
    weight: HostWeight::Note,
    cure: Text {
        en: "look outside: systemctl show SLICE, kubectl describe pod",
        zh: "请在外部查看：systemctl show SLICE、kubectl describe pod",
    },
    see: |host, _| {
        let limits = limits_with(&host.limits, Sight::NotAbove)?;
        text(
            format!("{} of the groups above this one are hidden", limits.en),
            format!("看不到上级控制组的{}", limits.zh),
        )
    },
};

/// What /proc would tell, and does not.
fn missing(host: &HostFacts, disturbed: &Disturbed) -> Vec<Words> {
    [
        (host.memory.total_bytes == 0, Text { en: "memory", zh: "内存" }),
        (host.activity.load.or(disturbed.load).is_none(), Text { en: "load", zh: "负载" }),
        (host.activity.uptime_s.is_none(), Text { en: "steal", zh: "CPU steal" }),
        (disturbed.processes_unseen, Text { en: "processes", zh: "进程" }),
        (host.process.policy.is_none(), Text { en: "scheduling", zh: "调度" }),
    ]
    .into_iter()
    .filter(|(is_missing, _)| *is_missing)
    .map(|(_, what)| fixed(what))
    .collect()
}

pub(super) static NO_PROC: HostRule = HostRule {
    id: "host.no_proc",
    weight: HostWeight::Unknown,
    cure: Text { en: "mount it: mount -t proc proc /proc", zh: "挂载它：mount -t proc proc /proc" },
    see: |host, disturbed| {
        // What another tool measured tells neither the memory nor the size of a page.
        let is_here = host.limits.unknown || host.memory.page_bytes > 0;
        (is_here && host.memory.total_bytes == 0).then_some(())?;
        let Words { en, zh } = joined(&missing(host, disturbed), Text { en: ", ", zh: "、" });
        text(format!("no /proc, or not all of it: {en} unknown"), format!("/proc 缺失或不完整：{zh}未知"))
    },
};

pub(super) static PROCESSES: HostRule = HostRule {
    id: "host.processes_unseen",
    weight: HostWeight::Note,
    cure: Text {
        en: "run as root, or mount /proc without hidepid", zh: "以 root 运行，或不带 hidepid 挂载 /proc"
    },
    see: |host, disturbed| {
        (disturbed.processes_unseen && host.memory.total_bytes > 0).then_some(())?;
        text("other users' processes are hidden: who is busy is unknown", "其他用户的进程不可见：谁在占用 CPU 未知")
    },
};
