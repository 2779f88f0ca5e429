//! What an agent is told: lines of a bounded length, each of which is a request or ends the session.

use std::io;
use std::time::Duration;

use anyhow::Result;
use hostmark_engine::Wall;
use hostmark_launch::agent::parse_request;
use hostmark_model::{AgentRequest, LONGEST_AGENT_LINE};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::language::{refuse, refused};
use crate::wall::SinceStart;

/// Bytes that are read at once.
const PART: usize = 1 << 16;

/// Bytes in all at most: those of the longest journal, and acknowledgements for a week.
const MOST_BYTES: u64 = 512 << 20;

/// What comes next.
#[derive(Debug, PartialEq)]
pub enum Next {
    /// A request.
    Request(AgentRequest),
    /// Nothing in the time given.
    Silence,
    /// Nothing any more.
    End,
}

/// Requests from one end of a link, which nothing else reads.
pub struct Inbox {
    from: OwnedFd,
    unread: Vec<u8>,
    /// How much of it holds no end of a line.
    searched: usize,
    /// Bytes that have come in all.
    taken: u64,
    /// Bytes of a line at most.
    longest: usize,
}

impl Inbox {
    /// Of this process.
    pub fn of_standard_input() -> io::Result<Inbox> {
        Ok(Inbox::of(rustix::io::dup(io::stdin())?))
    }

    /// Of a file.
    pub fn of(from: OwnedFd) -> Inbox {
        Inbox { from, unread: Vec::new(), searched: 0, taken: 0, longest: LONGEST_AGENT_LINE }
    }

    /// The same, of lines of so many bytes at most.
    pub fn of_lines_up_to(self, longest: usize) -> Inbox {
        Inbox { longest, ..self }
    }

    /// The next request, waited for no longer than this.
    pub fn next(&mut self, at_most: Duration) -> Result<Next> {
        let begin = SinceStart::now();
        loop {
            if let Some(request) = self.whole_line()? {
                return Ok(Next::Request(request));
            }
            match self.read(Some(at_most.saturating_sub(begin.elapsed())))? {
                None if begin.elapsed() >= at_most => return Ok(Next::Silence),
                Some(0) => return Ok(Next::End),
                _ => {}
            }
        }
    }

    /// A request that has come whole.
    pub fn whole_line(&mut self) -> Result<Option<AgentRequest>> {
        let Some(end) = self.unread[self.searched..].iter().position(|&byte| byte == b'\n') else {
            self.searched = self.unread.len();
            if self.searched > self.longest {
                refuse!("a line has no end; start anew");
            }
            return Ok(None);
        };
        let line: Vec<u8> = self.unread.drain(..=self.searched + end).collect();
        self.searched = 0;
        let line = String::from_utf8_lossy(&line[..line.len() - 1]);
        parse_request(&line).map(Some).map_err(|why| refused!("a line is no request ({why}); start anew"))
    }

    /// Takes in what there is, waited for no longer than this: how many bytes, none where nothing came.
    pub fn read(&mut self, at_most: Option<Duration>) -> io::Result<Option<usize>> {
        let at_most = at_most.and_then(|time| Timespec::try_from(time).ok());
        match poll(&mut [PollFd::new(&self.from, PollFlags::IN)], at_most.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut part = [0; PART];
        match rustix::io::read(&self.from, &mut part) {
            Ok(length) => {
                self.taken += length as u64;
                if self.taken > MOST_BYTES {
                    return Err(io::Error::other("more came than a run has"));
                }
                self.unread.extend_from_slice(&part[..length]);
                Ok(Some(length))
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Inbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }
}
