//! Each direction of a link: what holds it to a rate, and the fastest that was measured.

use hostmark_model::{CaseRecord, FlagKind, NetworkPath, Peer, Run};

use super::goodput::{Framing, Protocol, goodput, payload_bytes};

/// The probe of TCP's rate.
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

/// A direction of the link to a peer.
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

/// Both directions of the link to each peer.
pub fn flows(run: &Run) -> Vec<LinkDirection<'_>> {
    let of = |peer, direction| LinkDirection {
        peer,
        direction,
        capacities: capacities(peer, direction, Protocol::Tcp),
        fastest: fastest(run, peer, direction),
    };
    peers(run).flat_map(|peer| Direction::BOTH.map(|direction| of(peer, direction))).collect()
}

/// A run's cases of a probe to a peer.
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
