//! Goodput of a link of a known speed: the rate of a program's own bytes.

/// Size of a packet by the limit that counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// A wire of Ethernet (IEEE 802.3): each packet takes its header, a preamble, a check sequence and a gap.
    Wire,
    /// A queue of the kernel (tbf, htb, cake): it sees the packet with its header alone.
    Queue,
}

impl Framing {
    /// Bytes that a packet takes beyond itself.
    const fn overhead_bytes(self) -> u64 {
        /// Two addresses and a type.
        const HEADER: u64 = 14;
        /// Bytes before the frame, with the delimiter that begins it.
        const PREAMBLE: u64 = 8;
        const CHECK_SEQUENCE: u64 = 4;
        /// The least time between two frames, as bytes.
        const GAP: u64 = 12;
        match self {
            Framing::Wire => HEADER + PREAMBLE + CHECK_SEQUENCE + GAP,
            Framing::Queue => HEADER,
        }
    }

    /// Bytes of a packet of `mtu` bytes that count towards the rate.
    pub fn frame_bytes(self, mtu: u64) -> u64 {
        mtu.min(LARGEST_PACKET) + self.overhead_bytes()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Segments with a timestamp each (RFC 7323), as Linux sends them.
    Tcp,
    Udp,
}

/// The length of a packet is a number of 16 bits.
const LARGEST_PACKET: u64 = 65_535;
const IPV4_HEADER: u64 = 20;
const IPV6_HEADER: u64 = 40;
const TCP_HEADER: u64 = 20;
/// RFC 7323: 10 bytes, and 2 that bring them to a multiple of four.
const TIMESTAMPS: u64 = 12;
const UDP_HEADER: u64 = 8;

/// A program's bytes in the largest packet; none where it has no room for any.
pub fn payload_bytes(mtu: u64, is_v6: bool, protocol: Protocol) -> Option<u64> {
    let network = if is_v6 { IPV6_HEADER } else { IPV4_HEADER };
    let transport = match protocol {
        Protocol::Tcp => TCP_HEADER + TIMESTAMPS,
        Protocol::Udp => UDP_HEADER,
    };
    mtu.min(LARGEST_PACKET).checked_sub(network + transport).filter(|payload| *payload > 0)
}

/// Goodput of `bits_per_s` in packets of `mtu` bytes, bytes a second; none where nothing fits.
pub fn goodput(bits_per_s: u64, mtu: u64, is_v6: bool, framing: Framing, protocol: Protocol) -> Option<f64> {
    let payload = payload_bytes(mtu, is_v6, protocol)? as f64;
    Some(bits_per_s as f64 / 8.0 * payload / framing.frame_bytes(mtu) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIGABIT: u64 = 1_000_000_000;

    /// Megabytes a second of TCP.
    fn tcp(bits_per_s: u64, mtu: u64, is_v6: bool, framing: Framing) -> f64 {
        goodput(bits_per_s, mtu, is_v6, framing, Protocol::Tcp).unwrap() / 1e6
    }

    #[test]
    fn a_gigabit_of_ethernet_carries_what_everybody_measures() {
        let close = |computed: f64, known: f64| assert!((computed - known).abs() < 0.005, "{computed} for {known}");
        // 1448 and 1428 of 1538; 8948 and 8928 of 9038.
        close(tcp(GIGABIT, 1500, false, Framing::Wire), 117.685);
        close(tcp(GIGABIT, 1500, true, Framing::Wire), 116.060);
        close(tcp(GIGABIT, 9000, false, Framing::Wire), 123.755);
        close(tcp(GIGABIT, 9000, true, Framing::Wire), 123.479);
        // The same in a queue: 1448 of 1514, 8948 of 9014.
        close(tcp(GIGABIT, 1500, false, Framing::Queue), 119.551);
        close(tcp(GIGABIT, 9000, false, Framing::Queue), 124.085);
        close(tcp(83_000_000, 1500, false, Framing::Queue), 9.923);
    }

    #[test]
    fn no_packet_is_longer_than_its_length_can_say() {
        assert_eq!(payload_bytes(65_536, false, Protocol::Tcp), Some(65_483));
        assert_eq!(payload_bytes(u64::MAX, false, Protocol::Tcp), payload_bytes(65_535, false, Protocol::Tcp));
        assert_eq!(Framing::Queue.frame_bytes(u64::MAX), 65_549);
        assert_eq!(Framing::Wire.frame_bytes(1500), 1538);
    }

    #[test]
    fn a_datagrams_bytes_are_those_without_its_headers() {
        assert_eq!(payload_bytes(1500, false, Protocol::Udp), Some(1472));
        assert_eq!(payload_bytes(1500, true, Protocol::Udp), Some(1452));
    }

    #[test]
    fn a_packet_without_room_carries_nothing() {
        for mtu in [0, 28, 52] {
            assert_eq!(goodput(GIGABIT, mtu, false, Framing::Wire, Protocol::Tcp), None, "{mtu}");
        }
        assert!(goodput(u64::MAX, 1500, false, Framing::Wire, Protocol::Tcp).is_some_and(f64::is_finite));
    }
}
