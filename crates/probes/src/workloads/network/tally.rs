//! What has come to a receiver of a stream so far, and when, by its own clock: as it keeps it, and as it tells its sender.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use crate::workloads::call::{Call, received};
use crate::workloads::network::tcp_info::TcpInfo;
use crate::workloads::{clock, network::socket};

/// Bytes that had come by a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Bytes so far, as the kernel counts them, also those that nobody has read yet: a receiver that had to wait for its CPU finds a
    /// full buffer, and reads it faster than any wire.
    pub bytes: u64,
    /// By the receiver's clock, ns: of use beside its own readings alone.
    pub at_ns: u64,
}

const WIRE_BYTES: usize = 16;
/// A receiver looks no more often, and tells no more often: whoever reads it shares a CPU with one of the ends.
const EVERY_NS: u64 = 5_000_000;
/// What came behind a lost packet is counted when that comes too, unless it takes so long: after a slow start that went too far, a
/// queue of 50 ms is out of order for over half a second.
const LATEST_NS: u64 = 2_000_000_000;
/// A receiver that has never read all by then is slower than what comes.
const BEHIND_NS: u64 = 20_000_000;

impl Tally {
    /// The rate of what came since an earlier one, bytes a nanosecond; none where nothing has.
    pub fn rate_since(self, before: Tally) -> Option<f64> {
        let (bytes, ns) = (self.bytes.checked_sub(before.bytes)?, self.at_ns.checked_sub(before.at_ns)?);
        (bytes > 0 && ns > 0).then(|| bytes as f64 / ns as f64)
    }

    fn to_bytes(self) -> [u8; WIRE_BYTES] {
        let mut wire = [0; WIRE_BYTES];
        let (bytes, at_ns) = wire.split_at_mut(8);
        bytes.copy_from_slice(&self.bytes.to_le_bytes());
        at_ns.copy_from_slice(&self.at_ns.to_le_bytes());
        wire
    }

    /// What the receiver tells next.
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

/// How long after it is due a count is put off while packets behind a lost one may be missing in it, ns.
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
    use std::net::Shutdown;
    use std::time::Duration;

    use super::*;
    use crate::workloads::network::local;

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
