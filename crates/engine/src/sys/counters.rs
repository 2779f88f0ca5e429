//! What the kernel counts of the calling thread: switches, faults, time waited for a CPU.

use std::fs::File;
use std::io;

use rustix::fd::OwnedFd;

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

/// Reads the counters of the thread that made it.
#[derive(Debug)]
pub struct ThreadCounters {
    schedstat: Option<OwnedFd>,
}

impl ThreadCounters {
    /// Counters of the calling thread.
    pub fn open() -> ThreadCounters {
        ThreadCounters { schedstat: File::open("/proc/thread-self/schedstat").ok().map(OwnedFd::from) }
    }

    /// Reads them: two or three microseconds.
    pub fn read(&self) -> Reading {
        let usage = thread_usage().unwrap_or_default();
        let run_delay_ns = self.schedstat.as_ref().and_then(run_delay_ns).unwrap_or(0);
        Reading { run_delay_ns, cpu: rustix::thread::sched_getcpu(), ..usage }
    }
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

/// Page faults of the calling thread so far; none where the kernel does not tell.
pub fn thread_faults() -> Faults {
    let usage = raw_usage();
    usage.map_or_else(
        |_| Faults::default(),
        |usage| Faults { minor: usage.ru_minflt as u64, major: usage.ru_majflt as u64 },
    )
}

fn raw_usage() -> io::Result<libc::rusage> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a rusage that the kernel fills.
    if unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed is a valid rusage, and the call filled it.
    Ok(unsafe { usage.assume_init() })
}

fn thread_usage() -> io::Result<Reading> {
    let usage = raw_usage()?;
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
}
