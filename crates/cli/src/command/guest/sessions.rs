//! The guest's end of sessions: answers knocks, starts an agent when asked, carries what that is told and says, and tells its end.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use hostmark_engine::Wall;
use hostmark_launch::agent::AGENT;
use hostmark_launch::group::GroupLeader;
use hostmark_launch::guest_session::{self, BEGIN, ChannelPart, END, KNOCK, OVER, READY, Sieve};
use hostmark_launch::program::{OWN, command};
use hostmark_launch::timing::timing;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, FdFlags};
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with, tee};

use crate::world::SinceStart;

/// Bytes that are carried at once.
const PART: usize = 1 << 14;
/// Bytes that wait for an agent at most.
const MOST_WAITING: usize = 128 << 20;
/// Search path of programs in the guest.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const HOME: &str = "/root";

/// An agent, and the session that it serves.
struct Agent {
    nonce: String,
    group: GroupLeader,
    /// None once it is told no more.
    input: Option<File>,
    output: File,
    waiting: Vec<u8>,
    ending: Option<SinceStart>,
}

struct Server {
    channel: File,
    /// Directory of agents' files.
    files: &'static str,
    /// The filesystem that they run in, where that is another one.
    root: Option<PathBuf>,
    agent: Option<Agent>,
    sieve: Sieve,
    /// Output not sent yet; `standing` counts the bytes still in the agent's pipe.
    unsent: Vec<u8>,
    standing: usize,
    /// True where the agent's last output has no end of line.
    is_in_line: bool,
    /// Pipe through which the agent's pipe is copied.
    copy: (OwnedFd, OwnedFd),
}

pub fn serve(channel: File, files: &'static str, root: Option<PathBuf>) -> io::Result<()> {
    let copy = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    let (sieve, unsent) = (Sieve::default(), Vec::new());
    let mut server = Server { channel, files, root, agent: None, sieve, unsent, standing: 0, is_in_line: false, copy };
    loop {
        server.turn()?;
    }
}

impl Server {
    fn turn(&mut self) -> io::Result<()> {
        let [can_read, has_room, says, listens] = self.wait()?;
        if has_room {
            self.send()?;
        }
        if listens {
            self.write_channel();
        }
        if says {
            self.copy_out()?;
        }
        if can_read {
            self.read_channel()?;
        }
        let is_late =
            |agent: &Agent| agent.ending.as_ref().is_some_and(|since| since.elapsed() >= timing().guest_agent_end);
        if self.agent.as_ref().is_some_and(is_late) {
            self.end_agent();
        }
        Ok(())
    }

    /// Waits until something can be done: the channel has something, or room; the agent says something, or has room.
    fn wait(&self) -> io::Result<[bool; 4]> {
        let mut wanted = PollFlags::IN;
        wanted.set(PollFlags::OUT, self.is_sending());
        let mut watched = vec![PollFd::new(&self.channel, wanted)];
        let (mut says, mut listens) = (None, None);
        let mut at_most = None;
        if let Some(agent) = &self.agent {
            if !self.is_sending() {
                says = Some(watched.len());
                watched.push(PollFd::new(&agent.output, PollFlags::IN));
            }
            if let Some(input) = agent.input.as_ref().filter(|_| !agent.waiting.is_empty()) {
                listens = Some(watched.len());
                watched.push(PollFd::new(input, PollFlags::OUT));
            }
            at_most = agent.ending.as_ref().map(|since| timing().guest_agent_end.saturating_sub(since.elapsed()));
        }
        let time = at_most.and_then(|at_most| Timespec::try_from(at_most).ok());
        match poll(&mut watched, time.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok([false; 4]),
            Err(error) => return Err(error.into()),
        }
        let came = |index: Option<usize>| index.is_some_and(|index| !watched[index].revents().is_empty());
        let channel = watched[0].revents();
        let can_read = channel.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR);
        Ok([can_read, channel.contains(PollFlags::OUT), came(says), came(listens)])
    }

    /// Tells whether output has not left the guest yet.
    fn is_sending(&self) -> bool {
        !self.unsent.is_empty() || self.standing > 0
    }

    /// Sends a part. What an agent has said leaves its pipe only when nearly all of it has left the port (n_tty has room only
    /// then): an agent waits for that before it measures on.
    fn send(&mut self) -> io::Result<()> {
        if self.unsent.is_empty() {
            let mut taken = vec![0; self.standing];
            if let Some(agent) = &mut self.agent {
                agent.output.read_exact(&mut taken)?;
            }
            self.standing = 0;
            return Ok(());
        }
        match self.channel.write(&self.unsent) {
            Ok(sent) => drop(self.unsent.drain(..sent)),
            Err(error) if is_later(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Copies what the agent has said, which stays in its pipe for now; or tells its end.
    fn copy_out(&mut self) -> io::Result<()> {
        let Some(agent) = &mut self.agent else { return Ok(()) };
        let length = match tee(&agent.output, &self.copy.1, PART, SpliceFlags::NONBLOCK) {
            Ok(0) => {
                self.end_agent();
                return Ok(());
            }
            Ok(length) => length,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let mut part = vec![0; length];
        let mut read = 0;
        while read < length {
            read += rustix::io::read(&self.copy.0, &mut part[read..])?;
        }
        self.is_in_line = part.last() != Some(&b'\n');
        self.unsent.extend(part);
        self.standing = length;
        Ok(())
    }

    fn write_channel(&mut self) {
        let Some(agent) = &mut self.agent else { return };
        let Some(input) = &mut agent.input else { return };
        match input.write(&agent.waiting) {
            Ok(written) => drop(agent.waiting.drain(..written)),
            Err(error) if is_later(&error) => {}
            // One that reads no more says why by its end.
            Err(_) => agent.waiting.clear(),
        }
        agent.close_when_written();
    }

    fn read_channel(&mut self) -> io::Result<()> {
        let mut part = vec![0; PART];
        let length = match self.channel.read(&mut part) {
            Ok(length) => length,
            Err(error) if is_later(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        for piece in self.sieve.take(&part[..length]) {
            match piece {
                ChannelPart::Carried(bytes) => {
                    if let Some(agent) = self.agent.as_mut().filter(|agent| agent.ending.is_none()) {
                        agent.waiting.extend(bytes);
                        if agent.waiting.len() > MOST_WAITING {
                            self.end_agent();
                        }
                    }
                }
                ChannelPart::Word(word, nonce, _) => self.obey(&word, &nonce)?,
            }
        }
        Ok(())
    }

    fn obey(&mut self, word: &str, nonce: &str) -> io::Result<()> {
        let is_own = self.agent.as_ref().is_some_and(|agent| agent.nonce == nonce);
        match word {
            KNOCK if !is_own => {
                // Who asked for the agent before is gone.
                self.drop_agent();
                self.unsent.extend(guest_session::line(READY, nonce).into_bytes());
            }
            BEGIN if self.agent.is_none() => self.agent = Some(Agent::start(nonce, self.files, self.root.as_deref())?),
            END if is_own => {
                if let Some(agent) = &mut self.agent {
                    agent.ending.get_or_insert_with(SinceStart::now);
                    agent.close_when_written();
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends the agent with all that is left of its group, and tells how it ended.
    fn end_agent(&mut self) {
        let Some(mut agent) = self.agent.take() else { return };
        let how = agent.group.end().map_or_else(|error| error.to_string(), |status: ExitStatus| status.to_string());
        self.standing = 0;
        // One that was killed may have been in the middle of a line.
        let ended_line = if self.is_in_line { "\n" } else { "" };
        self.is_in_line = false;
        self.unsent.extend(format!("{ended_line}{OVER} {} {how}\n", agent.nonce).into_bytes());
    }

    /// The same, where nobody wants to know it.
    fn drop_agent(&mut self) {
        if let Some(mut agent) = self.agent.take() {
            let _ = agent.group.end();
            // The rest of a line of its would be before our word.
            self.unsent = if self.is_in_line { b"\n".to_vec() } else { Vec::new() };
            (self.standing, self.is_in_line) = (0, false);
        }
    }
}

impl Agent {
    fn start(nonce: &str, files: &str, root: Option<&Path>) -> io::Result<Agent> {
        let mut command = command(Path::new(OWN));
        if let Some(root) = root {
            command.arg(super::WITHIN).arg(root);
        }
        command.arg(AGENT).env_clear().envs([("PATH", PATH), ("HOME", HOME), ("TMPDIR", files)]);
        // What it complains of is seen on the console.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut group = GroupLeader::spawn(&mut command)?;
        let (Some(input), Some(output)) = (group.streams().stdin.take(), group.streams().stdout.take()) else {
            return Err(io::Error::other("an agent has no streams"));
        };
        let (input, output) = (File::from(OwnedFd::from(input)), File::from(OwnedFd::from(output)));
        // Only our end of a pipe is concerned.
        for end in [input.as_fd(), output.as_fd()] {
            rustix::io::ioctl_fionbio(end, true)?;
            rustix::io::fcntl_setfd(end, FdFlags::CLOEXEC)?;
        }
        let waiting = Vec::new();
        Ok(Agent { nonce: nonce.to_owned(), group, input: Some(input), output, waiting, ending: None })
    }

    fn close_when_written(&mut self) {
        if self.ending.is_some() && self.waiting.is_empty() {
            self.input = None;
        }
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
