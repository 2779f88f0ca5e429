//! The end that reads a stream in the case's own thread.

use std::io::{self, Read};
use std::net::TcpStream;

use hostmark_engine::prelude::*;

use super::settle::{Pace, Settling};
use crate::workloads::socket;

/// Room for a read of so many bytes, one at least.
pub fn block_of(bytes: u64) -> Result<Vec<u8>> {
    Ok(vec![1; usize::try_from(bytes.max(1)).map_err(RoundError::skipped)?])
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
        Ok(Receiver { stream, block: block_of(block)? })
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
            left -= self.receive_some(left)?;
        }
        Ok(())
    }

    /// Reads until at least so many bytes have come, and tells how many did: the last read takes all that came with it, as where
    /// a link hands over many packets at once.
    #[inline]
    pub fn receive_at_least(&mut self, bytes: u64) -> io::Result<u64> {
        let mut got = 0;
        while got < bytes {
            got += self.receive_some(u64::MAX)?;
        }
        Ok(got)
    }

    /// Reads once, so many bytes at most.
    #[inline]
    fn receive_some(&mut self, bytes: u64) -> io::Result<u64> {
        let most = self.block.len().min(usize::try_from(bytes).unwrap_or(usize::MAX));
        match self.stream.read(&mut self.block[..most]).call("recvfrom")? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            got => Ok(got as u64),
        }
    }

    /// Reads until the stream has got to its rate: that rate, bytes a nanosecond, and how many bytes came.
    pub fn settle(&mut self, clock: &Clock, pace: Pace) -> io::Result<(f64, u64)> {
        let (mut settling, begun, mut all) = (Settling::new(), clock.start(), 0);
        loop {
            let (start, mut bytes, mut reads) = (clock.start(), 0, 0);
            let ns = loop {
                bytes += self.receive_some(u64::MAX)?;
                reads += 1;
                let ns = clock.ns(clock.end().since(start));
                if pace.is_window(ns, reads) {
                    break ns;
                }
            };
            all += bytes;
            let rate = bytes as f64 / ns;
            if settling.is_over(rate, clock.ns(clock.end().since(begun))) {
                return Ok((rate, all));
            }
        }
    }
}
