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
    pub fn new(stream: R) -> RecordReader<R> {
        let (bytes, message) = ([0; 2 * (4 + LONGEST_MESSAGE)], [0; LONGEST_MESSAGE]);
        RecordReader { stream, bytes, begin: 0, end: 0, message }
    }

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
mod tests {
    use super::*;

    /// Bytes of 32-bit numbers in network order.
    fn bytes(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
    }

    /// A stream that gives a few bytes at a time.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(into.len());
            into[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn a_call_is_laid_out_as_the_rfc_says() {
        let call = null_call(0x0102_0304);
        let wanted = [
            1, 2, 3, 4, // xid
            0, 0, 0, 0, // CALL
            0, 0, 0, 2, // rpcvers
            0x20, 0, 0x68, 0x6d, // prog
            0, 0, 0, 1, // vers
            0, 0, 0, 0, // proc
            0, 0, 0, 0, 0, 0, 0, 0, // cred: AUTH_NONE, no bytes
            0, 0, 0, 0, 0, 0, 0, 0, // verf: AUTH_NONE, no bytes
        ];
        assert_eq!(call, wanted);
    }

    #[test]
    fn an_answer_is_laid_out_as_the_rfc_says_and_taken_by_its_client() {
        for id in [0, 1, 7, u32::MAX] {
            let answer = answer(&null_call(id)).unwrap();
            // xid, REPLY, MSG_ACCEPTED, verf: AUTH_NONE without bytes, SUCCESS.
            assert_eq!(answer.bytes(), bytes(&[id, 1, 0, 0, 0, 0]));
            assert_eq!(check_reply(answer.bytes(), id), Ok(()));
        }
    }

    #[test]
    fn a_server_says_why_it_does_not_do_a_call() {
        let call = |version, program, its_version, procedure| {
            bytes(&[9, 0, version, program, its_version, procedure, 0, 0, 0, 0])
        };
        let answered = |call: &[u8]| answer(call).unwrap().bytes().to_vec();
        let cases = [
            (call(3, PROGRAM, 1, 0), bytes(&[9, 1, 1, 0, 2, 2]), Malformed::Denied(0)),
            (call(2, PROGRAM + 1, 1, 0), bytes(&[9, 1, 0, 0, 0, 1]), Malformed::NotDone(1)),
            (call(2, PROGRAM, 2, 0), bytes(&[9, 1, 0, 0, 0, 2, 1, 1]), Malformed::NotDone(2)),
            (call(2, PROGRAM, 1, 5), bytes(&[9, 1, 0, 0, 0, 3]), Malformed::NotDone(3)),
        ];
        for (call, wanted, seen) in cases {
            assert_eq!(answered(&call), wanted);
            assert_eq!(check_reply(&wanted, 9), Err(seen));
        }
    }

    #[test]
    fn credentials_of_any_kind_are_passed_over() {
        let mut call = bytes(&[9, 0, 2, PROGRAM, 1, 0, 1, 5]);
        call.extend(*b"abcde\0\0\0");
        call.extend(bytes(&[0, 0]));
        assert_eq!(answer(&call).unwrap().bytes(), bytes(&[9, 1, 0, 0, 0, 0]));
        let verified = [bytes(&[9, 1, 0, 6, 4]), b"good".to_vec(), bytes(&[0])].concat();
        assert_eq!(check_reply(&verified, 9), Ok(()));
    }

    #[test]
    fn every_cut_of_a_message_is_noticed() {
        let (call, reply) = (null_call(1), answer(&null_call(1)).unwrap());
        for end in 0..call.len() {
            assert_eq!(answer(&call[..end]).map(|_| ()), Err(Malformed::Short), "{end}");
        }
        for end in 0..reply.bytes().len() {
            assert_eq!(check_reply(&reply.bytes()[..end], 1), Err(Malformed::Short), "{end}");
        }
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let refused = |numbers: &[u32]| check_reply(&bytes(numbers), 5).unwrap_err();
        assert_eq!(refused(&[6, 1, 0, 0, 0, 0]), Malformed::Transaction(6));
        assert_eq!(refused(&[5, 0, 0, 0, 0, 0]), Malformed::Direction(0));
        assert_eq!(refused(&[5, 1, 2, 0, 0, 0]), Malformed::Unknown(2));
        assert_eq!(refused(&[5, 1, 0, 0, 0, 0, 0]), Malformed::Long);
        assert_eq!(refused(&[5, 1, 0, 0, 404, 0]), Malformed::Credentials(404));
        assert_eq!(refused(&[5, 1, 0, 0, 400, 0]), Malformed::Short);
        assert_eq!(answer(&bytes(&[5, 1, 0, 0, 0, 0])).unwrap_err(), Malformed::Direction(1));
        let mut long = null_call(5).to_vec();
        long.push(0);
        assert_eq!(answer(&long).unwrap_err(), Malformed::Long);
    }

    #[test]
    fn records_are_marked_and_read_back_however_they_arrive_in_fragments_or_many_and_long() {
        let mut marked = Vec::new();
        write_record(&mut marked, &null_call(1)).unwrap();
        assert_eq!(marked[..4], [0x80, 0, 0, 40]);
        let calls = [1, 2].map(|id| null_call(id).to_vec());
        for messages in [calls.to_vec(), vec![vec![7; LONGEST_MESSAGE]; 5]] {
            let mut stream = Vec::new();
            messages.iter().for_each(|message| write_record(&mut stream, message).unwrap());
            for at_once in [1, 3, 44, 45, 88, 843, 1000, usize::MAX] {
                let mut reader = RecordReader::new(Trickle(&stream, at_once));
                messages.iter().for_each(|message| assert_eq!(reader.message().unwrap(), message));
                assert_eq!(reader.message().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
            }
        }
        let stream = [&[0, 0, 0, 2][..], b"ab", &[0, 0, 0, 0], &[0x80, 0, 0, 3], b"cde"].concat();
        assert_eq!(RecordReader::new(Trickle(&stream, 2)).message().unwrap(), b"abcde");
    }

    #[test]
    fn a_record_that_is_too_long_or_cut_is_an_error() {
        let kind = |stream: &[u8]| RecordReader::new(Trickle(stream, 9)).message().unwrap_err().kind();
        assert_eq!(kind(&[0xff, 0xff, 0xff, 0xff]), io::ErrorKind::InvalidData);
        assert_eq!(kind(&[0x80, 0, 0, 4, 1, 2, 3]), io::ErrorKind::UnexpectedEof);
        assert_eq!(kind(&[0x80, 0]), io::ErrorKind::UnexpectedEof);
        assert!(write_record(&mut Vec::new(), &[0; LONGEST_MESSAGE + 1]).is_err());
    }
}
