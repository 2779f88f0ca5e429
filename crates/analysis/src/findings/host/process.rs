//! Host rules on the process that measures: its scheduling, its rights, and facts that are hidden from it.

use hostmark_model::HostWeight::{Disturbs, Note, Shifts, Unknown};
use hostmark_model::{Disturbed, GroupFact, HostFacts, LimitFacts, Message, Resource, Sight, Text};

use super::{HostRule, rule};
use crate::format::time_text;
use crate::texts::findings::host as texts;
use crate::typography::cut;
use crate::words;

/// A group with less than this share of the default weight waits for all others.
const LEAST_WEIGHT: f64 = 0.1;

/// Finding that other processes go first; none where hostmark is scheduled like all others.
pub fn yields(host: &HostFacts) -> Option<Text<String>> {
    let process = &host.process;
    let above = |nice: Option<i64>| nice.filter(|nice| *nice > 0);
    // Sessions have groups of their own only in the machine's first control group.
    let has_path =
        |group: &&GroupFact| group.resource == Resource::Cpu && group.path.as_deref().is_some_and(|path| path != "/");
    let session =
        above(process.number("autogroup_nice")).filter(|_| !host.limits.groups.iter().any(|group| has_path(&group)));
    let policy = process.policy.clone().filter(|policy| policy == "SCHED_IDLE");
    let nice = above(process.nice.map(i64::from)).map(|nice| format!("nice {nice}"));
    let how =
        policy.or(nice).or_else(|| session.map(|nice| format!("autogroup nice {nice}"))).or_else(|| group(host))?;
    Some(texts::process::yields_effect!(how))
}

/// The setting of a control group by which others go first: `cpu.idle 1`, `cpu.shares 2`.
fn group(host: &HostFacts) -> Option<String> {
    let set = |kind: &str| host.limits.group_settings.get(kind).filter(|set| *set != "default").cloned();
    let is_light = |set: &String| {
        let (file, weight) = set.rsplit_once(' ')?;
        let usual = if file == "cpu.shares" { 1024.0 } else { 100.0 };
        (weight.parse::<f64>().ok()? <= LEAST_WEIGHT * usual).then_some(())
    };
    set("cpu.idle").or_else(|| set("cpu.weight").filter(|set| is_light(set).is_some()))
}

pub(super) static YIELDS: HostRule =
    rule("host.yields_to_others", Disturbs, texts::process::YIELDS_CURE, |host, _| yields(host));

pub(super) static TRACED: HostRule = rule("host.traced", Disturbs, texts::process::TRACED_CURE, |host, _| {
    let tracer = tracer(host)?;
    Some(texts::process::traced_effect!(tracer))
});

/// The process that traces hostmark, `strace (4711)`; none where nobody does.
pub fn tracer(host: &HostFacts) -> Option<Text<String>> {
    host.process.traced.filter(|is_traced| *is_traced)?;
    let name = host.process.attributes.get("tracer").map(|name| cut(name, NAME_CHARS));
    Some(name.map_or_else(|| term!("a tracer").to_owned_text(), |name| Text { en: name.clone(), zh: name }))
}

/// A name of a process and its number are cut to so many letters, so that the effect stays on its line.
const NAME_CHARS: usize = 22;
/// The timer slack that a process has unless somebody says otherwise, ns.
const USUAL_SLACK_NS: i64 = 50_000;

/// Timer slack beyond what processes have, ns.
pub(in crate::findings) fn slack_ns(host: &HostFacts) -> Option<f64> {
    host.process.number("timer_slack_ns").filter(|ns| *ns > USUAL_SLACK_NS).map(|ns| ns as f64)
}

pub(super) static SLACK: HostRule = rule("host.timer_slack", Shifts, texts::process::SLACK_CURE, |host, _| {
    let slack = time_text(slack_ns(host)?);
    Some(texts::process::slack_effect!(slack))
});

/// The kernel's word for a thread that may not run loads ahead of older stores.
pub(in crate::findings) fn store_bypass(host: &HostFacts) -> Option<&str> {
    let state = host.process.attributes.get("store_bypass")?;
    (state.starts_with("thread") && state.ends_with("mitigated")).then_some(state)
}

pub(super) static STORE_BYPASS: HostRule =
    rule("host.store_bypass", Shifts, texts::process::STORE_BYPASS_CURE, |host, _| {
        let state = store_bypass(host)?;
        Some(texts::process::store_bypass_effect!(state))
    });

pub(super) static POLICY: HostRule = rule("host.scheduling_policy", Shifts, texts::process::POLICY_CURE, |host, _| {
    let policy = host.process.policy.as_deref()?;
    match policy {
        "SCHED_OTHER" | "SCHED_IDLE" => None,
        "SCHED_BATCH" => Some(texts::process::policy_batch_effect!()),
        _ => Some(texts::process::policy_effect!(policy)),
    }
});

pub(super) static CLAMPED: HostRule = rule("host.clamped", Shifts, texts::process::CLAMPED_CURE, |host, _| {
    let most = host.process.clamped()?;
    Some(texts::process::clamped_effect!(most))
});

pub(super) static HUGE_PAGES_FORBIDDEN: HostRule =
    rule("host.huge_pages_forbidden", Shifts, texts::process::HUGE_PAGES_FORBIDDEN_CURE, |host, _| {
        host.memory.transparent_huge_pages_forbidden.filter(|are_forbidden| *are_forbidden)?;
        Some(texts::process::huge_pages_forbidden_effect!())
    });

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
            Some(texts::unseen::limits_group_effect!(limits, group))
        }
        None => Some(texts::unseen::limits_effect!(limits)),
    }
}

pub(super) static LIMITS: HostRule =
    rule("host.limits_unseen", Unknown, texts::unseen::LIMITS_CURE, |host, _| limits_unseen(host));

pub(super) static LIMITS_ABOVE: HostRule =
    rule("host.limits_above_unseen", Note, texts::unseen::LIMITS_ABOVE_CURE, |host, _| {
        let limits = limits_with(&host.limits, Sight::NotAbove)?;
        Some(texts::unseen::limits_above_effect!(limits))
    });

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

pub(super) static NO_PROC: HostRule = rule("host.no_proc", Unknown, texts::unseen::NO_PROC_CURE, |host, disturbed| {
    // What another tool measured tells neither the memory nor the size of a page.
    let is_here = host.limits.unknown || host.memory.page_bytes > 0;
    (is_here && host.memory.total_bytes == 0).then_some(())?;
    Some(texts::unseen::no_proc_effect!(
        missing = words(Message::joined(missing(host, disturbed), term!(", ", "list")))
    ))
});

pub(super) static COUNTERS: HostRule =
    rule("host.counters_stand", Unknown, texts::unseen::COUNTERS_CURE, |_, disturbed| {
        disturbed.counters_stand.then(|| texts::unseen::counters_effect!())
    });

pub(super) static PROCESSES: HostRule =
    rule("host.processes_unseen", Note, texts::unseen::PROCESSES_CURE, |host, disturbed| {
        (disturbed.processes_unseen && host.memory.total_bytes > 0).then_some(())?;
        Some(texts::unseen::processes_effect!())
    });

/// Above this a user without rights may count nothing.
const USER_LEVEL: i32 = 2;

pub(super) static PERF: HostRule = rule("host.perf_not_permitted", Note, texts::permissions::PERF_CURE, |host, _| {
    let level =
        host.kernel.perf_event_paranoid.filter(|level| *level > USER_LEVEL && host.limits.is_root == Some(false))?;
    Some(texts::permissions::perf_effect!(level))
});

pub(super) static NO_SYS: HostRule = rule("host.no_sys", Note, texts::kernel_files::NO_SYS_CURE, |host, _| {
    // Every kernel names its clock source there, and is known by its release from elsewhere.
    let is_absent = host.kernel.clock_source.is_none() && host.nodes.is_empty();
    (is_absent && host.memory.transparent_huge_pages.is_none() && !host.kernel.release.is_empty()).then_some(())?;
    Some(texts::kernel_files::no_sys_effect!())
});

pub(super) static UNKNOWN_PAGING: HostRule =
    rule("host.nested_paging_unknown", Shifts, texts::virtualization::UNKNOWN_PAGING_CURE, |host, _| {
        let hypervisor = host.virtualization.hypervisor.as_deref()?;
        host.virtualization.nested_paging.is_none().then_some(())?;
        let name: String = hypervisor.chars().take(12).collect();
        Some(texts::virtualization::unknown_paging_effect!(name))
    });
