//! Views of results: typed values become a document, once for all media.

pub(crate) mod comparison;
pub(crate) mod constants;
pub(crate) mod fleet;
pub(crate) mod host;
pub(crate) mod network;
pub(crate) mod over_time;
pub(crate) mod probe;
pub(crate) mod run;

use hostmark_analysis::data_path::{self, Item};
use hostmark_analysis::overhead::{ClaimVerdict, LayerConclusion, Overhead, TableGroup};
use hostmark_analysis::plain_table::{self, RowsRemark};
use hostmark_analysis::scaling::of_run;
use hostmark_analysis::typography::SEMICOLON;
use hostmark_model::{Message, Profile, Run, Text};
use hostmark_say::say;

use crate::document::{Align, Block, Cell, Chart, Column, Document, Drawing, Judged, Row, Style, Table, TableLayout};

pub(crate) const fn profile(profile: Profile) -> Text {
    match profile {
        Profile::Glance => term!("glance"),
        Profile::Quick => term!("quick profile"),
        Profile::Standard => term!("standard profile"),
        Profile::Thorough => term!("thorough profile"),
    }
}

const CONCLUSIONS: Text = term!("Conclusions");

pub(crate) fn overhead(view: Overhead) -> Document {
    let mut blocks = vec![Block::Title(term!("What each layer costs").into())];
    if !view.remarks.is_empty() {
        blocks.push(Block::Warnings(view.remarks));
    }
    blocks.extend(view.parts.into_iter().flat_map(part));
    let conclusions: Vec<Judged> = view.conclusions.into_iter().map(conclusion).collect();
    if !conclusions.is_empty() {
        blocks.push(Block::Judged(CONCLUSIONS.into(), conclusions));
    }
    blocks
}

fn part(part: TableGroup) -> Document {
    let title = part.title.map(|title| Block::Part(title.into()));
    let tables = part.tables.into_iter().map(|one| Block::Table(table(one)));
    let chart = |bars: hostmark_analysis::bars::Bars| {
        bars.most().map(|_| Chart { title: bars.title.clone(), note: None, drawing: Drawing::Bars(bars) })
    };
    let charts: Vec<Chart> = part.bars.into_iter().filter_map(chart).collect();
    let charts = (!charts.is_empty()).then_some(Block::Charts(charts));
    title.into_iter().chain(tables).chain(charts).collect()
}

/// A table of texts, its reasons numbered below it.
pub(crate) fn table(table: plain_table::Table) -> Table {
    let row = |row: plain_table::Row| Row {
        cells: std::iter::once(row.label).chain(row.cells).map(Into::into).collect(),
        ..Row::default()
    };
    let numbers = table.columns.into_iter().map(|head| Column::new(head, Align::Right));
    let notes = (1..).zip(&table.notes).map(|(number, note)| say!("({number}) {note}"));
    Table {
        caption: table.title,
        columns: std::iter::once(Column::default()).chain(numbers).collect(),
        rows: table.rows.into_iter().map(row).collect(),
        notes: notes.chain(table.remarks.iter().map(RowsRemark::text)).collect(),
        layout: TableLayout::Plain,
        ..Table::default()
    }
}

fn conclusion(claim: LayerConclusion) -> Judged {
    let sign = match claim.verdict {
        ClaimVerdict::So => "✓",
        ClaimVerdict::NotSo => "✗",
        ClaimVerdict::Unknown | ClaimVerdict::Needs => "?",
    };
    Judged { sign, verdict: claim.verdict.label().into(), text: claim.text, ..Judged::default() }
}

/// Scaling of a run; empty where no work has enough numbers of CPUs. `all` also names the work that has too few.
pub(crate) fn scaling(run: &Run, all: bool) -> Document {
    let (enough, few): (Vec<_>, Vec<_>) = of_run(run).into_iter().partition(|scaling| scaling.is_enough());
    let row = |label: Message, words: Message| {
        let words = Cell { lines: vec![words], ..Cell::default() };
        Row { cells: vec![label.into(), words], ..Row::default() }
    };
    let rows: Vec<Row> = enough.iter().map(|scaling| row(scaling.label(), scaling.in_words())).collect();
    let mut document = Document::new();
    if !rows.is_empty() {
        let columns = vec![Column::default(), Column::new(Message::default(), Align::Left)];
        document.push(Block::Table(Table { columns, rows, layout: TableLayout::Facts, ..Table::default() }));
    }
    // What has as few numbers has one sentence.
    for few in few.chunk_by(|one, other| one.points.len() == other.points.len()).filter(|_| all) {
        let labels = Message::joined(few.iter().map(|scaling| scaling.label()), SEMICOLON);
        let text = say!("{law}: {labels}", law = few[0].in_words());
        document.push(Block::Sentence(text, Style::Dim));
    }
    if !document.is_empty() {
        document.insert(0, Block::Heading(term!("Scaling laws").into(), Message::default()));
    }
    document
}

/// Data path of a run; empty where it has none. `all` adds the intervals of each process' times.
pub(crate) fn data_path(run: &Run, all: bool) -> Document {
    let block = |item: Item| match item {
        Item::Heading(title) => Block::Part(title),
        Item::Line(line) => Block::Sentence(line, Style::Plain),
        Item::Drawing(lines) => Block::Drawn(lines.into()),
        Item::Table(one) => Block::Table(table(one)),
    };
    data_path::data_path(run, all).into_iter().map(block).collect()
}
