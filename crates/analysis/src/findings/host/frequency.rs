//! Clocks of the CPUs that move by themselves.

use hostmark_model::HostWeight;

use super::HostRule;
use crate::texts::findings::host::frequency as texts;

/// Governors under which the clock follows the load.
pub(in crate::findings) const FOLLOWING: [&str; 4] = ["powersave", "ondemand", "conservative", "schedutil"];

pub(super) static GOVERNOR: HostRule = HostRule {
    id: "host.governor",
    weight: HostWeight::Disturbs,
    cure: texts::GOVERNOR_CURE,
    see: |host, _| {
        // Of several kinds of core each has its own.
        let of_kinds = host.cpu.kinds.iter().filter_map(|kind| kind.governor.as_deref());
        let governor =
            host.cpu.governor.as_deref().into_iter().chain(of_kinds).find(|name| FOLLOWING.contains(name))?;
        Some(texts::governor_effect!(governor))
    },
};

pub(super) static TURBO: HostRule = HostRule {
    id: "host.turbo",
    weight: HostWeight::Disturbs,
    cure: texts::TURBO_CURE,
    see: |host, _| {
        host.cpu.turbo.filter(|on| *on)?;
        Some(texts::turbo_effect!())
    },
};
