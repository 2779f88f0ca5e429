//! TCP connections as the kernel tells of them (TCP_INFO): what it sent again, how far the other end is, and what it waits for; and
//! what has come to a receiver of a stream so far, and when, by its own clock.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use rustix::fd::AsRawFd;

use crate::workloads::call::{Call, received, returned};
use crate::workloads::clock;
use crate::workloads::network::socket;

/// The state of a TCP connection at its sender. A field is none where the kernel is too old to tell it, or does not know it yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpInfo {
    /// Bytes of data that a packet takes to the other end at most.
    pub segment_bytes: Option<u64>,
    /// Segments that were sent again.
    pub retransmits: Option<u64>,
    /// Congestion window: bytes under way before an acknowledgement.
    pub window_bytes: Option<u64>,
    /// The round trip, smoothed, ns.
    pub rtt_ns: Option<u64>,
    /// The shortest one, ns.
    pub min_rtt_ns: Option<u64>,
    /// The rate at which it sends at most, bytes a second.
    pub pacing_rate: Option<u64>,
    /// The rate at which data last arrived, bytes a second.
    pub delivery_rate: Option<u64>,
    /// Time in which there was something to send, ns.
    pub busy_ns: Option<u64>,
    /// Time of that in which the receiver's window had no room, ns.
    pub receiver_limited_ns: Option<u64>,
    /// Time of that in which the send buffer was too small, ns.
    pub buffer_limited_ns: Option<u64>,
    pub segments_out: Option<u64>,
    /// Bytes of data that have come, whether somebody has read them or not.
    pub received_bytes: Option<u64>,
}

const NUMBERS: usize = 12;
/// Bytes of it as it is told to another process.
pub const TCP_INFO_BYTES: usize = NUMBERS * size_of::<u64>();
const ABSENT: u64 = u64::MAX;
/// Room for a struct tcp_info of linux/tcp.h, of which each kernel fills as much as it knows.
const ROOM: usize = 512;

impl TcpInfo {
    /// Reads the state of a connection now.
    pub fn of(stream: &TcpStream) -> io::Result<TcpInfo> {
        let mut wire = [0_u8; ROOM];
        let mut size = size_of_val(&wire) as libc::socklen_t;
        // SAFETY: the kernel writes at most `size` bytes to `wire`.
        let result = unsafe {
            let to = wire.as_mut_ptr().cast();
            libc::getsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, to, &raw mut size)
        };
        returned("getsockopt", result)?;
        Ok(TcpInfo::read(&wire[..ROOM.min(size as usize)]))
    }

    /// Parses a struct tcp_info, by the places that linux/tcp.h gives.
    fn read(wire: &[u8]) -> TcpInfo {
        let word = |at: usize| wire.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
        let long = |at: usize| wire.get(at..)?.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes));
        // All ones: not known, or without a bound.
        let known = |at| word(at).filter(|&number| number != u32::MAX).map(u64::from);
        let rate = |at| long(at).filter(|&rate| rate != 0 && rate != u64::MAX);
        let ns = |at| long(at).map(|us| us.saturating_mul(1000));
        let segment_bytes = known(16).filter(|&bytes| bytes > 0);
        TcpInfo {
            segment_bytes,
            retransmits: known(100),
            window_bytes: segment_bytes.zip(known(80)).map(|(bytes, segments)| bytes * segments),
            rtt_ns: known(68).filter(|&us| us > 0).map(|us| us * 1000),
            min_rtt_ns: known(148).filter(|&us| us > 0).map(|us| us * 1000),
            pacing_rate: rate(104),
            delivery_rate: rate(160),
            busy_ns: ns(168),
            receiver_limited_ns: ns(176),
            buffer_limited_ns: ns(184),
            segments_out: known(136),
            received_bytes: long(128),
        }
    }

    fn numbers(&self) -> [Option<u64>; NUMBERS] {
        [
            self.segment_bytes,
            self.retransmits,
            self.window_bytes,
            self.rtt_ns,
            self.min_rtt_ns,
            self.pacing_rate,
            self.delivery_rate,
            self.busy_ns,
            self.receiver_limited_ns,
            self.buffer_limited_ns,
            self.segments_out,
            self.received_bytes,
        ]
    }

    /// Converts to bytes for another process.
    pub fn to_bytes(self) -> [u8; TCP_INFO_BYTES] {
        let mut wire = [0; TCP_INFO_BYTES];
        let numbers = self.numbers().map(|number| number.unwrap_or(ABSENT));
        wire.as_chunks_mut().0.iter_mut().zip(numbers).for_each(|(place, number)| *place = number.to_le_bytes());
        wire
    }

    /// Parses the bytes of another process.
    pub fn from_bytes(wire: &[u8; TCP_INFO_BYTES]) -> TcpInfo {
        let mut numbers =
            wire.as_chunks().0.iter().map(|&bytes| Some(u64::from_le_bytes(bytes)).filter(|&number| number != ABSENT));
        let mut next = || numbers.next().flatten();
        TcpInfo {
            segment_bytes: next(),
            retransmits: next(),
            window_bytes: next(),
            rtt_ns: next(),
            min_rtt_ns: next(),
            pacing_rate: next(),
            delivery_rate: next(),
            busy_ns: next(),
            receiver_limited_ns: next(),
            buffer_limited_ns: next(),
            segments_out: next(),
            received_bytes: next(),
        }
    }
}

/// Bytes that had come by a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Bytes so far by the kernel's count, unread ones too: a receiver that waited for its CPU reads a full buffer faster than any wire.
    pub bytes: u64,
    /// Time of the receiver's clock, ns: of use beside its own readings alone.
    pub at_ns: u64,
}

const TALLY_BYTES: usize = 16;
/// A receiver looks no more often, and tells no more often: whoever reads it shares a CPU with one of the ends.
const EVERY_NS: u64 = 5_000_000;
/// Longest wait for a lost packet, ns, so that those behind it count: a queue of 50 ms may be out of order for half a second.
const LATEST_NS: u64 = 2_000_000_000;
/// A receiver that has never read all by then is slower than what comes.
const BEHIND_NS: u64 = 20_000_000;

impl Tally {
    /// The rate of what came since an earlier one, bytes a nanosecond; none where nothing has.
    pub fn rate_since(self, before: Tally) -> Option<f64> {
        let (bytes, ns) = (self.bytes.checked_sub(before.bytes)?, self.at_ns.checked_sub(before.at_ns)?);
        (bytes > 0 && ns > 0).then(|| bytes as f64 / ns as f64)
    }

    fn to_bytes(self) -> [u8; TALLY_BYTES] {
        let mut wire = [0; TALLY_BYTES];
        let (bytes, at_ns) = wire.split_at_mut(8);
        bytes.copy_from_slice(&self.bytes.to_le_bytes());
        at_ns.copy_from_slice(&self.at_ns.to_le_bytes());
        wire
    }

    /// Reads the receiver's next tally.
    pub fn receive_from(mut stream: &TcpStream) -> io::Result<Tally> {
        let (mut bytes, mut at_ns) = ([0; 8], [0; 8]);
        stream.read_exact(&mut bytes).call("recvfrom")?;
        stream.read_exact(&mut at_ns).call("recvfrom")?;
        Ok(Tally { bytes: u64::from_le_bytes(bytes), at_ns: u64::from_le_bytes(at_ns) })
    }
}

/// Reads a stream to its end, and gives `keep` from time to time what has come.
pub fn receive(
    mut stream: &TcpStream,
    block: &mut [u8],
    mut keep: impl FnMut(Tally) -> io::Result<()>,
) -> io::Result<()> {
    let (mut read, mut kept_ns) = (0, 0);
    loop {
        match received(|| stream.read(block))? {
            0 => return Ok(()),
            got => read += got as u64,
        }
        let at_ns = clock::monotonic_ns();
        if at_ns >= kept_ns + EVERY_NS && at_ns >= kept_ns + EVERY_NS + unsure_ns(stream)? {
            kept_ns = at_ns;
            keep(Tally { bytes: arrived(stream, read)?, at_ns })?;
        }
    }
}

/// Returns how long after it is due a count is put off while packets behind a lost one may be missing in it, ns.
pub fn unsure_ns(stream: &TcpStream) -> io::Result<u64> {
    Ok(match socket::is_in_order(stream)? {
        Some(true) => 0,
        Some(false) => LATEST_NS,
        None => BEHIND_NS,
    })
}

/// Bytes that have come over a stream, or those that were read where the kernel is too old to tell.
pub fn arrived(stream: &TcpStream, read: u64) -> io::Result<u64> {
    Ok(TcpInfo::of(stream)?.received_bytes.unwrap_or(read))
}

/// Reads a stream to its end, and tells its sender from time to time what has come.
pub fn receive_and_report(stream: &TcpStream, block: &mut [u8]) -> io::Result<()> {
    receive(stream, block, |tally| (&*stream).write_all(&tally.to_bytes()).call("sendto"))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::Shutdown;
    use std::time::Duration;

    use super::*;
    use crate::workloads::network::local;

    #[test]
    fn the_kernel_reports_a_connection() {
        let (_listener, mut near, mut far) = local::tcp_pair().unwrap();
        far.set_nodelay(true).unwrap();
        for _ in 0..100 {
            near.write_all(&[1; 1000]).unwrap();
            far.read_exact(&mut [0; 1000]).unwrap();
            far.write_all(b"x").unwrap();
            near.read_exact(&mut [0]).unwrap();
        }
        let info = TcpInfo::of(&near).unwrap();
        assert_eq!(info.retransmits, Some(0), "{info:?}");
        assert!(info.segments_out.is_some_and(|segments| (100..1000).contains(&segments)), "{info:?}");
        assert!(info.segment_bytes.is_some_and(|bytes| (500..=65_536).contains(&bytes)), "{info:?}");
        assert!(info.window_bytes >= info.segment_bytes, "{info:?}");
        assert!(info.rtt_ns.is_some_and(|ns| ns < 1_000_000_000), "{info:?}");
        assert!(info.receiver_limited_ns <= info.busy_ns && info.buffer_limited_ns <= info.busy_ns, "{info:?}");
        assert_eq!(info.received_bytes, Some(100), "{info:?}");
        assert_eq!(TcpInfo::from_bytes(&info.to_bytes()), info);
    }

    #[test]
    fn what_an_older_kernel_does_not_report_is_absent() {
        let all: Vec<u8> = (0..ROOM).map(|at| (at % 7) as u8 + 1).collect();
        assert!(TcpInfo::read(&all).numbers().iter().all(Option::is_some));
        // As far as Linux 4.2 had it, and as 4.9 had it.
        let old = TcpInfo::read(&all[..136]);
        assert!(old.retransmits.is_some() && old.pacing_rate.is_some() && old.segments_out.is_none(), "{old:?}");
        let newer = TcpInfo::read(&all[..168]);
        assert!(newer.delivery_rate.is_some() && newer.busy_ns.is_none(), "{newer:?}");
        assert_eq!(TcpInfo::read(&[]), TcpInfo::default());
        assert_eq!(TcpInfo::from_bytes(&old.to_bytes()), old);
        // A rate without a bound, and a round trip that nobody has seen yet.
        let unknown = TcpInfo::read(&[0xff; ROOM]);
        assert_eq!((unknown.pacing_rate, unknown.min_rtt_ns), (None, None));
    }

    #[test]
    fn a_sender_receives_what_its_receiver_has_got() {
        let (_listener, near, far) = local::tcp_pair().unwrap();
        far.set_nodelay(true).unwrap();
        near.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| receive_and_report(&far, &mut [0; 4096]).unwrap());
            // It ends with this, whatever fails here, and the receiver with it.
            let mut near = near;
            let mut last = Tally::default();
            for piece in 1..=20_u64 {
                near.write_all(&[1; 1000]).unwrap();
                let tally = Tally::receive_from(&near).unwrap();
                assert_eq!(tally.bytes, piece * 1000);
                assert!(tally.at_ns > last.at_ns + EVERY_NS);
                last = tally;
                // From when it was told, and not from when it was sent: a receiver may be late.
                std::thread::sleep(Duration::from_nanos(EVERY_NS + 1_000_000));
            }
            near.shutdown(Shutdown::Write).unwrap();
        });
    }

    #[test]
    fn a_rate_is_of_what_came_between_two_readings() {
        let [before, after] = [(1000, 50), (3000, 1050)].map(|(bytes, at_ns)| Tally { bytes, at_ns });
        assert_eq!(after.rate_since(before), Some(2.0));
        assert_eq!(after.rate_since(after), None);
        // A far end that counts backwards has no rate.
        assert_eq!(before.rate_since(after), None);
    }
}
