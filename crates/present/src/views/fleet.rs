//! A fleet: who is odd, in what and why; then how far hosts of each kind scatter.

mod words;

use hostmark_analysis::fleet::{Fleet, HostResult, KindOfHosts};
use hostmark_analysis::format::percent;
use hostmark_model::{Message, Text};

pub(crate) use self::words::change;
use crate::document::{Align, Block, Cell, Column, Document, List, Remark, Row, Style, Table, TableLayout};

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
    let summary = Block::Sentence(words::summary(fleet), Style::Heading);
    let mut first = vec![Block::Title(words::TITLE.into()), summary];
    if fleet.odd().next().is_some() {
        first.extend([Block::Part(words::ODD.into()), Block::Table(odd(fleet))]);
    }
    let list = |title: Text, lines: Vec<Message>, few| {
        (!lines.is_empty()).then(|| Block::List(List { title: title.into(), lines, few }))
    };
    let causes = fleet.causes.iter().map(words::cause).collect();
    let drifts = fleet.drifts.iter().map(words::drift).collect();
    let unread = fleet.unread.iter();
    let unread = unread
        .map(|unread| Message::joined([Message::plain(&unread.file), Message::from(&unread.reason)], " "))
        .collect();
    first.extend(list(words::CAUSES, causes, FEW_HOSTS));
    first.extend(list(words::DRIFTS, drifts, FEW_HOSTS));
    first.extend(list(words::BETWEEN_HOSTS, words::pairs(fleet), FEW_HOSTS));
    let method = (fleet.judged > 0).then(|| Block::Sentence(words::METHOD.into(), Style::Dim));
    [first, list(words::UNREAD, unread, FEW_FILES).into_iter().chain(method).collect()]
}

/// Anchor of a host's row on a page.
pub(crate) fn anchor(kind: usize, host: usize) -> String {
    format!("h{kind}-{host}")
}

fn odd(fleet: &Fleet) -> Table {
    let column = |head: Text, few| Column { head: head.into(), few, ..Column::default() };
    let columns = vec![
        column(words::HOST, 0),
        Column { is_extra: true, ..column(words::KIND, 0) },
        column(words::STANDS_OUT, 0),
        Column::new(words::BY_CHANCE, Align::Left),
        column(words::HAS, FEW_REASONS),
        column(words::CASES, FEW_CASES),
    ];
    let kinds = fleet.kinds.iter().enumerate();
    let hosts =
        kinds.flat_map(|(index, kind)| kind.hosts.iter().enumerate().map(move |(at, host)| (index, kind, at, host)));
    let place = |host: &HostResult| hosts.clone().find(|(.., other)| std::ptr::eq(*other, host));
    let row = |(kind, host): (&KindOfHosts, &HostResult)| {
        let link = place(host).map(|(kind, _, at, _)| anchor(kind, at)).unwrap_or_default();
        let reasons: Vec<Message> = host.reasons.iter().map(words::reason).collect();
        let (lines, style) = match reasons.is_empty() {
            true => (vec![words::NO_FACTS.into()], Style::Dim),
            false => (reasons, Style::Plain),
        };
        let cases = host.odd_cases.iter().map(words::odd_case);
        Row {
            cells: vec![
                Cell { text: Message::plain(&host.name), style: Style::Bad, link, ..Cell::default() },
                (&kind.title.clone()).into(),
                words::stands_out(kind, host).into(),
                Cell { text: host.q.map(words::by_chance).unwrap_or_default(), style: Style::Dim, ..Cell::default() },
                Cell { lines, style, ..Cell::default() },
                Cell { lines: cases.collect(), style: Style::Dim, ..Cell::default() },
            ],
            remarks: host.shares_name.then(|| Remark::new(words::SAME_NAME, Style::Warning)).into_iter().collect(),
            ..Row::default()
        }
    };
    Table { columns, rows: fleet.odd().map(row).collect(), layout: TableLayout::Cards(FEW_HOSTS), ..Table::default() }
}

/// A kind of hosts, and how far they scatter, or why there is no verdict.
pub(crate) fn kind(kind: &KindOfHosts) -> Document {
    let title = Block::Part(words::kind(kind));
    let usual = usual(kind);
    if !kind.is_judged {
        let names: Vec<&str> = kind.hosts.iter().map(|host| host.name.as_str()).collect();
        let why = Remark::new(words::no_verdict(kind), Style::Warning);
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
    let numbers = [words::CASES, words::BETWEEN, words::WITHIN].map(|head| Column::new(head, Align::Right));
    let columns = std::iter::once(Column::new(words::GROUP, Align::Left)).chain(numbers).collect();
    let table = Table { caption: words::SPREAD.into(), columns, rows: rows.collect(), ..Table::default() };
    let remark = words::within_by_rounds(kind).map(|text| Block::Remarks(vec![Remark::new(text, Style::Dim)]));
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
            Cell { text: words::worse(case), style: Style::Warning, ..Cell::default() },
            words::unknown(case).into(),
        ],
        ..Row::default()
    });
    let heads = [
        (Message::plain(""), Align::Left),
        (words::USUAL.into(), Align::Ellipsis),
        (words::AS_USUAL.into(), Align::Right),
    ];
    let heads = heads.into_iter().chain([(words::FASTER.into(), Align::Right), (words::SLOWER.into(), Align::Left)]);
    let heads = heads.chain([(words::NOT_KNOWN.into(), Align::Left)]);
    let columns = heads.map(|(head, align)| Column::new(head, align)).collect();
    if kind.usual.is_empty() {
        return Vec::new();
    }
    let machine = Block::Sentence(words::beside_usual(&kind.usual), Style::Plain);
    vec![machine, Block::Table(Table { columns, rows: rows.collect(), ..Table::default() })]
}
