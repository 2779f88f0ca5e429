//! System V semaphores and message queues as ways to hand over a token. Their guard removes them.

use std::io;

use hostmark_engine::prelude::{ReasonCode, say};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::pipe::PipeFlags;

use crate::workloads::call::{Call, errno, fault, named};
use crate::workloads::child::ChildId;
use crate::workloads::handover::exchange::{Exchange, ExchangeStep};
use crate::workloads::ipc_cleanup::{Object, Record};
use crate::workloads::machine::arch::until_done;
use crate::workloads::{exit_message, process};

/// A set of two semaphores, both zero.
fn semaphores() -> io::Result<Guarded> {
    Guarded::new(Object::set()?)
}

fn queue() -> io::Result<Guarded> {
    Guarded::new(Object::messages()?)
}

/// A token by two semaphores of one set. A turn is one call of two operations: take one from its own, add one to the other's.
pub fn by_semaphores(cpus: &[usize]) -> io::Result<Exchange<impl ExchangeStep + use<>>> {
    let set = semaphores()?;
    let id = set.id;
    // The token is the other's at first: it has the first turn, for which this process waits in its own first one.
    change(id, &mut [operation(1, 1)])?;
    let turn = move |own: u16| change(id, &mut [operation(own, -1), operation(1 - own, 1)]);
    let near = move || {
        // The set lives as long as this does.
        let _held = &set;
        turn(0)
    };
    Ok(Exchange::start(cpus, near, move || Ok(move || turn(1)))?.ahead_by(1))
}

fn operation(semaphore: u16, change: i16) -> libc::sembuf {
    libc::sembuf { sem_num: semaphore, sem_op: change, sem_flg: 0 }
}

#[inline(always)]
fn change(set: i32, operations: &mut [libc::sembuf]) -> io::Result<()> {
    let arguments = [set as usize, operations.as_mut_ptr() as usize, operations.len(), 0, 0, 0];
    // SAFETY: as many operations as said.
    unsafe { until_done("semop", libc::SYS_semop, arguments) }.map(drop)
}

/// A message of one byte, as the kernel has it: a type that is not zero, and the text.
#[repr(C)]
struct QueueMessage {
    kind: libc::c_long,
    text: [u8; 1],
}

/// A message of one byte through two queues.
pub fn by_queues(cpus: &[usize]) -> io::Result<Exchange<impl ExchangeStep + use<>>> {
    let (there, back) = (queue()?, queue()?);
    let (to, from) = (there.id, back.id);
    let near = move || {
        // The queues live as long as this does.
        let _held = (&there, &back);
        send(to).and_then(|()| receive(from))
    };
    Exchange::start(cpus, near, move || Ok(move || receive(to).and_then(|()| send(from))))
}

#[inline(always)]
fn send(queue: i32) -> io::Result<()> {
    let message = QueueMessage { kind: 1, text: *b"x" };
    // SAFETY: a message with a text of one byte, which the kernel only reads.
    unsafe { until_done("msgsnd", libc::SYS_msgsnd, [queue as usize, &raw const message as usize, 1, 0, 0, 0]) }
        .map(drop)
}

#[inline(always)]
fn receive(queue: i32) -> io::Result<()> {
    let mut message = QueueMessage { kind: 0, text: [0] };
    // SAFETY: room for a message with a text of one byte, whatever its type.
    unsafe { until_done("msgrcv", libc::SYS_msgrcv, [queue as usize, &raw mut message as usize, 1, 0, 0, 0]) }.map(drop)
}

/// An object that a process of its own made, and that it removes when this value is dropped or its holder has died.
///
/// System V objects have no descriptor that could close, so somebody has to outlive their user. The guard leaves the user's
/// process group and blocks all signals: what ends a run (the kill of its group, an interrupt from the terminal, a
/// service that is stopped, a `killall` of the program by its name) leaves it there. It waits for a byte from a pipe or for
/// the pipe's end, which comes with the user's death, removes the object, and ends. An object whose guard was killed is
/// removed by its user; where both were, the janitor finds it by its record ([`super::remains`]).
#[derive(Debug)]
pub struct Guarded {
    pub id: i32,
    object: Object,
    /// Child that guards the object until this is dropped.
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

#[cfg(test)]
mod tests {
    use rustix::fd::AsFd;

    use super::*;
    use crate::workloads::child::ChildId;
    use crate::workloads::handover::exchange::tests::check;
    use crate::workloads::process::in_a_child;
    use crate::workloads::{affinity, ipc_cleanup};

    #[test]
    fn a_token_goes_to_and_fro() {
        check(by_semaphores);
        check(by_queues);
    }

    fn has_set(id: i32) -> bool {
        // SAFETY: GETVAL takes no further argument.
        unsafe { libc::semctl(id, 0, libc::GETVAL) >= 0 }
    }

    fn has_queue(id: i32) -> bool {
        // SAFETY: a queue's state is plain data, which IPC_STAT fills.
        unsafe {
            let mut state = std::mem::zeroed::<libc::msqid_ds>();
            libc::msgctl(id, libc::IPC_STAT, &raw mut state) >= 0
        }
    }

    #[test]
    fn what_is_dropped_is_removed_at_once_also_where_its_guard_is_lost() {
        for are_lost in [false, true] {
            in_a_child(|| {
                let held = [semaphores()?, queue()?];
                let (set, messages) = (held[0].id, held[1].id);
                assert!(has_set(set) && has_queue(messages));
                if are_lost {
                    held.iter().for_each(|held| held.guard().kill().unwrap());
                }
                drop(held);
                assert!(!has_set(set) && !has_queue(messages), "lost: {are_lost}");
                Ok(())
            });
        }
    }

    /// A process that leads a group, holds a set and a queue and has recorded them in that directory: it, their ids and their guards' ids.
    fn holder(directory: &std::path::Path) -> (ChildId, [i32; 4]) {
        let (read, write) = rustix::pipe::pipe().unwrap();
        // SAFETY: the child makes its objects by calls of its one thread and sleeps until it is killed.
        let Some(holder) = unsafe { ChildId::forked("fork", libc::fork()) }.unwrap() else {
            rustix::process::setsid().unwrap();
            ipc_cleanup::write_down_in(opened(directory));
            let held = (semaphores().unwrap(), queue().unwrap(), by_semaphores(&affinity::allowed().unwrap()));
            let numbers = [held.0.id, held.1.id, number(&held.0), number(&held.1)].map(i32::to_ne_bytes).concat();
            rustix::io::write(&write, &numbers).unwrap();
            loop {
                std::thread::park();
            }
        };
        let mut numbers = [0; 16];
        rustix::io::read(&read, &mut numbers).unwrap();
        let number = |nth: usize| i32::from_ne_bytes(numbers[4 * nth..][..4].try_into().unwrap());
        (holder, [0, 1, 2, 3].map(number))
    }

    fn opened(directory: &std::path::Path) -> rustix::fd::OwnedFd {
        use rustix::fs::{Mode, OFlags};
        rustix::fs::open(directory, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap()
    }

    fn number(held: &Guarded) -> i32 {
        i32::try_from(held.guard().number()).unwrap()
    }

    fn kill(process: i32) {
        assert!(process > 1);
        let process = rustix::process::Pid::from_raw(process).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
    }

    #[test]
    fn what_a_killed_group_held_is_removed() {
        let base = tempfile::tempdir().unwrap();
        let (holder, [set, messages, ..]) = holder(base.path());
        assert!(has_set(set) && has_queue(messages));
        let group = rustix::process::Pid::from_raw(i32::try_from(holder.number()).unwrap()).unwrap();
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        holder.wait().unwrap_err();
        // And their records with them.
        let is_gone = || !has_set(set) && !has_queue(messages) && std::fs::read_dir(base.path()).unwrap().count() == 0;
        let gone = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            is_gone()
        });
        assert!(gone);
    }

    #[test]
    fn what_a_group_held_that_was_killed_with_its_guards_is_found_again() {
        let base = tempfile::tempdir().unwrap();
        let (holder, [set, messages, guard_of_set, guard_of_messages]) = holder(base.path());
        kill(guard_of_set);
        kill(guard_of_messages);
        holder.kill().unwrap();
        let group = holder.number();
        holder.wait().unwrap_err();
        assert!(has_set(set) && has_queue(messages));
        let directory = opened(base.path());
        ipc_cleanup::remove_recorded(directory.as_fd(), Some(group + 1));
        assert!(has_set(set) && has_queue(messages), "another group's");
        ipc_cleanup::remove_recorded(directory.as_fd(), Some(group));
        assert!(!has_set(set) && !has_queue(messages));
    }
}
