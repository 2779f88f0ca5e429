//! Clocks of the CPUs that move by themselves.

use hostmark_model::{HostFacts, HostWeight, Lang, Unit};

use super::HostRule;
use crate::format::value;
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

/// The lowest limit of a usable CPU's clock that is below what its hardware can, and that, hertz.
pub(in crate::findings) fn limited_hz(host: &HostFacts) -> Option<(f64, f64)> {
    let limits =
        host.cpus.iter().filter(|cpu| cpu.online && cpu.allowed).filter_map(|cpu| cpu.limit_hz.zip(cpu.max_hz));
    limits.filter(|(limit, most)| *limit < *most * NEAR).min_by(|one, other| one.0.total_cmp(&other.0))
}

/// A limit above this share of the hardware's is nobody's intention.
const NEAR: f64 = 0.98;

pub(super) static LIMITED: HostRule = HostRule {
    id: "host.frequency_limit",
    weight: HostWeight::Shifts,
    cure: texts::LIMITED_CURE,
    see: |host, _| {
        let (limit, most) = limited_hz(host)?;
        let [limit, most] = [limit, most].map(|hz| value(hz, Unit::Hertz, Lang::En));
        Some(texts::limited_effect!(limit, most))
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
