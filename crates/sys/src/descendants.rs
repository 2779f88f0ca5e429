//! Descendants of this process: ended to the last one, also those that have left their parents, their group and their
//! session.

use std::ops::RangeInclusive;
use std::time::Duration;
use std::{fs, io};

use hostmark_say::say;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};

use super::call::{Call, named};
use super::child::{ChildId, LOOK};
use super::{clock, process};

/// Pause before killed processes are looked at again.
const TURN: Duration = Duration::from_millis(1);

/// Adopts orphans from now on: a descendant whose parent has ended is a child of this process, whatever group or session
/// it is in. That is not handed on to children.
pub fn adopt() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).call("prctl")
}

/// Does [`adopt`] where all children of this process, but those `known`, will be its own descendants: not where it has taken
/// the place of a program that had started others (a shell's `exec`), nor where orphans of others come to it already, as to
/// the first process of a namespace. Tells whether it did.
pub fn adopt_if_all_are_own(known: &[u32]) -> io::Result<bool> {
    let is_adopting = rustix::process::child_subreaper().call("prctl")?.is_some();
    if std::process::id() == 1 || is_adopting || numbers()?.iter().any(|child| !known.contains(child)) {
        return Ok(false);
    }
    adopt().map(|()| true)
}

/// Kills and reaps every child but `spared`, and whoever becomes one by that, until there is none; an error says who is left
/// after `patience`, and why. Children get `grace` to end by themselves first.
///
/// A list of children is old when it has been read: who is in it may have forked since. But the child of one that ends comes
/// to this process before its end is told here (see [`adopt`]), so that it is in the next list, and there is a next list for
/// as long as one has had anybody in it. The end is the kernel's word that there is no child, where nobody is spared. Who is
/// killed is a child that only this process waits for: its number is nobody else's.
pub fn end_all(spared: &[u32], grace: Duration, patience: Duration) -> io::Result<()> {
    let began_ns = clock::monotonic_ns();
    let is_over = |limit: Duration| u128::from(clock::monotonic_ns() - began_ns) >= limit.as_nanos();
    let mut was_empty = false;
    loop {
        if spared.is_empty() && !has_children()? {
            return Ok(());
        }
        let children: Vec<ChildId> =
            numbers()?.into_iter().filter(|child| !spared.contains(child)).filter_map(ChildId::adopted).collect();
        // Where somebody is spared, one list alone could have been read while one left it and another came.
        if !spared.is_empty() && children.is_empty() {
            if was_empty {
                return Ok(());
            }
            was_empty = true;
            continue;
        }
        was_empty = false;
        let mut left = None;
        let mut has_one_ended = false;
        for child in children {
            let killed = if is_over(grace) { child.kill() } else { Ok(()) };
            match child.reap() {
                Ok(None) => has_one_ended = true,
                Ok(Some(child)) => left = Some((child.number(), killed)),
                Err(error) => return Err(error),
            }
        }
        if let Some((number, killed)) = left.filter(|_| is_over(grace + patience)) {
            let why = killed.err().unwrap_or_else(|| named("kill", io::ErrorKind::TimedOut.into()));
            return Err(io::Error::other(say!("process {number} cannot be ended ({why})")));
        }
        // Whoever one has left behind is looked for at once.
        if !has_one_ended {
            std::thread::sleep(TURN);
        }
    }
}

/// Reaps every child that has ended; whether there is one that has not. Only for who waits for no child by itself any more.
pub fn reap_ended() -> io::Result<bool> {
    loop {
        match rustix::process::waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return Ok(true),
            Err(rustix::io::Errno::CHILD) => return Ok(false),
            Err(error) => return Err(named("waitid", error.into())),
        }
    }
}

/// Tells whether this process has a child, ended or not.
fn has_children() -> io::Result<bool> {
    match rustix::process::waitid(WaitId::All, LOOK) {
        Ok(_) => Ok(true),
        Err(rustix::io::Errno::CHILD) => Ok(false),
        Err(error) => Err(named("waitid", error.into())),
    }
}

/// The numbers of the children of all threads of this process.
fn numbers() -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for task in fs::read_dir("/proc/self/task")? {
        match fs::read_to_string(task?.path().join("children")) {
            Ok(text) => numbers.extend(text.split_whitespace().filter_map(|word| word.parse::<u32>().ok())),
            // A thread that has ended, or a kernel that keeps no such list.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return all(),
            Err(error) => return Err(error),
        }
    }
    Ok(numbers)
}

/// The same from every process that there is.
fn all() -> io::Result<Vec<u32>> {
    let is_child = |&number: &u32| parent_of(number) == Some(std::process::id());
    let mut numbers = Vec::new();
    for entry in fs::read_dir("/proc")? {
        numbers.extend(entry?.file_name().to_str().and_then(|name| name.parse().ok()).filter(is_child));
    }
    Ok(numbers)
}

/// The flag of pidfd_send_signal(2) that means the group which the process leads (Linux 6.9).
const PIDFD_SIGNAL_PROCESS_GROUP: libc::c_uint = 1 << 2;

/// State of a process, from the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct GroupProcess {
    id: Pid,
    parent: u32,
    group: u32,
    session: u32,
    /// Start in clock ticks since the machine started. With the number it names one process alone.
    started: u64,
    is_over: bool,
}

impl GroupProcess {
    /// Reads a process; `None` where there is none, or no /proc.
    fn of(number: u32) -> Option<GroupProcess> {
        let id = i32::try_from(number).ok().filter(|&number| number > 0).and_then(Pid::from_raw)?;
        let stat = fs::read(format!("/proc/{number}/stat")).ok()?;
        // A name may hold anything, but no other field has a bracket in it.
        let end = stat.iter().rposition(|&byte| byte == b')')?;
        let text = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
        let fields: Vec<&str> = text.split_whitespace().collect();
        Some(GroupProcess {
            id,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
            is_over: matches!(*fields.first()?, "Z" | "X"),
        })
    }

    /// Every process that /proc shows.
    fn all() -> impl Iterator<Item = GroupProcess> {
        let numbers = fs::read_dir("/proc").into_iter().flatten();
        numbers.filter_map(|entry| GroupProcess::of(entry.ok()?.file_name().to_str()?.parse().ok()?))
    }

    /// Tells whether it still lives, and its number belongs to no other one.
    fn lives(&self) -> bool {
        GroupProcess::of(number_of(self.id)).is_some_and(|now| now.started == self.started && !now.is_over)
    }

    /// Kills it if it still lives and is not the first of all.
    fn kill(&self) {
        if self.id == Pid::INIT {
            return;
        }
        match rustix::process::pidfd_open(self.id, PidfdFlags::empty()) {
            // Looked at again behind the descriptor, which stays with one process.
            Ok(descriptor) if self.lives() => {
                let _ = rustix::process::pidfd_send_signal(&descriptor, Signal::KILL);
            }
            // A kernel without descriptors of processes (before 5.3), or a filter.
            Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) if self.lives() => {
                let _ = rustix::process::kill_process(self.id, Signal::KILL);
            }
            _ => {}
        }
    }
}

/// The number of a process' parent, as /proc tells it.
fn parent_of(number: u32) -> Option<u32> {
    Some(GroupProcess::of(number)?.parent)
}

fn number_of(id: Pid) -> u32 {
    id.as_raw_nonzero().get().unsigned_abs()
}

/// Clock ticks since the machine started, as [`Process::started`] counts.
fn ticks_now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let ticks = rustix::param::clock_ticks_per_second();
    let part = now.tv_nsec.unsigned_abs() * ticks / 1_000_000_000;
    now.tv_sec.unsigned_abs() * ticks + part
}

/// Processes that may lead the groups reported to this process.
#[derive(Debug)]
pub struct Lineage {
    /// Process ids of this process and its parent.
    parents: [u32; 2],
    session: u32,
    /// Start of this process: any process that it is told of came after it.
    since: u64,
}

impl Lineage {
    /// Children of this process and of its parent, in this process' session.
    pub fn own() -> Option<Lineage> {
        let own = GroupProcess::of(std::process::id())?;
        Some(Lineage { parents: [number_of(own.id), own.parent], session: own.session, since: own.started })
    }

    /// Takes note of the group that `leader` leads, who has just been started by one of the family. None for what is no
    /// group's number, and where no such leader is there any more.
    pub fn group(&self, leader: u32) -> Option<ProcessGroup> {
        // 1 and less are what kill(2) takes for groups, or for everything there is.
        let id = i32::try_from(leader).ok().filter(|&leader| leader > 1).and_then(Pid::from_raw)?;
        let descriptor = rustix::process::pidfd_open(id, PidfdFlags::empty()).ok();
        // Behind the descriptor: what is found now is what it stands for. A child of the run that leads a group is of the
        // run, whatever had its number before.
        let is_leader = |found: &GroupProcess| {
            found.group == leader
                && found.session == self.session
                && found.started >= self.since
                && self.parents.contains(&found.parent)
        };
        // Who is told of late, when the run is dead already, is not looked for by the number: another program's job may have
        // it by now, and the run's workers and their children die with it by themselves.
        let found = GroupProcess::of(leader).filter(is_leader)?;
        Some(ProcessGroup { leader, session: self.session, descriptor, since: found.started })
    }
}

/// The living processes of a group and a session that started within that time.
fn members(group: u32, session: u32, within: RangeInclusive<u64>) -> Vec<GroupProcess> {
    let is_one = |process: &GroupProcess| {
        process.group == group && process.session == session && within.contains(&process.started) && !process.is_over
    };
    GroupProcess::all().filter(is_one).collect()
}

/// A process group that somebody else started.
#[derive(Debug)]
pub struct ProcessGroup {
    leader: u32,
    session: u32,
    /// Descriptor of the leader: it stays with it when the number goes to another one.
    descriptor: Option<OwnedFd>,
    since: u64,
}

/// Result of a signal to a group by its leader's descriptor.
enum Sent {
    Taken,
    Gone,
    Refused,
}

impl ProcessGroup {
    /// Kills all its processes and waits until they are gone. Called when the run is dead: nobody who started later than
    /// that is of the run, whatever number it has.
    pub fn end(&self) {
        let until = ticks_now();
        process::retry_until(|| match kill_by_descriptor(self.descriptor.as_ref()) {
            Sent::Taken => false,
            Sent::Gone => true,
            Sent::Refused => !self.kill_members(self.since, until),
        });
    }

    /// Kills each member that started between the leader and the end of the run, in the run's session. False when there is
    /// none that lives.
    fn kill_members(&self, since: u64, until: u64) -> bool {
        // A number is given to nobody while a group has it. A leader that is another one than it was has it anew.
        let is_another = GroupProcess::of(self.leader).is_some_and(|leader| leader.started != since);
        !is_another && kill_all(&members(self.leader, self.session, since..=until))
    }
}

/// Kills these, as far as they are still the same. False when none of them lives.
fn kill_all(processes: &[GroupProcess]) -> bool {
    let living: Vec<&GroupProcess> = processes.iter().filter(|process| process.lives()).collect();
    living.iter().for_each(|process| process.kill());
    !living.is_empty()
}

/// The kernel's own way, which no reuse of numbers can mislead: the group of the process that a descriptor stands for.
fn kill_by_descriptor(leader: Option<&OwnedFd>) -> Sent {
    let Some(leader) = leader else { return Sent::Refused };
    let no_information = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: a null pointer stands for a signal as kill(2) sends it.
    let sent = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            leader.as_raw_fd(),
            libc::SIGKILL,
            no_information,
            PIDFD_SIGNAL_PROCESS_GROUP,
        )
    };
    match (sent, io::Error::last_os_error().raw_os_error()) {
        (0, _) => Sent::Taken,
        (_, Some(libc::ESRCH)) => Sent::Gone,
        _ => Sent::Refused,
    }
}

#[cfg(test)]
#[path = "descendants_tests.rs"]
mod tests;
