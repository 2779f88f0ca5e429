//! ONC RPC, version 2 (RFC 5531): calls of the null procedure, the answers to them, and records on a stream.
//!
//! Numbers are 32 bits in network byte order (XDR, RFC 4506). Credentials are those of AUTH_NONE.

use std::io::{self, Read, Write};

use hostmark_engine::prelude::{Call, Message, received, say};

/// A program's number, out of the range that anyone may use (0x20000000 to 0x3fffffff).
pub const PROGRAM: u32 = 0x2000_686d;
/// The program's only version.
pub const VERSION: u32 = 1;
/// The procedure that does nothing, which every program has.
pub const NULL_PROCEDURE: u32 = 0;
/// The longest message that is taken: a call or an answer without arguments, with the longest credentials.
pub const LONGEST_MESSAGE: usize = 40 + 2 * LONGEST_AUTH as usize;

const RPC_VERSION: u32 = 2;
const CALL: u32 = 0;
const REPLY: u32 = 1;
const ACCEPTED: u32 = 0;
const DENIED: u32 = 1;
const SUCCESS: u32 = 0;
const PROGRAM_UNAVAILABLE: u32 = 1;
const PROGRAM_MISMATCH: u32 = 2;
const PROCEDURE_UNAVAILABLE: u32 = 3;
const RPC_MISMATCH: u32 = 0;
const AUTH_NONE: u32 = 0;
/// Bytes of credentials at most.
const LONGEST_AUTH: u32 = 400;
/// The bit of a fragment's length that marks the last of a record.
const LAST_FRAGMENT: u32 = 1 << 31;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// Message that ends before all that it must have.
    Short,
    /// Message that goes on after its end.
    Long,
    /// An answer where a call is due, or the other way round.
    Direction(u32),
    /// The answer to another call.
    Transaction(u32),
    /// The server refuses the call, with its reason's number.
    Denied(u32),
    /// The server accepted the call and did not carry it out, with its reason's number.
    NotDone(u32),
    /// Credentials of more than 400 bytes.
    Credentials(u32),
    /// A number that stands for nothing in its place.
    Unknown(u32),
}

impl From<Malformed> for Message {
    fn from(malformed: Malformed) -> Message {
        match malformed {
            Malformed::Short => say!("an RPC message ends too early"),
            Malformed::Long => say!("an RPC message has more than it should"),
            Malformed::Direction(kind) => say!("an RPC message is of kind {kind}, which is not the one due"),
            Malformed::Transaction(id) => say!("an RPC reply is to another call, {id}"),
            Malformed::Denied(why) => say!("the RPC server denied the call, reason {why}"),
            Malformed::NotDone(why) => say!("the RPC server did not carry out the call, reason {why}"),
            Malformed::Credentials(bytes) => say!("RPC credentials have {bytes} bytes, more than 400"),
            Malformed::Unknown(number) => say!("an RPC message has {number} where it means nothing"),
        }
    }
}

impl From<Malformed> for io::Error {
    fn from(malformed: Malformed) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, Message::from(malformed))
    }
}

/// A call of the null procedure.
#[inline]
pub fn null_call(transaction: u32) -> [u8; 40] {
    let mut call = [0; 40];
    put(&mut call, [transaction, CALL, RPC_VERSION, PROGRAM, VERSION, NULL_PROCEDURE, AUTH_NONE, 0, AUTH_NONE, 0]);
    call
}

/// Checks that `message` is the server's answer that the null procedure of `transaction` is done.
#[inline]
pub fn check_reply(message: &[u8], transaction: u32) -> Result<(), Malformed> {
    let mut rest = UnreadBytes(message);
    match rest.number()? {
        id if id == transaction => {}
        id => return Err(Malformed::Transaction(id)),
    }
    match rest.number()? {
        REPLY => {}
        kind => return Err(Malformed::Direction(kind)),
    }
    match rest.number()? {
        ACCEPTED => {}
        DENIED => return Err(Malformed::Denied(rest.number()?)),
        status => return Err(Malformed::Unknown(status)),
    }
    rest.credentials()?;
    match rest.number()? {
        SUCCESS => rest.end(),
        why => Err(Malformed::NotDone(why)),
    }
}

/// A server's answer: its bytes, and how many of them count.
#[derive(Debug, Clone, Copy)]
pub struct RpcReply([u8; 32], usize);

impl RpcReply {
    fn new<const N: usize>(numbers: [u32; N]) -> RpcReply {
        let mut bytes = [0; 32];
        put(&mut bytes, numbers);
        RpcReply(bytes, 4 * N)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0[..self.1]
    }
}

/// Returns a server's answer to a call; an error where the message is no call and so has no answer.
#[inline]
pub fn answer(message: &[u8]) -> Result<RpcReply, Malformed> {
    let mut rest = UnreadBytes(message);
    let id = rest.number()?;
    match rest.number()? {
        CALL => {}
        kind => return Err(Malformed::Direction(kind)),
    }
    if rest.number()? != RPC_VERSION {
        return Ok(RpcReply::new([id, REPLY, DENIED, RPC_MISMATCH, RPC_VERSION, RPC_VERSION]));
    }
    let [program, version, procedure] = [rest.number()?, rest.number()?, rest.number()?];
    rest.credentials()?;
    rest.credentials()?;
    let accepted = [id, REPLY, ACCEPTED, AUTH_NONE, 0];
    let [a, b, c, d, e] = accepted;
    Ok(match (program, version, procedure) {
        (PROGRAM, VERSION, NULL_PROCEDURE) => {
            rest.end()?;
            RpcReply::new([a, b, c, d, e, SUCCESS])
        }
        (PROGRAM, VERSION, _) => RpcReply::new([a, b, c, d, e, PROCEDURE_UNAVAILABLE]),
        (PROGRAM, ..) => RpcReply::new([a, b, c, d, e, PROGRAM_MISMATCH, VERSION, VERSION]),
        _ => RpcReply::new([a, b, c, d, e, PROGRAM_UNAVAILABLE]),
    })
}

/// Writes a message as a record of one fragment, in one go.
#[inline]
pub fn write_record(stream: &mut impl Write, message: &[u8]) -> io::Result<()> {
    let mut record = [0; 4 + LONGEST_MESSAGE];
    let end = 4 + message.len();
    let body = record.get_mut(4..end).ok_or(Malformed::Long)?;
    body.copy_from_slice(message);
    record[..4].copy_from_slice(&(message.len() as u32 | LAST_FRAGMENT).to_be_bytes());
    stream.write_all(&record[..end]).call("sendto")
}

/// Reads records off a stream, as many bytes at once as there are.
#[derive(Debug)]
pub struct RecordReader<R> {
    stream: R,
    bytes: [u8; 2 * (4 + LONGEST_MESSAGE)],
    begin: usize,
    end: usize,
    message: [u8; LONGEST_MESSAGE],
}

impl<R: Read> RecordReader<R> {
    /// A reader that has read nothing.
    pub fn new(stream: R) -> RecordReader<R> {
        let (bytes, message) = ([0; 2 * (4 + LONGEST_MESSAGE)], [0; LONGEST_MESSAGE]);
        RecordReader { stream, bytes, begin: 0, end: 0, message }
    }

    /// The stream, to be written to.
    pub fn stream(&mut self) -> &mut R {
        &mut self.stream
    }

    /// The next message, all its fragments together.
    #[inline]
    pub fn message(&mut self) -> io::Result<&[u8]> {
        let mut length = 0;
        loop {
            self.need(4)?;
            let mark = UnreadBytes(&self.bytes[self.begin..self.end]).number()?;
            self.begin += 4;
            let fragment = (mark & !LAST_FRAGMENT) as usize;
            if length + fragment > LONGEST_MESSAGE {
                return Err(Malformed::Long.into());
            }
            self.need(fragment)?;
            let from = self.begin..self.begin + fragment;
            self.message[length..length + fragment].copy_from_slice(&self.bytes[from]);
            self.begin += fragment;
            length += fragment;
            if mark & LAST_FRAGMENT != 0 {
                return Ok(&self.message[..length]);
            }
        }
    }

    /// Reads until so many bytes are there.
    fn need(&mut self, bytes: usize) -> io::Result<()> {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        } else if self.begin + bytes > self.bytes.len() {
            self.bytes.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        while self.end - self.begin < bytes {
            match received(|| self.stream.read(&mut self.bytes[self.end..]))? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                more => self.end += more,
            }
        }
        Ok(())
    }
}

fn put<const N: usize>(bytes: &mut [u8], numbers: [u32; N]) {
    for (place, number) in bytes.chunks_exact_mut(4).zip(numbers) {
        place.copy_from_slice(&number.to_be_bytes());
    }
}

struct UnreadBytes<'a>(&'a [u8]);

impl UnreadBytes<'_> {
    #[inline]
    fn number(&mut self) -> Result<u32, Malformed> {
        let (number, rest) = self.0.split_first_chunk().ok_or(Malformed::Short)?;
        self.0 = rest;
        Ok(u32::from_be_bytes(*number))
    }

    /// Passes credentials of any kind: their number, their length, and so many bytes, filled up to a multiple of four.
    fn credentials(&mut self) -> Result<(), Malformed> {
        self.number()?;
        let bytes = self.number()?;
        if bytes > LONGEST_AUTH {
            return Err(Malformed::Credentials(bytes));
        }
        self.0 = self.0.get(bytes.next_multiple_of(4) as usize..).ok_or(Malformed::Short)?;
        Ok(())
    }

    fn end(&self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed::Long) }
    }
}

#[cfg(test)]
#[path = "rpc_tests.rs"]
mod tests;
