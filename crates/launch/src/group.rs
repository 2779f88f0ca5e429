//! A program that leads a process group of its own, which is signalled before the leader is waited for: until then the
//! group's number belongs to nobody else.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// The leader of a group. When dropped, its group is killed and it is waited for.
#[derive(Debug)]
pub struct Group {
    child: Child,
    /// How it ended, once it has been waited for: from then on nothing is sent.
    ended: Option<ExitStatus>,
}

impl Group {
    /// Starts the program as the leader of a new group.
    pub fn spawn(command: &mut Command) -> io::Result<Group> {
        Ok(Group { child: command.process_group(0).spawn()?, ended: None })
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
            None => Ok(waitid(WaitId::Pid(Pid::from_child(&self.child)), LOOK)?.is_some()),
        }
    }

    /// Sends a signal to the whole group, unless its leader has been waited for.
    pub fn signal(&self, signal: Signal) {
        let leader = Pid::from_child(&self.child);
        // A leader that is no child any more, for whatever reason, has given up its number.
        if self.ended.is_none() && leader != Pid::INIT && waitid(WaitId::Pid(leader), LOOK).is_ok() {
            // The only other answer is that the group is gone.
            let _ = kill_process_group(leader, signal);
        }
    }

    /// Kills whoever is left of the group, then waits for the leader: how that ended.
    pub fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.ended {
            return Ok(status);
        }
        self.signal(Signal::KILL);
        let status = self.child.wait()?;
        self.ended = Some(status);
        Ok(status)
    }
}

/// A look at a child that leaves it as it is.
const LOOK: WaitIdOptions = WaitIdOptions::EXITED.union(WaitIdOptions::NOHANG).union(WaitIdOptions::NOWAIT);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::Stdio;

    use super::*;

    /// A leader that has ended, and a member of its group that holds the other end of its output.
    fn leaderless() -> Group {
        let mut command = Command::new("sh");
        let group = Group::spawn(command.args(["-c", "sleep 100 &"]).stdout(Stdio::piped())).unwrap();
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
    fn nothing_is_sent_once_the_leader_has_been_waited_for() {
        let mut group = leaderless();
        // The member that is left keeps the group's number, as another group would that has it by now.
        group.ended = Some(group.child.wait().unwrap());
        let number = Pid::from_child(&group.child);
        group.signal(Signal::KILL);
        assert!(group.end().unwrap().success());
        rustix::process::test_kill_process_group(number).unwrap();
        kill_process_group(number, Signal::KILL).unwrap();
    }

    #[test]
    fn a_leader_that_another_has_waited_for_is_sent_nothing() {
        let group = leaderless();
        let number = Pid::from_child(&group.child);
        waitid(WaitId::Pid(number), WaitIdOptions::EXITED).unwrap();
        group.signal(Signal::KILL);
        rustix::process::test_kill_process_group(number).unwrap();
        kill_process_group(number, Signal::KILL).unwrap();
    }
}
