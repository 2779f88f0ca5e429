//! Scheduling of the process that measures.

use hostmark_model::{HostFacts, HostWeight, Text};

use super::HostRule;
use crate::texts::findings::host::process as texts;

/// Finding that other processes go first; none where hostmark is scheduled like all others.
pub fn yields(host: &HostFacts) -> Option<Text<String>> {
    let process = &host.process;
    process.yields_to_others().then_some(())?;
    let policy = process.policy.as_deref().filter(|policy| *policy == "SCHED_IDLE");
    let how = policy.map(str::to_owned).unwrap_or_else(|| format!("nice {}", process.nice.unwrap_or(0)));
    Some(texts::yields_effect!(how))
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
        host.process.traced.filter(|is_traced| *is_traced)?;
        Some(texts::traced_effect!())
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
