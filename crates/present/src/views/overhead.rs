//! Costs of environments over each other.

use hostmark_analysis::overhead::{ClaimVerdict, LayerConclusion, Overhead, TableGroup};
use hostmark_analysis::plain_table::{self, RowsRemark};
use hostmark_model::Text;
use hostmark_say::say;

use crate::document::{Align, Block, Chart, Column, Document, Drawing, Judged, Row, Table, TableLayout};

const TITLE: Text = term!("What each layer costs");
const CONCLUSIONS: Text = term!("Conclusions");

pub(crate) fn overhead(view: Overhead) -> Document {
    let mut blocks = vec![Block::Title(TITLE.into())];
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
