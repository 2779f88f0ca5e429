//! The other end of a server: connects, shakes hands, and carries this process's standard input and output there.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use hostmark_model::{Message, displays_its_message};
use hostmark_say::say;
use rustix::event::poll;

use crate::channel::{CHANNEL, Channel, ChannelError, Dialling, GREETING, Greeting, HANDSHAKE_MESSAGE, Records};
use crate::relay::{Carried, Relay};
use crate::supervise::{left, now};
use crate::timing::timing;
use crate::token::Token;
use crate::transport_error::shown;

/// The word that starts it.
pub const DIAL: &str = "dial";
/// Addresses of a name that are tried at most.
const MOST_ADDRESSES: usize = 8;
/// Bytes of a greeting of whatever version at most.
const LONGEST_GREETING: usize = 1 << 10;

/// Why nothing is carried, or no more. A sentence that ends with what to do.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// Nobody listens there, or the name means no address.
    Unreached {
        address: String,
        /// Why.
        error: io::Error,
    },
    /// Who answers is no server of ours.
    Strange { address: String },
    /// It speaks otherwise.
    Version {
        address: String,
        /// Its version.
        theirs: u8,
    },
    /// It ended the handshake.
    Refused { address: String },
    /// It says nothing.
    Silent { address: String },
    /// The connection has ended in the middle.
    Lost { address: String },
    /// Somebody on the way changes what passes.
    Altered { address: String },
    /// The system refused.
    Io {
        address: String,
        /// What it said.
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
            Err(error) if crate::relay::is_later(&error) => {}
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
