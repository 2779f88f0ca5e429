//! How much of the time this process was on a CPU: an end of a transfer.

use std::io;

use crate::workloads::machine::switches::Switches;
use crate::workloads::usage::Usage;
use crate::workloads::{clock, usage};

/// The time that this process spent on a CPU, and the time that passed, over many stretches of work.
#[derive(Debug, Default)]
pub struct Busy {
    begun: u64,
    begun_at: u64,
    spent: u64,
    passed: u64,
}

impl Busy {
    /// A stretch begins.
    #[inline]
    pub fn begin(&mut self) -> io::Result<()> {
        self.begun = usage::cpu_ns_of_process()?;
        self.begun_at = clock::monotonic_ns();
        Ok(())
    }

    /// The stretch is over.
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

/// What a stretch of work took, by the account of the process that did it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Account {
    /// Its time on a CPU, ns.
    spent: u64,
    /// The time that passed, by its own clock, ns.
    passed: u64,
    /// How often it left the CPU.
    pub switches: Switches,
}

/// Bytes of an account as it is told: four numbers.
pub const WIRE_BYTES: usize = 4 * size_of::<u64>();

impl Account {
    /// That of `work`.
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

    /// Its time on a CPU, ns.
    pub fn cpu_ns(&self) -> u64 {
        self.spent
    }

    /// The time that passed, ns.
    pub fn passed_ns(&self) -> u64 {
        self.passed
    }

    /// As bytes for another process.
    pub fn to_bytes(&self) -> [u8; WIRE_BYTES] {
        let mut wire = [0; WIRE_BYTES];
        let numbers = [self.spent, self.passed, self.switches.voluntary, self.switches.involuntary];
        wire.as_chunks_mut().0.iter_mut().zip(numbers).for_each(|(place, number)| *place = number.to_le_bytes());
        wire
    }

    /// What another process told.
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::workloads::process;

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
    fn nothing_is_said_of_no_time() {
        assert_eq!(Busy::default().cpus(), None);
    }
}
