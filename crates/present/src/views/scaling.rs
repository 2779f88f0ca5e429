//! Scaling laws with the number of CPUs, and the number from which on throughput falls.

use hostmark_analysis::scaling::of_run;
use hostmark_analysis::typography::SEMICOLON;
use hostmark_model::{Message, Run, Text};
use hostmark_say::say;

use crate::document::{Align, Block, Cell, Column, Document, Row, Style, Table, TableLayout};

const TITLE: Text = term!("Scaling laws");

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
        document.insert(0, Block::Heading(TITLE.into(), Message::default()));
    }
    document
}
