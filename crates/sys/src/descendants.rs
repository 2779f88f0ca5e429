//! Descendants of this process, ended to the last one, also those that have left their parents, group and session.

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

/// Adopts orphans from now on: a descendant whose parent has ended becomes a child of this process. Children do not inherit that.
pub fn adopt() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).call("prctl")
}

/// Does [`adopt`] where all children but those `known` will be its own descendants: not in the place of a program that had started others
/// (a shell's `exec`), nor where others' orphans arrive, as at the first process of a namespace. Tells whether it did.
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
            crate::clock::sleep(TURN);
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
    /// Kills all its processes and waits for them. The run is dead by then: a later process is none of its own, whatever its number.
    pub fn end(&self) {
        let until = ticks_now();
        process::retry_until(|| match kill_by_descriptor(self.descriptor.as_ref()) {
            Sent::Taken => false,
            Sent::Gone => true,
            Sent::Refused => !self.kill_members(self.since, until),
        });
    }

    /// Kills each member of the run's session that started between the leader and the end of the run. False when none lives.
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
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    use super::*;
    use crate::process::in_a_child;
    use crate::skip::skipped;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn shell(script: &str) -> io::Result<std::process::Child> {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    }

    #[test]
    fn who_has_left_parents_group_and_session_is_ended_too() {
        in_a_child(|| {
            adopt()?;
            shell("setsid sh -c '(sleep 1000 &) ; sleep 1000 &'; setsid setsid sleep 1000 & sleep 1000")?;
            let set = |list: Vec<_>| list.into_iter().collect::<std::collections::BTreeSet<_>>();
            // Between the two lists one of them may still fork or end.
            let mut lists = (set(numbers()?), set(all()?));
            for _ in 0..PATIENCE.as_millis() / TURN.as_millis() {
                if lists.0.len() >= 3 && lists.0 == lists.1 {
                    break;
                }
                std::thread::sleep(TURN);
                lists = (set(numbers()?), set(all()?));
            }
            assert!(lists.0.len() >= 3);
            assert_eq!(lists.0, lists.1);
            end_all(&[], Duration::ZERO, PATIENCE)?;
            assert!(!has_children()?);
            Ok(())
        });
    }

    #[test]
    fn who_forks_and_ends_again_and_again_is_caught() {
        in_a_child(|| {
            adopt()?;
            // Each hands over to its child and ends: a list is always of those who were there before.
            shell("f() { sleep 0.001; f & }; f")?;
            std::thread::sleep(Duration::from_millis(50));
            end_all(&[], Duration::ZERO, PATIENCE)
        });
    }

    #[test]
    fn who_is_spared_lives_and_is_not_reaped() {
        in_a_child(|| {
            adopt()?;
            let mut spared = shell("exec sleep 1000")?;
            let mut ended = shell("exit 3")?;
            shell("setsid sleep 1000 &")?;
            end_all(&[spared.id(), ended.id()], Duration::ZERO, PATIENCE)?;
            assert_eq!(numbers()?.len(), 2);
            assert!(spared.try_wait()?.is_none());
            assert_eq!(ended.wait()?.code(), Some(3));
            spared.kill()?;
            spared.wait().map(drop)
        });
    }

    #[test]
    fn who_ends_within_its_grace_is_not_killed() {
        in_a_child(|| {
            let directory = tempfile::tempdir()?;
            let mark = directory.path().join("mark");
            shell(&format!("sleep 0.1; : > {}", mark.display()))?;
            end_all(&[], PATIENCE, PATIENCE)?;
            assert!(mark.exists());
            Ok(())
        });
    }

    /// Set for the copy of a test that runs in a process namespace of its own.
    const INSIDE: &str = "HOSTMARK_TEST_INSIDE";

    /// The same by another way: without a descriptor that can signal groups, as on kernels before 6.9.
    fn without_descriptor(group: ProcessGroup) -> ProcessGroup {
        ProcessGroup { descriptor: None, ..group }
    }

    type Way = fn(ProcessGroup) -> ProcessGroup;
    const WAYS: [Way; 2] = [|group| group, without_descriptor];

    fn lives(number: u32) -> bool {
        GroupProcess::of(number).is_some_and(|process| !process.is_over)
    }

    #[test]
    fn what_is_left_of_a_group_whose_leader_was_waited_for_is_ended() {
        let family = Lineage::own().unwrap();
        for way in WAYS {
            let mut command = Command::new("sh");
            command.args(["-c", "sleep 100 & echo $!; exec sleep 100"]).process_group(0).stdout(Stdio::piped());
            let mut leader = command.spawn().unwrap();
            let mut line = String::new();
            BufReader::new(leader.stdout.take().unwrap()).read_line(&mut line).unwrap();
            let member: u32 = line.trim().parse().unwrap();
            let group = family.group(leader.id()).unwrap();
            leader.kill().unwrap();
            leader.wait().unwrap();
            assert!(lives(member));
            // Who is told of now could be another program's.
            assert!(family.group(leader.id()).is_none());
            way(group).end();
            assert!(!lives(member));
        }
    }

    #[test]
    fn what_leads_no_group_or_is_of_another_session_is_left_alone() {
        let family = Lineage::own().unwrap();
        for number in [0, 1, u32::MAX, i32::MAX as u32 + 1] {
            assert!(family.group(number).is_none(), "{number}");
        }
        // Of this test's own group.
        let mut member = Command::new("sleep").arg("100").spawn().unwrap();
        assert!(family.group(member.id()).is_none());
        let mut apart = Command::new("setsid").args(["sleep", "100"]).spawn().unwrap();
        while GroupProcess::of(apart.id()).unwrap().session == family.session {
            std::thread::yield_now();
        }
        assert!(family.group(apart.id()).is_none());
        for child in [&mut member, &mut apart] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Runs the test of this name once more, in a process namespace of its own.
    fn run_in_a_namespace(test: &str) {
        let unshare = |of: &[&str]| Command::new("unshare").args(of).args(["-pf", "--mount-proc"]).arg("true").output();
        let way = [&[][..], &["-Ur"]].into_iter().find(|of| unshare(of).is_ok_and(|output| output.status.success()));
        let Some(way) = way else {
            return skipped("no process namespace can be made here");
        };
        let mut inside = Command::new("unshare");
        inside.args(way).args(["-pf", "--mount-proc"]).arg(std::env::current_exe().unwrap());
        let output = inside.args(["--exact", test, "--nocapture"]).env(INSIDE, "1").output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(output.status.success(), "{said}");
        if let Some((_, why)) = said.split_once(&format!("skipped: test {test}: ")) {
            skipped(why.lines().next().unwrap_or_default());
        }
    }

    /// A process that leads a group under a reused number and echoes what it reads. None where numbers cannot be chosen.
    fn with_number(number: u32) -> Option<Child> {
        for _ in 0..50 {
            fs::write("/proc/sys/kernel/ns_last_pid", (number - 1).to_string()).ok()?;
            let mut command = Command::new("cat");
            let mut child = command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            if child.id() == number {
                return Some(child);
            }
            child.kill().unwrap();
            child.wait().unwrap();
        }
        None
    }

    #[test]
    fn a_number_that_another_one_has_by_now_is_left_alone() {
        if std::env::var_os(INSIDE).is_none() {
            return run_in_a_namespace("descendants::tests::a_number_that_another_one_has_by_now_is_left_alone");
        }
        let family = Lineage::own().unwrap();
        for way in WAYS {
            let mut leader = Command::new("sleep").arg("100").process_group(0).stdout(Stdio::null()).spawn().unwrap();
            let group = family.group(leader.id()).unwrap();
            leader.kill().unwrap();
            leader.wait().unwrap();
            // Ticks are what start times are told in.
            std::thread::sleep(Duration::from_millis(30));
            let Some(mut another) = with_number(leader.id()) else {
                return skipped("numbers of processes cannot be chosen here");
            };
            way(group).end();
            // One that has been killed never answers, even if it has not ended yet.
            let _ = another.stdin.as_mut().unwrap().write_all(b"x");
            let mut answer = [0];
            assert_eq!((another.stdout.as_mut().unwrap().read(&mut answer).unwrap(), answer), (1, *b"x"));
            another.kill().unwrap();
            another.wait().unwrap();
        }
    }
}
