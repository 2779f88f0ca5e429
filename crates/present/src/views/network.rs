//! The network of a run with peers: each link, then all hosts against all.

use std::collections::{BTreeMap, HashSet};

use hostmark_analysis::bilingual::{COMMA, Words, each, fixed, joined, same};
use hostmark_analysis::format::{both, low_high, percent, value};
use hostmark_analysis::network::{
    Capacity, CapacityCause, Direction, LinkDirection, Matrix, Protocol, TCP_BANDWIDTH, TCP_ROUND_TRIP, bits,
    capacities, cases_to, flows, matrices, peers, queue_text,
};
use hostmark_analysis::reasons;
use hostmark_model::{CaseRecord, Estimate, Finding, Lang, Measured, NetworkPath, Offloads, Peer, Run, Text, Unit};

use crate::document::{Align, Block, Cell, Column, Document, Remark, Row, Style, Table, TableLayout};

/// Not the bare word: so the section of the probes is called.
const TITLE: Text = Text { en: "Network between hosts", zh: "主机间网络" };

/// The section of a run; none where all was measured on one machine. Its findings stand in a list of which the first has the
/// number `first`, and beside other runs it has a letter.
pub(crate) fn network(run: &Run, findings: &[Finding], first: usize, letter: &str) -> Option<Document> {
    if run.peers.is_empty() {
        return None;
    }
    let flows = flows(run);
    let mut tables: Vec<Table> = peers(run).map(|peer| facts(run, peer, &flows, (first, findings))).collect();
    if let Some([rates, times]) = matrices(run) {
        const RATES: Text = Text { en: "TCP bandwidth", zh: "TCP 带宽" };
        const SENDS: Text = Text { en: "down: sends, across: receives", zh: "行：发送方，列：接收方" };
        const TIMES: Text = Text { en: "TCP round trip", zh: "TCP 往返时间" };
        const ASKS: Text = Text { en: "down: asks, across: answers", zh: "行：请求方，列：应答方" };
        tables.push(table(RATES, SENDS, &rates, Unit::BytesPerSecond));
        tables.push(table(TIMES, ASKS, &times, Unit::Nanoseconds));
    }
    if !letter.is_empty() {
        tables.iter_mut().for_each(|table| table.caption = joined(&[same(letter), table.caption.clone()], COMMA));
    }
    let heading = Block::Heading(fixed(TITLE), Words::default());
    let remarks = remarks(run).into_iter().map(|text| Remark::new(text, Style::Dim)).collect();
    let tables = tables.into_iter().map(Block::Table);
    Some(std::iter::once(heading).chain(tables).chain([Block::Remarks(remarks)]).collect())
}

/// All hosts against all.
fn table(title: Text, sides: Text, matrix: &Matrix, unit: Unit) -> Table {
    let cell = |estimate: &Option<&Estimate>| match estimate {
        Some(estimate) => each(|lang| both(estimate, unit, lang)).into(),
        None => same("–").into(),
    };
    let row = |(host, cells): (&&str, &Vec<Option<&Estimate>>)| {
        let host = Cell { text: same(*host), style: Style::Dim, ..Cell::default() };
        Row { cells: std::iter::once(host).chain(cells.iter().map(cell)).collect(), ..Row::default() }
    };
    let hosts = matrix.hosts.iter().map(|host| Column::new(same(*host), Align::Point));
    Table {
        caption: fixed(title),
        columns: std::iter::once(Column::new(fixed(sides), Align::Left)).chain(hosts).collect(),
        rows: matrix.hosts.iter().zip(&matrix.rows).map(row).collect(),
        layout: TableLayout::Matrix,
        ..Table::default()
    }
}

/// Pairs that are told of at most: those of a tournament of a dozen hosts.
const MOST_PAIRS: usize = 132;

fn remarks(run: &Run) -> Vec<Words> {
    let mut turns: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for pair in run.pairs.iter().take(MOST_PAIRS) {
        turns.entry(pair.turn).or_default().push(format!("{} → {}", pair.from, pair.to));
    }
    let turn = |(turn, pairs): (&u32, &Vec<String>)| Words {
        en: format!("turn {}: {}", u64::from(*turn) + 1, pairs.join(", ")),
        zh: format!("第 {} 轮次：{}", u64::from(*turn) + 1, pairs.join("，")),
    };
    let failed = run.pairs.iter().take(MOST_PAIRS).filter_map(|pair| {
        let why = pair.failed.as_ref()?;
        Some(Words {
            en: format!("{} → {} failed: {why}", pair.from, pair.to),
            zh: format!("{} → {} 失败：{}", pair.from, pair.to, reasons::localized(why, Lang::Zh)),
        })
    });
    turns.iter().map(turn).chain(failed).collect()
}

/// What is known of the link to a peer.
fn facts(run: &Run, peer: &Peer, flows: &[LinkDirection], findings: (usize, &[Finding])) -> Table {
    let mut title = vec![same(&peer.name)];
    let hostname = &peer.host.hostname;
    if !hostname.is_empty() && *hostname != peer.name {
        title.push(same(hostname));
    }
    title.extend(peer.place.as_ref().filter(|place| **place != peer.name).map(same));
    title.extend(peer.address.map(|address| same(address.to_string())));
    let mut rows = Vec::new();
    let mut row = |label: Text, facts: Vec<Words>| {
        let facts: Vec<Words> = facts.into_iter().filter(|fact| !fact.en.is_empty()).collect();
        if !facts.is_empty() {
            let facts = Cell { lines: facts, ..Cell::default() };
            rows.push(Row { cells: vec![fixed(label).into(), facts], ..Row::default() });
        }
    };
    row(Text { en: "this end", zh: "本端" }, peer.path.as_ref().map(path).unwrap_or_default());
    row(Text { en: "its end", zh: "对端" }, peer.path_back.as_ref().map(path).unwrap_or_default());
    for flow in flows.iter().filter(|flow| std::ptr::eq(flow.peer, peer)) {
        let [can, does, datagrams] = match flow.direction {
            Direction::Send => [
                Text { en: "can carry there", zh: "去程上限" },
                Text { en: "TCP there", zh: "TCP 去程" },
                Text { en: "UDP there", zh: "UDP 去程" },
            ],
            Direction::Receive => [
                Text { en: "can carry back", zh: "回程上限" },
                Text { en: "TCP back", zh: "TCP 回程" },
                Text { en: "UDP back", zh: "UDP 回程" },
            ],
        };
        row(can, flow.capacities.iter().map(|capacity| can_carry(peer, capacity)).collect());
        row(does, tcp(run, flow));
        row(datagrams, udp(run, peer, flow.direction));
    }
    row(Text { en: "TCP both ways at once", zh: "TCP 双向同时" }, both_ways(run, peer));
    row(Text { en: "TCP round trip", zh: "TCP 往返" }, round_trip(run, peer, TCP_ROUND_TRIP));
    row(Text { en: "UDP round trip", zh: "UDP 往返" }, round_trip(run, peer, "net.udp"));
    row(Text { en: "TCP connection", zh: "TCP 建立连接" }, round_trip(run, peer, "net.tcp_connect"));
    row(Text { en: "round trip under load", zh: "负载下的往返" }, under_load(run, peer));
    row(Text { en: "what limits it", zh: "瓶颈" }, limits(run, peer, findings));
    let columns = vec![Column::default(), Column::default()];
    Table { caption: joined(&title, COMMA), columns, rows, layout: TableLayout::Facts, ..Table::default() }
}

/// An end of the way: its interface and what it does.
fn path(path: &NetworkPath) -> Vec<Words> {
    let mut facts = Vec::new();
    let interface = path.interface.clone().unwrap_or_default();
    facts.push(match &path.driver {
        Some(driver) => same(format!("{interface} ({driver})")),
        None => same(interface),
    });
    facts.extend(path.link_bits_per_s().map(|speed| same(bits(speed))));
    if path.full_duplex == Some(false) {
        facts.push(fixed(Text { en: "half duplex", zh: "半双工" }));
    }
    facts.extend(path.mtu_bytes.map(|mtu| same(format!("MTU {mtu}"))));
    let shorter = path.path_mtu_bytes.filter(|mtu| Some(*mtu) != path.mtu_bytes);
    facts.extend(shorter.map(|mtu| Words { en: format!("path MTU {mtu}"), zh: format!("路径 MTU {mtu}") }));
    facts.extend(path.next_hop.map(|hop| Words { en: format!("via {hop}"), zh: format!("经由 {hop}") }));
    if let Some(queue) = &path.queue {
        facts.push(each(|lang| match lang {
            Lang::En => format!("queue {}", queue_text(queue)),
            Lang::Zh => format!("队列 {}", queue_text(queue)),
        }));
    }
    facts.push(offloads(&path.offloads));
    facts.extend(path.congestion_control.as_ref().map(same));
    facts
}

/// `TSO GSO GRO`: those that are on.
fn offloads(offloads: &Offloads) -> Words {
    let all = [("TSO", offloads.tso), ("GSO", offloads.gso), ("GRO", offloads.gro), ("LRO", offloads.lro)];
    if all.iter().all(|(_, is_on)| is_on.is_none()) {
        return Words::default();
    }
    let on: Vec<&str> = all.iter().filter(|(_, is_on)| *is_on == Some(true)).map(|(name, _)| *name).collect();
    match on.is_empty() {
        true => fixed(Text { en: "no offloads", zh: "无卸载" }),
        false => same(on.join(" ")),
    }
}

fn can_carry(peer: &Peer, capacity: &Capacity) -> Words {
    let interface = capacity.interface.as_deref().unwrap_or_default();
    each(|lang| {
        let most = value(capacity.bytes_per_s, Unit::BytesPerSecond, lang);
        let speed = bits(capacity.bits_per_s);
        let (payload, frame) = (capacity.payload_bytes, capacity.frame_bytes);
        let of = if capacity.is_far { format!(" ({})", peer.name) } else { String::new() };
        match (capacity.cause, lang) {
            (CapacityCause::Limit, Lang::En) => format!(
                "TCP at most {most}: rate limit of {speed} on {interface}{of}, {payload} of {frame} bytes in the queue"
            ),
            (CapacityCause::Limit, Lang::Zh) => {
                format!("TCP 最多 {most}：{interface}{of} 限速 {speed}，队列中每 {frame} 字节含数据 {payload} 字节")
            }
            (CapacityCause::Link, Lang::En) => {
                format!("TCP at most {most}: link of {speed}, {payload} of {frame} bytes on the wire")
            }
            (CapacityCause::Link, Lang::Zh) => {
                format!("TCP 最多 {most}：链路 {speed}，线上每 {frame} 字节含数据 {payload} 字节")
            }
        }
    })
}

/// A value with its interval, and its share of what is possible.
fn shown(estimate: &Estimate, unit: Unit, possible: Option<f64>) -> Words {
    let share = possible.filter(|possible| *possible > 0.0).map(|possible| percent(estimate.value() / possible));
    each(|lang| {
        let interval = low_high(estimate, unit, lang).map(|interval| format!(" ({interval})")).unwrap_or_default();
        let shown = format!("{}{interval}", both(estimate, unit, lang));
        match (&share, lang) {
            (None, _) => shown,
            (Some(share), Lang::En) => format!("{shown}, {share} of what is possible"),
            (Some(share), Lang::Zh) => format!("{shown}，为上限的 {share}"),
        }
    })
}

/// The fastest of a direction, and the fastest of each other number of streams.
fn tcp(run: &Run, flow: &LinkDirection) -> Vec<Words> {
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
            false => joined(&[rate, ends(measured)], COMMA),
            true => {
                let plural = if *streams == "1" { "" } else { "s" };
                let streams = Words { en: format!("{streams} stream{plural}"), zh: format!("{streams} 个流") };
                joined(&[streams, rate, ends(measured)], COMMA)
            }
        }
    };
    best.iter().map(shown).collect()
}

/// What both ends' CPUs and the connection took.
fn ends(measured: &Measured) -> Words {
    let also = |name: &str| measured.also.get(name).map(|also| also.estimate.value()).filter(|value| value.is_finite());
    let parts = [
        ("sender_cpus", Unit::Ratio, Text { en: "CPUs of the sender", zh: "发送方 CPU" }),
        ("receiver_cpus", Unit::Ratio, Text { en: "of the receiver", zh: "接收方 CPU" }),
        ("retransmits_per_gb", Unit::Ratio, Text { en: "segments again per GB", zh: "每 GB 重传报文段" }),
        ("rtt", Unit::Nanoseconds, Text { en: "round trip meanwhile", zh: "此时往返" }),
    ];
    let part = |(name, unit, title): (&str, Unit, Text)| {
        also(name).map(|known| each(|lang| format!("{} {}", title.get(lang), value(known, unit, lang))))
    };
    joined(&parts.into_iter().filter_map(part).collect::<Vec<_>>(), COMMA)
}

fn both_ways(run: &Run, peer: &Peer) -> Vec<Words> {
    let is_both = |case: &&CaseRecord| case.params.get("direction") == Some("both");
    let measured = cases_to(run, TCP_BANDWIDTH, peer).filter(is_both).find_map(CaseRecord::measured);
    measured.map(|measured| shown(&measured.estimate, Unit::BytesPerSecond, None)).into_iter().collect()
}

/// Datagrams of a direction: the rate of the first case, and what was lost of it.
fn udp(run: &Run, peer: &Peer, direction: Direction) -> Vec<Words> {
    let possible = capacities(peer, direction, Protocol::Udp).first().map(|capacity| capacity.bytes_per_s);
    let is_it = |case: &&CaseRecord| Direction::of(case) == Some(direction);
    let found = cases_to(run, "net.udp_bandwidth", peer).filter(is_it).find_map(CaseRecord::measured);
    let shown = |measured: &Measured| {
        let also = |name: &str| measured.also.get(name).map(|also| also.estimate.value());
        let lost = also("loss")
            .map(|loss| Words { en: format!("{} lost", percent(loss)), zh: format!("丢失 {}", percent(loss)) });
        let overrun = also("overrun").filter(|share| *share > 0.0).map(|share| Words {
            en: format!("{} in the receiver's full buffer", percent(share)),
            zh: format!("{} 因接收缓冲区已满", percent(share)),
        });
        let held = also("held_back").filter(|share| *share > 0.0).map(|share| Words {
            en: format!("sender held back for {} of the time", percent(share)),
            zh: format!("发送方 {} 的时间被阻塞", percent(share)),
        });
        let rate = shown(&measured.estimate, Unit::BytesPerSecond, possible);
        joined(&[Some(rate), lost, overrun, held].into_iter().flatten().collect::<Vec<_>>(), COMMA)
    };
    found.map(shown).into_iter().collect()
}

const PERCENTILES: [(&str, &str); 4] = [("p50", "p50"), ("p90", "p90"), ("p99", "p99"), ("p999", "p99.9")];

/// A time with its percentiles, of the first case to the peer.
fn round_trip(run: &Run, peer: &Peer, probe: &str) -> Vec<Words> {
    let Some(measured) = cases_to(run, probe, peer).find_map(CaseRecord::measured) else { return Vec::new() };
    vec![with_percentiles(measured)]
}

fn with_percentiles(measured: &Measured) -> Words {
    let time = |name: &str| measured.also.get(name).map(|also| also.estimate.value());
    let mut parts = vec![shown(&measured.estimate, Unit::Nanoseconds, None)];
    let known = PERCENTILES.iter().filter_map(|(name, title)| Some((title, time(name)?)));
    parts.extend(known.map(|(title, time)| each(|lang| format!("{title} {}", value(time, Unit::Nanoseconds, lang)))));
    joined(&parts, COMMA)
}

fn under_load(run: &Run, peer: &Peer) -> Vec<Words> {
    let shown = |case: &CaseRecord| {
        let measured = case.measured()?;
        let load: Text = match case.params.get("load") {
            Some("send") => Text { en: "load there", zh: "去程负载" },
            Some("both") => Text { en: "load both ways", zh: "双向负载" },
            _ => Text { en: "load back", zh: "回程负载" },
        };
        let idle = measured.also.get("idle").map(|also| also.estimate.value());
        let idle = idle.map(|idle| {
            each(|lang| match lang {
                Lang::En => format!("idle {}", value(idle, Unit::Nanoseconds, lang)),
                Lang::Zh => format!("空闲时 {}", value(idle, Unit::Nanoseconds, lang)),
            })
        });
        Some(joined(
            &[Some(fixed(load)), Some(with_percentiles(measured)), idle].into_iter().flatten().collect::<Vec<_>>(),
            COMMA,
        ))
    };
    cases_to(run, "net.rate_latency", peer).filter_map(shown).collect()
}

/// What the findings name, in a word each.
const LIMITS: [(&str, Text); 7] = [
    ("net.rate_limit", Text { en: "a rate limit", zh: "限速" }),
    ("net.link_full", Text { en: "the link itself", zh: "链路本身" }),
    ("net.link_both_ways", Text { en: "both ways at once", zh: "双向同时" }),
    ("net.link_cpu", Text { en: "a CPU", zh: "CPU" }),
    ("net.link_window", Text { en: "a window or buffer", zh: "窗口或缓冲区" }),
    ("net.link_loss", Text { en: "loss", zh: "丢包" }),
    ("net.bufferbloat", Text { en: "a long queue", zh: "过长的队列" }),
];

/// What the findings on this peer's cases name, with their numbers in the list.
fn limits(run: &Run, peer: &Peer, (first, findings): (usize, &[Finding])) -> Vec<Words> {
    let is_to = |case: &&CaseRecord| case.peer() == Some(&peer.name);
    let of_peer: HashSet<&str> = run.cases.iter().filter(is_to).map(|case| case.id.as_str()).collect();
    let is_of_peer = |finding: &Finding| finding.cases.iter().any(|case| of_peer.contains(case.as_str()));
    let named = |(place, finding): (usize, &Finding)| {
        let (_, word) = LIMITS.iter().find(|(id, _)| *id == finding.id)?;
        is_of_peer(finding)
            .then(|| Words {
                en: format!("{} (finding {place})", word.en), zh: format!("{}（结论 {place}）", word.zh)
            })
    };
    (first..).zip(findings).filter_map(named).collect()
}
