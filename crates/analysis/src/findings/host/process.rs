//! Scheduling of the process that measures.

use hostmark_model::{GroupFact, HostFacts, HostWeight, Lang, Resource, Text, Unit};

use super::HostRule;
use crate::format::value;
use crate::texts::findings::host::process as texts;
use crate::typography::cut;

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
    Some(texts::yields_effect!(how))
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

pub(super) static YIELDS: HostRule = HostRule {
    id: "host.yields_to_others",
    weight: HostWeight::Disturbs,
    cure: texts::YIELDS_CURE,
    see: |host, _| yields(host),
};

pub(super) static TRACED: HostRule = HostRule {
    id: "host.traced",
    weight: HostWeight::Disturbs,
    cure: texts::TRACED_CURE,
    see: |host, _| {
        let tracer = tracer(host)?;
        Some(texts::traced_effect!(tracer))
    },
};

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

pub(super) static SLACK: HostRule = HostRule {
    id: "host.timer_slack",
    weight: HostWeight::Shifts,
    cure: texts::SLACK_CURE,
    see: |host, _| {
        let slack = value(slack_ns(host)?, Unit::Nanoseconds, Lang::En);
        Some(texts::slack_effect!(slack))
    },
};

/// The kernel's word for a thread that may not run loads ahead of older stores.
pub(in crate::findings) fn store_bypass(host: &HostFacts) -> Option<&str> {
    let state = host.process.attributes.get("store_bypass")?;
    (state.starts_with("thread") && state.ends_with("mitigated")).then_some(state)
}

pub(super) static STORE_BYPASS: HostRule = HostRule {
    id: "host.store_bypass",
    weight: HostWeight::Shifts,
    cure: texts::STORE_BYPASS_CURE,
    see: |host, _| {
        let state = store_bypass(host)?;
        Some(texts::store_bypass_effect!(state))
    },
};

pub(super) static POLICY: HostRule = HostRule {
    id: "host.scheduling_policy",
    weight: HostWeight::Shifts,
    cure: texts::POLICY_CURE,
    see: |host, _| {
        let policy = host.process.policy.as_deref()?;
        match policy {
            "SCHED_OTHER" | "SCHED_IDLE" => None,
            "SCHED_BATCH" => Some(texts::policy_batch_effect!()),
            _ => Some(texts::policy_effect!(policy)),
        }
    },
};

pub(super) static CLAMPED: HostRule = HostRule {
    id: "host.clamped",
    weight: HostWeight::Shifts,
    cure: texts::CLAMPED_CURE,
    see: |host, _| {
        let most = host.process.clamped()?;
        Some(texts::clamped_effect!(most))
    },
};

pub(super) static HUGE_PAGES_FORBIDDEN: HostRule = HostRule {
    id: "host.huge_pages_forbidden",
    weight: HostWeight::Shifts,
    cure: texts::HUGE_PAGES_FORBIDDEN_CURE,
    see: |host, _| {
        host.memory.transparent_huge_pages_forbidden.filter(|are_forbidden| *are_forbidden)?;
        Some(texts::huge_pages_forbidden_effect!())
    },
};
