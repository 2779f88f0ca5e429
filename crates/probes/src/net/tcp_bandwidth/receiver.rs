//! The end that reads a stream in the case's own thread.

use std::io::{self, Read};
use std::net::TcpStream;

use hostmark_engine::prelude::*;

use super::settle::{LinkPace, Settling};
use crate::workloads::{network::socket, network::tally};

/// Room for a read of so many bytes, one at least.
pub fn block_of(bytes: u64) -> Result<Vec<u8>> {
    Ok(vec![1; usize::try_from(bytes.max(1))?])
}

/// The end that reads.
#[derive(Debug)]
pub struct Receiver {
    stream: TcpStream,
    block: Vec<u8>,
    /// Bytes that it has read.
    pub read: u64,
}

impl Receiver {
    /// The receiver of a stream on which a read ends in time, a block at a time.
    pub fn of(stream: TcpStream, block: u64) -> Result<Receiver> {
        Ok(Receiver { stream, block: block_of(block)?, read: 0 })
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

    /// Where its stream is now: bytes that have come, read or not, and when.
    pub fn place(&self, clock: &Clock) -> io::Result<(u64, Ticks)> {
        let at = clock.end();
        Ok((tally::arrived(&self.stream, self.read)?, at))
    }

    /// Reads on from a place for a sample's time, or until it has read `most` bytes: how many came in which time. Where a packet is
    /// missing by then, it is waited for: those behind it count when it has come.
    pub fn receive_for(
        &mut self,
        clock: &Clock,
        from: &mut (u64, Ticks),
        sample_ns: f64,
        most: u64,
    ) -> io::Result<(Ticks, u64)> {
        let (last, mut due_ns) = (self.read.saturating_add(most), f64::INFINITY);
        loop {
            self.receive_some(u64::MAX)?;
            let ns = clock.ns(clock.end().since(from.1));
            if ns >= sample_ns || self.read >= last {
                due_ns = ns.min(due_ns);
            }
            if ns >= due_ns && ns >= due_ns + tally::unsure_ns(&self.stream)? as f64 {
                break;
            }
        }
        let to = self.place(clock)?;
        let (came, begun) = std::mem::replace(from, to);
        Ok((to.1.since(begun), (to.0 - came).max(1)))
    }

    /// Reads once, so many bytes at most.
    #[inline]
    fn receive_some(&mut self, bytes: u64) -> io::Result<u64> {
        let most = self.block.len().min(usize::try_from(bytes).unwrap_or(usize::MAX));
        match received(|| self.stream.read(&mut self.block[..most]))? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            got => {
                self.read += got as u64;
                Ok(got as u64)
            }
        }
    }

    /// Reads until the stream has got to its rate, bytes a nanosecond.
    pub fn settle(&mut self, clock: &Clock, pace: LinkPace) -> io::Result<f64> {
        let (mut settling, begun) = (Settling::new(), clock.start());
        let (mut from, mut rate) = (self.place(clock)?, f64::INFINITY);
        loop {
            let (ticks, bytes) = self.receive_for(clock, &mut from, pace.window_ns(rate), u64::MAX)?;
            rate = bytes as f64 / clock.ns(ticks);
            if settling.is_over(rate, clock.ns(clock.end().since(begun))) {
                return Ok(rate);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::skip::skipped;
    use crate::workloads::network::local;
    use crate::workloads::network::tcp_info::TcpInfo;

    #[test]
    fn what_nobody_has_read_yet_counts_when_it_came() {
        let (_listener, near, mut far) = local::tcp_pair().unwrap();
        if TcpInfo::of(&near).unwrap().received_bytes.is_none() {
            return skipped("nobody tells what has arrived, as an emulator does not");
        }
        let clock = Clock::MonotonicRaw;
        let mut receiver = Receiver::of(near, 4096).map_err(|_| "no room").unwrap();
        let has = |receiver: &Receiver, bytes| while receiver.place(&clock).unwrap().0 < bytes {};
        far.write_all(&[1; 20_000]).unwrap();
        has(&receiver, 20_000);
        let mut place = receiver.place(&clock).unwrap();
        far.write_all(&[1; 5000]).unwrap();
        has(&receiver, 25_000);
        // By its own reads it would have got five times as much.
        let (_, came) = receiver.receive_for(&clock, &mut place, 1.0, u64::MAX).unwrap();
        assert_eq!((came, receiver.read, place.0), (5000, 25_000, 25_000));
    }
}
