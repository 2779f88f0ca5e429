//! How a message is sent over and over: the axis, and who does it.

use std::io::{self, Write};
use std::net::TcpStream;
use std::str::FromStr;

use hostmark_engine::prelude::*;
use rustix::fd::OwnedFd;

use crate::workloads::network::socket::{self, Splicer, ZeroCopySender};

/// The axis of how a message is sent.
pub const AXIS: Axis = Axis::choice(
    "method",
    "write",
    Points::Listed { quick: &["write"], standard: &["sendfile", "splice", "zero_copy"], thorough: &[] },
);

/// How a message is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendMethod {
    /// send(2).
    Write,
    /// sendfile(2) from a file in memory.
    SendFile,
    /// splice(2) from a file in memory, by way of a pipe.
    Splice,
    /// send(2) with MSG_ZEROCOPY.
    ZeroCopy,
}

impl FromStr for SendMethod {
    type Err = Message;

    fn from_str(name: &str) -> std::result::Result<SendMethod, Message> {
        Ok(match name {
            "write" => SendMethod::Write,
            "sendfile" => SendMethod::SendFile,
            "splice" => SendMethod::Splice,
            "zero_copy" => SendMethod::ZeroCopy,
            _ => return Err(say!("there is no method '{name}'")),
        })
    }
}

/// The pipe's capacity that a splice asks for: what any user may have on most hosts.
const PIPE_BYTES: usize = 1 << 20;

/// The end that writes.
pub struct Sender<'a> {
    method: SendMethod,
    message: &'a [u8],
    file: Option<OwnedFd>,
    splicer: Option<Splicer>,
}

impl Sender<'_> {
    /// What sends `message` so.
    pub fn new(method: SendMethod, message: &[u8]) -> io::Result<Sender<'_>> {
        let file = match method {
            SendMethod::Write | SendMethod::ZeroCopy => None,
            SendMethod::SendFile | SendMethod::Splice => Some(socket::memory_file(message)?),
        };
        let splicer = if method == SendMethod::Splice { Some(Splicer::new(PIPE_BYTES)?) } else { None };
        Ok(Sender { method, message, file, splicer })
    }

    /// Sends without pause: only an error ends it, as that the other end is gone. `copied`: whether the kernel tells of
    /// MSG_ZEROCOPY that it copied after all.
    pub fn send_for_ever(&self, mut stream: &TcpStream, copied: &mut Option<bool>) -> io::Result<()> {
        let message = self.message;
        match (self.method, &self.file, &self.splicer) {
            (SendMethod::SendFile, Some(file), _) => loop {
                socket::send_file(stream, file, message.len())?;
            },
            (SendMethod::Splice, Some(file), Some(splicer)) => loop {
                splicer.send(stream, file, message.len())?;
            },
            (SendMethod::ZeroCopy, ..) => {
                let mut sender = ZeroCopySender::new(stream)?;
                loop {
                    let sent = sender.send(message);
                    *copied = sender.is_reported.then_some(sender.copied);
                    sent?;
                }
            }
            _ => loop {
                stream.write_all(message).call("sendto")?;
            },
        }
    }
}
