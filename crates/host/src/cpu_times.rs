//! How much of every CPU's time programs used, between two looks at /proc/stat.

use std::collections::BTreeMap;

use hostmark_model::HostFacts;
use rustix::time::{ClockId, clock_gettime};

use crate::root::Root;
use crate::round_counters::has_row;

/// The kernel counts CPU time for user space in ticks of 1/100 s (USER_HZ) on both architectures.
const TICK_NS: u64 = 10_000_000;

/// A kernel samples who runs at each of its own ticks, of which there are at least so many a second.
const LEAST_HZ: f64 = 100.0;
/// The columns that are summed are each cut to whole ticks, at both looks.
const CUT_NS: f64 = 3.0 * TICK_NS as f64;
/// How many deviations of a sampled share its error is: one judgement of 370 lies further off by chance.
const DEVIATIONS: f64 = 3.0;

/// The time that each online CPU has spent on programs and on all else, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CpuTimes {
    /// When, ns of a clock that nobody sets.
    pub at_ns: u64,
    cpus: BTreeMap<usize, Spent>,
}

/// What a CPU did since boot, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Spent {
    /// It ran programs, or the kernel for them.
    busy: u64,
    /// It did nothing, served interrupts, or was not there.
    rest: u64,
}

/// What programs used of a CPU between two looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Used {
    /// For how long they ran, ns.
    pub ns: f64,
    /// How far that may be off, ns: the kernel samples at its ticks and tells whole hundredths of a second.
    pub error_ns: f64,
}

impl CpuTimes {
    /// The counters now. None where the kernel does not tell.
    pub fn read(root: &Root) -> Option<CpuTimes> {
        // Behind the rows of CPUs come those of interrupts, by the thousand.
        let stat = root.raw_until("/proc/stat", |so_far| has_row(so_far, usize::MAX))?;
        let now = clock_gettime(ClockId::Monotonic);
        CpuTimes::of(&stat, now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
    }

    /// From the text of /proc/stat, read at this time.
    pub fn of(stat: &str, at_ns: u64) -> Option<CpuTimes> {
        let cpus: BTreeMap<usize, Spent> = stat.lines().filter_map(of_cpu).collect();
        (!cpus.is_empty()).then_some(CpuTimes { at_ns, cpus })
    }

    /// Time from this look to `after`, ns.
    pub fn elapsed_ns(&self, after: &CpuTimes) -> u64 {
        after.at_ns.saturating_sub(self.at_ns)
    }

    /// What programs used of `cpu` from this look to `after`: as the kernel's ticks say, and no more than the time that was
    /// neither idle nor an interrupt's, which most kernels count exactly. None when it is not counted in both.
    pub fn used(&self, after: &CpuTimes, cpu: usize) -> Option<Used> {
        let (before, now) = (self.cpus.get(&cpu)?, after.cpus.get(&cpu)?);
        let elapsed_ns = self.elapsed_ns(after) as f64;
        let since = |now: u64, before: u64| now.saturating_sub(before) as f64;
        let sampled_ns = since(now.busy, before.busy).min(elapsed_ns);
        let ns = sampled_ns.min((elapsed_ns - since(now.rest, before.rest)).max(0.0));
        let share = if elapsed_ns > 0.0 { sampled_ns / elapsed_ns } else { 0.0 };
        let samples = LEAST_HZ * elapsed_ns / 1e9;
        // A CPU that is never idle is busy at every tick, and one that always is at none.
        let deviation_ns = elapsed_ns * (share * (1.0 - share) / samples.max(1.0)).sqrt();
        Some(Used { ns, error_ns: DEVIATIONS * deviation_ns + CUT_NS })
    }
}

/// Notes how busy each CPU was between two looks, so that a case runs on a quiet one where the host has a choice.
pub fn note_busy(host: &mut HostFacts, before: &CpuTimes, after: &CpuTimes) {
    let elapsed_ns = before.elapsed_ns(after) as f64;
    for cpu in host.cpus.iter_mut().filter(|_| elapsed_ns > 0.0) {
        cpu.busy = before.used(after, cpu.id).map(|used| used.ns / elapsed_ns);
    }
}

/// `cpu3 user nice system idle iowait irq softirq steal …`: the first three are programs' time.
fn of_cpu(line: &str) -> Option<(usize, Spent)> {
    let mut words = line.strip_prefix("cpu")?.split(' ');
    let cpu = words.next()?.parse().ok()?;
    // Two more columns tell what part of the first two guests had.
    let ticks: Vec<u64> = words.take(8).map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let sum = |ticks: &[u64]| {
        ticks.iter().try_fold(0u64, |sum, ticks| sum.checked_add(*ticks)).and_then(|sum| sum.checked_mul(TICK_NS))
    };
    let (busy, rest) = ticks.split_at_checked(3)?;
    Some((cpu, Spent { busy: sum(busy)?, rest: sum(rest)? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks of user, nice, system, idle, iowait, irq, softirq and steal.
    fn at(seconds: u64, ticks: [u64; 8]) -> CpuTimes {
        let columns = ticks.map(|ticks| ticks.to_string()).join(" ");
        let stat = format!("cpu  9 9 9 9 9 9 9 9 0 0\ncpu4 {columns} 0 0\nintr 5 6\n");
        CpuTimes::of(&stat, seconds * 1_000_000_000).unwrap()
    }

    fn used(after: CpuTimes) -> Used {
        at(100, [1000, 10, 20, 4000, 5, 6, 7, 8]).used(&after, 4).unwrap()
    }

    fn is_near(used: Used, ns: f64, error_ns: f64) -> bool {
        (used.ns - ns).abs() < 1.0 && (used.error_ns - error_ns).abs() < 1.0
    }

    #[test]
    fn a_cpu_that_is_never_idle_is_known_to_a_tick_and_a_half_idle_one_as_samples_report() {
        let always = used(at(102, [1100, 60, 70, 4000, 5, 6, 7, 8]));
        assert!(is_near(always, 2e9, 3e7), "{always:?}");
        let half = used(at(102, [1100, 10, 20, 4100, 5, 6, 7, 8]));
        // 200 samples of one half: a deviation of 0.0354 of two seconds.
        assert!(is_near(half, 1e9, 3e7 + 3.0 * 2e9 * (0.25_f64 / 200.0).sqrt()), "{half:?}");
        let never = used(at(102, [1000, 10, 20, 4200, 5, 6, 7, 8]));
        assert!(is_near(never, 0.0, 3e7), "{never:?}");
    }

    #[test]
    fn both_counts_have_to_agree() {
        // By the ticks it was busy for a second, by what is left beside idle time, interrupts and steal for half of one.
        let left = used(at(102, [1100, 10, 20, 4050, 15, 16, 27, 68]));
        assert!((left.ns - 5e8).abs() < 1.0, "{left:?}");
        let idle = used(at(102, [1100, 10, 20, 4150, 5, 6, 7, 8]));
        assert!((idle.ns - 5e8).abs() < 1.0, "{idle:?}");
        // A sandbox that counts nothing shows no program.
        assert_eq!(used(at(102, [1000, 10, 20, 4000, 5, 6, 7, 8])).ns, 0.0);
    }

    #[test]
    fn what_is_not_counted_in_both_is_not_known() {
        let (before, after) = (at(1, [0; 8]), at(2, [1; 8]));
        assert_eq!((before.used(&after, 3), before.elapsed_ns(&after)), (None, 1_000_000_000));
        assert_eq!(
            (CpuTimes::of("", 0), CpuTimes::of("cpu0 1 2\n", 0), CpuTimes::of("intr 1\n", 0)),
            (None, None, None)
        );
    }
}
