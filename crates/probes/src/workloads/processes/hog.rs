//! A process that keeps a CPU busy: all of the time or a known share of it, at a priority of its own.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use hostmark_engine::prelude::{Cpu, ReasonCode};

use crate::kernels::arith;
use crate::workloads::call::{Call, fault};
use crate::workloads::machine::timer;
use crate::workloads::peer::Peer;
use crate::workloads::shared::Shared;
use crate::workloads::waits::{Alone, count_to, sleep_past};
use crate::workloads::{clock, cpu_time, process};

/// What one that has a share of its CPU does again and again: short beside what a scheduler takes a CPU away for.
const PERIOD_NS: u64 = 10_000_000;
/// Additions between two looks at the clock: some 10 µs.
const ADDITIONS: u64 = 30_000;

/// How the scheduler treats it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// As this process, with so much more of a nice value: further from the CPU.
    Nice(i32),
    /// Only where nobody else wants the CPU (SCHED_IDLE): whoever wakes up there runs at once.
    Idle,
}

/// The percentage that a value of an axis names: none is 0.
pub fn percent(name: &str) -> u64 {
    name.parse().unwrap_or(0)
}

/// What both sides see.
#[derive(Debug, Default)]
struct HogWords {
    /// 1 while it is to be busy.
    is_on: Alone<AtomicU32>,
    /// Its CPU time, ns.
    spent_ns: Alone<AtomicU64>,
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
        Hog::doing(cpu, priority, |words| serve(words, percent))
    }

    /// One of the class SCHED_IDLE on each of these CPUs, busy from now on. It calls the kernel when it begins and ends alone: a call
    /// every some µs is a fifth of what a switch from it takes.
    pub fn computing(cpus: &[Cpu]) -> io::Result<Vec<Hog>> {
        let start = |&cpu: &Cpu| {
            let hog = Hog::doing(cpu, Priority::Idle, compute)?;
            hog.set(true)?;
            Ok(hog)
        };
        cpus.iter().map(start).collect()
    }

    fn doing(cpu: Cpu, priority: Priority, work: impl FnOnce(&HogWords) -> io::Result<()>) -> io::Result<Hog> {
        let words = Shared::new(HogWords::default())?;
        let peer = Peer::spawn(&[cpu.0], || {
            priority.apply()?;
            work(&words)
        })?;
        Ok(Hog { peer, words })
    }

    /// The same, busy from now on.
    pub fn busy(cpu: Cpu, priority: Priority, percent: u64) -> io::Result<Hog> {
        let hog = Hog::spawn(cpu, priority, percent)?;
        hog.set(true)?;
        Ok(hog)
    }

    /// One on each of these CPUs, all of them busy from now on.
    pub fn on_each(cpus: &[Cpu], priority: Priority, percent: u64) -> io::Result<Vec<Hog>> {
        cpus.iter().map(|&cpu| Hog::busy(cpu, priority, percent)).collect()
    }

    /// Whether it is to be busy from now on.
    pub fn set(&self, is_on: bool) -> io::Result<()> {
        match is_on {
            true => count_to(&self.words.is_on.0, 1),
            false => {
                self.words.is_on.0.store(0, Ordering::Release);
                Ok(())
            }
        }
    }

    /// The CPU time that it has had, ns: up to some 10 µs ago, or when one that computes began.
    pub fn spent_ns(&self) -> u64 {
        self.words.spent_ns.0.load(Ordering::Acquire)
    }

    /// An error where it has not been busy at all, as one that could not begin: what was measured beside it is not what it seems.
    pub fn has_run(&self) -> io::Result<()> {
        match self.spent_ns() {
            0 => Err(fault(ReasonCode::ProcessDied, "a process that keeps a CPU busy has not run")),
            _ => Ok(()),
        }
    }

    /// Its process id.
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
                    false => Err(fault(ReasonCode::Permission, "there is no nice value so much above this process's")),
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

    /// Says how much CPU time it has had, ns.
    fn tell(&self) -> io::Result<u64> {
        let spent = cpu_time::of_process()?;
        self.spent_ns.0.store(spent, Ordering::Release);
        Ok(spent)
    }
}

fn work() {
    std::hint::black_box(arith::add_chain(ADDITIONS, 1, std::hint::black_box(1)));
}

fn compute(words: &HogWords) -> io::Result<()> {
    loop {
        sleep_past(&words.is_on.0, 0)?;
        work();
        words.tell()?;
        while words.is_on() {
            work();
        }
    }
}

fn serve(words: &HogWords, percent: u64) -> io::Result<()> {
    loop {
        sleep_past(&words.is_on.0, 0)?;
        let mut due = clock::monotonic_ns();
        while words.is_on() {
            let until = cpu_time::of_process()? + PERIOD_NS * percent / 100;
            loop {
                work();
                let spent = words.tell()?;
                if !words.is_on() || (percent < 100 && spent >= until) {
                    break;
                }
            }
            if percent < 100 {
                // What it missed since others had the CPU it does not make up for.
                due = (due + PERIOD_NS).max(clock::monotonic_ns().saturating_sub(PERIOD_NS));
                timer::sleep_until(due)?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::workloads::{affinity, process::in_a_child};

    #[test]
    fn a_hog_is_busy_only_while_it_is_to_be_and_for_no_more_than_its_share() {
        in_a_child(|| {
            let cpu = Cpu(affinity::allowed()?[0]);
            let own = rustix::process::getpriority_process(None)?;
            for (priority, percent) in [(Priority::Nice(0), 30), (Priority::Nice(5), 100), (Priority::Idle, 100)] {
                // Of a process that is nice already there may be no such value: its hog ends at once.
                if priority == Priority::Nice(5) && own + 5 > 19 {
                    continue;
                }
                let hog = Hog::spawn(cpu, priority, percent)?;
                std::thread::sleep(Duration::from_millis(20));
                assert_eq!(hog.spent_ns(), 0);
                assert!(hog.has_run().is_err());
                hog.set(true)?;
                let begun = clock::monotonic_ns();
                while hog.spent_ns() < 30_000_000 {
                    assert!(clock::monotonic_ns() - begun < 60_000_000_000, "{priority:?} {percent} does not run");
                    std::thread::sleep(Duration::from_millis(1));
                }
                let share = hog.spent_ns() as f64 / (clock::monotonic_ns() - begun) as f64;
                // A period too many at most.
                assert!(share <= percent as f64 / 100.0 + 0.1, "{priority:?} {percent} {share}");
                hog.has_run()?;
                hog.set(false)?;
                let mut before = hog.spent_ns();
                loop {
                    std::thread::sleep(Duration::from_millis(30));
                    let now = hog.spent_ns();
                    if now == before {
                        break;
                    }
                    before = now;
                }
            }
            Ok(())
        });
    }

    #[test]
    fn a_hog_that_computes_says_once_that_it_has_run() {
        in_a_child(|| {
            let hogs = Hog::computing(&[Cpu(affinity::allowed()?[0])])?;
            let begun = clock::monotonic_ns();
            while hogs[0].has_run().is_err() {
                assert!(clock::monotonic_ns() - begun < 60_000_000_000, "it does not run");
                std::thread::sleep(Duration::from_millis(1));
            }
            let spent = hogs[0].spent_ns();
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(hogs[0].spent_ns(), spent);
            Ok(())
        });
    }
}
