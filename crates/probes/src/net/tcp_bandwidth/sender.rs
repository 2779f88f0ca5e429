//! The two ends of a stream: who sends without pause, by one of several methods, and who receives.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::str::FromStr;

use hostmark_engine::prelude::*;
use rustix::fd::OwnedFd;

use super::congestion::Congestion;
use super::window::Window;
use crate::door::{self, Door, gone};
use crate::workloads::busy::{self, Account};
use crate::workloads::socket::{self, NAME_BYTES, Splicer, ZeroCopySender, name_of};

/// The axis of how a message is sent.
pub const METHOD: Axis = Axis::choice(
    "method",
    "write",
    Points::Listed { quick: &["write"], standard: &["sendfile", "splice", "zero_copy"], thorough: &[] },
);

/// How a message is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// send(2).
    Write,
    /// sendfile(2) from a file in memory.
    SendFile,
    /// splice(2) from a file in memory, by way of a pipe.
    Splice,
    /// send(2) with MSG_ZEROCOPY.
    ZeroCopy,
}

impl FromStr for Method {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Method, String> {
        Ok(match name {
            "write" => Method::Write,
            "sendfile" => Method::SendFile,
            "splice" => Method::Splice,
            "zero_copy" => Method::ZeroCopy,
            _ => return Err(format!("there is no method '{name}'")),
        })
    }
}

/// The pipe's capacity that a splice asks for: what any user may have on most hosts.
const PIPE_BYTES: usize = 1 << 20;

/// Sends a message over and over to whoever is admitted, one client after the other, as long as it stays.
pub static SENDER: Service = Service { name: "tcp_sender", serve };

fn serve(serving: &mut Serving) -> Result<()> {
    let message = serving.buffer(serving.param("message")?, Pages::Base)?;
    let method: Method = serving.param("method")?;
    let window: Window = serving.param("window")?;
    let is_one_of_several = serving.param::<String>("streams")? != "1";
    let sender = Sender::new(method, message.bytes())?;
    let congestion: Congestion = serving.param("congestion")?;
    let door = Door::open_with(serving, |listener| {
        if let Some(bytes) = window.bytes() {
            socket::set_send_buffer(listener, bytes)?;
        }
        congestion.set(listener)
    })?;
    if is_one_of_several {
        return Ok(door.serve(|stream| {
            begin(&stream)?;
            sender.send_for_ever(&stream, &mut None)
        })?);
    }
    loop {
        // Over a first connection the client is told what the second one took.
        let (mut account, _) = door.admit()?;
        let (stream, _) = door.admit()?;
        if gone(begin(&stream)).is_err() {
            continue;
        }
        let mut copied = None;
        let sent = Account::of(|| gone(sender.send_for_ever(&stream, &mut copied)))?;
        let told = Sent { account: sent, send_buffer: socket::send_buffer(&stream)?, copied };
        gone(account.write_all(&told.told()).call("sendto"))?;
    }
}

/// Before the data stands how the sender sends: the size of its buffer, and the name of its congestion control.
const BEGIN_BYTES: usize = 8 + NAME_BYTES;

fn begin(mut stream: &TcpStream) -> io::Result<()> {
    let mut told = [0; BEGIN_BYTES];
    let (send_buffer, name) = told.split_at_mut(8);
    send_buffer.copy_from_slice(&socket::send_buffer(stream)?.to_le_bytes());
    let congestion = socket::congestion_control(stream)?;
    name.iter_mut().zip(congestion.bytes()).for_each(|(place, byte)| *place = byte);
    stream.write_all(&told).call("sendto")?;
    // As in any bulk transfer: what a message leaves of a packet goes with the next one.
    stream.set_nodelay(false).call("setsockopt")
}

/// What the sender tells when its client has had enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sent {
    /// What sending took.
    pub account: Account,
    /// What its send buffer had room for at the end, bytes.
    pub send_buffer: u64,
    /// Whether the kernel told of MSG_ZEROCOPY that it copied after all; none where it told nothing.
    pub copied: Option<bool>,
}

const SENT_BYTES: usize = busy::TOLD_BYTES + 9;

impl Sent {
    fn told(&self) -> [u8; SENT_BYTES] {
        let mut told = [0; SENT_BYTES];
        let (account, rest) = told.split_at_mut(busy::TOLD_BYTES);
        account.copy_from_slice(&self.account.told());
        rest[..8].copy_from_slice(&self.send_buffer.to_le_bytes());
        rest[8] = self.copied.map_or(2, u8::from);
        told
    }

    /// Notes how it was sent.
    pub fn note(&self, case: &mut Case) {
        case.note("send_buffer_bytes", self.send_buffer);
        if let Some(copied) = self.copied {
            case.note("zero_copy", if copied { "copied" } else { "not copied" });
        }
    }

    /// What it tells over the connection that is kept for this.
    pub fn heard(mut stream: TcpStream) -> io::Result<Sent> {
        let (mut account, mut send_buffer, mut copied) = ([0; busy::TOLD_BYTES], [0; 8], [0]);
        for part in [&mut account[..], &mut send_buffer, &mut copied] {
            stream.read_exact(part).call("recvfrom")?;
        }
        let copied = (copied[0] < 2).then_some(copied[0] == 1);
        Ok(Sent { account: Account::heard(&account), send_buffer: u64::from_le_bytes(send_buffer), copied })
    }
}

/// The end that writes.
struct Sender<'a> {
    method: Method,
    message: &'a [u8],
    file: Option<OwnedFd>,
    splicer: Option<Splicer>,
}

impl Sender<'_> {
    fn new(method: Method, message: &[u8]) -> io::Result<Sender<'_>> {
        let file = match method {
            Method::Write | Method::ZeroCopy => None,
            Method::SendFile | Method::Splice => Some(socket::memory_file(message)?),
        };
        let splicer = if method == Method::Splice { Some(Splicer::new(PIPE_BYTES)?) } else { None };
        Ok(Sender { method, message, file, splicer })
    }

    /// Sends without pause: only an error ends it, as that the client is gone.
    fn send_for_ever(&self, mut stream: &TcpStream, copied: &mut Option<bool>) -> io::Result<()> {
        let message = self.message;
        match (self.method, &self.file, &self.splicer) {
            (Method::SendFile, Some(file), _) => loop {
                socket::send_file(stream, file, message.len())?;
            },
            (Method::Splice, Some(file), Some(splicer)) => loop {
                splicer.send(stream, file, message.len())?;
            },
            (Method::ZeroCopy, ..) => {
                let mut sender = ZeroCopySender::new(stream)?;
                loop {
                    let sent = sender.send(message);
                    *copied = sender.is_told.then_some(sender.copied);
                    sent?;
                }
            }
            _ => loop {
                stream.write_all(message).call("sendto")?;
            },
        }
    }
}

/// The end that reads.
#[derive(Debug)]
pub struct Receiver {
    stream: TcpStream,
    block: Vec<u8>,
}

impl Receiver {
    /// The receiver of a stream on which a read ends in time, a block at a time.
    pub fn of(stream: TcpStream, block: u64) -> Result<Receiver> {
        Ok(Receiver { stream, block: vec![1; usize::try_from(block.max(1)).map_err(Stop::skipped)?] })
    }

    /// The receiver of a new stream of `far`, a tcp_sender, and the congestion control that this one tells; Skipped where another window gives the same buffers.
    pub fn connect(far: &FarEnd, window: Window, block: u64) -> Result<(Receiver, String)> {
        let mut stream = door::connect_with(far, window.bytes())?;
        let (mut send_buffer, mut congestion) = ([0; 8], [0; NAME_BYTES]);
        for part in [&mut send_buffer[..], &mut congestion] {
            stream.read_exact(part).call("recvfrom").map_err(door::unanswered)?;
        }
        window.check(u64::from_le_bytes(send_buffer), socket::receive_buffer(&stream)?)?;
        Ok((Receiver::of(stream, block)?, name_of(&congestion)))
    }

    /// What its buffer has room for now, bytes.
    pub fn receive_buffer(&self) -> io::Result<u64> {
        socket::receive_buffer(&self.stream)
    }

    /// Reads so many bytes, a block at a time at most.
    #[inline]
    pub fn receive(&mut self, bytes: u64) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            let most = self.block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            match self.stream.read(&mut self.block[..most]).call("recvfrom")? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                got => left -= got as u64,
            }
        }
        Ok(())
    }
}
