//! Two series beside each other: what the one delivers less than the other, whatever the hour.

use hostmark_analysis::bilingual::{fixed, same};
use hostmark_analysis::over_time::{ComparedSubject, SeriesComparison, SeriesVerdict};
use hostmark_model::Text;

use super::fleet::change;
use crate::document::{Align, Block, Cell, Column, Document, Row, RowKind, Style, Table};
use crate::texts::views::compared_series as texts;
use crate::words::{amount, said};

/// The whole comparison.
pub(crate) fn compared(all: &SeriesComparison) -> Document {
    let count = |verdict| all.subjects.iter().filter(|one| one.verdict == verdict).count();
    let [slower, faster, equal, open] =
        [SeriesVerdict::Slower, SeriesVerdict::Faster, SeriesVerdict::Same, SeriesVerdict::Undecided].map(count);
    let first = said!("{slower} slower, {faster} faster, {equal} the same, {open} undecided");
    let ([base, new], [of_base, of_new], blocks) = (&all.hosts, all.turns, all.blocks);
    let about = match all.by_hour {
        true => said!("{base} ({of_base} turns) and {new} ({of_new} turns), by {blocks} hours of the day"),
        false => said!("{base} ({of_base} turns) and {new} ({of_new} turns), by {blocks} parts of their time"),
    };
    let columns = vec![
        Column::named(Text::default(), Align::Left),
        Column::named(term!("base"), Align::Point),
        Column::named(term!("new"), Align::Point),
        Column::named(term!("change"), Align::Right),
        Column::named(term!("95 % interval"), Align::Ellipsis),
        Column::named(Text::default(), Align::Left),
    ];
    let rows = all.subjects.iter().map(row).collect();
    vec![
        Block::Title(same("hostmark series")),
        Block::Sentence(first, Style::Heading),
        Block::Sentence(about, Style::Plain),
        Block::Table(Table { columns, rows, ..Table::default() }),
        Block::Sentence(fixed(texts::METHOD), Style::Dim),
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
        Cell::from(one.subject.name.clone()),
        shown(one.base),
        shown(one.new),
        Cell::from(same(change(one.change))),
        Cell::from(same(format!("{low} … {high}"))),
        Cell { text: fixed(word), style, ..Cell::default() },
    ];
    Row { kind, id: one.subject.key.clone(), cells, ..Row::default() }
}
