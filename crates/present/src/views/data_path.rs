//! The data path of TCP: pipelines drawn with what each process takes, and what single stages make one expect.

use hostmark_analysis::data_path::{self, Item};
use hostmark_model::Run;

use super::overhead::table;
use crate::document::{Block, Document, Style};

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
