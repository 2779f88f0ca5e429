//! Carries bytes between a channel and two pipes, in turns: nobody is waited for here, and no more is taken in than can be passed
//! on.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use hostmark_model::{Message, displays_its_message};
use hostmark_say::say;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::channel::{
    CHANNEL, Channel, ChannelError, Dialling, GREETING, Greeting, HANDSHAKE_MESSAGE, LONGEST_RECORD, MOST_CARRIED,
    Records, Token,
};
use crate::supervise::{left, now};
use crate::timing::timing;
use crate::transport_error::shown;

/// Bytes that may be written without a wait to a pipe that has room.
const LEAST_ROOM: usize = rustix::pipe::PIPE_BUF;
/// Parts that are carried in a turn at most: others wait for theirs.
const MOST_PARTS: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried {
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
    /// Data for the other end of the channel; none once it has ended.
    input: Option<File>,
    /// Output for the other end's data; none once either end wants no more.
    output: Option<File>,
    records: Records,
    /// Data received and not passed on yet.
    unwritten: Vec<u8>,
    /// Sealed, and not sent yet.
    unsent: Vec<u8>,
    /// True where our own direction was ended.
    has_said_end: bool,
    has_read_end: bool,
    carried: u64,
}

impl Relay {
    /// Relay of a non-blocking socket.
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

    /// Tells whether our input has ended, and all of it is sent.
    pub fn has_said_all(&self) -> bool {
        self.has_said_end && self.unsent.is_empty()
    }

    /// Tells whether the other end has ended its data, and all of it is passed on.
    pub fn has_read_all(&self) -> bool {
        self.has_read_end && self.unwritten.is_empty()
    }

    /// Tells whether nobody takes the received data.
    fn is_unread(&self) -> bool {
        self.output.is_none() && !self.has_read_end
    }

    /// Says that this is all of our direction, as an input that has ended.
    fn say_end(&mut self) -> Carried {
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

    /// Tells whether more may come from the socket. After the last word its end is waited for there, so that a lost end is noticed.
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

/// Tells whether a call that failed may be made again later.
pub(crate) fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

pub const DIAL: &str = "dial";
/// Addresses of a name that are tried at most.
const MOST_ADDRESSES: usize = 8;
/// Bytes of a greeting of whatever version at most.
const LONGEST_GREETING: usize = 1 << 10;

/// Reason why nothing is carried, or no more. A sentence that ends with what to do.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// Address where nobody listens, or a name without one.
    Unreached {
        address: String,
        error: io::Error,
    },
    /// Other end is no server of ours.
    Strange {
        address: String,
    },
    Version {
        address: String,
        theirs: u8,
    },
    Refused {
        address: String,
    },
    Silent {
        address: String,
    },
    /// The connection has ended in the middle.
    Lost {
        address: String,
    },
    /// Somebody on the way changes what passes.
    Altered {
        address: String,
    },
    Io {
        address: String,
        error: io::Error,
    },
}

impl From<&DialError> for Message {
    fn from(error: &DialError) -> Message {
        match error {
            DialError::Unreached { address, error } => {
                say!("nobody answers at {address} ({error}); start hostmark serve there, or correct the address")
            }
            DialError::Strange { address } => {
                say!("what answers at {address} is no hostmark serve; correct the address")
            }
            DialError::Version { address, theirs } => say!(
                "the hostmark serve at {address} speaks version {theirs} of the channel, this one {CHANNEL}; take the same version of both"
            ),
            DialError::Refused { address } => say!(
                "the hostmark serve at {address} refuses this token; give the file that holds the token of that server"
            ),
            DialError::Silent { address } => say!(
                "the server at {address} was silent for {dial} s; it may be overrun: try again later",
                dial = timing().dial.as_secs()
            ),
            DialError::Lost { address } => {
                say!("the connection to {address} broke off; look at that host and at the way there")
            }
            DialError::Altered { address } => {
                say!("what came from {address} was altered on the way; look at the way there")
            }
            DialError::Io { address, error } => {
                say!("the system refuses a connection to {address} ({error}); try again")
            }
        }
    }
}

displays_its_message!(DialError);

/// Dials a server at `HOST:PORT`, and carries `input` there and what comes from there to `output`, until the other end has said
/// its last.
pub fn dial(address: &str, token: &Token, input: File, output: File) -> Result<(), DialError> {
    let shown = shown(address);
    let (socket, channel) = connect(address, &shown).and_then(|socket| shake_hands(socket, token, &shown))?;
    carry(Relay::new(socket, channel, input, output), shown)
}

/// A connection to the first of the name's addresses that answers.
fn connect(address: &str, shown: &str) -> Result<TcpStream, DialError> {
    let unreached = |error| DialError::Unreached { address: shown.to_owned(), error };
    let until = now().checked_add(timing().dial);
    let mut last = io::Error::new(io::ErrorKind::NotFound, say!("the name has no address"));
    let addresses: Vec<SocketAddr> = address.to_socket_addrs().map_err(unreached)?.take(MOST_ADDRESSES).collect();
    for (tried, address) in addresses.iter().enumerate() {
        // One that does not answer leaves the others their time.
        let share = left(until).unwrap_or(timing().dial) / u32::try_from(addresses.len() - tried).unwrap_or(1);
        let at_most = share.max(Duration::from_millis(1));
        match TcpStream::connect_timeout(address, at_most) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(unreached(last))
}

/// The channel, when the server knows the token.
fn shake_hands(mut socket: TcpStream, token: &Token, shown: &str) -> Result<(TcpStream, Channel), DialError> {
    let address = || shown.to_owned();
    let io = |error| DialError::Io { address: address(), error };
    let until = now().checked_add(timing().dial);
    socket.set_nodelay(true).map_err(io)?;
    let greeting = match read_record(&mut socket, LONGEST_GREETING, until, shown) {
        Ok(Some(greeting)) => greeting,
        Ok(None) => return Err(DialError::Strange { address: address() }),
        Err(error) => return Err(error),
    };
    let greeting = Greeting::of(&greeting).map_err(|error| match error {
        ChannelError::Version(theirs) => DialError::Version { address: address(), theirs },
        _ => DialError::Strange { address: address() },
    })?;
    let refused = |_| DialError::Refused { address: address() };
    let (dialling, message) = Dialling::begin(token, &greeting).map_err(refused)?;
    // Who is refused hears no more than that.
    let answer = match socket.write_all(&message) {
        Ok(()) => read_record(&mut socket, HANDSHAKE_MESSAGE, until, shown)?,
        Err(_) => None,
    };
    let answer = answer.ok_or_else(|| DialError::Refused { address: address() })?;
    let mut channel = dialling.answered(&answer).map_err(refused)?;
    let mut confirmation = Vec::new();
    channel.seal(&[], &mut confirmation).map_err(refused)?;
    socket.write_all(&confirmation).map_err(io)?;
    socket.set_nonblocking(true).map_err(io)?;
    Ok((socket, channel))
}

/// The next record; none when the connection ends first, or what comes is no record of so many bytes at most.
fn read_record(
    socket: &mut TcpStream,
    most: usize,
    until: Option<Instant>,
    shown: &str,
) -> Result<Option<Vec<u8>>, DialError> {
    let mut records = Records::of_at_most(most);
    loop {
        let at_most = left(until).unwrap_or(timing().dial);
        if at_most.is_zero() {
            return Err(DialError::Silent { address: shown.to_owned() });
        }
        let waits = socket.set_read_timeout(Some(at_most));
        waits.map_err(|error| DialError::Io { address: shown.to_owned(), error })?;
        let mut part = vec![0; records.wants()];
        match socket.read(&mut part) {
            Ok(0) => return Ok(None),
            Ok(length) if records.take(&part[..length]).is_err() => return Ok(None),
            Ok(_) => {}
            Err(error) if is_later(&error) => {}
            Err(_) => return Ok(None),
        }
        if let Some(record) = records.whole() {
            return Ok(Some(record));
        }
    }
}

fn carry(mut relay: Relay, address: String) -> Result<(), DialError> {
    loop {
        match relay.turn() {
            // Who has heard all that there is, and who is heard by nobody any more, has done its part.
            _ if relay.has_read_all() || relay.is_unread() => return Ok(()),
            Carried::On => {}
            Carried::Lost => return Err(DialError::Lost { address }),
            Carried::Altered => return Err(DialError::Altered { address }),
        }
        let mut watched = Vec::with_capacity(3);
        relay.watch(&mut watched);
        match poll(&mut watched, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(DialError::Io { address, error: error.into() }),
        }
    }
}

/// Bytes of a greeting are few.
const _: () = assert!(GREETING <= LONGEST_GREETING);
