//! The two ends of a stream: who sends without pause, by one of several methods, and who receives.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::str::FromStr;

use hostmark_engine::prelude::Call;

use crate::net::gone;
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

    fn from_str(name: &str) -> Result<Method, String> {
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

/// Sends `message` over and over to each client that connects, one after the other, as long as it stays. A process that
/// sends is of no use without a way to: an error ends it, and its client sees the end of the stream.
pub fn send_for_ever(listener: &TcpListener, method: Method, message: &[u8]) -> io::Result<()> {
    let file = match method {
        Method::Write | Method::ZeroCopy => None,
        Method::SendFile | Method::Splice => Some(socket::memory_file(message)?),
    };
    let splicer = if method == Method::Splice { Some(Splicer::new(PIPE_BYTES)?) } else { None };
    loop {
        let (mut stream, _) = listener.accept().call("accept4")?;
        let ended: io::Result<()> = (|| match (method, &file, &splicer) {
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
        })();
        gone(ended)?;
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
