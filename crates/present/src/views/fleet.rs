//! A fleet: who is odd, in what and why; then how far hosts of each kind scatter.

use hostmark_analysis::fleet::{
    BetweenHosts, Carried, CaseBesideUsual, Drift, Fleet, HostResult, KindOfHosts, LEAST_HOSTS, OddCase, PairApart,
    RareFact, SharedFact, WithinBy,
};
use hostmark_analysis::format::{QUIET, amount, called, estimator, percent};
use hostmark_model::{Leading, Message, Text, Unit};
use hostmark_say::say;

use crate::document::{Align, Block, Cell, Column, Document, List, Remark, Row, Style, Table, TableLayout};
use crate::words::COMMA;

/// Odd hosts and lines of a list, reasons and cases of a host, and files that are listed where there is little room.
const FEW_HOSTS: usize = 30;
const FEW_REASONS: usize = 4;
const FEW_CASES: usize = 3;
const FEW_FILES: usize = 10;

pub(crate) fn fleet(fleet: &Fleet) -> Document {
    let [first, last] = around(fleet);
    first.into_iter().chain(fleet.kinds.iter().flat_map(kind)).chain(last).collect()
}

/// Parts before and behind the kinds of hosts.
pub(crate) fn around(fleet: &Fleet) -> [Document; 2] {
    let summary = Block::Sentence(summary(fleet), Style::Heading);
    let mut first = vec![Block::Title(TITLE.into()), summary];
    if fleet.odd().next().is_some() {
        first.extend([Block::Part(ODD.into()), Block::Table(odd(fleet))]);
    }
    let list = |title: Text, lines: Vec<Message>, few| {
        (!lines.is_empty()).then(|| Block::List(List { title: title.into(), lines, few }))
    };
    let causes = fleet.causes.iter().map(cause).collect();
    let drifts = fleet.drifts.iter().map(drift).collect();
    let unread = fleet.unread.iter();
    let unread = unread
        .map(|unread| Message::joined([Message::plain(&unread.file), Message::from(&unread.reason)], " "))
        .collect();
    first.extend(list(CAUSES, causes, FEW_HOSTS));
    first.extend(list(DRIFTS, drifts, FEW_HOSTS));
    first.extend(list(BETWEEN_HOSTS, pairs(fleet), FEW_HOSTS));
    let method = (fleet.judged > 0).then(|| Block::Sentence(METHOD.into(), Style::Dim));
    [first, list(UNREAD, unread, FEW_FILES).into_iter().chain(method).collect()]
}

/// Anchor of a host's row on a page.
pub(crate) fn anchor(kind: usize, host: usize) -> String {
    format!("h{kind}-{host}")
}

fn odd(fleet: &Fleet) -> Table {
    let column = |head: Text, few| Column { head: head.into(), few, ..Column::default() };
    let columns = vec![
        column(HOST, 0),
        Column { is_extra: true, ..column(KIND, 0) },
        column(STANDS_OUT, 0),
        Column::new(BY_CHANCE, Align::Left),
        column(HAS, FEW_REASONS),
        column(CASES, FEW_CASES),
    ];
    let kinds = fleet.kinds.iter().enumerate();
    let hosts =
        kinds.flat_map(|(index, kind)| kind.hosts.iter().enumerate().map(move |(at, host)| (index, kind, at, host)));
    let place = |host: &HostResult| hosts.clone().find(|(.., other)| std::ptr::eq(*other, host));
    let row = |(kind, host): (&KindOfHosts, &HostResult)| {
        let link = place(host).map(|(kind, _, at, _)| anchor(kind, at)).unwrap_or_default();
        let reasons: Vec<Message> = host.reasons.iter().map(reason).collect();
        let (lines, style) = match reasons.is_empty() {
            true => (vec![NO_FACTS.into()], Style::Dim),
            false => (reasons, Style::Plain),
        };
        let cases = host.odd_cases.iter().map(odd_case);
        Row {
            cells: vec![
                Cell { text: Message::plain(&host.name), style: Style::Bad, link, ..Cell::default() },
                (&kind.title.clone()).into(),
                stands_out(kind, host).into(),
                Cell { text: host.q.map(by_chance).unwrap_or_default(), style: Style::Dim, ..Cell::default() },
                Cell { lines, style, ..Cell::default() },
                Cell { lines: cases.collect(), style: Style::Dim, ..Cell::default() },
            ],
            remarks: host.shares_name.then(|| Remark::new(SAME_NAME, Style::Warning)).into_iter().collect(),
            ..Row::default()
        }
    };
    Table { columns, rows: fleet.odd().map(row).collect(), layout: TableLayout::Cards(FEW_HOSTS), ..Table::default() }
}

/// A kind of hosts, and how far they scatter, or why there is no verdict.
pub(crate) fn kind(kind: &KindOfHosts) -> Document {
    let title = Block::Part(say!("{kind}: {hosts:host}", kind = kind.title, hosts = kind.hosts.len()));
    let usual = usual(kind);
    if !kind.is_judged {
        let names: Vec<&str> = kind.hosts.iter().map(|host| host.name.as_str()).collect();
        let why = Remark::new(no_verdict(kind), Style::Warning);
        let remarks = Block::Remarks(vec![why, Remark::new(Message::plain(names.join(", ")), Style::Plain)]);
        return [title, remarks].into_iter().chain(usual).collect();
    }
    let share = |share: Option<f64>| Message::plain(share.map_or("–".to_owned(), percent)).into();
    let rows = kind.groups.iter().map(|group| Row {
        cells: vec![
            Message::plain(&group.name).into(),
            Message::plain(group.cases.to_string()).into(),
            share(group.between),
            share(group.within),
        ],
        ..Row::default()
    });
    let numbers = [CASES, BETWEEN, WITHIN].map(|head| Column::new(head, Align::Right));
    let columns = std::iter::once(Column::new(GROUP, Align::Left)).chain(numbers).collect();
    let table = Table { caption: SPREAD.into(), columns, rows: rows.collect(), ..Table::default() };
    let remark = within_by_rounds(kind).map(|text| Block::Remarks(vec![Remark::new(text, Style::Dim)]));
    [title, Block::Table(table)].into_iter().chain(remark).chain(usual).collect()
}

/// Position of a kind's hosts in what is usual for servers of their design; none where that is not known.
fn usual(kind: &KindOfHosts) -> Document {
    let rows = kind.usual.iter().map(|case| Row {
        cells: vec![
            case.name.clone().into(),
            case.range.clone().into(),
            Message::plain(case.within.to_string()).into(),
            Cell { text: case.better.to_string().into(), style: Style::Good, ..Cell::default() },
            Cell { text: worse(case), style: Style::Warning, ..Cell::default() },
            unknown(case).into(),
        ],
        ..Row::default()
    });
    let heads = [(Message::plain(""), Align::Left), (USUAL.into(), Align::Ellipsis), (AS_USUAL.into(), Align::Right)];
    let heads = heads.into_iter().chain([(FASTER.into(), Align::Right), (SLOWER.into(), Align::Left)]);
    let heads = heads.chain([(NOT_KNOWN.into(), Align::Left)]);
    let columns = heads.map(|(head, align)| Column::new(head, align)).collect();
    if kind.usual.is_empty() {
        return Vec::new();
    }
    let machine = Block::Sentence(beside_usual(&kind.usual), Style::Plain);
    vec![machine, Block::Table(Table { columns, rows: rows.collect(), ..Table::default() })]
}

/// Groups of an odd host that are named in a line.
const MOST_GROUPS: usize = 4;

/// Number of hosts and of outliers.
fn summary(fleet: &Fleet) -> Message {
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

/// Reason for no verdict on a kind.
fn no_verdict(kind: &KindOfHosts) -> Message {
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
fn odd_case(case: &OddCase) -> Message {
    let what = format!("{} {}", case.id, change(case.change));
    let Some(beside) = case.beside else { return called(what, case.estimator) };
    let other = say!("{name} {change}", name = estimator(beside.estimator), change = change(beside.change));
    match case.estimator {
        Leading::Quiet => say!("{what} ({QUIET}; {other})"),
        _ => say!("{what} ({other})"),
    }
}

/// Deviations of a host: `memory −21 %, paging −8 %`.
fn stands_out(kind: &KindOfHosts, host: &HostResult) -> Message {
    let group = |number: &usize| {
        let place = host.groups.get(*number).copied().flatten()?;
        Some(format!("{} {}", kind.groups.get(*number)?.name, change(place.change)).into())
    };
    let parts = host.odd_groups.iter().take(MOST_GROUPS).filter_map(group);
    let more = host.odd_groups.len().saturating_sub(MOST_GROUPS);
    Message::joined(parts.chain((more > 0).then(|| say!("{groups} more", groups = more))), COMMA)
}

const BY_CHANCE: Text = term!("by chance");

/// Number of fleets in which chance alone shows this; of a p value or an adjusted one.
fn by_chance(p: f64) -> Message {
    match (1000.0 * p).ceil() {
        of_thousand if of_thousand <= 1.0 => say!("by chance in fewer than 1 of 1000 fleets"),
        of_thousand => say!("by chance in {of_thousand:.0} of 1000 fleets"),
    }
}

fn reason(reason: &RareFact) -> Message {
    let RareFact { label, value, usual, others, of, .. } = reason;
    say!("{label}: {value}, usually {usual}; {others} of {of} others have it")
}

/// Fact that goes with outliers.
fn cause(cause: &SharedFact) -> Message {
    let fact = Message::joined([&cause.label, &cause.value], " ");
    let ((odd, all_odd), (others, all)) = (cause.odd, cause.others);
    let mut shared = say!("{fact}: shared by {odd} of {all_odd} outliers, {others} of {all} others");
    if let Some(p) = cause.p {
        shared = say!("{shared} ({chance})", chance = by_chance(p));
    }
    if !cause.along.is_empty() {
        shared = say!("{shared}; the same hosts: {along}", along = Message::joined(&cause.along, COMMA));
    }
    shared
}

fn drift(drift: &Drift) -> Message {
    let Drift { host, group, runs, time: (from, to), p, .. } = drift;
    let (change, chance) = (change(drift.change), by_chance(*p));
    say!("{host}, {group}: {change} over {runs} runs from {from} to {to} ({chance})")
}

/// Results of the tournament: number of pairs, ways that are worse than both hosts' other ways, and pairs that could not be measured.
fn pairs(fleet: &Fleet) -> Vec<Message> {
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
fn within_by_rounds(kind: &KindOfHosts) -> Option<Text> {
    let by_rounds = kind.cases.iter().any(|case| case.within_by == Some(WithinBy::Rounds));
    by_rounds.then_some(term!("One run per host: \"within\" covers that run only."))
}

const TITLE: Text = term!("Fleet");
const ODD: Text = term!("Outliers");
const CAUSES: Text = term!("What outliers share and others lack");
const DRIFTS: Text = term!("Hosts that change from run to run");
const BETWEEN_HOSTS: Text = term!("Pairs of hosts over the network");
const UNREAD: Text = term!("Files that were not read");
const HOST: Text = term!("host");
const KIND: Text = term!("kind");
const STANDS_OUT: Text = term!("stands out in");
const HAS: Text = term!("what it has and others lack");
const GROUP: Text = term!("group");
const CASES: Text = term!("cases", "comparison");
const BETWEEN: Text = term!("between hosts");
const WITHIN: Text = term!("within a host");
const SPREAD: Text = term!("Spread (standard deviation, median of the cases)");
const NO_FACTS: Text = term!("no recorded fact sets it apart; compare its run with another host's: hostmark compare");
const SAME_NAME: Text = term!("another host has the same name");

const METHOD: Text = term!("Of 20 healthy fleets at most one gets a false alarm.");

const USUAL: Text = term!("usual");
const AS_USUAL: Text = term!("as usual");
const FASTER: Text = term!("faster", "fleet");
const SLOWER: Text = term!("slower", "fleet");
const NOT_KNOWN: Text = term!("not known", "fleet");
/// Hosts that are named in a row.
const FEW_NAMES: usize = 3;

/// Description of the servers that hosts are compared with.
fn beside_usual(cases: &[CaseBesideUsual]) -> Message {
    let machine = cases.first().map(|case| case.machine.clone()).unwrap_or_default();
    say!("Beside {machine}; usual is from their 10th to their 90th percentile:")
}

/// Number of hosts that deliver less than usual, and the worst of them: `2: n17 60 %, n4 30 %`.
fn worse(case: &CaseBesideUsual) -> Message {
    named(case.worse.iter().map(|(host, times)| format!("{host} {}", percent(times - 1.0)).into()))
}

/// Number of hosts without a verdict, and the reasons.
fn unknown(case: &CaseBesideUsual) -> Message {
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
