//! A child that leads a process group of its own, or is in that of this process. It is signalled before it is waited for:
//! until then its number, and its group's, belong to nobody else.

use std::fmt::Display;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use std::{fs, io};

use hostmark_say::say;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

/// The leader of a group, or a child alone. When dropped, it is killed with its group, and waited for.
#[derive(Debug)]
pub struct GroupLeader {
    child: Child,
    /// True where it leads its own group; else signals go to it alone.
    is_leader: bool,
    /// Exit status, once it has been waited for: from then on nothing is sent.
    ended: Option<ExitStatus>,
}

impl GroupLeader {
    /// Starts the program as the leader of a new group.
    pub fn spawn(command: &mut Command) -> io::Result<GroupLeader> {
        Ok(GroupLeader { child: command.process_group(0).spawn()?, is_leader: true, ended: None })
    }

    /// Starts the program in the group of this process: whoever ends that ends it too.
    pub fn join(command: &mut Command) -> io::Result<GroupLeader> {
        Ok(GroupLeader { child: command.spawn()?, is_leader: false, ended: None })
    }

    /// The leader's process id, which is its group's too.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The leader, for its standard input and output.
    pub fn streams(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Tells whether the leader has ended, without reaping it.
    pub fn has_ended(&self) -> io::Result<bool> {
        match self.ended {
            Some(_) => Ok(true),
            None => Ok(self.look()?),
        }
    }

    /// Tells whether the kernel says that it has ended; an error where it is no child any more, for whatever reason: then it has given up
    /// its number.
    fn look(&self) -> io::Result<bool> {
        let looked = waitid(WaitId::Pid(Pid::from_child(&self.child)), LOOK);
        Ok(looked.map_err(|error| named("waitid", error.into()))?.is_some())
    }

    /// Sends a signal to the whole group, or to the child that leads none, unless it has been waited for.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        if self.ended.is_some() {
            return Ok(());
        }
        self.look()?;
        let leader = Pid::from_child(&self.child);
        let sent = match self.is_leader {
            true if leader == Pid::INIT => Ok(()),
            true => kill_process_group(leader, signal),
            false => kill_process(leader, signal),
        };
        match sent {
            // Nobody is there any more.
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(named("kill", error.into())),
        }
    }

    /// Asks the whole group to stop: by SIGINT, as a person does, or by SIGTERM where the leader ignores that.
    pub fn ask_to_stop(&self) -> io::Result<()> {
        let is_ignored = has(ignored(self.id()), Signal::INT.as_raw());
        self.signal(if is_ignored { Signal::TERM } else { Signal::INT })
    }

    /// Kills whoever is left of the group, then waits for the leader: how that ended. One that cannot be killed, and has not
    /// ended by itself, is not waited for: it may go on for ever.
    pub fn end(&mut self) -> io::Result<ExitStatus> {
        match self.signal(Signal::KILL) {
            Err(error) if !self.has_ended().unwrap_or(false) => Err(error),
            _ => self.wait(),
        }
    }

    /// Waits for the leader, and kills nobody: how it ended.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.ended {
            return Ok(status);
        }
        let status = self.child.wait().map_err(|error| named("wait4", error))?;
        self.ended = Some(status);
        Ok(status)
    }
}

/// Null device, for reading and writing. The library opens the same, and its error does not say that this file is missing and
/// not the program's. An error without the system's number says what to do.
pub fn null() -> io::Result<Stdio> {
    let opened = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null");
    opened.map(Stdio::from).map_err(|error| {
        let number = error.raw_os_error().map(Errno::from_raw_os_error);
        let is_limit = matches!(number, Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM));
        let text = || say!("/dev/null cannot be opened: {error}; make it by: mknod -m 666 /dev/null c 1 3");
        if is_limit { error } else { io::Error::new(error.kind(), text()) }
    })
}

/// An error with the name of the call that failed; its kind stays what it was.
pub(crate) fn named(call: &str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), say!("{what}: {error}", what = call))
}

/// A look at a child that leaves it as it is.
const LOOK: WaitIdOptions = WaitIdOptions::EXITED.union(WaitIdOptions::NOHANG).union(WaitIdOptions::NOWAIT);

impl Drop for GroupLeader {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// The signals that a process ignores, as the kernel's mask, whose lowest bit is signal 1; none where /proc does not say. The process is
/// its number, or `self`. Who ignores one passes that on to every program that it starts (nohup(1), a script's background job).
pub fn ignored(process: impl Display) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Tells whether such a mask has the signal of this number.
pub fn has(mask: u64, signal: i32) -> bool {
    mask >> (signal - 1) & 1 == 1
}

/// Looks before an answer is believed, and the time between two: between two waits a thread is asleep for a moment, and the
/// kernel takes a CPU from a real-time program for 50 ms of each second, in which who had waited runs, and may sleep.
const LOOKS: u32 = 16;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Divisor of the time for a task: a process that waited that long for a CPU would have been done without waiting.
const MOST_WAITED: u32 = 2;

/// Tells whether a thread of the group is ready to run, or waits for a device, or has waited for a CPU for long, and has had less than
/// `enough` of a CPU so far. False where the kernel does not tell.
pub(crate) fn is_starved(group: u32, enough: Duration) -> bool {
    (0..LOOKS).any(|look| {
        if look > 0 {
            crate::timing::pause(BETWEEN_LOOKS);
        }
        members(group).any(|pid| threads(&pid).any(|thread| thread.waits_for_others(enough)))
    })
}

/// The process ids of the group's processes.
fn members(group: u32) -> impl Iterator<Item = String> {
    let names = fs::read_dir("/proc").into_iter().flatten();
    let pids = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    pids.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).filter(move |pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        Thread::of(&stat).is_some_and(|thread| thread.group == group)
    })
}

fn threads(pid: &str) -> impl Iterator<Item = Thread> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    tasks.filter_map(|task| {
        let path = task.ok()?.path();
        let waited = fs::read_to_string(path.join("schedstat")).ok().as_deref().and_then(waited);
        Some(Thread { waited: waited.unwrap_or_default(), ..Thread::of(&fs::read_to_string(path.join("stat")).ok()?)? })
    })
}

/// The second number of a thread's schedstat: for how long it was ready to run and did not, without the wait under way.
fn waited(schedstat: &str) -> Option<Duration> {
    Some(Duration::from_nanos(schedstat.split_whitespace().nth(1)?.parse().ok()?))
}

/// State of a thread by the kernel.
#[derive(Debug, PartialEq)]
struct Thread {
    state: char,
    group: u32,
    used: Duration,
    waited: Duration,
}

impl Thread {
    /// Parses a line of /proc/PID/stat; the name in it may hold anything.
    fn of(stat: &str) -> Option<Thread> {
        let (_, rest) = stat.rsplit_once(") ")?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let ticks = words.get(11)?.parse::<u64>().ok()? + words.get(12)?.parse::<u64>().ok()?;
        let used = Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1));
        let (state, group) = (words[0].chars().next()?, words[2].parse().ok()?);
        Some(Thread { state, group, used, waited: Duration::ZERO })
    }

    fn waits_for_others(&self, enough: Duration) -> bool {
        let has_waited = !enough.is_zero() && self.waited >= enough / MOST_WAITED;
        (matches!(self.state, 'R' | 'D') || has_waited) && self.used < enough
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;
    use crate::skip::skipped;

    /// A leader that has ended, and a member of its group that holds the other end of its output.
    fn leaderless() -> GroupLeader {
        let mut command = Command::new("sh");
        let group = GroupLeader::spawn(command.args(["-c", "sleep 100 &"]).stdout(Stdio::piped())).unwrap();
        while !group.has_ended().unwrap() {
            std::thread::yield_now();
        }
        group
    }

    #[test]
    fn who_is_left_of_a_group_whose_leader_has_ended_is_killed() {
        let mut group = leaderless();
        let mut output = group.streams().stdout.take().unwrap();
        assert!(group.end().unwrap().success());
        // Ends when nobody holds the other end.
        assert_eq!(output.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn a_child_that_leads_no_group_is_ended_alone() {
        let mut command = Command::new("sh");
        let script = "exec 3<&0; cat <&3 & echo; exec sleep 100";
        let streams = command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = GroupLeader::join(streams).unwrap();
        let (input, mut output) = (child.streams().stdin.take(), child.streams().stdout.take().unwrap());
        assert_eq!(output.read(&mut [0]).unwrap(), 1);
        assert!(!child.end().unwrap().success());
        // Who is in the same group lives on, as this process does, and holds the other end.
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        assert_eq!(poll(&mut [PollFd::new(&output, PollFlags::IN)], Some(&at_once)).unwrap(), 0);
        drop(input);
        assert_eq!(output.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn nothing_is_sent_once_the_leader_has_been_waited_for() {
        let mut group = leaderless();
        // The member that is left keeps the group's number, as another group would that has it by now.
        group.ended = Some(group.child.wait().unwrap());
        let number = Pid::from_child(&group.child);
        group.signal(Signal::KILL).unwrap();
        assert!(group.end().unwrap().success());
        rustix::process::test_kill_process_group(number).unwrap();
        kill_process_group(number, Signal::KILL).unwrap();
    }

    #[test]
    fn a_leader_that_another_has_waited_for_is_sent_nothing() {
        let group = leaderless();
        let number = Pid::from_child(&group.child);
        waitid(WaitId::Pid(number), WaitIdOptions::EXITED).unwrap();
        assert!(group.signal(Signal::KILL).unwrap_err().to_string().starts_with("waitid: "));
        rustix::process::test_kill_process_group(number).unwrap();
        kill_process_group(number, Signal::KILL).unwrap();
    }

    /// A shell in a group of its own, ended when dropped.
    struct Shell(Child);

    impl Shell {
        fn of(script: &str) -> Shell {
            Shell(Command::new("/bin/sh").args(["-c", script]).process_group(0).spawn().unwrap())
        }
    }

    impl Drop for Shell {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn who_sleeps_is_not_starved_and_who_runs_is_until_it_has_had_enough() {
        let asleep = Shell::of("exec sleep 60");
        let busy = Shell::of("while :; do :; done");
        while !is_starved(busy.0.id(), Duration::from_secs(3600)) {
            std::thread::yield_now();
        }
        assert!((0..100).any(|_| !is_starved(asleep.0.id(), Duration::from_secs(3600))));
        while is_starved(busy.0.id(), Duration::from_millis(20)) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn who_waited_for_long_is_starved_also_while_it_sleeps() {
        let thread = |state: char, used: u64, waited: u64| {
            let (used, waited) = (Duration::from_secs(used), Duration::from_secs(waited));
            Thread { state, group: 1, used, waited }
        };
        let enough = Duration::from_secs(7);
        assert!(thread('S', 0, 4).waits_for_others(enough) && thread('R', 0, 0).waits_for_others(enough));
        assert!(!thread('S', 0, 3).waits_for_others(enough) && !thread('S', 8, 30).waits_for_others(enough));
        assert_eq!(waited("123 4000000000 7\n"), Some(Duration::from_secs(4)));
        assert_eq!((waited(""), waited("123\n"), waited("1 x 2")), (None, None, None));
    }

    #[test]
    fn a_shell_that_shared_its_cpu_is_seen_to_have_waited() {
        let set = rustix::thread::sched_getaffinity(None).unwrap();
        let cpu = (0..1024).find(|cpu| set.is_set(*cpu)).unwrap();
        let on_one = |script: &str| Shell::of(&format!("taskset -pc {cpu} $$ > /dev/null || exit 7; {script}"));
        let _busy = on_one("while :; do :; done");
        let mut other = on_one("i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; exec sleep 600");
        let pid = other.0.id();
        let asleep = || {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            threads(&pid.to_string()).find(|thread| name.trim() == "sleep" && thread.state == 'S')
        };
        let Thread { used, waited, .. } = loop {
            if let Some(thread) = asleep() {
                break thread;
            }
            if other.0.try_wait().unwrap().is_some() {
                return skipped("there is no taskset here");
            }
            std::thread::sleep(BETWEEN_LOOKS);
        };
        if used >= MOST_WAITED * waited {
            return skipped("it hardly waited here, or the kernel does not tell for how long");
        }
        assert!(is_starved(pid, MOST_WAITED * waited), "{waited:?}");
        assert!(!is_starved(pid, 4 * MOST_WAITED * waited), "{waited:?}");
    }

    #[test]
    fn a_line_of_a_thread_is_read_past_its_name() {
        let stat = "77 (a) R 1 (b) D 1 44 44 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 1 0 5 6 7";
        let expected = Thread { state: 'D', group: 44, used: Duration::from_secs(2), waited: Duration::ZERO };
        assert_eq!(Thread::of(stat), Some(expected));
        assert_eq!(Thread::of("77 (a"), None);
    }
}
