//! Number of usable CPUs, and the share of each.

use hostmark_model::HostWeight;

use super::HostRule;
use crate::format::number;
use crate::texts::findings::host::cpus as texts;

pub(super) static QUOTA: HostRule = HostRule {
    id: "host.cpu_quota",
    weight: HostWeight::Disturbs,
    cure: texts::QUOTA_CURE,
    see: |host, _| {
        let (usable, quota) = (host.usable_cpus().len(), host.limits.cpu_quota?);
        if usable == 0 || quota >= usable as f64 {
            return None;
        }
        let quota = number(quota);
        Some(texts::quota_effect!(quota, usable))
    },
};

pub(super) static SINGLE: HostRule = HostRule {
    id: "host.single_cpu",
    weight: HostWeight::Disturbs,
    cure: texts::SINGLE_CURE,
    see: |host, _| {
        (host.usable_cpus().len() == 1).then_some(())?;
        Some(texts::single_effect!())
    },
};

pub(super) static SIBLINGS: HostRule = HostRule {
    id: "host.smt_siblings",
    weight: HostWeight::Disturbs,
    cure: texts::SIBLINGS_CURE,
    see: |host, _| {
        let online = |id: &usize| host.cpus.iter().any(|cpu| cpu.id == *id && cpu.online);
        let shares = |id: &usize| {
            let cpu = host.cpus.iter().find(|cpu| cpu.id == *id);
            cpu.is_some_and(|cpu| cpu.siblings.iter().any(|other| other != id && online(other)))
        };
        let shared = host.usable_cpus().iter().filter(|id| shares(id)).count();
        if host.cpu.smt_active == Some(false) || shared == 0 {
            return None;
        }
        Some(texts::siblings_effect!(shared))
    },
};
