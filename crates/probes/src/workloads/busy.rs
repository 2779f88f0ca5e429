//! How much of the time processes were on a CPU: both ends of a transfer.

use std::io;

use super::call::named;

/// What the kernel counts of one process, by the clock that is its CPU time.
#[derive(Debug, Clone, Copy)]
pub struct CpuTime {
    clock: libc::clockid_t,
}

impl CpuTime {
    /// That of a process, all its threads together; none is this process.
    pub fn of(pid: Option<u32>) -> io::Result<CpuTime> {
        let mut clock = libc::CLOCK_PROCESS_CPUTIME_ID;
        if let Some(pid) = pid {
            // SAFETY: the kernel's id of the clock is written through the pointer.
            let result = unsafe { libc::clock_getcpuclockid(pid.cast_signed(), &raw mut clock) };
            if result != 0 {
                return Err(named("clock_getcpuclockid", io::Error::from_raw_os_error(result)));
            }
        }
        Ok(CpuTime { clock })
    }

    /// CPU time so far, ns.
    pub fn ns(self) -> io::Result<u64> {
        read(self.clock)
    }
}

/// The times that several processes spent on a CPU, and the time that passed, over many stretches of work.
#[derive(Debug)]
pub struct Busy<const N: usize> {
    processes: [CpuTime; N],
    begun: [u64; N],
    begun_at: u64,
    spent: [u64; N],
    passed: u64,
}

impl<const N: usize> Busy<N> {
    /// Nothing is spent yet.
    pub fn new(processes: [CpuTime; N]) -> Busy<N> {
        Busy { processes, begun: [0; N], begun_at: 0, spent: [0; N], passed: 0 }
    }

    /// A stretch begins.
    #[inline]
    pub fn begin(&mut self) -> io::Result<()> {
        for (begun, process) in self.begun.iter_mut().zip(self.processes) {
            *begun = process.ns()?;
        }
        self.begun_at = read(libc::CLOCK_MONOTONIC)?;
        Ok(())
    }

    /// The stretch is over.
    #[inline]
    pub fn end(&mut self) -> io::Result<()> {
        self.passed += read(libc::CLOCK_MONOTONIC)? - self.begun_at;
        for ((spent, process), begun) in self.spent.iter_mut().zip(self.processes).zip(self.begun) {
            *spent += process.ns()?.saturating_sub(begun);
        }
        Ok(())
    }

    /// CPUs that each process kept busy on average; none when no time has passed.
    pub fn cpus(&self) -> Option<[f64; N]> {
        (self.passed > 0).then(|| self.spent.map(|spent| spent as f64 / self.passed as f64))
    }
}

fn read(clock: libc::clockid_t) -> io::Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec through the pointer.
    match unsafe { libc::clock_gettime(clock, &raw mut time) } {
        0 => Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64),
        _ => Err(named("clock_gettime", io::Error::last_os_error())),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::workloads::peer::Peer;
    use crate::workloads::{affinity, process};

    #[test]
    fn who_computes_is_busy_and_who_sleeps_is_not() {
        process::in_a_child(|| {
            let sleeper = Peer::spawn(&affinity::allowed()?, || {
                loop {
                    std::thread::park();
                }
            })?;
            let mut busy = Busy::new([CpuTime::of(None)?, CpuTime::of(Some(sleeper.pid()))?]);
            busy.begin()?;
            let begun = busy.processes[0].ns()?;
            while busy.processes[0].ns()? < begun + 20_000_000 {}
            busy.end()?;
            // Time between two stretches is nobody's.
            std::thread::sleep(Duration::from_millis(200));
            let [computing, sleeping] = busy.cpus().expect("time has passed");
            assert!(computing > 0.05 && computing < 1.05 && sleeping < computing / 2.0, "{computing} {sleeping}");
            Ok(())
        });
    }

    #[test]
    fn nothing_is_said_of_no_time() {
        assert_eq!(Busy::<0>::new([]).cpus(), None);
    }

    #[test]
    fn a_process_that_is_not_there_has_no_time() {
        // PID_MAX_LIMIT of the kernel.
        const MOST_PROCESSES: u32 = 1 << 22;
        assert!(CpuTime::of(Some(MOST_PROCESSES + 1)).and_then(CpuTime::ns).is_err());
    }
}
