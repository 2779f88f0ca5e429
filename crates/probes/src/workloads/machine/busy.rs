//! CPU time of an end of a transfer: time on a CPU, switches of both sides, and what a hypervisor took.

use std::{fs, io};

use hostmark_engine::prelude::{ReasonCode, say};

use crate::workloads::call::{Call, fault};
use crate::workloads::clock;
use crate::workloads::usage::{self, Usage};

/// The time that this process spent on a CPU, and the time that passed, over many stretches of work.
#[derive(Debug, Default)]
pub struct Busy {
    begun: u64,
    begun_at: u64,
    spent: u64,
    passed: u64,
}

impl Busy {
    #[inline]
    pub fn begin(&mut self) -> io::Result<()> {
        self.begun = usage::cpu_ns_of_process()?;
        self.begun_at = clock::monotonic_ns();
        Ok(())
    }

    #[inline]
    pub fn end(&mut self) -> io::Result<()> {
        self.passed += clock::monotonic_ns() - self.begun_at;
        self.spent += usage::cpu_ns_of_process()?.saturating_sub(self.begun);
        Ok(())
    }

    /// CPUs that this process kept busy on average; none when no time has passed.
    pub fn cpus(&self) -> Option<f64> {
        average(self.spent, self.passed)
    }

    /// The time that this process spent on a CPU, ns.
    pub fn cpu_ns(&self) -> u64 {
        self.spent
    }
}

/// Account of a stretch of work, by the process that did it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Account {
    /// Time on a CPU, ns.
    spent: u64,
    /// The time that passed, by its own clock, ns.
    passed: u64,
    /// Times that it left the CPU.
    pub switches: Switches,
}

/// Bytes of an account as it is told: four numbers.
pub const WIRE_BYTES: usize = 4 * size_of::<u64>();

impl Account {
    pub fn of<E: From<io::Error>>(work: impl FnOnce() -> Result<(), E>) -> Result<Account, E> {
        let (begun_at, begun) = (clock::monotonic_ns(), Usage::so_far()?);
        work()?;
        let used = Usage::so_far()?.since(begun);
        let passed = clock::monotonic_ns() - begun_at;
        let switches = Switches { voluntary: used.voluntary_switches, involuntary: used.involuntary_switches };
        Ok(Account { spent: used.cpu_ns, passed, switches })
    }

    /// CPUs that it kept busy on average; none when no time has passed.
    pub fn cpus(&self) -> Option<f64> {
        average(self.spent, self.passed)
    }

    pub fn cpu_ns(&self) -> u64 {
        self.spent
    }

    pub fn passed_ns(&self) -> u64 {
        self.passed
    }

    /// Converts to bytes for another process.
    pub fn to_bytes(self) -> [u8; WIRE_BYTES] {
        let mut wire = [0; WIRE_BYTES];
        let numbers = [self.spent, self.passed, self.switches.voluntary, self.switches.involuntary];
        wire.as_chunks_mut().0.iter_mut().zip(numbers).for_each(|(place, number)| *place = number.to_le_bytes());
        wire
    }

    /// Parses the account of another process.
    pub fn from_bytes(wire: &[u8; WIRE_BYTES]) -> Account {
        let number = |index: usize| wire.as_chunks().0.get(index).map_or(0, |&bytes| u64::from_le_bytes(bytes));
        let switches = Switches { voluntary: number(2), involuntary: number(3) };
        Account { spent: number(0), passed: number(1), switches }
    }
}

/// CPUs that were busy on average; none when no time has passed.
fn average(spent_ns: u64, passed_ns: u64) -> Option<f64> {
    (passed_ns > 0).then(|| spent_ns as f64 / passed_ns as f64)
}

/// Steal time of CPUs since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stolen {
    /// Time summed over the CPUs, ns.
    pub ns: u64,
}

impl Stolen {
    /// The kernel tells it in these steps (USER_HZ), ns.
    pub const STEP_NS: u64 = 10_000_000;

    /// Reads the steal time so far of these CPUs; of all together where none is named.
    pub fn read(cpus: &[usize]) -> io::Result<Stolen> {
        let stat = std::fs::read_to_string("/proc/stat").call("read /proc/stat")?;
        Stolen::of(&stat, cpus).ok_or_else(|| fault(ReasonCode::Kernel, say!("/proc/stat has no such column")))
    }

    /// Parses lines of `cpu3 user nice system idle iowait irq softirq steal …`; the first is `cpu` for all.
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

/// Context switches of a process' first thread, by the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Switches {
    /// Switches when it slept, and was woken later.
    pub voluntary: u64,
    /// Another one took its place.
    pub involuntary: u64,
}

impl Switches {
    /// Reads those of a process so far; `None` is this process. An error where the kernel does not tell.
    pub fn of(pid: Option<u32>) -> io::Result<Switches> {
        let path = pid.map_or_else(|| "/proc/self/status".to_owned(), |pid| format!("/proc/{pid}/status"));
        Switches::parse(&fs::read_to_string(path)?).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn parse(status: &str) -> Option<Switches> {
        let number = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.strip_prefix(':')?.trim().parse().ok()
        };
        Some(Switches {
            voluntary: number("voluntary_ctxt_switches")?,
            involuntary: number("nonvoluntary_ctxt_switches")?,
        })
    }

    #[must_use]
    pub fn since(self, before: Switches) -> Switches {
        Switches {
            voluntary: self.voluntary.saturating_sub(before.voluntary),
            involuntary: self.involuntary.saturating_sub(before.involuntary),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::workloads::affinity;
    use crate::workloads::process::{self, Peer};

    #[test]
    fn who_computes_is_busy_and_who_sleeps_is_not() {
        process::in_a_child(|| {
            let (mut computing, mut sleeping, begun_at) = (Busy::default(), Busy::default(), clock::monotonic_ns());
            computing.begin()?;
            let begun = usage::cpu_ns_of_process()?;
            while usage::cpu_ns_of_process()? < begun + 20_000_000 {}
            computing.end()?;
            sleeping.begin()?;
            std::thread::sleep(Duration::from_millis(50));
            sleeping.end()?;
            // Time between two stretches is of neither.
            computing.begin()?;
            computing.end()?;
            let all = clock::monotonic_ns() - begun_at;
            assert!(computing.passed + 50_000_000 <= all && sleeping.passed >= 50_000_000, "{computing:?} of {all}");
            assert!(computing.cpu_ns() >= 20_000_000 && sleeping.cpu_ns() < 20_000_000, "{computing:?} {sleeping:?}");
            assert!(computing.cpus().is_some_and(|cpus| cpus > 0.0 && cpus < 1.05), "{computing:?}");
            assert_eq!(Busy::default().cpus(), None, "no time has passed");
            Ok(())
        });
    }

    #[test]
    fn an_account_is_received_as_it_was_reported() {
        process::in_a_child(|| {
            let account = Account::of(|| {
                (0..10).for_each(|_| std::thread::sleep(Duration::from_millis(2)));
                Ok::<(), io::Error>(())
            })?;
            assert!(account.switches.voluntary >= 10 && account.passed >= 20_000_000, "{account:?}");
            assert!(account.cpus().is_some_and(|cpus| cpus > 0.0 && cpus < 0.9), "{account:?}");
            assert_eq!(Account::from_bytes(&account.to_bytes()), account);
            Ok(())
        });
    }

    #[test]
    fn steal_is_summed_over_the_cpus_that_are_asked_for() {
        let stat = "cpu  1 1 1 1 1 1 1 60 0 0\ncpu0 1 1 1 1 1 1 1 10 0 0\ncpu1 1 1 1 1 1 1 1 20 0 0\ncpu10 1 1 1 1 1 1 1 30 0 0\nintr 5\n";
        let ns = |cpus: &[usize]| Stolen::of(stat, cpus).map(|stolen| stolen.ns / Stolen::STEP_NS);
        assert_eq!((ns(&[1]), ns(&[0, 10]), ns(&[])), (Some(20), Some(40), Some(60)));
        assert_eq!((ns(&[2]), Stolen::of("cpu0 1 2 3\n", &[0]), Stolen::of("", &[])), (None, None, None));
    }

    #[test]
    fn the_two_kinds_are_distinguished() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(Switches::parse(status), Some(Switches { voluntary: 7, involuntary: 3 }));
        assert_eq!(Switches::parse("Name:\tx\n"), None);
    }

    #[test]
    fn who_sleeps_ten_times_is_woken_ten_times() {
        process::in_a_child(|| {
            let (begin, begun) = rustix::pipe::pipe()?;
            let (end, ended) = rustix::pipe::pipe()?;
            let peer = Peer::spawn(&affinity::allowed()?, || {
                (0..10).for_each(|_| std::thread::sleep(Duration::from_millis(1)));
                rustix::io::write(&begun, b"x")?;
                rustix::io::read(&end, &mut [0])?;
                Ok(())
            })?;
            rustix::io::read(&begin, &mut [0])?;
            let counted = Switches::of(Some(peer.pid()))?;
            assert!((10..20).contains(&counted.voluntary), "{counted:?}");
            drop(ended);
            Ok(())
        });
    }
}
