//! The time that a hypervisor took from CPUs, as /proc/stat tells it.

use std::io;

use hostmark_engine::prelude::ReasonCode;
use hostmark_engine::prelude::say;

use crate::workloads::call::{Call, fault};

/// What was stolen from CPUs since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stolen {
    /// Summed over the CPUs, ns.
    pub ns: u64,
}

impl Stolen {
    /// The kernel tells it in these steps (USER_HZ), ns.
    pub const STEP_NS: u64 = 10_000_000;

    /// What was stolen so far from these CPUs; from all together where none is named.
    pub fn read(cpus: &[usize]) -> io::Result<Stolen> {
        let stat = std::fs::read_to_string("/proc/stat").call("read /proc/stat")?;
        Stolen::of(&stat, cpus).ok_or_else(|| fault(ReasonCode::Kernel, say!("/proc/stat has no such column")))
    }

    /// From lines of `cpu3 user nice system idle iowait irq softirq steal …`; the first is `cpu` for all.
    fn of(stat: &str, cpus: &[usize]) -> Option<Stolen> {
        let of_row = |name: &str| -> Option<u64> {
            let row = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
            row.split_whitespace().nth(7)?.parse::<u64>().ok()?.checked_mul(Stolen::STEP_NS)
        };
        let ns = match cpus {
            [] => of_row("cpu")?,
            _ => cpus.iter().map(|cpu| of_row(&format!("cpu{cpu}"))).sum::<Option<u64>>()?,
        };
        Some(Stolen { ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_summed_over_the_cpus_that_are_asked_for() {
        let stat = "cpu  1 1 1 1 1 1 1 60 0 0\ncpu0 1 1 1 1 1 1 1 10 0 0\ncpu1 1 1 1 1 1 1 1 20 0 0\ncpu10 1 1 1 1 1 1 1 30 0 0\nintr 5\n";
        let ns = |cpus: &[usize]| Stolen::of(stat, cpus).map(|stolen| stolen.ns / Stolen::STEP_NS);
        assert_eq!((ns(&[1]), ns(&[0, 10]), ns(&[])), (Some(20), Some(40), Some(60)));
        assert_eq!((ns(&[2]), Stolen::of("cpu0 1 2 3\n", &[0]), Stolen::of("", &[])), (None, None, None));
    }
}
