//! What the kernel counts of the calling thread: switches, faults, time waited for a CPU.

use std::cell::Cell;
use std::fs::File;
use std::io;

use rustix::fd::OwnedFd;
use rustix::thread::sched_getcpu;

use super::call::named;

/// A reading of the calling thread's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Minor and major page faults.
    pub faults: u64,
    /// Time runnable without running, ns; 0 where the kernel does not tell.
    pub run_delay_ns: u64,
    /// The CPU it runs on.
    pub cpu: usize,
}

impl Reading {
    /// The next reading. Counters only grow, and readers take differences: one that cannot be read now stays as it was.
    fn then(self, usage: Option<Reading>, run_delay_ns: Option<u64>, cpu: usize) -> Reading {
        Reading { run_delay_ns: run_delay_ns.unwrap_or(self.run_delay_ns), cpu, ..usage.unwrap_or(self) }
    }
}

/// Reads the counters of the thread that made it.
#[derive(Debug)]
pub struct ThreadCounters {
    schedstat: Option<OwnedFd>,
    last: Cell<Reading>,
}

impl ThreadCounters {
    /// Counters of the calling thread.
    pub fn open() -> ThreadCounters {
        let schedstat = File::open("/proc/thread-self/schedstat").ok().map(OwnedFd::from);
        ThreadCounters { schedstat, last: Cell::default() }
    }

    /// The CPU that the thread runs on.
    pub fn cpu(&self) -> usize {
        sched_getcpu()
    }

    /// Reads them: one to three microseconds.
    pub fn read(&self) -> Reading {
        let delay = self.schedstat.as_ref().and_then(run_delay_ns);
        let cpu = self.cpu();
        self.last.set(self.last.get().then(thread_usage().ok(), delay, cpu));
        self.last.get()
    }
}

/// Whether the kernel tells how long a thread could run and did not.
pub fn has_run_delay() -> bool {
    File::open("/proc/thread-self/schedstat").is_ok_and(|file| run_delay_ns(&OwnedFd::from(file)).is_some())
}

fn run_delay_ns(schedstat: &OwnedFd) -> Option<u64> {
    let mut text = [0_u8; 96];
    let length = rustix::io::pread(schedstat, &mut text, 0).ok()?;
    std::str::from_utf8(&text[..length]).ok()?.split_whitespace().nth(1)?.parse().ok()
}

/// Page faults of the calling thread so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Faults {
    /// Without input or output.
    pub minor: u64,
    /// That waited for a device.
    pub major: u64,
}

/// Page faults of the calling thread so far.
pub fn thread_faults() -> io::Result<Faults> {
    let usage = usage_of(libc::RUSAGE_THREAD)?;
    Ok(Faults { minor: usage.ru_minflt as u64, major: usage.ru_majflt as u64 })
}

/// What getrusage(2) tells of this thread, this process or its children.
pub(super) fn usage_of(whose: libc::c_int) -> io::Result<libc::rusage> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a rusage that the kernel fills.
    if unsafe { libc::getrusage(whose, usage.as_mut_ptr()) } != 0 {
        return Err(named("getrusage", io::Error::last_os_error()));
    }
    // SAFETY: zeroed is a valid rusage, and the call filled it.
    Ok(unsafe { usage.assume_init() })
}

fn thread_usage() -> io::Result<Reading> {
    let usage = usage_of(libc::RUSAGE_THREAD)?;
    Ok(Reading {
        involuntary_switches: usage.ru_nivcsw as u64,
        faults: (usage.ru_minflt + usage.ru_majflt) as u64,
        ..Reading::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_new_memory_counts_as_faults() {
        let counters = ThreadCounters::open();
        let before = counters.read();
        let pages = vec![1_u8; 64 << 20];
        std::hint::black_box(&pages);
        assert!(counters.read().faults > before.faults);
    }

    #[test]
    fn a_counter_that_cannot_be_read_once_has_not_changed() {
        let usage = Reading { involuntary_switches: 7, faults: 90, ..Reading::default() };
        let first = Reading::default().then(Some(usage), Some(1_000), 3);
        assert_eq!(first, Reading { run_delay_ns: 1_000, cpu: 3, ..usage });
        assert_eq!(first.then(None, None, 2), Reading { cpu: 2, ..first });
        assert_eq!(first.then(None, Some(1_500), 3), Reading { run_delay_ns: 1_500, ..first });
    }
}
