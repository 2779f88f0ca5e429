//! What carries requests and their answers; neither ever waits.

use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};

use hostmark_engine::prelude::*;

use crate::authenticated;

/// A way to a server and back.
pub trait Carrier: Sized {
    /// Whether a request may be lost.
    const IS_LOSSY: bool;

    /// The way to a far end, for so many requests at once.
    fn to(far: &FarEnd, outstanding: usize) -> Result<Self>;

    /// Sends a request.
    fn send(&mut self, number: u64) -> io::Result<()>;

    /// The next answer: the low bits of its number; none where there is none yet.
    fn receive(&mut self) -> io::Result<Option<u64>>;

    /// The bits of a number that come back.
    fn bits(&self) -> u64;
}

/// A connection: a byte each, and answers in the order of the requests.
pub struct StreamCarrier(TcpStream);

impl Carrier for StreamCarrier {
    const IS_LOSSY: bool = false;

    fn to(far: &FarEnd, _: usize) -> Result<StreamCarrier> {
        let stream = authenticated::connect(far)?;
        stream.set_nonblocking(true).call("ioctl")?;
        Ok(StreamCarrier(stream))
    }

    #[inline]
    fn send(&mut self, number: u64) -> io::Result<()> {
        self.0.write_all(&[number as u8]).call("sendto")
    }

    #[inline]
    fn receive(&mut self) -> io::Result<Option<u64>> {
        let mut back = [0];
        match ready(self.0.read(&mut back))? {
            Some(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            got => Ok(got.map(|_| back[0].into())),
        }
    }

    fn bits(&self) -> u64 {
        0xff
    }
}

/// Datagrams: a byte each, and the whole number where several are under way.
pub struct Datagrams {
    socket: UdpSocket,
    far: FarEnd,
    bytes: usize,
}

impl Carrier for Datagrams {
    const IS_LOSSY: bool = true;

    fn to(far: &FarEnd, outstanding: usize) -> Result<Datagrams> {
        let socket = authenticated::correspond(far)?;
        socket.set_nonblocking(true).call("ioctl")?;
        Ok(Datagrams { socket, far: far.clone(), bytes: if outstanding == 1 { 1 } else { 8 } })
    }

    #[inline]
    fn send(&mut self, number: u64) -> io::Result<()> {
        self.socket.send(&number.to_le_bytes()[..self.bytes]).call("sendto").map(drop)
    }

    #[inline]
    fn receive(&mut self) -> io::Result<Option<u64>> {
        let mut back = [0; 32];
        match ready(self.socket.recv(&mut back))? {
            Some(bytes) if bytes == self.bytes => {
                back[bytes..].fill(0);
                Ok(back.first_chunk().map(|&number| u64::from_le_bytes(number)))
            }
            Some(bytes) if !authenticated::is_second_answer(&self.far, &back[..bytes]) => {
                Err(super::super::wrong_answer())
            }
            _ => Ok(None),
        }
    }

    fn bits(&self) -> u64 {
        if self.bytes == 1 { 0xff } else { u64::MAX }
    }
}

/// What a call that never waits returned; none where it would have had to.
#[inline]
fn ready(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        result => result.call("recvfrom").map(Some),
    }
}
