//! Rules on the network within this machine: obstacles on the loopback path, the limits of TCP, UDP loss, pipelines of tools.

use std::cmp::Ordering::Equal;

use hostmark_model::{CaseRecord, Lang, Message, Run, Text, Unit, size_text};
use hostmark_say::say;

use super::evidence::{Proven, believed, case_at, lost};
use super::host::{obstacles, small_buffer};
use super::{Conclusion, DISTURBED, Demonstration, Doubt, LOOPBACK, QUOTA_OF_ONE, Rule, WRONG, YIELDS};
use crate::data_path::{PROBE, PathAnswer, answers};
use crate::format::{low_high, number, percent, rate_text, value};
use crate::texts::findings as texts;
use crate::typography::SEMICOLON;
use crate::words;

/// The probes whose packets take this machine's own loopback; others lay a network of their own.
const PREFIX: &str = "net.";
const OFFLOAD: &str = "net.tcp_offload";
/// The cases that are named.
const MOST_CASES: usize = 5;
/// Least cost of a rule for a round trip, ns: two packets, each checked in some 10 ns.
const RULE_NS: f64 = 20.0;
const TCP: &str = "net.tcp_bandwidth";
/// Cost of buffers that are too small for a stream.
pub(super) const MOST_COST: f64 = 0.9;

pub(super) static LOOPBACK_PATH: Rule = Rule {
    id: "run.loopback_path",
    shown: Demonstration::Host,
    probes: &[],
    cure: Some(texts::loopback_path::CURE),
    doubt: Doubt { spoiled_by: WRONG, rivals: &[] },
    draw: loopback_path,
};

fn loopback_path(run: &Run) -> Vec<Conclusion> {
    let obstacles = obstacles(&run.host.loopback);
    let Some(most) = obstacles.first() else { return Vec::new() };
    let rules = run.host.loopback.many_rules().unwrap_or(0) as f64;
    let unit = |case: &CaseRecord| run.probes.iter().find(|probe| probe.id == case.probe).map(|probe| probe.unit);
    // The part of a time that the rules take; of a rate it is not known.
    let buffer = small_buffer(&run.host.loopback);
    let part = |case: &CaseRecord| match unit(case)? {
        // A window of a few packets makes a stream wait for each of them.
        Unit::BytesPerSecond if buffer.is_some() && case.probe.starts_with(TCP) => believed(case).map(|_| MOST_COST),
        Unit::Nanoseconds => Some(rules * RULE_NS / believed(case)?.estimate.value()),
        _ => believed(case).map(|_| 0.0),
    };
    let over_loopback =
        |case: &&CaseRecord| case.probe.starts_with(PREFIX) && case.probe != OFFLOAD && case.peer().is_none();
    let cases = run.cases.iter().filter(over_loopback);
    let mut slowed: Vec<(f64, &CaseRecord)> = cases.filter_map(|case| Some((part(case)?, case))).collect();
    // Who loses most comes first.
    slowed.sort_by(|one, other| other.0.total_cmp(&one.0));
    let Some(&(cost, slowest)) = slowed.first() else { return Vec::new() };
    let text = texts::loopback_path::text!(obstacles = words(Message::joined(&obstacles, term!(", ", "list"))));
    let short = match buffer.zip(believed(slowest)) {
        Some(((name, bytes), measured)) if unit(slowest) == Some(Unit::BytesPerSecond) => {
            let [rate, size] = [(measured.estimate.value(), Unit::BytesPerSecond), (bytes as f64, Unit::Bytes)]
                .map(|(of, unit)| value(of, unit, Lang::En));
            texts::loopback_path::buffer_short!(rate, name, size)
        }
        _ => texts::loopback_path::short!(most = words(most)),
    };
    let cases = slowed.iter().take(MOST_CASES).map(|(_, case)| case.id.clone()).collect();
    vec![Conclusion { short, text, cases, cost: cost.min(MOST_COST) }]
}

const UDP: &str = "net.udp_bandwidth";
/// Least share lost: less is explained by a scheduler's delay now and then.
const LEAST_LOSS: f64 = 0.05;

pub(super) static UDP_LOSS: Rule = Rule {
    id: "net.udp_loss",
    shown: Demonstration::Try("udp-buffer"),
    probes: &[UDP],
    cure: Some(texts::udp_loss::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &LOOPBACK] },
    draw: |run| udp_loss(run).into_iter().collect(),
};

fn udp_loss(run: &Run) -> Option<Conclusion> {
    let case = case_at(run, UDP, &[])?;
    let loss = Proven::also(case, "loss").filter(|loss| loss.low >= LEAST_LOSS && loss.high <= 1.0)?;
    let size = case.params.get("datagram")?.parse().ok().map(size_text)?;
    let (share, full) = (percent(loss.value), Proven::also(case, "overrun").map(|full| percent(full.value)));
    let full = match full {
        Some(full) => words(say!(": the receiver's buffer was full for {full} of what was sent")),
        None => Default::default(),
    };
    let text = texts::udp_loss::text!(share, size, full);
    let short = texts::udp_loss::short!(share);
    Some(Conclusion { short, text, cases: vec![case.id.clone()], cost: loss.value })
}

pub(super) static DATA_PATH: Rule = Rule {
    id: "net.data_path",
    shown: Demonstration::Explain("net.data_path"),
    probes: &[PROBE],
    cure: Some(texts::data_path::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &LOOPBACK] },
    draw: data_path,
};

/// One for each number of CPUs.
fn data_path(run: &Run) -> Vec<Conclusion> {
    let mut seen: Vec<f64> = Vec::new();
    let mut all = answers(run);
    all.retain(|answer| {
        let is_first = !answer.cases.is_empty() && !seen.contains(&answer.cpus);
        seen.extend(is_first.then_some(answer.cpus));
        is_first
    });
    let conclusion = |PathAnswer { short, text, cases, cost, .. }| Conclusion {
        short: words(short),
        text: words(text),
        cases,
        cost,
    };
    all.into_iter().map(conclusion).collect()
}

/// Least factor between two values that is worth a word.
const NOTABLE: f64 = 1.1;
/// Congestion controls that pace: they send by a clock, also where nothing is in the way.
const PACING: [&str; 3] = ["bbr", "bbr2", "bbr3"];
/// Axes, other than that of an alternative, at which cases are compared.
const BASE: [(&str, &str); 8] = [
    ("message", "65536"),
    ("direction", "receive"),
    ("method", "write"),
    ("cpus", "same_cpu"),
    ("streams", "1"),
    ("window", "default"),
    ("congestion", "default"),
    ("block", "65536"),
];
const OFFLOAD_BASE: [(&str, &str); 4] = [("device", "lo"), ("offload", "all"), ("mtu", "1500"), ("cpus", "same_cpu")];

pub(super) static TCP_LOOPBACK: Rule = Rule {
    id: "net.tcp_loopback",
    shown: Demonstration::Explain("net.tcp_bandwidth"),
    probes: &[TCP, OFFLOAD],
    cure: Some(texts::tcp_loopback::CURE),
    doubt: Doubt { spoiled_by: DISTURBED, rivals: &[&YIELDS, &QUOTA_OF_ONE, &LOOPBACK] },
    draw: |run| tcp_loopback(run).into_iter().collect(),
};

/// Sentences, the cases that prove them, and the loss of the base against what can be chosen in its place.
struct LoopbackFinding {
    text: Vec<Message>,
    cases: Vec<String>,
    cost: f64,
    /// Largest change and its factor: speedups before slowdowns.
    most: Option<(f64, Message)>,
}

impl LoopbackFinding {
    fn add(&mut self, text: Message, case: &CaseRecord) {
        self.text.push(text);
        self.cases.push(case.id.clone());
    }

    /// Adds a choice that makes `by` times the rate.
    fn compare(&mut self, by: f64, choice: Message) {
        let rank = |by: f64| (by > 1.0, by.ln().abs());
        if self.most.as_ref().is_none_or(|(most, _)| rank(by) > rank(*most)) {
            self.most = Some((by, choice));
        }
    }
}

fn tcp_loopback(run: &Run) -> Option<Conclusion> {
    let base = at(run, TCP, &BASE, &[])?;
    let on_one_cpu = words(rate(base)?);
    let ends = ["sender_cpus", "receiver_cpus"].map(|name| Some(believed(base)?.also.get(name)?.estimate.value()));
    let ends = match ends {
        [Some(sends), Some(receives)] => {
            let [sends, receives] = [sends, receives].map(number);
            words(say!(" (sender and receiver share it: {sends} and {receives} of it)"))
        }
        _ => words(say!(", which both ends share")),
    };
    let text = vec![texts::tcp_loopback::text!(on_one_cpu, ends).into()];
    let mut finding = LoopbackFinding { text, cases: vec![base.id.clone()], cost: 0.0, most: None };
    congestion(run, base, &mut finding);
    windows(run, &mut finding);
    placements(run, base, &mut finding);
    methods(run, base, &mut finding);
    packets(run, &mut finding);
    // A value alone is no finding: something must be proven to change it.
    let (by, choice) = finding.most?;
    let (gives, change) = (rate_text(Proven::of_case(base)?.value), shown(by));
    let short = texts::tcp_loopback::short!(gives, choice = words(choice), change);
    Some(Conclusion { short, text: words(Message::joined(finding.text, "")), cases: finding.cases, cost: finding.cost })
}

/// The case at a base's values, but for some.
fn at<'a>(run: &'a Run, probe: &str, base: &[(&str, &str)], but: &[(&str, &str)]) -> Option<&'a CaseRecord> {
    let value_of = |axis| but.iter().find(|(name, _)| *name == axis);
    let all: Vec<_> = base.iter().map(|&(axis, value)| *value_of(axis).unwrap_or(&(axis, value))).collect();
    case_at(run, probe, &all)
}

fn rate(case: &CaseRecord) -> Option<Message> {
    let estimate = &believed(case)?.estimate;
    Proven::of(estimate)?;
    let rate = rate_text(estimate.value());
    Some(match low_high(estimate, Unit::BytesPerSecond) {
        Some(interval) => say!("{here} ({repeat})", here = rate, repeat = interval),
        None => rate.into(),
    })
}

/// Factor of one case over another, where their intervals prove it and it is worth a word.
fn factor(above: &CaseRecord, below: &CaseRecord) -> Option<f64> {
    let (above, below) = (Proven::of_case(above)?, Proven::of_case(below)?);
    let by = above.value / below.value;
    (above.low > below.high && by > NOTABLE).then_some(by)
}

/// Factor of `other` over `base`, where that is proven.
fn change(other: &CaseRecord, base: &CaseRecord) -> Option<f64> {
    factor(other, base).or_else(|| factor(base, other).map(|by| 1.0 / by))
}

/// `×2.1` or `÷2.1`.
fn shown(by: f64) -> String {
    if by > 1.0 { format!("×{}", number(by)) } else { format!("÷{}", number(1.0 / by)) }
}

fn note<'a>(case: &'a CaseRecord, name: &str) -> Option<&'a str> {
    case.measured()?.notes.get(name).map(String::as_str)
}

fn fastest<'a>(cases: impl Iterator<Item = &'a CaseRecord>) -> Option<&'a CaseRecord> {
    let proven = cases.filter_map(|case| Some((case, Proven::of_case(case)?.value)));
    proven.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(case, _)| case)
}

fn congestion(run: &Run, base: &CaseRecord, finding: &mut LoopbackFinding) {
    let others = ["reno", "cubic"].iter().filter_map(|name| at(run, TCP, &BASE, &[("congestion", name)]));
    let Some(best) = fastest(others) else { return };
    let (Some(system), Some(name)) = (note(base, "congestion_control"), best.params.get("congestion")) else { return };
    let (Some(by), Some(gives)) = (factor(best, base), rate(best)) else { return };
    let why = match PACING.contains(&system) {
        true => term!(", which paces packets even on loopback"),
        false => Text::default(),
    };
    finding.compare(by, say!("with TCP {name}"));
    let by = number(by);
    finding.add(say!(" The system's congestion control is {system}{why}; with {name} it is {gives}, ×{by}."), best);
    finding.cost = finding.cost.max(loss(best, base));
}

/// The share of its time that `base` loses against `best`.
fn loss(best: &CaseRecord, base: &CaseRecord) -> f64 {
    let median = |case| Proven::of_case(case).map(|proven| proven.value);
    median(best).zip(median(base)).map_or(0.0, |(best, base)| lost(best, base))
}

/// The best of the fixed windows, on one CPU and on two, where it is above the system's tuning; else the worst where it is below.
fn windows(run: &Run, finding: &mut LoopbackFinding) {
    let mut places: Vec<&str> = Vec::new();
    for place in run.cases.iter().filter(|case| case.probe == TCP).filter_map(|case| case.params.get("cpus")) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    for place in places {
        let Some(tuned) = at(run, TCP, &BASE, &[("cpus", place)]) else { continue };
        let is_fixed = |case: &&CaseRecord| {
            let window = case.params.get("window").filter(|window| *window != "default");
            let same = window.and_then(|window| at(run, TCP, &BASE, &[("cpus", place), ("window", window)]));
            case.probe == TCP && same.is_some_and(|same| same.id == case.id)
        };
        let fixed: Vec<&CaseRecord> = run.cases.iter().filter(is_fixed).collect();
        let best = fastest(fixed.iter().copied()).filter(|best| factor(best, tuned).is_some());
        let slow = fixed.iter().copied().filter(|case| factor(tuned, case).is_some());
        let slowest = slow.max_by(|one, other| factor(tuned, one).partial_cmp(&factor(tuned, other)).unwrap_or(Equal));
        let Some(case) = best.or(slowest) else { continue };
        let (Some(change), Some(gives), Some(window)) = (change(case, tuned), rate(case), case.params.get("window"))
        else {
            continue;
        };
        let window = size(window);
        finding.compare(change, say!("fixed window of {window} ({place})"));
        let change = shown(change);
        finding.add(
            say!(" A fixed window of {window} gives {gives} (cpus={place}), {change} against the system's tuning."),
            case,
        );
        finding.cost = finding.cost.max(best.map_or(0.0, |best| loss(best, tuned)));
    }
}

/// A window's name as people write it.
fn size(name: &str) -> String {
    let (number, unit) = name.split_at(name.len().saturating_sub(1));
    match unit {
        "k" => format!("{number} KiB"),
        "m" => format!("{number} MiB"),
        _ => name.to_owned(),
    }
}

fn placements(run: &Run, base: &CaseRecord, finding: &mut LoopbackFinding) {
    for place in ["smt_sibling", "same_cache", "other_cache", "same_package_other_node", "other_node"] {
        let Some(case) = at(run, TCP, &BASE, &[("cpus", place)]) else { continue };
        let (Some(change), Some(gives)) = (change(case, base), rate(case)) else { continue };
        finding.compare(change, say!("on two ({place})"));
        // Why it may be slower: each end that sleeps is woken from the other CPU.
        let woken = [case, base].map(|case| Some(believed(case)?.also.get("wake_ups")?.estimate.value()));
        let why = match woken {
            [Some(two), Some(one)] if two > one * NOTABLE && change < 1.0 => {
                let [two, one] = [two, one].map(number);
                say!(": {two} wake-ups per MiB, of another CPU, after {one} on one")
            }
            _ => Message::plain(""),
        };
        let change = shown(change);
        finding.add(say!(" On two CPUs (cpus={place}) it is {gives}, {change}{why}."), case);
    }
}

fn methods(run: &Run, base: &CaseRecord, finding: &mut LoopbackFinding) {
    for (method, name) in [("zero_copy", "MSG_ZEROCOPY"), ("sendfile", "sendfile"), ("splice", "splice")] {
        let Some(case) = at(run, TCP, &BASE, &[("method", method)]) else { continue };
        let (Some(change), Some(gives)) = (change(case, base), rate(case)) else { continue };
        finding.compare(change, say!("by {name}"));
        let change = shown(change);
        let why = match note(case, "zero_copy") {
            Some("copied") => term!(", and the kernel tells that it copied after all"),
            Some(_) => term!(", and the kernel tells that it did not copy"),
            None => Text::default(),
        };
        finding.add(say!(" {name} gives {gives}, {change}{why}."), case);
    }
}

/// Adds the gain of packets that pass whole, in the probe's own namespaces.
fn packets(run: &Run, finding: &mut LoopbackFinding) {
    for (device, name) in [("lo", "lo"), ("veth", "veth")] {
        let of = |offload| at(run, OFFLOAD, &OFFLOAD_BASE, &[("device", device), ("offload", offload)]);
        let Some(whole) = of("all") else { continue };
        let Some(gives) = rate(whole) else { continue };
        let mut parts: Vec<(Message, &CaseRecord)> = Vec::new();
        for (offload, in_short, packets) in [
            ("big", term!("with BIG TCP"), term!("packets of 512 KiB (BIG TCP)")),
            ("no_tso", term!("without TSO"), term!("split at the interface and joined again (GRO)")),
            ("no_gro", term!("without GRO"), term!("split at the interface and not joined")),
            ("none", term!("without offloads"), term!("made one by one and not joined")),
        ] {
            let Some(case) = of(offload) else { continue };
            let (Some(change), Some(rate)) = (change(case, whole), rate(case)) else { continue };
            finding.compare(change, say!("over {name} {in_short}"));
            let change = shown(change);
            parts.push((say!("{packets} {rate}, {change}"), case));
        }
        if parts.is_empty() {
            continue;
        }
        let (parts, others): (Vec<Message>, Vec<&CaseRecord>) = parts.into_iter().unzip();
        let parts = Message::joined(parts, SEMICOLON);
        let whole_packets = say!(
            " Over {name} with an MTU of 1500, without pacing, packets of 64 KiB that pass whole give {gives}; {parts}."
        );
        finding.add(whole_packets, whole);
        finding.cases.extend(others.iter().map(|case| case.id.clone()));
    }
}
