//! A process that keeps a CPU busy: all of the time or a known share of it, at a priority of its own.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hostmark_engine::prelude::{Cpu, ReasonCode, say};

use crate::kernels::arith;
use crate::workloads::call::{Call, fault};
use crate::workloads::process::Peer;
use crate::workloads::waits::Shared;
use crate::workloads::waits::{Alone, count_to, sleep_past};
use crate::workloads::{clock, process, usage};

/// Period of one that has a share of its CPU: short beside what a scheduler takes a CPU away for.
const PERIOD_NS: u64 = 10_000_000;
/// Additions between two looks at the clock, or at whether it is still to be busy: some 10 µs.
const ADDITIONS: u64 = 30_000;

/// Number of checks whether one has begun, for a second in all.
const MOST_LOOKS: usize = 1000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

/// Treatment by the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// Priority of this process, with so much added to the nice value: further from the CPU.
    Nice(i32),
    /// Priority below all others on the CPU (SCHED_IDLE): any process that wakes up there runs at once.
    Idle,
}

/// The percentage that a value of an axis names: none is 0.
pub fn percent(name: &str) -> u64 {
    name.parse().unwrap_or(0)
}

#[derive(Debug, Default)]
struct HogWords {
    /// 1 while it is to be busy.
    is_on: Alone<AtomicU32>,
    /// 1 once it has been.
    has_run: Alone<AtomicU32>,
}

/// A hog, ended when dropped. It rests until it is told to be busy.
#[derive(Debug)]
pub struct Hog {
    peer: Peer,
    words: Shared<HogWords>,
}

impl Hog {
    /// Starts one on `cpu`, busy for `percent` of the time that it is to be busy. Refuses when this process has several threads.
    pub fn spawn(cpu: Cpu, priority: Priority, percent: u64) -> io::Result<Hog> {
        let words = Shared::new(HogWords::default())?;
        let peer = Peer::spawn(&[cpu.0], || {
            priority.apply()?;
            serve(&words, percent)
        })?;
        Ok(Hog { peer, words })
    }

    /// Starts one on each of these CPUs, all of them busy by now.
    pub fn on_each(cpus: &[Cpu], priority: Priority, percent: u64) -> io::Result<Vec<Hog>> {
        let hogs = cpus.iter().map(|&cpu| Hog::spawn(cpu, priority, percent)).collect::<io::Result<Vec<Hog>>>()?;
        hogs.iter().try_for_each(|hog| hog.set(true))?;
        // A CPU that others want too is given to them first.
        for _ in 0..MOST_LOOKS {
            if hogs.iter().all(|hog| hog.has_run().is_ok()) {
                break;
            }
            clock::sleep(BETWEEN_LOOKS);
        }
        hogs.iter().try_for_each(Hog::has_run)?;
        Ok(hogs)
    }

    /// Sets whether it is to be busy from now on.
    pub fn set(&self, is_on: bool) -> io::Result<()> {
        match is_on {
            true => count_to(&self.words.is_on.0, 1),
            false => {
                self.words.is_on.0.store(0, Ordering::Release);
                Ok(())
            }
        }
    }

    /// The CPU time that it has had since it was started, ns.
    pub fn spent_ns(&self) -> io::Result<u64> {
        usage::cpu_ns_of_other(self.pid())
    }

    /// An error where it has not been busy at all, as one that could not begin: what was measured beside it is not what it seems.
    pub fn has_run(&self) -> io::Result<()> {
        match self.words.has_run.0.load(Ordering::Acquire) {
            0 => Err(fault(ReasonCode::Disturbed, say!("a process that keeps a CPU busy has not run"))),
            _ => Ok(()),
        }
    }

    pub fn pid(&self) -> u32 {
        self.peer.pid()
    }
}

impl Priority {
    /// Gives it to the calling process.
    fn apply(self) -> io::Result<()> {
        match self {
            Priority::Nice(0) => Ok(()),
            Priority::Nice(more) => {
                let own = rustix::process::getpriority_process(None).call("getpriority")?;
                let nice = own + more;
                rustix::process::setpriority_process(None, nice).call("setpriority")?;
                // The kernel makes the last one of what is beyond it.
                match rustix::process::getpriority_process(None).call("getpriority")? == nice {
                    true => Ok(()),
                    false => {
                        Err(fault(ReasonCode::Permission, say!("there is no nice value so much above this process's")))
                    }
                }
            }
            Priority::Idle => process::yield_to_all(),
        }
    }
}

impl HogWords {
    fn is_on(&self) -> bool {
        self.is_on.0.load(Ordering::Acquire) == 1
    }

    fn work(&self) {
        std::hint::black_box(arith::add_chain(ADDITIONS, 1, std::hint::black_box(1)));
        self.has_run.0.store(1, Ordering::Release);
    }
}

/// Runs without system calls while busy: one every 10 µs makes a wake-up on its CPU take a 14th longer, its 90th percentile a third.
fn serve(words: &HogWords, percent: u64) -> io::Result<()> {
    let mut shortest_ns = u64::MAX;
    loop {
        sleep_past(&words.is_on.0, 0)?;
        while percent >= 100 && words.is_on() {
            words.work();
        }
        let mut due = clock::monotonic_ns();
        while words.is_on() {
            let mut spent_ns = 0;
            while words.is_on() && spent_ns < PERIOD_NS * percent / 100 {
                let begun = clock::monotonic_ns();
                words.work();
                let took_ns = clock::monotonic_ns() - begun;
                shortest_ns = shortest_ns.min(took_ns);
                // For the rest of a longer one others had the CPU.
                spent_ns += took_ns.min(2 * shortest_ns);
            }
            // What it missed since others had the CPU it does not make up for.
            due = (due + PERIOD_NS).max(clock::monotonic_ns().saturating_sub(PERIOD_NS));
            clock::sleep_until(due)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;
    use crate::workloads::{affinity, process::in_a_child};

    #[test]
    fn a_hog_is_busy_only_while_it_is_to_be_and_for_no_more_than_its_share() {
        in_a_child(|| {
            let cpu = Cpu(affinity::allowed()?[0]);
            let own = rustix::process::getpriority_process(None)?;
            for percent in [30, 100] {
                Hog::on_each(&[cpu], Priority::Nice(0), percent)?[0].has_run()?;
            }
            for (priority, percent) in [(Priority::Nice(0), 30), (Priority::Nice(5), 100), (Priority::Idle, 100)] {
                // Of a process that is nice already there may be no such value: its hog ends at once.
                if priority == Priority::Nice(5) && own + 5 > 19 {
                    continue;
                }
                let hog = Hog::spawn(cpu, priority, percent)?;
                std::thread::sleep(Duration::from_millis(20));
                assert!(hog.has_run().is_err());
                let (idle, begun) = (hog.spent_ns()?, clock::monotonic_ns());
                hog.set(true)?;
                while hog.spent_ns()? < idle + 30_000_000 {
                    assert!(clock::monotonic_ns() - begun < 300_000_000_000, "{priority:?} {percent} does not run");
                    std::thread::sleep(Duration::from_millis(1));
                }
                let share = (hog.spent_ns()? - idle) as f64 / (clock::monotonic_ns() - begun) as f64;
                // A period too many at most.
                assert!(share <= percent as f64 / 100.0 + 0.1, "{priority:?} {percent} {share}");
                hog.has_run()?;
                hog.set(false)?;
                let mut before = hog.spent_ns()?;
                loop {
                    std::thread::sleep(Duration::from_millis(30));
                    let now = hog.spent_ns()?;
                    if now == before {
                        break;
                    }
                    before = now;
                }
            }
            Ok(())
        });
    }

    /// Any call but read, write and an exit ends such a process at once.
    const SECCOMP_MODE_STRICT: libc::c_ulong = 1;

    #[test]
    fn a_hog_that_is_always_busy_calls_nobody() {
        in_a_child(|| {
            let (cpu, words) = (Cpu(affinity::allowed()?[0]), Shared::new(HogWords::default())?);
            words.is_on.0.store(1, Ordering::Release);
            let peer = Peer::spawn(&[cpu.0], || {
                // SAFETY: it changes nothing but what this process may call.
                match unsafe { libc::prctl(libc::PR_SET_SECCOMP, SECCOMP_MODE_STRICT) } {
                    0 => serve(&words, 100),
                    _ => {
                        words.is_on.0.store(2, Ordering::Release);
                        Ok(())
                    }
                }
            })?;
            let hog = Hog { peer, words };
            let (before, begun) = (hog.spent_ns()?, clock::monotonic_ns());
            while hog.words.is_on.0.load(Ordering::Acquire) == 1 && hog.spent_ns()? < before + 30_000_000 {
                assert!(clock::monotonic_ns() - begun < 300_000_000_000, "it has made a call, or does not run");
                std::thread::sleep(Duration::from_millis(1));
            }
            if hog.words.is_on.0.load(Ordering::Acquire) != 1 {
                skipped("this kernel, or what this runs in, forbids no calls");
            }
            Ok(())
        });
    }
}
