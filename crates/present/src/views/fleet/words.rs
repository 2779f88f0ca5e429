//! The words of a fleet's report.

use hostmark_analysis::fleet::{
    BetweenHosts, Carried, CaseBesideUsual, Drift, Fleet, HostResult, KindOfHosts, LEAST_HOSTS, OddCase, PairApart,
    RareFact, SharedFact, WithinBy,
};
use hostmark_analysis::format::{QUIET, amount, called, estimator, percent};
use hostmark_model::{Leading, Message, Text, Unit};
use hostmark_say::say;

use crate::words::COMMA;

/// Groups of an odd host that are named in a line.
const MOST_GROUPS: usize = 4;

/// Number of hosts and of outliers.
pub(super) fn summary(fleet: &Fleet) -> Message {
    let cases = fleet.kinds.iter().flat_map(|kind| &kind.usual);
    let slow: Vec<Message> = cases.filter_map(slow_as_a_whole).collect();
    let apart = hosts_apart(fleet);
    match slow.is_empty() {
        true => apart,
        false => say!("{apart}. But {slow}", slow = Message::joined(slow, COMMA)),
    }
}

/// Sentence on a case in which most hosts are slower than usual: `8 of 8 have a slower DRAM than 9 of 10 such servers`.
fn slow_as_a_whole(case: &CaseBesideUsual) -> Option<Message> {
    let (slow, name, all) = (case.worse.len(), &case.name, case.judged() + case.unknown.len());
    case.is_slow_as_a_whole().then(|| say!("{slow} of {all} have slower {name} than 9 of 10 such servers"))
}

fn hosts_apart(fleet: &Fleet) -> Message {
    let (judged, odd) = (fleet.judged, fleet.odd().count());
    let of = say!(
        "{hosts:host}, {runs:run}, {kinds:kind}",
        hosts = fleet.hosts(),
        runs = fleet.runs,
        kinds = fleet.kinds.len()
    );
    match (judged, odd) {
        (0, _) => say!("{of}: no verdict, since no kind has {LEAST_HOSTS} hosts"),
        (_, 0) => say!("{of}: no host differs from the others of its kind"),
        (_, 1) => say!("{of}: {odd} of {judged} hosts is not like the others of its kind"),
        _ => say!("{of}: {odd} of {judged} hosts are not like the others of their kind"),
    }
}

/// A kind and how many hosts it has.
pub(super) fn kind(kind: &KindOfHosts) -> Message {
    say!("{kind}: {hosts:host}", kind = kind.title, hosts = kind.hosts.len())
}

/// Reason for no verdict on a kind.
pub(super) fn no_verdict(kind: &KindOfHosts) -> Message {
    say!("no verdict: {hosts:host}, and it takes {LEAST_HOSTS} to tell what is usual", hosts = kind.hosts.len())
}

/// A change of what is delivered: `−21 %`.
pub(crate) fn change(change: f64) -> String {
    // What rounds to nothing has no sign.
    if change.abs() < 0.0005 {
        return "0 %".to_owned();
    }
    let sign = if change < 0.0 { "−" } else { "+" };
    format!("{sign}{}", percent(change.abs()))
}

/// A case in which a host stands out, with what the other estimator says: `cpu.latency@op=add −12 % (quiet; typical −3 %)`.
pub(super) fn odd_case(case: &OddCase) -> Message {
    let what = format!("{} {}", case.id, change(case.change));
    let Some(beside) = case.beside else { return called(what, case.estimator) };
    let other = say!("{name} {change}", name = estimator(beside.estimator), change = change(beside.change));
    match case.estimator {
        Leading::Quiet => say!("{what} ({QUIET}; {other})"),
        _ => say!("{what} ({other})"),
    }
}

/// Deviations of a host: `memory −21 %, paging −8 %`.
pub(super) fn stands_out(kind: &KindOfHosts, host: &HostResult) -> Message {
    let group = |number: &usize| {
        let place = host.groups.get(*number).copied().flatten()?;
        Some(format!("{} {}", kind.groups.get(*number)?.name, change(place.change)).into())
    };
    let parts = host.odd_groups.iter().take(MOST_GROUPS).filter_map(group);
    let more = host.odd_groups.len().saturating_sub(MOST_GROUPS);
    Message::joined(parts.chain((more > 0).then(|| say!("{groups} more", groups = more))), COMMA)
}

pub(super) const BY_CHANCE: Text = term!("by chance");

/// Number of fleets in which chance alone shows this; of a p value or an adjusted one.
pub(super) fn by_chance(p: f64) -> Message {
    match (1000.0 * p).ceil() {
        of_thousand if of_thousand <= 1.0 => say!("by chance in fewer than 1 of 1000 fleets"),
        of_thousand => say!("by chance in {of_thousand:.0} of 1000 fleets"),
    }
}

pub(super) fn reason(reason: &RareFact) -> Message {
    let RareFact { label, value, usual, others, of, .. } = reason;
    say!("{label}: {value}, usually {usual}; {others} of {of} others have it")
}

/// Fact that goes with outliers.
pub(super) fn cause(cause: &SharedFact) -> Message {
    let fact = Message::joined([&cause.label, &cause.value], " ");
    let ((odd, all_odd), (others, all)) = (cause.odd, cause.others);
    let mut shared = say!("{fact}: shared by {odd} of {all_odd} odd, {others} of {all} others");
    if let Some(p) = cause.p {
        shared = say!("{shared} ({chance})", chance = by_chance(p));
    }
    if !cause.along.is_empty() {
        shared = say!("{shared}; the same hosts: {along}", along = Message::joined(&cause.along, COMMA));
    }
    shared
}

pub(super) fn drift(drift: &Drift) -> Message {
    let Drift { host, group, runs, time: (from, to), p, .. } = drift;
    let (change, chance) = (change(drift.change), by_chance(*p));
    say!("{host}, {group}: {change} over {runs} runs from {from} to {to} ({chance})")
}

/// Results of the tournament: number of pairs, ways that are worse than both hosts' other ways, and pairs that could not be measured.
pub(super) fn pairs(fleet: &Fleet) -> Vec<Message> {
    fleet.between.iter().flat_map(between).collect()
}

fn between(between: &BetweenHosts) -> Vec<Message> {
    let met = between.measured;
    let mut lines = vec![match between.apart.len() {
        0 => say!("{met} measured, both ways counted: none is worse than its two hosts' other ways"),
        apart => say!("{met} measured, both ways counted: {apart} worse than both hosts' other ways"),
    }];
    lines.extend(between.apart.iter().map(|pair| {
        let PairApart { from, to, carried, value, change: off } = pair;
        let (unit, what) = match carried {
            Carried::Bandwidth => (Unit::BytesPerSecond, term!("bandwidth")),
            Carried::RoundTrip => (Unit::Nanoseconds, term!("round trip")),
        };
        let (value, off) = (amount(*value, unit), change(*off));
        say!("{from} → {to}: {what} {value}, delivers {off} beside what the two do with others")
    }));
    lines.extend(between.failed.iter().map(|pair| {
        say!(
            "{from} → {to} failed: {why}",
            from = pair.from,
            to = pair.to,
            why = crate::words::in_both(Message::finished(&pair.reason))
        )
    }));
    if !between.failed.is_empty() {
        lines.push(say!("measure them again: hostmark fleet run --pairs --resume"));
    }
    lines
}

/// Source of the scatter within a host, where that is not by its runs.
pub(super) fn within_by_rounds(kind: &KindOfHosts) -> Option<Text> {
    let by_rounds = kind.cases.iter().any(|case| case.within_by == Some(WithinBy::Rounds));
    by_rounds.then_some(term!("One run per host: \"within\" covers that run only."))
}

pub(super) const TITLE: Text = term!("Fleet");
pub(super) const ODD: Text = term!("Outliers");
pub(super) const CAUSES: Text = term!("What outliers share and others lack");
pub(super) const DRIFTS: Text = term!("Hosts that change from run to run");
pub(super) const BETWEEN_HOSTS: Text = term!("Pairs of hosts over the network");
pub(super) const UNREAD: Text = term!("Files that were not read");
pub(super) const HOST: Text = term!("host");
pub(super) const KIND: Text = term!("kind");
pub(super) const STANDS_OUT: Text = term!("stands out in");
pub(super) const HAS: Text = term!("what it has and others lack");
pub(super) const GROUP: Text = term!("group");
pub(super) const CASES: Text = term!("cases", "comparison");
pub(super) const BETWEEN: Text = term!("between hosts");
pub(super) const WITHIN: Text = term!("within a host");
pub(super) const SPREAD: Text = term!("Spread (standard deviation, median of the cases)");
pub(super) const NO_FACTS: Text =
    term!("no recorded fact sets it apart; compare its run with another host's: hostmark compare");
pub(super) const SAME_NAME: Text = term!("another host has the same name");

pub(super) const METHOD: Text = term!("Of 20 healthy fleets at most one gets a false alarm.");

pub(super) const USUAL: Text = term!("usual");
pub(super) const AS_USUAL: Text = term!("as usual");
pub(super) const FASTER: Text = term!("faster", "fleet");
pub(super) const SLOWER: Text = term!("slower", "fleet");
pub(super) const NOT_KNOWN: Text = term!("not known", "fleet");
/// Hosts that are named in a row.
const FEW_NAMES: usize = 3;

/// Description of the servers that hosts are compared with.
pub(super) fn beside_usual(cases: &[CaseBesideUsual]) -> Message {
    let machine = cases.first().map(|case| case.machine.clone()).unwrap_or_default();
    say!("Beside {machine}; usual is from their 10th to their 90th percentile:")
}

/// Number of hosts that deliver less than usual, and the worst of them: `2: n17 60 %, n4 30 %`.
pub(super) fn worse(case: &CaseBesideUsual) -> Message {
    named(case.worse.iter().map(|(host, times)| format!("{host} {}", percent(times - 1.0)).into()))
}

/// Number of hosts without a verdict, and the reasons.
pub(super) fn unknown(case: &CaseBesideUsual) -> Message {
    named(case.unknown.iter().map(|(host, why)| Message::joined([Message::plain(host), Message::from(why)], " ")))
}

/// Number of hosts, and the first of them.
fn named(hosts: impl ExactSizeIterator<Item = Message>) -> Message {
    let count = hosts.len();
    let few = Message::joined(hosts.take(FEW_NAMES), COMMA);
    match count {
        0 => "0".into(),
        1..=FEW_NAMES => say!("{count}: {few}"),
        _ => say!("{count}: {few} …"),
    }
}
