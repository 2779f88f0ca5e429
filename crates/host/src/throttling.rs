//! How often, and for how long, CPU quotas have stopped the control groups of this process.

use hostmark_model::Throttling;

use crate::cgroups::{Groups, Version};
use crate::root::Root;

/// Since the groups were made: that of this process and those that it lies in, each of which may have a quota, summed. None
/// where no group's quota is counted.
pub(crate) fn read(root: &Root) -> Option<Throttling> {
    let of_group =
        |(version, directory): (Version, String)| counted(version, &root.raw(&format!("{directory}/cpu.stat"))?);
    Groups::read(root).chain("cpu").filter_map(of_group).reduce(|sum, of_group| Throttling {
        periods: sum.periods.saturating_add(of_group.periods),
        ns: sum.ns + of_group.ns,
    })
}

/// What a group's cpu.stat says; the root group of version 2 has no quota, and counts none.
fn counted(version: Version, stat: &str) -> Option<Throttling> {
    let counter = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    let ns = match version {
        Version::V1 => counter("throttled_time ")? as f64,
        Version::V2 => counter("throttled_usec ")? as f64 * 1e3,
    };
    Some(Throttling { periods: counter("nr_throttled ")?, ns })
}
