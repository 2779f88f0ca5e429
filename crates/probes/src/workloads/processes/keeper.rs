//! A process between a worker and a command of the user's: whatever the command starts is ended with it.

use std::io::{self, Read, Write};
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use hostmark_engine::prelude::{Message, Reason, ReasonCode, reason_of, say};

use crate::workloads::call::{Call, fault, named};
use crate::workloads::child::ChildId;
use crate::workloads::{descendants, handover::guard, process};

/// How long who has been killed may take to end: the kernel finishes what it does for it first, as a write to a slow disk.
const PATIENCE: Duration = Duration::from_secs(20);
/// What tells the keeper that the worker has ended. All signals are blocked, so that nobody else can end it by one.
const WORKER_ENDED: Signal = Signal::TERM;

/// What a keeper knows that those it starts need.
pub(crate) struct Keeper {
    /// Its own number.
    pub(crate) id: u32,
    /// The worker's number, and its process group.
    worker: u32,
    pub(crate) group: Pid,
    /// The signals that the worker had blocked.
    pub(crate) blocked: libc::sigset_t,
}

/// What it tells the worker.
#[derive(Serialize, Deserialize)]
struct KeeperReport<T> {
    done: Result<T, Reason>,
    ended: Result<(), Message>,
}

/// Does `work` in a keeper: a forked process that adopts all that `work` starts, ends it when `work` has ended or the worker
/// is dead, and then ends too. What ends a run (the kill of its group, a signal from the terminal, a `killall` by the
/// program's name) leaves it there. Where the keeper itself was killed, the worker does what it would have done, and where
/// both were, the run does. An error also where something is left that cannot be ended.
pub(crate) fn under<T: Serialize + DeserializeOwned>(work: impl FnOnce(&Keeper) -> io::Result<T>) -> io::Result<T> {
    process::only_one_thread()?;
    descendants::adopt()?;
    let (answer, report) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).call("pipe2")?;
    let (worker, group) = (std::process::id(), rustix::process::getpgrp());
    // SAFETY: one thread, as checked: the child's copy of every lock is free. It never returns to what called this, and ends
    // by exit_group.
    let keeper = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    // SAFETY: what the call has just returned.
    let Some(keeper) = unsafe { ChildId::forked("clone", keeper) }? else {
        drop(answer);
        // A panic must not unwind into what the worker does.
        let done = std::panic::catch_unwind(AssertUnwindSafe(|| work(&stand_between(worker, group)?)));
        let done = done
            .unwrap_or_else(|_| Err(io::Error::other(say!("it panicked"))))
            .map_err(|error| reason_of(&error, &error));
        let ended = descendants::end_all(&[], Duration::ZERO, PATIENCE).map_err(Message::from);
        // Who is not told of it finds that this process has ended without a word.
        let _ = serde_json::to_vec(&KeeperReport { done, ended })
            .map_err(io::Error::from)
            .and_then(|text| std::fs::File::from(report).write_all(&text));
        loop {
            // SAFETY: ends the child.
            unsafe { libc::syscall(libc::SYS_exit_group, 0) };
        }
    };
    drop(report);
    let mut text = Vec::new();
    std::fs::File::from(answer).read_to_end(&mut text).call("read")?;
    let waited = keeper.wait();
    let parsed = serde_json::from_slice::<KeeperReport<T>>(&text).map_err(|_| waited.err());
    // Whatever it has left is this process' by now.
    let left = descendants::end_all(&[], Duration::ZERO, PATIENCE);
    match parsed {
        Ok(KeeperReport { ended: Err(why), .. }) => {
            Err(fault(ReasonCode::CommandFailed, say!("what the command started goes on: {why}")))
        }
        Ok(KeeperReport { done, .. }) => {
            left.and_then(|()| done.map_err(|why| fault(why.code.unwrap_or(ReasonCode::CommandFailed), why)))
        }
        Err(how) => Err(fault(
            ReasonCode::ProcessDied,
            match how {
                Some(how) => say!("the command's keeper was ended before the command: {how}"),
                None => say!("the command's keeper was ended before the command"),
            },
        )),
    }
}

/// Leaves the worker's group but not its session, so that what it starts can join that group again.
fn stand_between(worker: u32, group: Pid) -> io::Result<Keeper> {
    rustix::process::setpgid(None, None).call("setpgid")?;
    let blocked = guard::mind_nobody();
    descendants::adopt()?;
    rustix::process::set_parent_process_death_signal(Some(WORKER_ENDED)).call("prctl")?;
    let keeper = Keeper { id: std::process::id(), worker, group, blocked };
    if process::has_parent(worker) { Ok(keeper) } else { Err(gone()) }
}

fn gone() -> io::Error {
    fault(ReasonCode::ProcessDied, say!("the worker is gone"))
}

impl Keeper {
    /// Waits until `has_ended` says so, which is asked again at the end of any child. An error when the worker has ended.
    pub(crate) fn wait_until<T>(&self, mut has_ended: impl FnMut() -> io::Result<Option<T>>) -> io::Result<T> {
        // SAFETY: a set is plain data, which these calls fill.
        let watched = unsafe {
            let mut watched = std::mem::zeroed::<libc::sigset_t>();
            libc::sigemptyset(&raw mut watched);
            libc::sigaddset(&raw mut watched, libc::SIGCHLD);
            libc::sigaddset(&raw mut watched, WORKER_ENDED.as_raw());
            watched
        };
        loop {
            if let Some(ended) = has_ended()? {
                return Ok(ended);
            }
            // Both are blocked: what comes between the question and this is kept for it.
            // SAFETY: reads the set; nobody asks for more about the signal.
            let signal = unsafe { libc::sigwaitinfo(&raw const watched, std::ptr::null_mut()) };
            let error = io::Error::last_os_error();
            if signal < 0 && error.kind() != io::ErrorKind::Interrupted {
                return Err(named("rt_sigtimedwait", error));
            }
            if signal == WORKER_ENDED.as_raw() && !process::has_parent(self.worker) {
                return Err(gone());
            }
        }
    }
}
