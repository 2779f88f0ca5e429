//! What the layers between environments cost: the overhead view as a section of the page.

use hostmark_analysis::overhead::{LayerConclusion, Part, Verdict, environments, is_wanted, overhead};
use hostmark_analysis::plain_table::{self, Remark};
use hostmark_model::Run;
use serde::Serialize;

use super::bilingual::{Words, fixed};
use super::figures::Figure;
use crate::chart::bars;

/// The view as the page shows it.
#[derive(Debug, Serialize)]
pub(super) struct Layers {
    remarks: Vec<Words>,
    parts: Vec<Shown>,
    conclusions: Vec<Conclusion>,
}

#[derive(Debug, Serialize)]
struct Shown {
    title: Option<Words>,
    tables: Vec<Table>,
    pictures: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Table {
    title: Words,
    columns: Vec<Words>,
    /// All columns, with that of the labels.
    width: usize,
    rows: Vec<Row>,
    notes: Vec<Words>,
    remarks: Vec<Words>,
}

#[derive(Debug, Serialize)]
struct Row {
    label: Words,
    cells: Vec<Words>,
}

#[derive(Debug, Serialize)]
struct Conclusion {
    verdict: Words,
    text: Words,
}

/// The runs of each environment behind each other; none where the page is not about environments.
pub(super) fn by_environment(all: &[Run]) -> Option<Vec<Run>> {
    let sorted = || environments(all).into_iter().flat_map(|one| one.runs).cloned().collect();
    is_wanted(all).then(sorted)
}

/// The section. A page of one environment has none.
pub(super) fn layers(all: &[Run], picture: impl Fn(Figure) -> String) -> Option<Layers> {
    // The page has room for every interval.
    let view = overhead(all, None, true).ok().filter(|view| is_wanted(all) && !view.parts.is_empty())?;
    let shown = |part: Part| {
        let charts = part.bars.iter().filter_map(|one| Some((one, bars::draw(one)?)));
        let figures =
            charts.map(|(one, chart)| Figure { title: one.title.clone(), note: None, chart, probes: Vec::new() });
        Shown {
            title: part.title.map(fixed),
            pictures: figures.map(&picture).collect(),
            tables: part.tables.into_iter().map(table).collect(),
        }
    };
    Some(Layers {
        remarks: view.remarks,
        parts: view.parts.into_iter().map(shown).collect(),
        conclusions: view.conclusions.into_iter().map(conclusion).collect(),
    })
}

fn table(table: plain_table::Table) -> Table {
    let row = |row: plain_table::Row| Row { label: row.label, cells: row.cells };
    let rows = table.rows.into_iter().map(row).collect();
    let remarks = table.remarks.iter().map(Remark::text).collect();
    let width = table.columns.len() + 1;
    Table { title: table.title, width, columns: table.columns, rows, notes: table.notes, remarks }
}

fn conclusion(told: LayerConclusion) -> Conclusion {
    let sign = match told.verdict {
        Verdict::So => "✓",
        Verdict::NotSo => "✗",
        Verdict::Unknown | Verdict::Needs => "?",
    };
    let label = told.verdict.label();
    let verdict = Words { en: format!("{sign} {}", label.en), zh: format!("{sign} {}", label.zh) };
    Conclusion { verdict, text: told.text }
}
