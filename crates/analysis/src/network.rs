//! Flows between hosts: what links can carry, what is measured each way, and the matrix of all hosts.

use std::collections::HashMap;

use hostmark_model::{CaseRecord, Estimate, FlagKind, HERE, Lang, NetworkPath, Peer, QueueingDiscipline, Run, Unit};

use crate::format::{in_scale, scale_for};

/// `83 Mbit/s`: links are sold by bits, and by round numbers of them.
pub fn bits(bits_per_s: u64) -> String {
    let scale = scale_for(bits_per_s as f64, Unit::BytesPerSecond);
    // The multiples are those of bytes a second.
    let unit = scale.suffix.say(Lang::En).replace("B/s", "bit/s");
    let shown = in_scale(bits_per_s as f64, scale);
    let shown = if shown.contains('.') { shown.trim_end_matches('0').trim_end_matches('.') } else { &shown };
    format!("{shown} {unit}")
}

/// `tbf 1 Gbit/s`.
pub fn queue_text(queue: &QueueingDiscipline) -> String {
    format!("{}{}", queue.kind, queue.bits_per_s.map(|rate| format!(" {}", bits(rate))).unwrap_or_default())
}

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

pub const TCP_BANDWIDTH: &str = "net.tcp_bandwidth";
/// MTU where neither end reports one, bytes.
const USUAL_MTU: u64 = 1500;

/// Direction of the bytes, as seen by the host that measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Send,
    Receive,
}

impl Direction {
    pub(crate) const BOTH: [Direction; 2] = [Direction::Send, Direction::Receive];

    /// The way that a case's bytes go; none of one in both directions at once.
    pub fn of(case: &CaseRecord) -> Option<Direction> {
        match case.params.get("direction") {
            None | Some("receive") => Some(Direction::Receive),
            Some("send") => Some(Direction::Send),
            _ => None,
        }
    }
}

/// Limit on the rate of a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapacityCause {
    Limit,
    /// The slower of both interfaces.
    Link,
}

/// Largest rate of a direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Capacity {
    pub cause: CapacityCause,
    /// The rate, with all that packets take, bits a second.
    pub bits_per_s: u64,
    /// Rate of a program's bytes, bytes a second.
    pub bytes_per_s: f64,
    /// A program's bytes in a packet.
    pub payload_bytes: u64,
    /// Bytes of that packet that count towards the rate.
    pub frame_bytes: u64,
    /// The interface that it lies in, where it is told.
    pub interface: Option<String>,
    /// True where that is the peer's.
    pub is_far: bool,
    /// The kind of queue; empty of a link.
    pub(crate) queue: String,
}

#[derive(Debug, Clone)]
pub struct LinkDirection<'a> {
    pub peer: &'a Peer,
    pub direction: Direction,
    /// Limits of TCP, as far as the facts tell: the smallest first.
    pub capacities: Vec<Capacity>,
    /// Fastest case that is not in doubt.
    pub(crate) fastest: Option<&'a CaseRecord>,
}

impl LinkDirection<'_> {
    pub fn capacity(&self) -> Option<&Capacity> {
        self.capacities.first()
    }
}

/// More than anybody's tournament has; a file may name any number.
const MOST_PEERS: usize = 63;

/// The peers that a report tells of.
pub fn peers(run: &Run) -> impl Iterator<Item = &Peer> {
    run.peers.iter().take(MOST_PEERS)
}

pub fn flows(run: &Run) -> Vec<LinkDirection<'_>> {
    let of = |peer, direction| LinkDirection {
        peer,
        direction,
        capacities: capacities(peer, direction, Protocol::Tcp),
        fastest: fastest(run, peer, direction),
    };
    peers(run).flat_map(|peer| Direction::BOTH.map(|direction| of(peer, direction))).collect()
}

pub fn cases_to<'a>(run: &'a Run, probe: &str, peer: &Peer) -> impl Iterator<Item = &'a CaseRecord> {
    run.cases.iter().filter(move |case| case.probe == probe && case.peer() == Some(&peer.name))
}

fn fastest<'a>(run: &'a Run, peer: &Peer, direction: Direction) -> Option<&'a CaseRecord> {
    let is_sound = |case: &&CaseRecord| {
        let doubts = [FlagKind::Implausible, FlagKind::UnderResolution];
        case.measured().is_some_and(|measured| {
            measured.estimate.value().is_finite() && !measured.flags.iter().any(|flag| doubts.contains(&flag.kind))
        })
    };
    let cases =
        cases_to(run, TCP_BANDWIDTH, peer).filter(|case| Direction::of(case) == Some(direction)).filter(is_sound);
    let rate = |case: &CaseRecord| case.measured().map_or(0.0, |measured| measured.estimate.value());
    // Of equals the first: that is the default case.
    cases.reduce(|best, case| if rate(case) > rate(best) { case } else { best })
}

/// Limits of a direction, as far as both ends tell, the smallest first.
pub fn capacities(peer: &Peer, direction: Direction, protocol: Protocol) -> Vec<Capacity> {
    let (here, there) = (peer.path.as_ref(), peer.path_back.as_ref());
    let (sender, is_far) = match direction {
        Direction::Send => (here, false),
        Direction::Receive => (there, true),
    };
    let paths = || [(here, false), (there, true)].into_iter().filter_map(|(path, is_far)| Some((path?, is_far)));
    let packet = |path: &NetworkPath| path.path_mtu_bytes.or(path.mtu_bytes);
    let mtu = paths().filter_map(|(path, _)| packet(path)).min().unwrap_or(USUAL_MTU);
    let address = peer.address.or_else(|| paths().find_map(|(path, _)| path.destination));
    let is_v6 = address.is_some_and(|address| address.is_ipv6());
    let capacity = |cause, bits_per_s, path: &NetworkPath, is_far| {
        let framing = if cause == CapacityCause::Limit { Framing::Queue } else { Framing::Wire };
        Some(Capacity {
            cause,
            bits_per_s,
            bytes_per_s: goodput(bits_per_s, mtu, is_v6, framing, protocol)?,
            payload_bytes: payload_bytes(mtu, is_v6, protocol)?,
            frame_bytes: framing.frame_bytes(mtu),
            interface: path.interface.clone(),
            is_far,
            queue: match (cause, &path.queue) {
                (CapacityCause::Limit, Some(queue)) => queue.kind.clone(),
                _ => String::new(),
            },
        })
    };
    let limit = sender.and_then(|path| capacity(CapacityCause::Limit, path.limit_bits_per_s()?, path, is_far));
    let slowest = paths().filter_map(|(path, is_far)| Some((path.link_bits_per_s()?, path, is_far)));
    let link = slowest
        .min_by_key(|(bits, ..)| *bits)
        .and_then(|(bits, path, is_far)| capacity(CapacityCause::Link, bits, path, is_far));
    let mut all: Vec<Capacity> = limit.into_iter().chain(link).collect();
    all.sort_by(|one, other| one.bytes_per_s.total_cmp(&other.bytes_per_s));
    all
}

/// The probe of a byte's round trip.
pub const ROUND_TRIP: &str = "net.round_trip";

/// A table of hosts by hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix<'a> {
    /// The hosts, the one that ordered the run first.
    pub hosts: Vec<&'a str>,
    /// A row for each of them; none where nothing was measured.
    pub rows: Vec<Vec<Option<&'a Estimate>>>,
}

/// Rates from a row's host to a column's, and round trips asked by the row's host. None for fewer than three hosts.
pub fn matrices(run: &Run) -> Option<[Matrix<'_>; 2]> {
    let here = Some(run.host.hostname.as_str()).filter(|name| !name.is_empty()).unwrap_or(HERE);
    let hosts: Vec<&str> = std::iter::once(here).chain(peers(run).map(|peer| peer.name.as_str())).collect();
    if hosts.len() < 3 {
        return None;
    }
    let mut places: HashMap<&str, usize> =
        (1..).zip(peers(run)).map(|(place, peer)| (peer.name.as_str(), place)).collect();
    places.insert(HERE, 0);
    let (mut rates, mut times) = (Cells::new(hosts.len()), Cells::new(hosts.len()));
    let own = run.cases.iter().filter_map(|case| Some((0, *places.get(case.peer()?)?, case)));
    let pairs = run.pairs.iter().filter_map(|pair| {
        let ends = (*places.get(pair.from.as_str())?, *places.get(pair.to.as_str())?);
        Some(pair.cases.iter().map(move |case| (ends.0, ends.1, case)))
    });
    for (asks, answers, case) in own.chain(pairs.flatten()) {
        match (case.probe.as_str(), Direction::of(case)) {
            (TCP_BANDWIDTH, Some(Direction::Send)) => rates.best(asks, answers, case),
            (TCP_BANDWIDTH, Some(Direction::Receive)) => rates.best(answers, asks, case),
            (ROUND_TRIP, _) if case.params.get("protocol") != Some("udp") => times.first(asks, answers, case),
            _ => {}
        }
    }
    Some([Matrix { hosts: hosts.clone(), rows: rates.0 }, Matrix { hosts, rows: times.0 }])
}

/// The cells of a table while it is filled.
struct Cells<'a>(Vec<Vec<Option<&'a Estimate>>>);

impl<'a> Cells<'a> {
    fn new(hosts: usize) -> Cells<'a> {
        Cells(vec![vec![None; hosts]; hosts])
    }

    fn best(&mut self, row: usize, column: usize, case: &'a CaseRecord) {
        self.put(row, column, case, |new, old| new.value() > old.value());
    }

    /// Keeps the first value: that of the default case.
    fn first(&mut self, row: usize, column: usize, case: &'a CaseRecord) {
        self.put(row, column, case, |_, _| false);
    }

    fn put(&mut self, row: usize, column: usize, case: &'a CaseRecord, wins: impl Fn(&Estimate, &Estimate) -> bool) {
        let cell = self.0.get_mut(row).and_then(|cells| cells.get_mut(column));
        if let (Some(cell), Some(measured)) = (cell, case.measured())
            && cell.is_none_or(|old| wins(&measured.estimate, old))
        {
            *cell = Some(&measured.estimate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_links_are_written_as_they_are_sold() {
        for (rate, shown) in [
            (1_000_000_000, "1 Gbit/s"),
            (2_500_000_000, "2.5 Gbit/s"),
            (83_000_000, "83 Mbit/s"),
            (100_000_000_000, "100 Gbit/s"),
            (56_000, "56 kbit/s"),
        ] {
            assert_eq!(bits(rate), shown);
        }
    }

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
