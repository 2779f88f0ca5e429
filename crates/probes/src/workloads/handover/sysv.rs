//! System V semaphores and message queues as ways to hand over a token. Their guard removes them.

use std::io;

use crate::workloads::checked;
use crate::workloads::handover::exchange::{Exchange, ExchangeStep};
use crate::workloads::handover::guard::Guarded;
use crate::workloads::ipc_cleanup::Object;
use crate::workloads::machine::arch;

/// A call, made again when a signal had interrupted it, as a process that is stopped and goes on sees it.
///
/// # Safety
/// As for [`arch::call`].
#[inline(always)]
pub(crate) unsafe fn until_done(name: &'static str, number: libc::c_long, arguments: [usize; 6]) -> io::Result<usize> {
    loop {
        // SAFETY: the caller's.
        let result = unsafe { arch::call(number, arguments) };
        if result != -i64::from(libc::EINTR) {
            return checked(name, result);
        }
    }
}

/// A set of two semaphores, both zero.
fn semaphores() -> io::Result<Guarded> {
    Guarded::new(Object::set()?)
}

/// A message queue.
fn queue() -> io::Result<Guarded> {
    Guarded::new(Object::messages()?)
}

/// A token by two semaphores of one set. Each turn is one call of two operations, done together or not at all: take one
/// from the own semaphore, and add one to the other's.
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

#[cfg(test)]
mod tests {
    use rustix::fd::AsFd;

    use super::*;
    use crate::workloads::affinity;
    use crate::workloads::child::ChildId;
    use crate::workloads::handover::exchange::tests::check;
    use crate::workloads::ipc_cleanup;
    use crate::workloads::process::in_a_child;

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
    fn what_is_dropped_is_removed_at_once() {
        in_a_child(|| {
            let (set, messages) = (semaphores()?, queue()?);
            let (set_id, queue_id) = (set.id, messages.id);
            assert!(has_set(set_id) && has_queue(queue_id));
            drop((set, messages));
            assert!(!has_set(set_id) && !has_queue(queue_id));
            Ok(())
        });
    }

    /// A process that leads a group of its own, holds a set and a queue, and has written them down in that directory: it,
    /// their ids, and those of their guards.
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
        let gone = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            !has_set(set) && !has_queue(messages)
        });
        assert!(gone);
        // And their records with them.
        let is_empty = || std::fs::read_dir(base.path()).unwrap().count() == 0;
        let forgotten = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            is_empty()
        });
        assert!(forgotten);
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

    #[test]
    fn what_has_lost_its_guard_is_removed_by_who_used_it() {
        in_a_child(|| {
            let held = [semaphores()?, queue()?];
            let (set, messages) = (held[0].id, held[1].id);
            held.iter().for_each(|held| held.guard().kill().unwrap());
            drop(held);
            assert!(!has_set(set) && !has_queue(messages));
            Ok(())
        });
    }
}
