//! Two series beside each other: what the one delivers less than the other, whatever the hour.

use hostmark_analysis::format::amount;
use hostmark_analysis::over_time::{ComparedSubject, SeriesComparison, SeriesVerdict};
use hostmark_model::Message;
use hostmark_say::say;

use super::fleet::change;
use crate::document::{Align, Block, Cell, Column, Document, Row, RowKind, Style, Table};
use crate::texts::views::compared_series as texts;

pub(crate) fn compared(all: &SeriesComparison) -> Document {
    let count = |verdict| all.subjects.iter().filter(|one| one.verdict == verdict).count();
    let [slower, faster, equal, open] =
        [SeriesVerdict::Slower, SeriesVerdict::Faster, SeriesVerdict::Same, SeriesVerdict::Undecided].map(count);
    let first = say!("{slower} slower, {faster} faster, {equal} the same, {open} undecided");
    let ([base, new], [of_base, of_new], blocks) = (&all.hosts, all.turns, all.blocks);
    let about = match all.by_hour {
        true => say!("{base} ({of_base} turns) and {new} ({of_new} turns), by {blocks} hours of the day"),
        false => say!("{base} ({of_base} turns) and {new} ({of_new} turns), by {blocks} parts of their time"),
    };
    let columns = vec![
        Column::default(),
        Column::new(term!("base"), Align::Point),
        Column::new(term!("new"), Align::Point),
        Column::new(term!("change"), Align::Right),
        Column::new(term!("95 % interval"), Align::Ellipsis),
        Column::default(),
    ];
    let rows = all.subjects.iter().map(row).collect();
    vec![
        Block::Title("hostmark series".into()),
        Block::Sentence(first, Style::Heading),
        Block::Sentence(about, Style::Plain),
        Block::Table(Table { columns, rows, ..Table::default() }),
        Block::Sentence(texts::METHOD.into(), Style::Dim),
    ]
}

fn row(one: &ComparedSubject) -> Row {
    let shown = |number: f64| Cell::from(amount(number, one.subject.unit));
    let [low, high] = one.interval.map(change);
    let (word, kind, style) = match one.verdict {
        SeriesVerdict::Slower => (term!("slower", "change"), RowKind::Worse, Style::Warning),
        SeriesVerdict::Faster => (term!("faster"), RowKind::Better, Style::Good),
        SeriesVerdict::Same => (term!("same"), RowKind::Equal, Style::Dim),
        SeriesVerdict::Undecided => (term!("undecided"), RowKind::None, Style::Dim),
    };
    let cells = vec![
        Cell::from(&one.subject.name),
        shown(one.base),
        shown(one.new),
        Cell::from(Message::plain(change(one.change))),
        Cell::from(Message::plain(format!("{low} … {high}"))),
        Cell { text: word.into(), style, ..Cell::default() },
    ];
    Row { kind, id: one.subject.key.clone(), cells, ..Row::default() }
}
