//! What a round's CPUs lost while it ran: to the hypervisor, and to CPU quotas.

use std::collections::BTreeMap;

use hostmark_model::Throttling;

use crate::cgroups::{Groups, Version};
use crate::hypervisor;
use crate::root::Root;
use crate::{noise, throttling};

/// The counters when the round began. The kernel's file on CPUs grows with their number, to 100 KiB and more: it is read up to the
/// last row that is asked for, and not at all where nobody can steal.
#[derive(Debug)]
pub struct RoundCounters {
    root: Root,
    cpus: Vec<usize>,
    groups: Vec<(Version, String)>,
    steal_ns: Option<BTreeMap<usize, u64>>,
    throttled: Option<Throttling>,
}

/// What was lost since.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundLosses {
    /// Time that the hypervisor gave to others, summed over the round's CPUs, in steps of 10 ms. None when a CPU is not counted.
    pub steal_ns: Option<u64>,
    /// What CPU quotas did to the control groups of this process. None where none is counted.
    pub throttled: Option<Throttling>,
}

impl RoundCounters {
    /// A round on these CPUs begins.
    pub fn begin(root: &Root, cpus: &[usize]) -> RoundCounters {
        let groups: Vec<(Version, String)> = Groups::read(root).chain("cpu").collect();
        RoundCounters {
            steal_ns: steal_ns(root, cpus),
            throttled: throttling::of_groups(root, &groups),
            root: root.clone(),
            cpus: cpus.to_vec(),
            groups,
        }
    }

    pub fn end(&self) -> RoundLosses {
        let after = steal_ns(&self.root, &self.cpus);
        // Some hypervisors let the counter step back across a migration.
        let stolen = |before: &BTreeMap<usize, u64>, after: &BTreeMap<usize, u64>| -> Option<u64> {
            self.cpus.iter().map(|cpu| Some(after.get(cpu)?.saturating_sub(*before.get(cpu)?))).sum()
        };
        // A process that was moved into another group has left the counters of this one.
        let lost = |before: Throttling, after: Throttling| Throttling {
            periods: after.periods.saturating_sub(before.periods),
            ns: (after.ns - before.ns).max(0.0),
        };
        RoundLosses {
            steal_ns: self.steal_ns.as_ref().zip(after.as_ref()).and_then(|(before, after)| stolen(before, after)),
            throttled: self.throttled.zip(throttling::of_groups(&self.root, &self.groups)).map(|(a, b)| lost(a, b)),
        }
    }
}

/// What was stolen of each of these CPUs since boot.
fn steal_ns(root: &Root, cpus: &[usize]) -> Option<BTreeMap<usize, u64>> {
    if hypervisor::is_ruled_out(root) {
        return Some(cpus.iter().map(|&cpu| (cpu, 0)).collect());
    }
    let Some(last) = cpus.iter().copied().max() else { return Some(BTreeMap::new()) };
    let rows = root.raw_until("/proc/stat", |so_far| has_row(so_far, last))?;
    Some(rows.lines().filter_map(|line| noise::steal_of_cpu(line, |cpu| cpus.contains(&cpu))).collect())
}

/// Whether the rows of CPUs, which come by number, are complete up to that of `last`.
pub(crate) fn has_row(so_far: &[u8], last: usize) -> bool {
    let mut lines = so_far.rsplitn(3, |&byte| byte == b'\n').skip(1);
    let Some(complete) = lines.next().and_then(|line| std::str::from_utf8(line).ok()) else { return false };
    match complete.strip_prefix("cpu").and_then(|row| row.split(' ').next()) {
        // The first row is the sum of all.
        Some("") => false,
        Some(number) => number.parse().is_ok_and(|number: usize| number >= last),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's file for so many CPUs.
    fn stat(cpus: usize) -> String {
        let rows: String = (0..cpus).map(|cpu| format!("cpu{cpu} 11 12 13 14 15 16 17 {cpu} 0 0\n")).collect();
        format!("cpu  1 2 3 4 5 6 7 8 0 0\n{rows}intr 5 0 0 0\nctxt 9\n")
    }

    /// How many bytes of it are read, in pages as the kernel gives them, for the row of `last`.
    fn read_for(last: usize, cpus: usize) -> usize {
        let whole = stat(cpus);
        let pages = (1..=whole.len().div_ceil(4096)).map(|pages| (pages * 4096).min(whole.len()));
        pages.clone().find(|&end| has_row(&whole.as_bytes()[..end], last)).unwrap_or(whole.len())
    }

    #[test]
    fn reading_ends_with_the_page_that_completes_the_last_row() {
        let whole = stat(1024).len();
        assert!(whole > 32_000);
        for last in [0, 3, 100] {
            assert_eq!(read_for(last, 1024), 4096, "{last}");
        }
        for last in [127, 128, 500, 1022] {
            let end = stat(1024).find(&format!("cpu{last} ")).unwrap();
            let read = read_for(last, 1024);
            assert!(
                read > end
                    && read <= end + 2 * 4096
                    && stat(1024)[..read].contains(&format!("\ncpu{last} 11 12 13 14 15 16 17 {last} "))
            );
        }
        // A CPU that went away is missed when its turn has passed.
        assert_eq!(read_for(5000, 1024), whole);
        assert!(!has_row(b"", 0) && !has_row(b"cpu  1 2", 0) && !has_row(b"cpu  1 2\ncpu0 1", 0));
    }
}
