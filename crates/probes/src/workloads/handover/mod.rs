//! Two or more processes that hand something to each other, by every means of the kernel.

pub mod exchange;
pub mod request_queue;
pub mod stream;
pub mod sysv;
pub mod token_ring;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hostmark_engine::prelude::say;

use crate::workloads::child::Address;
use crate::workloads::clock::sleep;
use crate::workloads::machine::arch;
use crate::workloads::machine::context::{Handled, MASK_BYTES};
use crate::workloads::process::{self, Peer};
use crate::workloads::waits::{Alone, Shared};
use crate::workloads::{checked, clock};

/// Longest wait for the other to count a turn that it has had: it may have lost its CPU meanwhile.
const PATIENCE_NS: u64 = 2_000_000_000;
const LOOK_AGAIN: Duration = Duration::from_micros(100);

/// A count that the other process writes and this one reads after measuring: its line stays in the other's cache, where a store is cheap.
#[derive(Debug)]
pub(crate) struct Turns(Shared<Alone<AtomicU64>>);

impl Turns {
    pub(crate) fn new() -> io::Result<Turns> {
        Ok(Turns(Shared::new(Alone::default())?))
    }

    /// The other process: takes a turn, then counts it.
    #[inline(always)]
    pub(crate) fn take(&self, turn: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        #[cfg(test)]
        tests::delay();
        turn()?;
        let count = &self.0.0;
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Release);
        Ok(())
    }

    pub(crate) fn taken(&self) -> u64 {
        self.0.0.load(Ordering::Acquire)
    }

    /// An error unless the other has had exactly so many turns, or has soon.
    pub(crate) fn expect(&self, due: u64) -> io::Result<()> {
        let begin = clock::monotonic_ns();
        while self.taken() < due && clock::monotonic_ns() - begin < PATIENCE_NS {
            sleep(LOOK_AGAIN);
        }
        match self.taken() {
            taken if taken == due => Ok(()),
            taken => Err(io::Error::other(say!(
                "{due} hand-overs were timed, but the other party took {taken} turns: not every one happened"
            ))),
        }
    }
}

/// SIGUSR1 in the kernel's signal mask.
const THE_SIGNAL: u64 = 1 << (libc::SIGUSR1 - 1);

/// Another process and this one: each runs its handler when the other's signal has come, and signals back.
#[derive(Debug)]
pub struct SignalPair {
    peer: Peer,
    handler: Handled,
    _blocked: Blocked,
    /// Signals handled before the first turn.
    before: u64,
    /// Turns that this process has had.
    own: u64,
    /// Turns that the other has had.
    theirs: Turns,
}

impl SignalPair {
    /// Starts a child bound to `cpus` that answers every SIGUSR1 by one.
    pub fn start(cpus: &[usize]) -> io::Result<SignalPair> {
        // Blocked but for the time of waiting, so that none can come before it is waited for.
        let blocked = Blocked::block()?;
        let handler = Handled::install()?;
        let (parent, theirs) = (std::process::id(), Turns::new()?);
        let peer = Peer::spawn(cpus, || {
            let parent = Address::parent(parent)?;
            loop {
                theirs.take(|| wait().and_then(|()| send(parent)))?;
            }
        })?;
        Ok(SignalPair { peer, before: handler.handled(), handler, _blocked: blocked, own: 0, theirs })
    }

    /// Signals the other process by kill(2) and waits in rt_sigsuspend(2) until its own signal has been handled.
    #[inline(always)]
    pub fn there_and_back(&mut self) -> io::Result<()> {
        self.own += 1;
        send(self.peer.address())?;
        wait()
    }

    /// Checks, after the measuring, that each process has handled a signal for every turn.
    pub fn check(&self) -> io::Result<()> {
        let (due, handled) = (self.own, self.handler.handled() - self.before);
        if handled != due {
            return Err(io::Error::other(say!("{due} signals were due and {handled} handled")));
        }
        self.theirs.expect(due)
    }
}

#[inline(always)]
fn send(to: Address) -> io::Result<()> {
    // SAFETY: it is this one's parent or its own child, which is not waited for before it is dropped; both have a handler.
    checked("kill", unsafe { arch::call(libc::SYS_kill, [to.number(), libc::SIGUSR1 as usize, 0, 0, 0, 0]) }).map(drop)
}

/// Waits until a signal has been handled: the call always ends by "interrupted".
#[inline(always)]
fn wait() -> io::Result<()> {
    let none_blocked = 0_u64;
    // SAFETY: a mask of the kernel's size, which is only read.
    let ended =
        unsafe { arch::call(libc::SYS_rt_sigsuspend, [(&raw const none_blocked) as usize, MASK_BYTES, 0, 0, 0, 0]) };
    match checked("rt_sigsuspend", ended) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(io::Error::other(say!("the wait for a signal ended without one"))),
    }
}

/// SIGUSR1 held back from this thread until dropped.
#[derive(Debug)]
struct Blocked {
    former: u64,
}

impl Blocked {
    fn block() -> io::Result<Blocked> {
        process::only_one_thread()?;
        Ok(Blocked { former: mask(libc::SIG_BLOCK, THE_SIGNAL)? })
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // It was the mask before.
        let _ = mask(libc::SIG_SETMASK, self.former);
    }
}

/// Changes the calling thread's mask, and is told the former one.
fn mask(how: i32, signals: u64) -> io::Result<u64> {
    let mut former = 0_u64;
    let arguments = [how as usize, (&raw const signals) as usize, (&raw mut former) as usize, MASK_BYTES, 0, 0];
    // SAFETY: both masks have the kernel's size.
    checked("rt_sigprocmask", unsafe { arch::call(libc::SYS_rt_sigprocmask, arguments) }).map(|_| former)
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::workloads::process::in_a_child;
    use crate::workloads::{affinity, clock};

    /// Delay of the other parties of this process before each turn, ns; children that it forks have a copy.
    static DELAY_NS: AtomicU64 = AtomicU64::new(0);

    pub(in crate::workloads) fn delay_turns(by: Duration) {
        DELAY_NS.store(by.as_nanos() as u64, Ordering::Relaxed);
    }

    pub(in crate::workloads) fn delay() {
        let ns = DELAY_NS.load(Ordering::Relaxed);
        if ns > 0 {
            sleep(Duration::from_nanos(ns));
        }
    }

    /// The law of two-party operations: `operation` takes at least the other party's delay. `begin` is when that was started.
    pub(in crate::workloads) fn never_early(
        begin_ns: u64,
        delay: Duration,
        times: u32,
        mut operation: impl FnMut() -> io::Result<()>,
    ) -> io::Result<()> {
        for nth in 1..=times {
            operation()?;
            let spent = Duration::from_nanos(clock::monotonic_ns() - begin_ns);
            assert!(spent >= nth * delay, "number {nth} was back after {spent:?}: the other had not had its turn");
        }
        Ok(())
    }

    #[test]
    #[ignore = "takes long"]
    fn missing_turns_and_turns_too_many_are_errors() {
        let turns = Turns::new().unwrap();
        (0..3).try_for_each(|_| turns.take(|| Ok(()))).unwrap();
        turns.expect(3).unwrap();
        assert!(
            turns.expect(2).unwrap_err().to_string().contains("2 hand-overs were timed, but the other party took 3")
        );
        assert!(turns.expect(4).is_err());
        assert!(turns.take(|| Err(io::ErrorKind::BrokenPipe.into())).is_err() && turns.taken() == 3);
    }

    /// The law of operations with another party, on one CPU or two: none is over before the other's delay, of a few slow and many fast ones,
    /// and `check` agrees to their number.
    pub(in crate::workloads) fn check_turns<T>(
        many: u32,
        start: impl Fn(&[usize]) -> io::Result<T>,
        turn: impl Fn(&mut T) -> io::Result<()>,
        check: impl Fn(&T) -> io::Result<()>,
    ) {
        beside(|cpus| {
            for other in [cpus[0], cpus[cpus.len() - 1]] {
                for (delay, times) in [(Duration::from_millis(5), 8), (Duration::ZERO, many)] {
                    delay_turns(delay);
                    let begin_ns = clock::monotonic_ns();
                    let mut started = start(&[other])?;
                    never_early(begin_ns, delay, times, || turn(&mut started))?;
                    check(&started)?;
                }
            }
            Ok(())
        });
    }

    /// A test in a process of its own on the first of its CPUs, which is told all of them.
    pub(in crate::workloads) fn beside(test: impl FnOnce(&[usize]) -> io::Result<()>) {
        in_a_child(|| {
            let cpus = affinity::allowed()?;
            affinity::bind(&cpus[..1])?;
            test(&cpus)
        });
    }

    #[test]
    fn each_signal_is_answered_by_one_before_it_counts() {
        let former = mask(libc::SIG_BLOCK, 0).unwrap();
        let start = |cpus: &[usize]| {
            assert_eq!(mask(libc::SIG_BLOCK, 0)?, former, "as before the first, and after each");
            SignalPair::start(cpus)
        };
        check_turns(100, start, SignalPair::there_and_back, SignalPair::check);
    }
}
