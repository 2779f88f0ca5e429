//! A child that leads a process group of its own, or is in that of this process. It is signalled before it is waited for:
//! until then its number, and its group's, belong to nobody else.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use hostmark_say::say;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

use crate::ignored;

/// The leader of a group, or a child alone. When dropped, it is killed with its group, and waited for.
#[derive(Debug)]
pub struct GroupLeader {
    child: Child,
    /// Whether it leads a group of its own; else what is sent goes to it alone.
    is_leader: bool,
    /// How it ended, once it has been waited for: from then on nothing is sent.
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

    /// Whether the leader has ended. It is not waited for by that.
    pub fn has_ended(&self) -> io::Result<bool> {
        match self.ended {
            Some(_) => Ok(true),
            None => Ok(self.look()?),
        }
    }

    /// Whether the kernel says that it has ended; an error where it is no child any more, for whatever reason: then it has
    /// given up its number.
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
        let is_ignored = ignored::has(ignored::ignored(self.id()), Signal::INT.as_raw());
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

/// Nothing to read, and nobody who reads. The library opens the same, and its error does not say that this file is missing and
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

#[cfg(test)]
mod tests {
    use std::io::Read;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

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
}
