//! How often, and for how long, CPU quotas have stopped the control groups of this process.

use hostmark_model::Throttling;

use crate::cgroups::Version;
use crate::root::Root;

/// Since these groups were made, summed: each may have a quota. None where no group's is counted.
pub(crate) fn of_groups(root: &Root, groups: &[(Version, String)]) -> Option<Throttling> {
    let of_group =
        |(version, directory): &(Version, String)| counted(*version, &root.raw(&format!("{directory}/cpu.stat"))?);
    groups.iter().filter_map(of_group).reduce(|sum, of_group| Throttling {
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
