//! Carries bytes between a channel and two pipes, in turns: nobody is waited for here, and no more is taken in than can be passed
//! on.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::channel::{Channel, LONGEST_RECORD, MOST_CARRIED, Records};

/// Bytes that may be written without a wait to a pipe that has room.
const LEAST_ROOM: usize = rustix::pipe::PIPE_BUF;
/// Parts that are carried in a turn at most: others wait for theirs.
const MOST_PARTS: usize = 64;

/// What became of a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried {
    /// It goes on.
    On,
    /// The connection has ended, and nobody said that it would.
    Lost,
    /// A record came that was not made at the other end.
    Altered,
}

/// A connection, and the pipes whose bytes it carries.
pub struct Relay {
    socket: TcpStream,
    channel: Channel,
    /// What is carried to the other end of the channel; none once it has ended.
    input: Option<File>,
    /// Where what comes from there goes; none once either end wants no more.
    output: Option<File>,
    records: Records,
    /// What has come and is not passed on yet.
    unwritten: Vec<u8>,
    /// Sealed, and not sent yet.
    unsent: Vec<u8>,
    /// Whether our own direction was ended, and the other one.
    has_said_end: bool,
    has_read_end: bool,
    carried: u64,
}

impl Relay {
    /// Of a socket that does not wait.
    pub fn new(socket: TcpStream, channel: Channel, input: File, output: File) -> Relay {
        Relay {
            socket,
            channel,
            input: Some(input),
            output: Some(output),
            records: Records::of_at_most(LONGEST_RECORD),
            unwritten: Vec::new(),
            unsent: Vec::new(),
            has_said_end: false,
            has_read_end: false,
            carried: 0,
        }
    }

    /// Bytes that it has carried, both ways.
    pub fn bytes(&self) -> u64 {
        self.carried
    }

    /// Whether our input has ended, and all of it is sent.
    pub fn has_said_all(&self) -> bool {
        self.has_said_end && self.unsent.is_empty()
    }

    /// Whether the other end has said its last, and all of it is passed on.
    pub fn has_read_all(&self) -> bool {
        self.has_read_end && self.unwritten.is_empty()
    }

    /// Whether nobody takes what comes.
    pub fn is_unread(&self) -> bool {
        self.output.is_none() && !self.has_read_end
    }

    /// Says that this is all of our direction, as an input that has ended.
    pub fn say_end(&mut self) -> Carried {
        self.input = None;
        if !self.has_said_end {
            self.has_said_end = true;
            if self.channel.seal(&[], &mut self.unsent).is_err() {
                return Carried::Lost;
            }
        }
        Carried::On
    }

    /// Adds what is to be waited for until the next turn. What cannot be used now is not waited for: it would not let anybody sleep.
    pub fn watch<'a>(&'a self, watched: &mut Vec<PollFd<'a>>) {
        let mut socket = PollFlags::empty();
        socket.set(PollFlags::IN, self.wants_input());
        socket.set(PollFlags::OUT, !self.unsent.is_empty());
        if !socket.is_empty() {
            watched.push(PollFd::new(&self.socket, socket));
        }
        if let Some(input) = self.input.as_ref().filter(|_| self.unsent.is_empty()) {
            watched.push(PollFd::new(input, PollFlags::IN));
        }
        if let Some(output) = self.output.as_ref().filter(|_| !self.unwritten.is_empty()) {
            watched.push(PollFd::new(output, PollFlags::OUT));
        }
    }

    /// Whether more may come from the socket. After the last word its end is waited for there, so that a lost end is noticed.
    fn wants_input(&self) -> bool {
        self.unwritten.is_empty()
    }

    /// Carries what there is, and waits for nobody.
    pub fn turn(&mut self) -> Carried {
        for _ in 0..MOST_PARTS {
            let is_ready = |fd: PollFd| {
                let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
                matches!(poll(&mut [fd], Some(&at_once)), Ok(1))
            };
            let mut has_moved = false;
            if let Some(output) = &self.output
                && !self.unwritten.is_empty()
                && is_ready(PollFd::new(output, PollFlags::OUT))
            {
                self.pass_on();
                has_moved = true;
            }
            if let Some(input) = &self.input
                && self.unsent.is_empty()
                && is_ready(PollFd::new(input, PollFlags::IN))
            {
                if self.take_in() != Carried::On {
                    return Carried::Lost;
                }
                has_moved = true;
            }
            if !self.unsent.is_empty() {
                match self.socket.write(&self.unsent) {
                    Ok(sent) if sent > 0 => {
                        self.unsent.drain(..sent);
                        has_moved = true;
                    }
                    Err(error) if is_later(&error) => {}
                    Ok(_) | Err(_) => return Carried::Lost,
                }
            }
            if self.wants_input() {
                match self.read_socket() {
                    Ok(Some(true)) => has_moved = true,
                    Ok(Some(false)) => return Carried::Altered,
                    Ok(None) => {}
                    Err(()) => return Carried::Lost,
                }
            }
            if !has_moved {
                break;
            }
        }
        Carried::On
    }

    /// Passes a part on that has come. Who takes no more is told no more.
    fn pass_on(&mut self) {
        let part = self.unwritten.len().min(LEAST_ROOM);
        let Some(output) = &mut self.output else { return };
        match output.write(&self.unwritten[..part]) {
            Ok(written) => drop(self.unwritten.drain(..written)),
            Err(error) if is_later(&error) => {}
            Err(_) => {
                self.output = None;
                self.unwritten.clear();
            }
        }
        self.end_output();
    }

    fn end_output(&mut self) {
        if self.has_read_end && self.unwritten.is_empty() {
            self.output = None;
        }
    }

    /// Takes in a part of the input, and seals it.
    fn take_in(&mut self) -> Carried {
        let Some(input) = &mut self.input else { return Carried::On };
        let mut part = vec![0; MOST_CARRIED];
        match input.read(&mut part) {
            Ok(0) => self.say_end(),
            Ok(length) => {
                self.carried += length as u64;
                match self.channel.seal(&part[..length], &mut self.unsent) {
                    Ok(()) => Carried::On,
                    Err(_) => Carried::Lost,
                }
            }
            Err(error) if is_later(&error) => Carried::On,
            Err(_) => self.say_end(),
        }
    }

    /// Hears a part of a record: whether it is one of the other end's; none when nothing came. An error is the connection's end.
    fn read_socket(&mut self) -> Result<Option<bool>, ()> {
        let mut part = vec![0; self.records.wants()];
        let length = match self.socket.read(&mut part) {
            // After its last word it may go.
            Ok(0) if self.has_read_end && self.has_said_all() => return Ok(None),
            Ok(0) => return Err(()),
            Ok(length) => length,
            Err(error) if is_later(&error) => return Ok(None),
            Err(_) => return Err(()),
        };
        if self.has_read_end || self.records.take(&part[..length]).is_err() {
            return Ok(Some(false));
        }
        let Some(record) = self.records.whole() else { return Ok(Some(true)) };
        let Ok(carried) = self.channel.open(&record) else { return Ok(Some(false)) };
        self.carried += carried.len() as u64;
        self.has_read_end = carried.is_empty();
        if self.output.is_some() {
            self.unwritten = carried;
        }
        self.end_output();
        Ok(Some(true))
    }

    /// The connection, when nothing is to be carried any more.
    pub fn into_socket(self) -> TcpStream {
        self.socket
    }
}

/// Whether a call that failed may be made again later.
pub(crate) fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
