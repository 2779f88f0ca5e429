//! The network of a run with peers: each link, then all hosts against all.

use std::collections::{BTreeMap, HashSet};

use hostmark_analysis::format::{amount, both, low_high, percent};
use hostmark_analysis::network::{
    Capacity, CapacityCause, Direction, LinkDirection, Matrix, Protocol, ROUND_TRIP, TCP_BANDWIDTH, bits, capacities,
    cases_to, flows, matrices, peers, queue_text,
};
use hostmark_analysis::typography::COMMA;
use hostmark_model::{CaseRecord, Estimate, Finding, Measured, Message, NetworkPath, Offloads, Peer, Run, Text, Unit};
use hostmark_say::say;

use crate::document::{Align, Block, Cell, Column, Document, Remark, Row, Style, Table, TableLayout};
use crate::words;

/// Title; the bare word is that of the probes' section.
const TITLE: Text = term!("Network between hosts");

/// The section of a run; none where all was measured on one machine. Its findings stand in a list of which the first has the
/// number `first`, and beside other runs it has a letter.
pub(crate) fn network(run: &Run, findings: &[Finding], first: usize, letter: &str) -> Option<Document> {
    if run.peers.is_empty() {
        return None;
    }
    let flows = flows(run);
    let mut tables: Vec<Table> = peers(run).map(|peer| facts(run, peer, &flows, (first, findings))).collect();
    if let Some([rates, times]) = matrices(run) {
        const RATES: Text = term!("TCP bandwidth");
        const SENDS: Text = term!("down: sends, across: receives");
        const TIMES: Text = term!("TCP round trip");
        const ASKS: Text = term!("down: asks, across: answers");
        tables.push(table(RATES, SENDS, &rates, Unit::BytesPerSecond));
        tables.push(table(TIMES, ASKS, &times, Unit::Nanoseconds));
    }
    if !letter.is_empty() {
        tables
            .iter_mut()
            .for_each(|table| table.caption = Message::joined([letter.into(), table.caption.clone()], COMMA));
    }
    let heading = Block::Heading(TITLE.into(), Message::default());
    let remarks = remarks(run).into_iter().map(|text| Remark::new(text, Style::Dim)).collect();
    let tables = tables.into_iter().map(Block::Table);
    Some(std::iter::once(heading).chain(tables).chain([Block::Remarks(remarks)]).collect())
}

fn table(title: Text, sides: Text, matrix: &Matrix, unit: Unit) -> Table {
    let cell = |estimate: &Option<&Estimate>| match estimate {
        Some(estimate) => both(estimate, unit).into(),
        None => Message::plain("–").into(),
    };
    let row = |(host, cells): (&&str, &Vec<Option<&Estimate>>)| {
        let host = Cell { text: Message::plain(*host), style: Style::Dim, ..Cell::default() };
        Row { cells: std::iter::once(host).chain(cells.iter().map(cell)).collect(), ..Row::default() }
    };
    let hosts = matrix.hosts.iter().map(|host| Column::new(*host, Align::Point));
    Table {
        caption: title.into(),
        columns: std::iter::once(Column::new(sides, Align::Left)).chain(hosts).collect(),
        rows: matrix.hosts.iter().zip(&matrix.rows).map(row).collect(),
        layout: TableLayout::Matrix,
        ..Table::default()
    }
}

/// Pairs that are told of at most: those of a tournament of a dozen hosts.
const MOST_PAIRS: usize = 132;

fn remarks(run: &Run) -> Vec<Message> {
    let mut turns: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for pair in run.pairs.iter().take(MOST_PAIRS) {
        turns.entry(pair.turn).or_default().push(format!("{} → {}", pair.from, pair.to));
    }
    let turn = |(turn, pairs): (&u32, &Vec<String>)| {
        let pairs = Message::joined(pairs.iter().map(Message::plain), COMMA);
        say!("turn {turn}: {pairs}", turn = u64::from(*turn) + 1)
    };
    let failed = run.pairs.iter().take(MOST_PAIRS).filter_map(|pair| {
        let why = words::in_both(Message::finished(pair.failed.as_ref()?));
        Some(say!("{from} → {to} failed: {why}", from = pair.from, to = pair.to))
    });
    turns.iter().map(turn).chain(failed).collect()
}

/// Facts about the link to a peer.
fn facts(run: &Run, peer: &Peer, flows: &[LinkDirection], findings: (usize, &[Finding])) -> Table {
    let mut title = vec![Message::plain(&peer.name)];
    let hostname = &peer.host.hostname;
    if !hostname.is_empty() && *hostname != peer.name {
        title.push(hostname.into());
    }
    title.extend(peer.place.as_ref().filter(|place| **place != peer.name).map(Message::plain));
    title.extend(peer.address.map(|address| address.to_string().into()));
    let mut rows = Vec::new();
    let mut row = |label: Text, facts: Vec<Message>| {
        let facts: Vec<Message> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
        if !facts.is_empty() {
            let facts = Cell { lines: facts, ..Cell::default() };
            rows.push(Row { cells: vec![Message::from(label).into(), facts], ..Row::default() });
        }
    };
    row(term!("this end"), peer.path.as_ref().map(path).unwrap_or_default());
    row(term!("its end"), peer.path_back.as_ref().map(path).unwrap_or_default());
    for flow in flows.iter().filter(|flow| std::ptr::eq(flow.peer, peer)) {
        let [can, does, datagrams] = match flow.direction {
            Direction::Send => [term!("can carry there"), term!("TCP there"), term!("UDP there")],
            Direction::Receive => [term!("can carry back"), term!("TCP back"), term!("UDP back")],
        };
        row(can, flow.capacities.iter().map(|capacity| can_carry(peer, capacity)).collect());
        row(does, tcp(run, flow));
        row(datagrams, udp(run, peer, flow.direction));
    }
    row(term!("TCP both ways at once"), both_ways(run, peer));
    row(term!("TCP round trip", "link"), round_trip(run, peer, ROUND_TRIP, Some("tcp")));
    row(term!("UDP round trip"), round_trip(run, peer, ROUND_TRIP, Some("udp")));
    row(term!("TCP connection"), round_trip(run, peer, "net.tcp_connect", None));
    row(term!("round trip under load"), under_load(run, peer));
    row(term!("what limits it"), limits(run, peer, findings));
    let columns = vec![Column::default(), Column::default()];
    Table { caption: Message::joined(title, COMMA), columns, rows, layout: TableLayout::Facts, ..Table::default() }
}

/// An end of the way: its interface and what it does.
fn path(path: &NetworkPath) -> Vec<Message> {
    let mut facts = Vec::new();
    let interface = path.interface.clone().unwrap_or_default();
    facts.push(match &path.driver {
        Some(driver) => format!("{interface} ({driver})").into(),
        None => interface.into(),
    });
    facts.extend(path.link_bits_per_s().map(|speed| bits(speed).into()));
    if path.full_duplex == Some(false) {
        facts.push(term!("half duplex").into());
    }
    facts.extend(path.mtu_bytes.map(|mtu| format!("MTU {mtu}").into()));
    let shorter = path.path_mtu_bytes.filter(|mtu| Some(*mtu) != path.mtu_bytes);
    facts.extend(shorter.map(|mtu| say!("path MTU {mtu}")));
    facts.extend(path.next_hop.map(|hop| say!("via {hop}")));
    facts.extend(path.queue.as_ref().map(queue_text).map(|queue| say!("queue {queue}")));
    facts.push(offloads(&path.offloads));
    facts.extend(path.congestion_control.as_ref().map(Message::plain));
    facts
}

/// `TSO GSO GRO`: those that are on.
fn offloads(offloads: &Offloads) -> Message {
    let all = [("TSO", offloads.tso), ("GSO", offloads.gso), ("GRO", offloads.gro), ("LRO", offloads.lro)];
    if all.iter().all(|(_, is_on)| is_on.is_none()) {
        return Message::default();
    }
    let on: Vec<&str> = all.iter().filter(|(_, is_on)| *is_on == Some(true)).map(|(name, _)| *name).collect();
    match on.is_empty() {
        true => term!("no offloads").into(),
        false => on.join(" ").into(),
    }
}

fn can_carry(peer: &Peer, capacity: &Capacity) -> Message {
    let interface = capacity.interface.as_deref().unwrap_or_default();
    let most = amount(capacity.bytes_per_s, Unit::BytesPerSecond);
    let speed = bits(capacity.bits_per_s);
    let (payload, frame) = (capacity.payload_bytes, capacity.frame_bytes);
    let of = if capacity.is_far { format!(" ({})", peer.name) } else { String::new() };
    match capacity.cause {
        CapacityCause::Limit => say!(
            "TCP at most {most}: rate limit of {speed} on {interface}{of}, {payload} of {frame} bytes in the queue"
        ),
        CapacityCause::Link => {
            say!("TCP at most {most}: link of {speed}, {payload} of {frame} bytes on the wire")
        }
    }
}

/// A value with its interval, and its share of what is possible.
fn shown(estimate: &Estimate, unit: Unit, possible: Option<f64>) -> Message {
    let shown = both(estimate, unit);
    let shown = match low_high(estimate, unit) {
        Some(interval) => say!("{shown} ({interval})"),
        None => shown,
    };
    match possible.filter(|possible| *possible > 0.0).map(|possible| percent(estimate.value() / possible)) {
        None => shown,
        Some(share) => say!("{shown}, {share} of what is possible"),
    }
}

/// The fastest of a direction, and the fastest of each other number of streams.
fn tcp(run: &Run, flow: &LinkDirection) -> Vec<Message> {
    let possible = flow.capacity().map(|capacity| capacity.bytes_per_s);
    let mut best: Vec<(&str, &Measured)> = Vec::new();
    for case in cases_to(run, TCP_BANDWIDTH, flow.peer).filter(|case| Direction::of(case) == Some(flow.direction)) {
        let (Some(measured), streams) = (case.measured(), case.params.get("streams").unwrap_or("1")) else { continue };
        match best.iter_mut().find(|(known, _)| *known == streams) {
            Some((_, known)) if known.estimate.value() >= measured.estimate.value() => {}
            Some((_, known)) => *known = measured,
            None => best.push((streams, measured)),
        }
    }
    let are_several = best.len() > 1;
    let shown = |(streams, measured): &(&str, &Measured)| {
        let rate = shown(&measured.estimate, Unit::BytesPerSecond, possible);
        match are_several || *streams != "1" {
            false => Message::joined([rate, ends(measured)], COMMA),
            true => Message::joined([say!("{streams:stream}"), rate, ends(measured)], COMMA),
        }
    };
    best.iter().map(shown).collect()
}

/// Use of both ends' CPUs and of the connection.
fn ends(measured: &Measured) -> Message {
    let also = |name: &str| measured.also.get(name).map(|also| also.estimate.value()).filter(|value| value.is_finite());
    let parts = [
        ("sender_cpus", Unit::Ratio, term!("CPUs of the sender")),
        ("receiver_cpus", Unit::Ratio, term!("of the receiver")),
        ("retransmits_per_gb", Unit::Ratio, term!("segments again per GB")),
        ("rtt", Unit::Nanoseconds, term!("round trip meanwhile")),
    ];
    let part = |(name, unit, title): (&str, Unit, Text)| {
        also(name).map(|known| Message::joined([title.into(), amount(known, unit)], " "))
    };
    Message::joined(parts.into_iter().filter_map(part), COMMA)
}

fn both_ways(run: &Run, peer: &Peer) -> Vec<Message> {
    let is_both = |case: &&CaseRecord| case.params.get("direction") == Some("both");
    let measured = cases_to(run, TCP_BANDWIDTH, peer).filter(is_both).find_map(CaseRecord::measured);
    measured.map(|measured| shown(&measured.estimate, Unit::BytesPerSecond, None)).into_iter().collect()
}

/// Datagrams of a direction: the rate of the first case, and what was lost of it.
fn udp(run: &Run, peer: &Peer, direction: Direction) -> Vec<Message> {
    let possible = capacities(peer, direction, Protocol::Udp).first().map(|capacity| capacity.bytes_per_s);
    let is_it = |case: &&CaseRecord| Direction::of(case) == Some(direction);
    let found = cases_to(run, "net.udp_bandwidth", peer).filter(is_it).find_map(CaseRecord::measured);
    let shown = |measured: &Measured| {
        let also = |name: &str| measured.also.get(name).map(|also| also.estimate.value());
        let notable = |name: &str| also(name).filter(|share| *share > 0.0).map(percent);
        let lost = also("loss").map(percent).map(|share| say!("{share} lost"));
        let overrun = notable("overrun").map(|share| say!("{share} in the receiver's full buffer"));
        let held = notable("held_back").map(|share| say!("sender held back for {share} of the time"));
        let rate = shown(&measured.estimate, Unit::BytesPerSecond, possible);
        Message::joined([Some(rate), lost, overrun, held].into_iter().flatten(), COMMA)
    };
    found.map(shown).into_iter().collect()
}

const PERCENTILES: [(&str, &str); 4] = [("p50", "p50"), ("p90", "p90"), ("p99", "p99"), ("p999", "p99.9")];

/// A time with its percentiles, of the first case to the peer that has this protocol.
fn round_trip(run: &Run, peer: &Peer, probe: &str, protocol: Option<&str>) -> Vec<Message> {
    let mut cases = cases_to(run, probe, peer).filter(|case| case.params.get("protocol") == protocol);
    cases.find_map(CaseRecord::measured).map(with_percentiles).into_iter().collect()
}

fn with_percentiles(measured: &Measured) -> Message {
    let time = |name: &str| measured.also.get(name).map(|also| also.estimate.value());
    let mut parts = vec![shown(&measured.estimate, Unit::Nanoseconds, None)];
    let known = PERCENTILES.iter().filter_map(|(name, title)| Some((title, time(name)?)));
    parts.extend(
        known.map(|(title, time)| Message::joined([Message::plain(title), amount(time, Unit::Nanoseconds)], " ")),
    );
    Message::joined(parts, COMMA)
}

fn under_load(run: &Run, peer: &Peer) -> Vec<Message> {
    let shown = |case: &CaseRecord| {
        let measured = case.measured()?;
        let load: Text = match case.params.get("load") {
            Some("send") => term!("load there"),
            Some("both") => term!("load both ways"),
            _ => term!("load back"),
        };
        let idle = measured.also.get("idle").map(|also| also.estimate.value());
        let idle = idle.map(|idle| say!("idle {time}", time = amount(idle, Unit::Nanoseconds)));
        Some(Message::joined([load.into(), with_percentiles(measured)].into_iter().chain(idle), COMMA))
    };
    cases_to(run, "net.rate_latency", peer).filter_map(shown).collect()
}

/// Limits that the findings name, in a word each.
const LIMITS: [(&str, Text); 7] = [
    ("net.rate_limit", term!("a rate limit")),
    ("net.link_full", term!("the link itself")),
    ("net.link_both_ways", term!("both ways at once")),
    ("net.link_cpu", Text { en: "a CPU", zh: "CPU" }),
    ("net.link_window", term!("a window or buffer")),
    ("net.link_loss", term!("loss")),
    ("net.bufferbloat", term!("a long queue")),
];

/// Limits that the findings on this peer's cases name, with their numbers in the list.
fn limits(run: &Run, peer: &Peer, (first, findings): (usize, &[Finding])) -> Vec<Message> {
    let is_to = |case: &&CaseRecord| case.peer() == Some(&peer.name);
    let of_peer: HashSet<&str> = run.cases.iter().filter(is_to).map(|case| case.id.as_str()).collect();
    let is_of_peer = |finding: &Finding| finding.cases.iter().any(|case| of_peer.contains(case.as_str()));
    let named = |(place, finding): (usize, &Finding)| {
        let (_, word) = LIMITS.iter().find(|(id, _)| *id == finding.id)?;
        is_of_peer(finding).then(|| say!("{word} (finding {place})"))
    };
    (first..).zip(findings).filter_map(named).collect()
}
