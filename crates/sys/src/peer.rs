//! A child that does the other half of an exchange until it is dropped.

use std::io;
use std::panic::AssertUnwindSafe;

use hostmark_say::say;

use super::child::{Address, Child, ChildId};
use super::{affinity, exit_message, process};

/// A forked child, bound to CPUs of its own. It dies with its parent, and is ended and reaped when dropped.
#[derive(Debug)]
pub struct Peer {
    child: Child,
}

impl Peer {
    /// Starts a child bound to `cpus` that does `work` and ends; only an error of its own makes it end before it is dropped.
    /// It has copies of all descriptors of this process: what it must not hold open it has to close. Refuses when this
    /// process has several threads: a lock held by one of them would stay locked in the child.
    pub fn spawn(cpus: &[usize], work: impl FnOnce() -> io::Result<()>) -> io::Result<Peer> {
        process::only_one_thread()?;
        exit_message::prepare()?;
        let parent = std::process::id();
        // SAFETY: one thread, as checked: the child's copy of every lock is free. It never returns to what called this, and
        // ends by exit_group.
        let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
        // SAFETY: what the call has just returned.
        if let Some(child) = unsafe { ChildId::forked("clone", child) }? {
            return Ok(Peer { child: Child::new(child) });
        }
        // A panic must not unwind into what the parent does.
        let worked = std::panic::catch_unwind(AssertUnwindSafe(|| {
            if !process::die_with_parent(parent) {
                return Err(io::Error::other(say!("prctl: it cannot ask to die with its parent")));
            }
            affinity::bind(cpus)?;
            work()
        }));
        let worked = worked.unwrap_or_else(|_| Err(io::Error::other(say!("it panicked"))));
        let status = i32::from(worked.is_err());
        if let Err(error) = worked {
            // What another's end has brought about is no cause: that other is about to say it.
            if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe) {
                exit_message::settle();
            }
            exit_message::say(error);
        }
        loop {
            // SAFETY: ends the child.
            unsafe { libc::syscall(libc::SYS_exit_group, status) };
        }
    }

    /// The child's process id.
    pub fn pid(&self) -> u32 {
        self.child.id().number()
    }

    /// Kills it before it is dropped.
    #[cfg(any(test, feature = "tests"))]
    pub fn kill(&self) -> io::Result<()> {
        self.child.id().kill()
    }

    /// The child as somebody to send signals to.
    #[inline]
    pub fn address(&self) -> Address<'_> {
        self.child.id().address()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::process::in_a_child;

    /// Whether a process runs, or only waits to be waited for.
    fn lives(pid: u32) -> bool {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    }

    #[test]
    fn a_peer_answers_until_it_is_dropped() {
        in_a_child(|| {
            let (here, there) = rustix::pipe::pipe()?;
            let cpus = affinity::allowed()?;
            let peer = Peer::spawn(&cpus[..1], || {
                rustix::io::write(&there, b"x")?;
                loop {
                    std::thread::park();
                }
            })?;
            let mut byte = [0];
            assert_eq!((rustix::io::read(&here, &mut byte)?, byte), (1, *b"x"));
            let pid = peer.pid();
            assert!(lives(pid));
            drop(peer);
            assert!(!fs::exists(format!("/proc/{pid}"))?);
            Ok(())
        });
    }

    #[test]
    fn a_peer_that_panics_ends_there() {
        in_a_child(|| {
            let peer = Peer::spawn(&affinity::allowed()?, || std::panic::resume_unwind(Box::new(())))?;
            while lives(peer.pid()) {
                std::thread::yield_now();
            }
            Ok(())
        });
    }

    #[test]
    fn several_threads_have_no_peer() {
        let refused = std::thread::spawn(|| Peer::spawn(&[0], || Ok(())).map(drop)).join().unwrap().unwrap_err();
        assert!(refused.to_string().contains("several threads"));
    }
}
