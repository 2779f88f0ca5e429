//! A child of this process whose system calls it stops, one by one, as strace does: ptrace(2).

use std::io;
use std::time::Duration;

use hostmark_engine::prelude::say;

use crate::workloads::call::named;
use crate::workloads::handover::ping_pong::Turns;
use crate::workloads::peer::Peer;
use crate::workloads::{clock, getppid};

/// How long the child may take to begin.
const PATIENCE_NS: u64 = 2_000_000_000;
/// What tells the stop of a system call from a signal (PTRACE_O_TRACESYSGOOD).
const CALL_STOP: libc::c_int = libc::SIGTRAP | 0x80;

/// A child that does nothing but call getppid(2), and of which this process is the tracer.
#[derive(Debug)]
pub struct Traced {
    child: Peer,
    /// Calls that the child has counted: all of them, and when it was stopped first.
    calls: Turns,
    before: u64,
    /// Calls that have been traced.
    traced: u64,
}

impl Traced {
    /// Starts a child bound to `cpus` and stops it. An error where nobody may trace.
    pub fn start(cpus: &[usize]) -> io::Result<Traced> {
        let calls = Turns::new()?;
        let child = Peer::spawn(cpus, || {
            loop {
                calls.take(|| {
                    getppid();
                    Ok(())
                })?;
            }
        })?;
        let begin = clock::monotonic_ns();
        while calls.taken() == 0 {
            if clock::monotonic_ns() - begin > PATIENCE_NS {
                return Err(io::Error::other(say!("the traced process did not begin")));
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        let mut traced = Traced { child, calls, before: 0, traced: 0 };
        traced.ask(libc::PTRACE_SEIZE, libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACESYSGOOD)?;
        // It stops on its way to user mode, so that what comes next is the beginning of a call.
        traced.ask(libc::PTRACE_INTERRUPT, 0)?;
        traced.wait()?;
        traced.before = traced.calls.taken();
        Ok(traced)
    }

    /// Lets the child make one call, which stops it before and after.
    #[inline(always)]
    pub fn call(&mut self) -> io::Result<()> {
        for _ in 0..2 {
            self.ask(libc::PTRACE_SYSCALL, 0)?;
            match self.wait()? {
                CALL_STOP => {}
                other => return Err(io::Error::other(say!("signal {other} stopped the traced process"))),
            }
        }
        self.traced += 1;
        Ok(())
    }

    /// Called after the measuring: an error unless the child has made as many calls as were traced. It counts a call when it is
    /// back in its own code, and so may still owe the first and the last.
    pub fn check(&self) -> io::Result<()> {
        let counted = self.calls.taken() - self.before;
        match counted.abs_diff(self.traced) {
            0 | 1 => Ok(()),
            _ => Err(io::Error::other(say!(
                "{traced} calls were traced, and the child made {counted}",
                traced = self.traced
            ))),
        }
    }

    #[inline(always)]
    fn ask(&self, request: impl Into<i64>, data: libc::c_int) -> io::Result<()> {
        // SAFETY: a request of a child that nobody has waited for; none of those made here touches memory of this process.
        let result = unsafe {
            libc::ptrace(
                request.into() as _,
                self.child.pid() as libc::pid_t,
                0 as libc::c_long,
                libc::c_long::from(data),
            )
        };
        if result == 0 { Ok(()) } else { Err(named("ptrace", io::Error::last_os_error())) }
    }

    /// Waits until the child has stopped: the signal that it stopped by.
    #[inline(always)]
    fn wait(&self) -> io::Result<libc::c_int> {
        let mut status = 0;
        loop {
            // SAFETY: the kernel writes one int; a child that has only stopped is not reaped.
            let waited = unsafe {
                libc::wait4(self.child.pid() as libc::pid_t, &raw mut status, libc::__WALL, std::ptr::null_mut())
            };
            match waited {
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                -1 => return Err(named("wait4", io::Error::last_os_error())),
                _ if libc::WIFSTOPPED(status) => return Ok(libc::WSTOPSIG(status)),
                _ => return Err(io::Error::other(say!("the traced process has ended"))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::affinity;
    use crate::workloads::call::errno;
    use crate::workloads::process::in_a_child;

    #[test]
    fn a_traced_child_makes_a_call_when_it_is_let_and_no_other() {
        in_a_child(|| {
            let cpus = affinity::allowed()?;
            let mut traced = match Traced::start(&cpus[..1]) {
                Ok(traced) => traced,
                // A filter, a setting of Yama, or an emulator.
                Err(error) if matches!(errno(&error), Some(libc::EPERM | libc::ENOSYS | libc::EIO)) => return Ok(()),
                Err(error) => return Err(error),
            };
            for times in [1, 10, 100] {
                (0..times).try_for_each(|_| traced.call())?;
                let taken = traced.calls.taken();
                std::thread::sleep(Duration::from_millis(5));
                assert_eq!(traced.calls.taken(), taken, "it runs on while it is stopped");
                traced.check()?;
            }
            traced.traced += 2;
            assert!(traced.check().is_err());
            Ok(())
        });
    }
}
