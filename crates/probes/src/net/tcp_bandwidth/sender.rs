//! The two ends of a stream: who sends without pause, by one of several methods, and who receives.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::str::FromStr;

use hostmark_engine::prelude::*;
use rustix::fd::OwnedFd;

use crate::door::{Door, gone};
use crate::workloads::busy::{self, Account};
use crate::workloads::socket::{self, Splicer, ZeroCopySender};

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

/// What a receiver asks for at once.
const BLOCK_BYTES: usize = 64 << 10;
/// The pipe's capacity that a splice asks for: what any user may have on most hosts.
const PIPE_BYTES: usize = 1 << 20;

/// Sends a message over and over to whoever is admitted, one client after the other, as long as it stays.
pub static SENDER: Service = Service { name: "tcp_sender", serve };

fn serve(serving: &mut Serving) -> Result<()> {
    let message = serving.buffer(serving.param("message")?, Pages::Base)?;
    let method: Method = serving.param("method")?;
    let is_one_of_several = serving.param::<String>("streams")? != "1";
    let sender = Sender::new(method, message.bytes())?;
    let door = Door::open(serving)?;
    if is_one_of_several {
        return Ok(door.serve(|stream| sender.send_for_ever(stream))?);
    }
    loop {
        // Over a first connection the client is told what the second one took.
        let (mut account, _) = door.admit()?;
        let (stream, _) = door.admit()?;
        let sent = Account::of(|| gone(sender.send_for_ever(stream)))?;
        gone(account.write_all(&sent.told()).call("sendto"))?;
    }
}

/// What the sender tells over the connection that is kept for this, when its client has had enough.
pub fn account(mut stream: TcpStream) -> io::Result<Account> {
    let mut told = [0; busy::TOLD_BYTES];
    stream.read_exact(&mut told).call("recvfrom")?;
    Ok(Account::heard(&told))
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
    fn send_for_ever(&self, mut stream: TcpStream) -> io::Result<()> {
        let message = self.message;
        match (self.method, &self.file, &self.splicer) {
            (Method::SendFile, Some(file), _) => loop {
                socket::send_file(&stream, file, message.len())?;
            },
            (Method::Splice, Some(file), Some(splicer)) => loop {
                splicer.send(&stream, file, message.len())?;
            },
            (Method::ZeroCopy, ..) => {
                let mut sender = ZeroCopySender::new(&stream)?;
                loop {
                    sender.send(message)?;
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
    /// The receiver of a stream on which a read ends in time.
    pub fn new(stream: TcpStream) -> io::Result<Receiver> {
        Ok(Receiver { stream, block: vec![1; BLOCK_BYTES] })
    }

    /// What decides how much is under way.
    pub fn congestion_control(&self) -> io::Result<String> {
        socket::congestion_control(&self.stream)
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
