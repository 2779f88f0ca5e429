//! Objects of the kernel that outlive every process: a process of its own removes them, however their user ends.

use std::io;

use hostmark_engine::prelude::say;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::pipe::PipeFlags;

use hostmark_engine::prelude::ReasonCode;

use crate::workloads::call::{Call, errno, fault, named};
use crate::workloads::child::ChildId;
use crate::workloads::ipc_cleanup::{Object, Record};
use crate::workloads::{exit_message, process};

/// An object that a process of its own made, and that it removes when this value is dropped or its holder has died.
///
/// System V objects have no descriptor that could close, so somebody has to outlive their user. The guard leaves the user's
/// process group and blocks all signals: what ends a run (the kill of its group, an interrupt from the terminal, a
/// service that is stopped, a `killall` of the program by its name) leaves it there. It waits for a byte from a pipe or for
/// the pipe's end, which comes with the user's death, removes the object, and ends. An object whose guard was killed is
/// removed by its user; where both were, the janitor finds it by its record ([`super::remains`]).
#[derive(Debug)]
pub struct Guarded {
    /// The object's id.
    pub id: i32,
    object: Object,
    /// There until this is dropped.
    guard: Option<ChildId>,
    holder: u32,
    alive: OwnedFd,
}

impl Guarded {
    /// Has a guard make an object, and write it down before. An error is that of the call that makes it.
    pub(crate) fn new(object: Object) -> io::Result<Guarded> {
        process::only_one_thread()?;
        exit_message::prepare()?;
        let group = rustix::process::getpgrp().as_raw_nonzero().get().unsigned_abs();
        let (answer, answers) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).call("pipe2")?;
        let (ended, alive) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).call("pipe2")?;
        // SAFETY: one thread, as checked: the child's copy of every lock is free. It never returns to what called this, and
        // ends by exit_group.
        let guard = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
        // SAFETY: what the call has just returned.
        let Some(guard) = unsafe { ChildId::forked("clone", guard) }? else {
            drop((answer, alive));
            stand_apart();
            let record = Record::of_group(object, group);
            let made = object.make();
            let word = match &made {
                Ok(id) => i64::from(*id),
                Err(error) => -i64::from(errno(error).unwrap_or(libc::EIO)),
            };
            let is_written = rustix::io::write(&answers, &word.to_ne_bytes())
                .inspect_err(|error| exit_message::say(named("write", (*error).into())))
                .is_ok();
            drop(answers);
            if made.is_ok() {
                if is_written {
                    // A byte says that the object is given up. Else this ends when all who hold the other end have.
                    while rustix::io::read(&ended, &mut [0]) == Err(rustix::io::Errno::INTR) {}
                }
                let _ = object.remove();
            }
            drop(record);
            loop {
                // SAFETY: ends the child.
                unsafe { libc::syscall(libc::SYS_exit_group, 0) };
            }
        };
        drop((answers, ended));
        let mut word = [0; 8];
        let got = rustix::io::retry_on_intr(|| rustix::io::read(&answer, &mut word));
        let error = match (got, i64::from_ne_bytes(word)) {
            (Ok(8), id @ 0..) => {
                let holder = std::process::id();
                return Ok(Guarded { id: id as i32, object, guard: Some(guard), holder, alive });
            }
            (Ok(8), word) => named(object.call(), io::Error::from_raw_os_error(-word as i32)),
            (Err(error), _) => named("read", error.into()),
            _ => fault(ReasonCode::ProcessDied, say!("the guard of an object ended before it had made it")),
        };
        // It ends, and removes what it may have made.
        drop(alive);
        let _ = guard.wait();
        Err(error)
    }

    /// The guard.
    #[cfg(test)]
    pub fn guard(&self) -> &ChildId {
        self.guard.as_ref().unwrap()
    }
}

/// Leaves the process group and the session, and minds nobody.
fn stand_apart() {
    // A process that has just been forked leads no group, so that this cannot fail.
    let _ = rustix::process::setsid();
    mind_nobody();
}

/// Lets go of standard input and output, and blocks every signal that can be. Returns those that were blocked before.
pub(crate) fn mind_nobody() -> libc::sigset_t {
    // Who kills the program by its name leaves who cleans up after it.
    let _ = rustix::thread::set_name(c"hm-guard");
    // Who started the run must not wait for this one's copies of the run's pipes.
    if let Ok(null) = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty()) {
        for standard in 0..=2 {
            // SAFETY: no memory is involved, and nobody here owns these descriptors by type.
            unsafe { libc::dup2(null.as_raw_fd(), standard) };
        }
    }
    // SAFETY: sets are plain data, which these calls fill.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed::<libc::sigset_t>(), std::mem::zeroed::<libc::sigset_t>());
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
        before
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // A forked child has a copy of this value, and of the object's user it is not the last.
        if std::process::id() == self.holder {
            // One that cannot be told goes on waiting until this process has ended, and is not waited for.
            let is_written = rustix::io::write(&self.alive, b"x").is_ok();
            let has_removed = self.guard.take().is_some_and(|guard| is_written && guard.wait().is_ok());
            if !has_removed {
                let _ = self.object.remove();
            }
        }
    }
}
