//! Whether the machine was quiet enough to tell a relation between times: no test fails by what others did.

use std::fs;

use hostmark_engine::sys::usage;

use crate::skip::skipped;

/// Of the machine's CPU time, what others may have had while a test still tells something.
const OTHERS: f64 = 0.05;

/// The kernel counts CPU time in ticks of 1/100 s (USER_HZ).
const TICK_NS: u64 = 10_000_000;

/// The machine's CPU time since it was made, and whose it was.
pub struct Quiet(Option<Spent>);

/// CPU time, ns.
#[derive(Clone, Copy)]
struct Spent {
    all: u64,
    busy: u64,
    /// This process's, and that of its children that it has waited for.
    ours: u64,
}

impl Spent {
    fn read() -> Option<Spent> {
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let times: Vec<u64> = stat.lines().next()?.split_whitespace().skip(1).flat_map(str::parse).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; the time of guests is in the first two.
        let all = times.get(..8)?.iter().sum::<u64>();
        let busy = all - times[3] - times[4];
        Some(Spent { all: all * TICK_NS, busy: busy * TICK_NS, ours: usage::cpu_ns_of_all_own().ok()? })
    }
}

impl Quiet {
    pub fn begin() -> Quiet {
        Quiet(Spent::read())
    }

    /// The share of the CPU time that was neither ours nor idle; none where nobody tells.
    fn others(&self) -> Option<f64> {
        let (before, now) = (self.0?, Spent::read()?);
        let others = (now.busy - before.busy).saturating_sub(now.ours - before.ours);
        Some(others as f64 / (now.all - before.all).max(1) as f64)
    }

    /// Whether others had so much of it that nothing can be told.
    pub fn is_over(&self) -> bool {
        self.others().is_none_or(|others| others > OTHERS)
    }

    /// Whether it holds. What does not hold fails on a machine that was quiet, and on another one is skipped.
    #[track_caller]
    pub fn holds(&self, holds: bool, what: impl FnOnce() -> String) -> bool {
        if !holds {
            match self.others() {
                Some(others) if others <= OTHERS => panic!("{}", what()),
                Some(others) => {
                    skipped(&format!("disturbed: others had {:.0} % of the CPU time: {}", others * 100.0, what()))
                }
                None => skipped(&format!("disturbed: nobody tells who uses the CPUs: {}", what())),
            }
        }
        holds
    }
}

/// What a trial comes to; it is made again, twice at most, where it did not end well and others had the CPUs meanwhile.
pub fn undisturbed<T>(mut trial: impl FnMut() -> T, is_well: impl Fn(&T) -> bool) -> T {
    for _ in 0..2 {
        let (quiet, came) = (Quiet::begin(), trial());
        if is_well(&came) || !quiet.is_over() {
            return came;
        }
    }
    trial()
}
