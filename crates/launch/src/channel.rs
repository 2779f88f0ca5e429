//! The channel between a server and who dials it: a stream of bytes in both directions, encrypted and authenticated from a token
//! that both have, by the Noise protocol (NNpsk0). Nothing here reads or writes a socket.
//!
//! All that passes is records: a length of two bytes, big-endian, and so many bytes. The server begins by a greeting with random
//! bytes, which are part of both ends' prologue. So a first message that was heard once is worth nothing in another connection.
//! Then come the two messages of the handshake, and then the stream: the first record of who dialled is empty and shows that the
//! handshake was no forwarded one. A later empty record ends a direction.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use hostmark_model::{Message, displays_its_message};
use hostmark_say::say;
use rustix::fs::OFlags;
use snow::{Builder, HandshakeState, TransportState};

use crate::program::hex;
use crate::transport_error::shown;

const TOKEN_BYTES: usize = 32;
/// Bytes of a token's file at most: its digits, and blanks around them.
const LONGEST_FILE: u64 = 256;
/// Permission bits of other users, which must be unset.
const OF_OTHERS: u32 = 0o077;

/// A token. It is never shown but by [`Token::hex`].
#[derive(Clone, PartialEq, Eq)]
pub struct Token([u8; TOKEN_BYTES]);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Reason why a file gives no token. A sentence that ends with what to do.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    Unread {
        file: String,
        error: io::Error,
    },
    /// Directory, pipe or device.
    NoFile {
        file: String,
    },
    /// File of another user, who could change it.
    OfAnother {
        file: String,
    },
    /// File that others may read or write.
    Open {
        file: String,
        mode: u32,
    },
    NoToken {
        file: String,
    },
}

impl From<&TokenError> for Message {
    fn from(error: &TokenError) -> Message {
        match error {
            TokenError::Unread { file, error } => {
                say!("the token file {file} cannot be read ({error}); name one that is there and yours")
            }
            TokenError::NoFile { file } => say!("the token file {file} is no regular file; write the token to one"),
            TokenError::OfAnother { file } => {
                say!("the token file {file} belongs to another user; use one of your own")
            }
            TokenError::Open { file, mode } => say!(
                "the token file {file} is open to others (mode {mode:03o}); run chmod 600 on it, and make a new token"
            ),
            TokenError::NoToken { file } => say!(
                "the token file {file} holds no token; write the 64 hexadecimal digits to it that hostmark serve prints"
            ),
        }
    }
}

displays_its_message!(TokenError);

impl Token {
    pub fn fresh() -> io::Result<Token> {
        random().map(Token)
    }

    /// These bytes.
    pub(crate) fn bytes(&self) -> &[u8; TOKEN_BYTES] {
        &self.0
    }

    /// Text of 64 hexadecimal digits.
    pub fn hex(&self) -> String {
        hex(&self.0)
    }

    /// The one of these digits, between blanks.
    pub fn of(text: &str) -> Option<Token> {
        let digits = text.trim().as_bytes();
        let mut bytes = [0; TOKEN_BYTES];
        if digits.len() != 2 * TOKEN_BYTES {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let digit = |digit: u8| char::from(digit).to_digit(16);
            *byte = u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()?;
        }
        Some(Token(bytes))
    }

    /// The one in this file, which nobody else may read or change.
    pub fn read(path: &Path) -> Result<Token, TokenError> {
        let file = shown(&path.to_string_lossy());
        let unread = |error| TokenError::Unread { file: file.clone(), error };
        // A pipe that nobody writes to must not be waited for.
        let flags = OFlags::NONBLOCK.union(OFlags::NOCTTY).bits();
        let opened = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path).map_err(unread)?;
        let about = opened.metadata().map_err(unread)?;
        if !about.is_file() {
            return Err(TokenError::NoFile { file });
        }
        let us = rustix::process::geteuid().as_raw();
        if about.uid() != us && about.uid() != 0 {
            return Err(TokenError::OfAnother { file });
        }
        // What root has prepared for a group that we are in is root's decision.
        let closed_to = if about.uid() == us { OF_OTHERS } else { 0o027 };
        if about.mode() & closed_to != 0 {
            return Err(TokenError::Open { file, mode: about.mode() & 0o777 });
        }
        let mut text = String::new();
        match opened.take(LONGEST_FILE).read_to_string(&mut text) {
            Err(error) if error.kind() != io::ErrorKind::InvalidData => Err(unread(error)),
            _ => Token::of(&text).ok_or(TokenError::NoToken { file }),
        }
    }
}

/// Random bytes from the kernel.
fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        match rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(more) => filled += more,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(bytes)
}

/// The version of the channel. Who greets by another one is not spoken to.
pub const CHANNEL: u8 = 1;
/// Bytes of a record at most: what its length can say.
pub const LONGEST_RECORD: usize = u16::MAX as usize;
/// Bytes that a record adds to what it carries: a tag.
const TAG: usize = 16;
/// Bytes that one record carries at most.
pub const MOST_CARRIED: usize = LONGEST_RECORD - TAG;
/// Bytes of each message of the handshake: a public key and a tag. No other length is one.
pub const HANDSHAKE_MESSAGE: usize = 32 + TAG;
/// Bytes of the empty record by which who dialled shows that it is there.
pub const CONFIRMATION: usize = TAG;

/// The protocol, by its name in the specification of Noise.
const PROTOCOL: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";
/// Beginning of a greeting; its version follows.
const MAGIC: &[u8] = b"hostmark\0";
/// Random bytes of a greeting.
const NONCE: usize = 32;
/// Bytes of a greeting of our version.
pub const GREETING: usize = MAGIC.len() + 1 + NONCE;

/// Reason why there is no channel, or why it can be used no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// A greeting that no server of ours gives.
    Strange,
    /// A greeting of another version.
    Version(u8),
    /// A message that was not made with this token, for this connection.
    Token,
    /// A record that was not made at the other end, or not now.
    Altered,
    /// The kernel gives no random bytes, or no key can be made.
    NoKey,
}

impl From<&ChannelError> for Message {
    fn from(error: &ChannelError) -> Message {
        match error {
            ChannelError::Strange => say!("it does not greet as hostmark serve does"),
            ChannelError::Version(value) => say!("it speaks version {value} of the channel"),
            ChannelError::Token => say!("the token is another one"),
            ChannelError::Altered => say!("a record was altered on the way"),
            ChannelError::NoKey => say!("no key can be made"),
        }
    }
}

displays_its_message!(ChannelError);

/// First message of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting(Vec<u8>);

impl Greeting {
    /// A new one, for one connection.
    pub fn fresh() -> Result<Greeting, ChannelError> {
        let nonce: [u8; NONCE] = random().map_err(|_| ChannelError::NoKey)?;
        Ok(Greeting([MAGIC, &[CHANNEL], &nonce].concat()))
    }

    pub fn of(record: &[u8]) -> Result<Greeting, ChannelError> {
        let rest = record.strip_prefix(MAGIC).ok_or(ChannelError::Strange)?;
        match rest.first() {
            Some(&CHANNEL) if record.len() == GREETING => Ok(Greeting(record.to_vec())),
            Some(&CHANNEL) | None => Err(ChannelError::Strange),
            Some(&other) => Err(ChannelError::Version(other)),
        }
    }

    /// Bytes as a record.
    pub fn record(&self) -> Vec<u8> {
        framed(&self.0)
    }
}

/// Bytes as a record.
fn framed(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    [&length.to_be_bytes(), &bytes[..usize::from(length)]].concat()
}

fn handshake(token: &Token, greeting: &Greeting, dials: bool) -> Result<HandshakeState, ChannelError> {
    let built = PROTOCOL.parse().and_then(|protocol| {
        let builder = Builder::new(protocol).psk(0, token.bytes())?.prologue(&greeting.0)?;
        if dials { builder.build_initiator() } else { builder.build_responder() }
    });
    built.map_err(|_| ChannelError::NoKey)
}

/// Client that dials, and has sent the first message.
pub struct Dialling(HandshakeState);

impl Dialling {
    /// The first message, as a record.
    pub fn begin(token: &Token, greeting: &Greeting) -> Result<(Dialling, Vec<u8>), ChannelError> {
        let mut state = handshake(token, greeting, true)?;
        let mut message = [0; HANDSHAKE_MESSAGE];
        let length = state.write_message(&[], &mut message).map_err(|_| ChannelError::NoKey)?;
        Ok((Dialling(state), framed(&message[..length])))
    }

    /// The channel, when this is the server's answer.
    pub fn answered(mut self, message: &[u8]) -> Result<Channel, ChannelError> {
        self.0.read_message(message, &mut [0; HANDSHAKE_MESSAGE]).map_err(|_| ChannelError::Token)?;
        self.0.into_transport_mode().map(Channel).map_err(|_| ChannelError::NoKey)
    }
}

/// Somebody who has the token, and has not been answered yet.
pub struct Admitted(HandshakeState);

impl Admitted {
    /// Looks at a first message. Its tag follows from the token, the greeting and the public key that it shows: no key is made and
    /// no point of the curve multiplied here, whoever knocks.
    pub fn of(token: &Token, greeting: &Greeting, message: &[u8]) -> Result<Admitted, ChannelError> {
        if message.len() != HANDSHAKE_MESSAGE {
            return Err(ChannelError::Token);
        }
        let mut state = handshake(token, greeting, false)?;
        state.read_message(message, &mut [0; HANDSHAKE_MESSAGE]).map_err(|_| ChannelError::Token)?;
        Ok(Admitted(state))
    }

    /// The channel, and the answer as a record: two multiplications.
    pub fn answer(mut self) -> Result<(Channel, Vec<u8>), ChannelError> {
        let mut message = [0; HANDSHAKE_MESSAGE];
        let length = self.0.write_message(&[], &mut message).map_err(|_| ChannelError::NoKey)?;
        let channel = self.0.into_transport_mode().map_err(|_| ChannelError::NoKey)?;
        Ok((Channel(channel), framed(&message[..length])))
    }
}

pub struct Channel(TransportState);

impl Channel {
    /// Appends the record that carries this, of [`MOST_CARRIED`] bytes at most.
    pub fn seal(&mut self, carried: &[u8], to: &mut Vec<u8>) -> Result<(), ChannelError> {
        let begin = to.len();
        to.resize(begin + 2 + carried.len() + TAG, 0);
        let sealed = self.0.write_message(carried, &mut to[begin + 2..]).map_err(|_| ChannelError::NoKey)?;
        let length = u16::try_from(sealed).map_err(|_| ChannelError::NoKey)?;
        to[begin..begin + 2].copy_from_slice(&length.to_be_bytes());
        to.truncate(begin + 2 + sealed);
        Ok(())
    }

    pub fn open(&mut self, record: &[u8]) -> Result<Vec<u8>, ChannelError> {
        let mut carried = vec![0; record.len()];
        let length = self.0.read_message(record, &mut carried).map_err(|_| ChannelError::Altered)?;
        carried.truncate(length);
        Ok(carried)
    }
}

/// Records out of the bytes that come.
#[derive(Debug)]
pub struct Records {
    bytes: Vec<u8>,
    most: usize,
}

impl Records {
    /// Records of so many bytes each at most.
    pub fn of_at_most(most: usize) -> Records {
        Records { bytes: Vec::new(), most }
    }

    /// Bytes that may be taken in now: never more than the record under way lacks, so that what follows it stays where it is.
    pub fn wants(&self) -> usize {
        match self.length() {
            Some(length) => (2 + length).saturating_sub(self.bytes.len()),
            None => 2 - self.bytes.len(),
        }
    }

    /// Takes in what came. A record that says that it is longer than any is refused before any of it is taken.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        self.bytes.extend_from_slice(bytes);
        match self.length() {
            Some(length) if length > self.most => Err(ChannelError::Altered),
            _ => Ok(()),
        }
    }

    /// A record that has come whole.
    pub fn whole(&mut self) -> Option<Vec<u8>> {
        let length = self.length()?;
        if self.bytes.len() < 2 + length {
            return None;
        }
        let record = self.bytes.drain(..2 + length).skip(2).collect();
        Some(record)
    }

    fn length(&self) -> Option<usize> {
        let length = self.bytes.first_chunk::<2>()?;
        Some(usize::from(u16::from_be_bytes(*length)))
    }
}

#[cfg(test)]
#[path = "channel_tests.rs"]
mod tests;
