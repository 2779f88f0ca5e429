//! Limits of the link to another host, from the facts of both ends and the measurements between them.

use hostmark_model::{CaseRecord, Message, NetworkPath, Peer, Run, Text};
use hostmark_say::say;

use super::evidence::{Proven, lost};
use super::short_name;
use super::{Conclusion, DISTURBED, Demonstration, Doubt, NOTHING, QUOTA_OF_ONE, Rule, WRONG, YIELDS};
use crate::format::{bytes_text, number, percent, rate_text, time_text};
use crate::network::{
    Capacity, CapacityCause, Direction, LinkDirection, Protocol, bits, cases_to, flows, payload_bytes, peers,
};
use crate::texts::findings::network as texts;
use crate::words;

/// The probe that all but one of these rules read.
const TCP: &str = "net.tcp_bandwidth";
/// A rate within this share of what is possible is all that is possible.
const CLOSE: f64 = 0.05;

/// `TCP to db-18`, `TCP from db-18`.
fn way(flow: &LinkDirection) -> Text<String> {
    let name = &flow.peer.name;
    match flow.direction {
        Direction::Send => words(say!("TCP to {name}")),
        Direction::Receive => words(say!("TCP from {name}")),
    }
}

/// The same with room for figures beside it in a line.
fn way_in_short(flow: &LinkDirection) -> Text<String> {
    let peer = short_name(&flow.peer.name);
    match flow.direction {
        Direction::Send => words(say!("TCP to {peer}")),
        Direction::Receive => words(say!("TCP from {peer}")),
    }
}

/// `eth0`, `eth0 of db-18`.
fn place(flow: &LinkDirection, capacity: &Capacity) -> Text<String> {
    let interface = capacity.interface.as_deref().unwrap_or("?");
    match capacity.is_far {
        false => words(say!("{interface}")),
        true => words(say!("{interface} of {name}", name = flow.peer.name)),
    }
}

/// Proven rate of the fastest case.
fn proven(flow: &LinkDirection) -> Option<Proven> {
    Proven::of_case(flow.fastest?)
}

/// A further quantity of the fastest case.
fn also(flow: &LinkDirection, name: &str) -> Option<Proven> {
    Proven::also(flow.fastest?, name)
}

/// Tells whether a rate is proven to be all that is possible.
fn reaches(rate: Proven, possible: f64) -> bool {
    rate.low >= possible * (1.0 - CLOSE)
}

/// Tells whether it is proven to be less.
fn falls_short(rate: Proven, possible: f64) -> bool {
    rate.high < possible * (1.0 - CLOSE)
}

fn fastest_case(flow: &LinkDirection) -> Vec<String> {
    flow.fastest.iter().map(|case| case.id.clone()).collect()
}

pub(super) static RATE_LIMIT: Rule = Rule {
    id: "net.rate_limit",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[TCP],
    cure: Some(texts::rate_limit::CURE),
    doubt: Doubt { spoiled_by: WRONG, rivals: &[] },
    draw: |run| flows(run).iter().filter_map(rate_limit).collect(),
};

/// Tells whether a direction is as fast as its queue allows: more would prove that the limit is elsewhere.
pub(super) fn holds_limit(flow: &LinkDirection) -> bool {
    let limit =
        flow.capacity().filter(|capacity| capacity.cause == CapacityCause::Limit).map(|limit| limit.bytes_per_s);
    let is_there = |limit, rate| reaches(rate, limit) && rate.high <= limit * (1.0 + CLOSE);
    limit.zip(proven(flow)).is_some_and(|(limit, rate)| is_there(limit, rate))
}

fn rate_limit(flow: &LinkDirection) -> Option<Conclusion> {
    let limit = flow.capacity().filter(|_| holds_limit(flow))?;
    let (way, place, measured) = (way(flow), place(flow, limit), rate_text(proven(flow)?.value));
    let (kind, of, possible) = (&limit.queue, bits(limit.bits_per_s), rate_text(limit.bytes_per_s));
    let (payload, frame) = (limit.payload_bytes, limit.frame_bytes);
    let text = texts::rate_limit::text!(way, measured, of, place, kind, payload, frame, possible);
    let (way, interface) = (way_in_short(flow), limit.interface.as_deref().unwrap_or("?"));
    let short = texts::rate_limit::short!(way, measured, of, interface);
    // What it costs depends on the link behind it.
    let link = flow.capacities.iter().find(|capacity| capacity.cause == CapacityCause::Link);
    let cost = link.map_or(0.0, |link| 1.0 - limit.bytes_per_s / link.bytes_per_s);
    Some(Conclusion { short, text, cases: fastest_case(flow), cost })
}

pub(super) static CPU: Rule = Rule {
    id: "net.link_cpu",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[TCP],
    cure: Some(texts::cpu::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw: |run| flows(run).iter().filter_map(busy_cpu).collect(),
};

/// CPUs that an end of one stream keeps busy, from which there is no time left.
const BUSY_CPUS: f64 = 0.9;
/// Packets of this length or less are many for the CPU.
const SMALL_MTU: u64 = 1500;

fn busy_cpu(flow: &LinkDirection) -> Option<Conclusion> {
    let measured = proven(flow)?;
    let streams: f64 = flow.fastest?.params.get("streams").and_then(|streams| streams.parse().ok()).unwrap_or(1.0);
    // Where nobody knows what the link can carry, a CPU that is busy throughout is the limit all the same.
    if flow.capacity().is_some_and(|capacity| !falls_short(measured, capacity.bytes_per_s)) {
        return None;
    }
    let ends = [("sender_cpus", term!("sending")), ("receiver_cpus", term!("receiving"))];
    let busy = ends.into_iter().filter_map(|(name, doing)| Some((also(flow, name)?, doing)));
    let (cpus, doing) = busy
        .filter(|(cpus, ..)| cpus.low >= BUSY_CPUS * streams.max(1.0))
        .max_by(|one, other| one.0.value.total_cmp(&other.0.value))?;
    let (way, achieved, cpus) = (way(flow), rate_text(measured.value), number(cpus.value));
    let of = flow.capacity().map(|capacity| (rate_text(capacity.bytes_per_s), bits(capacity.bits_per_s)));
    let of = of.map(|(possible, speed)| words(say!(" of the {possible} that {speed} can carry"))).unwrap_or_default();
    let why = why_costly(flow);
    let text = texts::cpu::text!(way, achieved, of, doing, cpus, why);
    let way = way_in_short(flow);
    let of = match flow.capacity().map(|capacity| rate_text(capacity.bytes_per_s)) {
        Some(possible) => words(say!(" of {possible}")),
        None => Default::default(),
    };
    let short = texts::cpu::short!(way, achieved, of, doing, cpus);
    let cost = flow.capacity().map_or(0.0, |capacity| 1.0 - measured.value / capacity.bytes_per_s);
    Some(Conclusion { short, text, cases: fastest_case(flow), cost })
}

/// Reasons why each byte is expensive, as far as the facts tell.
fn why_costly(flow: &LinkDirection) -> Text<String> {
    let mut why = Vec::new();
    let (sender, receiver): (Option<&NetworkPath>, Option<&NetworkPath>) = match flow.direction {
        Direction::Send => (flow.peer.path.as_ref(), flow.peer.path_back.as_ref()),
        Direction::Receive => (flow.peer.path_back.as_ref(), flow.peer.path.as_ref()),
    };
    if let Some(mtu) = sender.and_then(|path| path.path_mtu_bytes).filter(|mtu| *mtu <= SMALL_MTU) {
        why.push(say!(" Packets have {mtu} bytes."));
    }
    if sender.is_some_and(|path| path.offloads.tso == Some(false)) {
        why.push(say!(" The sender's TSO is off."));
    }
    if receiver.is_some_and(|path| path.offloads.gro == Some(false)) {
        why.push(say!(" The receiver's GRO is off."));
    }
    words(Message::joined(why, ""))
}

pub(super) static WINDOW: Rule = Rule {
    id: "net.link_window",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[TCP],
    cure: Some(texts::window::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw: |run| flows(run).iter().filter_map(window).collect(),
};

/// Least share of the sender's time that makes a window the limit.
const MOST_OF_THE_TIME: f64 = 0.5;

fn window(flow: &LinkDirection) -> Option<Conclusion> {
    let measured = proven(flow)?;
    // A sender in front of a full link waits too: the link is what it waits for.
    if flow.capacity().is_some_and(|capacity| !falls_short(measured, capacity.bytes_per_s)) {
        return None;
    }
    let ends = [
        ("receiver_limited", term!("the receiver's window"), term!("receive window")),
        ("buffer_limited", term!("its own send buffer"), term!("send buffer")),
    ];
    let limits = ends.into_iter().filter_map(|(name, limit, in_short)| Some((also(flow, name)?, limit, in_short)));
    let (share, limit, in_short) = limits
        .filter(|(share, ..)| share.low >= MOST_OF_THE_TIME)
        .max_by(|one, other| one.0.low.total_cmp(&other.0.low))?;
    let (way, achieved, of_time) = (way(flow), rate_text(measured.value), percent(share.value.min(1.0)));
    let text = texts::window::text!(way, achieved, limit, of_time);
    let way = way_in_short(flow);
    let short = texts::window::short!(way, achieved, limit = in_short, of_time);
    Some(Conclusion { short, text, cases: fastest_case(flow), cost: share.low.min(1.0) })
}

pub(super) static LOSS: Rule = Rule {
    id: "net.link_loss",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[TCP],
    cure: Some(texts::loss::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw: |run| flows(run).iter().filter_map(loss).collect(),
};

/// One segment in a thousand halves what cubic makes of a long way.
const MUCH_LOSS: f64 = 1e-3;
/// A packet where nobody tells of its size.
const USUAL_MTU: u64 = 1500;

fn loss(flow: &LinkDirection) -> Option<Conclusion> {
    // A limit tells TCP its rate by dropping: that is no fault.
    if holds_limit(flow) {
        return None;
    }
    let again = also(flow, "retransmits_per_gb")?;
    let mtu = flow.peer.path.as_ref().and_then(|path| path.path_mtu_bytes).unwrap_or(USUAL_MTU);
    let is_v6 = flow.peer.address.is_some_and(|address| address.is_ipv6());
    let segments = 1e9 / payload_bytes(mtu, is_v6, Protocol::Tcp)? as f64;
    if again.low / segments < MUCH_LOSS {
        return None;
    }
    let (way, achieved) = (way(flow), rate_text(proven(flow)?.value));
    let (share, count) = (percent((again.value / segments).min(1.0)), number(again.value));
    let text = texts::loss::text!(way, achieved, share, count);
    let way = way_in_short(flow);
    let short = texts::loss::short!(way, achieved, share, count);
    // What is sent again is lost time, and all that cubic waits besides.
    Some(Conclusion { short, text, cases: fastest_case(flow), cost: (again.value / segments).min(1.0) })
}

pub(super) static FULL: Rule = Rule {
    id: "net.link_full",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[TCP],
    cure: Some(texts::full::CURE),
    doubt: Doubt { spoiled_by: WRONG, rivals: &[] },
    draw: |run| flows(run).iter().filter_map(full).collect(),
};

/// CPUs that an end keeps busy, below which it has as much time left as it uses.
const IDLE_CPUS: f64 = 0.5;

fn full(flow: &LinkDirection) -> Option<Conclusion> {
    let link = flow.capacity().filter(|capacity| capacity.cause == CapacityCause::Link)?;
    let measured = proven(flow).filter(|rate| reaches(*rate, link.bytes_per_s))?;
    let (sends, receives) = (also(flow, "sender_cpus")?, also(flow, "receiver_cpus")?);
    if sends.high >= IDLE_CPUS || receives.high >= IDLE_CPUS {
        return None;
    }
    let way = way(flow);
    let (measured, possible, speed) = (rate_text(measured.value), rate_text(link.bytes_per_s), bits(link.bits_per_s));
    let (sends, receives) = (number(sends.value), number(receives.value));
    let text = texts::full::text!(way, measured, possible, speed, sends, receives);
    let way = way_in_short(flow);
    let short = texts::full::short!(way, measured, possible);
    Some(Conclusion { short, text, cases: fastest_case(flow), cost: 0.0 })
}

pub(super) static BOTH_WAYS: Rule = Rule {
    id: "net.link_both_ways",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[TCP],
    cure: Some(texts::both_ways::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw: |run| flows(run).chunks_exact(Direction::BOTH.len()).filter_map(|ways| both_ways(run, ways)).collect(),
};

fn both_ways(run: &Run, ways: &[LinkDirection]) -> Option<Conclusion> {
    let [first, ..] = ways else { return None };
    let is_both = |case: &&CaseRecord| case.params.get("direction") == Some("both");
    let at_once =
        cases_to(run, TCP, first.peer).filter(is_both).filter_map(|case| Some((Proven::of_case(case)?, case)));
    let (together, case) = at_once.max_by(|one, other| one.0.value.total_cmp(&other.0.value))?;
    // What each way gives alone, or is known to carry.
    let alone = |way: &LinkDirection| {
        let carries = |bytes| (bytes, bytes);
        proven(way).map(|rate| (rate.low, rate.value)).or_else(|| Some(carries(way.capacity()?.bytes_per_s)))
    };
    let all = ways.iter().map(alone).collect::<Option<Vec<(f64, f64)>>>()?;
    let least: f64 = all.iter().map(|(low, _)| low).sum();
    let apart: f64 = all.iter().map(|(_, value)| value).sum();
    // Acknowledgements of each way are in the other.
    if together.high >= least * (1.0 - 2.0 * CLOSE) {
        return None;
    }
    let name = &first.peer.name;
    let (gives, each, share) = (rate_text(together.value), rate_text(apart), percent(together.value / apart));
    let is_limited = |way: &LinkDirection| way.capacity().is_some_and(|it| it.cause == CapacityCause::Limit);
    let why = match ways.iter().any(is_limited) {
        true => term!(
            "A token bucket that limits the rate is empty after its burst, and what it earns while the CPU that sends is late is lost"
        ),
        false => {
            term!("Data of one way and acknowledgements of the other share queues, and each end does the work of both")
        }
    };
    let text = texts::both_ways::text!(name, gives, share, each, why);
    let peer = short_name(name);
    let short = texts::both_ways::short!(peer, gives, each);
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost: lost(apart, together.value) })
}

const RATE_LATENCY: &str = "net.rate_latency";

pub(super) static BUFFERBLOAT: Rule = Rule {
    id: "net.bufferbloat",
    shown: Demonstration::Explain("net.rate_latency"),
    probes: &[RATE_LATENCY],
    cure: Some(texts::bufferbloat::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE] },
    draw: bufferbloat,
};

/// Least delay of a request by the load, ns, and the least factor, to blame the queue.
const ADDED_NS: f64 = 5e6;
const TIMES: f64 = 3.0;

fn bufferbloat(run: &Run) -> Vec<Conclusion> {
    let of = |peer: &Peer| {
        let cases = cases_to(run, RATE_LATENCY, peer);
        let found = cases.filter_map(|case| Some((waited(case)?, case)));
        found
            .max_by(|one, other| one.0.added.total_cmp(&other.0.added))
            .map(|(waited, case)| queue_conclusion(&peer.name, &waited, case))
    };
    peers(run).filter_map(of).collect()
}

/// Times of a request, ns.
struct Waited {
    idle: f64,
    loaded: f64,
    added: f64,
}

fn waited(case: &CaseRecord) -> Option<Waited> {
    let (loaded, idle) = (Proven::of_case(case)?, Proven::also(case, "idle")?);
    let is_long = loaded.low - idle.high >= ADDED_NS && loaded.low >= idle.high * TIMES;
    is_long.then_some(Waited { idle: idle.value, loaded: loaded.value, added: loaded.value - idle.value })
}

fn queue_conclusion(peer: &str, waited: &Waited, case: &CaseRecord) -> Conclusion {
    let (loaded, idle) = (time_text(waited.loaded), time_text(waited.idle));
    let flow = case.measured().and_then(|measured| Some(measured.also.get("rate")?.estimate.value()));
    let flow = flow.filter(|rate| rate.is_finite() && *rate > 0.0);
    let queue = |bytes_per_s: f64| bytes_text(waited.added / 1e9 * bytes_per_s);
    let flow = match flow {
        Some(flow) => words(say!(
            ", of {flow}, fills the link: {queued} wait in its queue",
            flow = rate_text(flow),
            queued = queue(flow)
        )),
        None => words(say!(" fills the link")),
    };
    let text = texts::bufferbloat::text!(peer, loaded, idle, flow);
    let peer = short_name(peer);
    let short = texts::bufferbloat::short!(peer, loaded, idle);
    Conclusion { short, text, cases: vec![case.id.clone()], cost: lost(waited.loaded, waited.idle) }
}

pub(super) static PATH_MTU: Rule = Rule {
    id: "run.path_mtu",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[],
    cure: Some(texts::path_mtu::CURE),
    doubt: Doubt { spoiled_by: NOTHING, rivals: &[] },
    draw: path_mtu,
};

/// The length of a packet is a number of 16 bits, whatever the interface takes.
const LARGEST_PACKET: u64 = 65_535;

fn path_mtu(run: &Run) -> Vec<Conclusion> {
    let of = |name: &str, path: Option<&NetworkPath>, is_back| {
        let path = path?;
        let (takes, carries) = (path.mtu_bytes?.min(LARGEST_PACKET), path.path_mtu_bytes?);
        if carries >= takes {
            return None;
        }
        let interface = path.interface.as_deref().unwrap_or("?");
        let direction = match is_back {
            false => words(say!("to {name}")),
            true => words(say!("from {name}")),
        };
        let text = texts::path_mtu::text!(direction, carries, interface, takes);
        let host = short_name(name);
        let direction = match is_back {
            false => words(say!("to {host}")),
            true => words(say!("from {host}")),
        };
        let short = texts::path_mtu::short!(direction, carries, interface, takes);
        Some(Conclusion { short, text, cases: Vec::new(), cost: 0.0 })
    };
    let both = |peer: &hostmark_model::Peer| {
        [of(&peer.name, peer.path.as_ref(), false), of(&peer.name, peer.path_back.as_ref(), true)]
    };
    peers(run).flat_map(both).flatten().collect()
}
