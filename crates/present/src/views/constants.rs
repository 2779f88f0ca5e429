//! The constants that people ask for: of a run alone beside what is usual, of several runs beside each other.

use hostmark_analysis::constants::{Constant, ConstantOfRuns, ConstantValue, LINES, not_measured};
use hostmark_analysis::labels::run_letter;
use hostmark_analysis::references::{NearestReference, Tone};
use hostmark_model::{Message, Run, Text};

use crate::document::{Align, Cell, Column, Row, Style, Table, TableLayout};

const CAPTION: Text = term!("Constants");
const USUAL: Text = term!("usual", "constant");

/// Constants that any run has; none where none has any.
pub(crate) fn constants(runs: &[Run], reference: Option<&NearestReference>) -> Option<Table> {
    match runs {
        [run] => Some(alone(run, known(runs), reference)).filter(|table| !table.rows.is_empty()),
        _ => beside(runs, &(0..runs.len()).map(run_letter).collect::<Vec<_>>()),
    }
}

type Known<'a> = (Message, Message, ConstantOfRuns<'a>);

fn known(runs: &[Run]) -> impl Iterator<Item = Known<'_>> {
    let all = LINES.iter().flat_map(|line| line.constants.iter().map(move |constant| (line.name, constant)));
    all.filter_map(|(kind, constant): (Text, &'static Constant)| {
        let beside = constant.beside(runs)?;
        Some((kind.into(), beside.name.into(), beside))
    })
}

fn alone<'a>(run: &Run, known: impl Iterator<Item = Known<'a>>, reference: Option<&NearestReference>) -> Table {
    let mut verdicts = Vec::new();
    let row = |(section, name, beside): Known| {
        let constant = beside.values[0].as_ref();
        let both = reference.zip(constant);
        let verdict = both.and_then(|(reference, constant)| reference.verdict(constant));
        verdicts.extend(verdict.as_ref().map(|verdict| verdict.words.clone()));
        let usual = both.and_then(|(reference, constant)| reference.range(constant)).unwrap_or_default();
        let verdict = verdict.map_or_else(Cell::default, |verdict| Cell {
            style: match verdict.tone {
                Tone::Good => Style::Good,
                Tone::Bad => Style::Bad,
                Tone::Plain | Tone::Doubtful => Style::Plain,
            },
            text: verdict.words.into(),
            key: Some(verdict.better),
            ..Cell::default()
        });
        let cells = vec![name.into(), cell(run, constant, &beside), verdict, usual.into()];
        Row { section, cells, ..Row::default() }
    };
    let rows: Vec<Row> = known.map(row).collect();
    let mut notes: Vec<Message> = not_measured(run).into_iter().map(Message::from).collect();
    notes.extend(reference.filter(|_| !verdicts.is_empty()).map(|reference| {
        let words = verdicts.iter().map(|words| words.en.clone()).collect::<Vec<_>>();
        reference.legend(&words)
    }));
    let mut columns: Vec<Column> = (0..3).map(|_| Column::default()).collect();
    columns.push(Column::new(USUAL, Align::Left));
    Table { caption: CAPTION.into(), columns, rows, notes, layout: TableLayout::Constants, ..Table::default() }
}

/// Constants of several runs, each in a column of its name.
pub(super) fn beside(runs: &[Run], names: &[String]) -> Option<Table> {
    let row = |(kind, name, beside): Known| {
        let label = Message::joined([kind, name], " · ");
        let cells = runs.iter().zip(&beside.values).map(|(run, constant)| cell(run, constant.as_ref(), &beside));
        Row { cells: std::iter::once(label.into()).chain(cells).collect(), ..Row::default() }
    };
    let of_run = |name: &String| Column { style: Style::Run, ..Column::new(name, Align::Point) };
    let table = Table {
        caption: CAPTION.into(),
        columns: std::iter::once(Column::default()).chain(names.iter().map(of_run)).collect(),
        rows: known(runs).map(row).collect(),
        layout: TableLayout::Runs,
        ..Table::default()
    };
    (!table.rows.is_empty()).then_some(table)
}

/// A value, and how sure it is where that is worth a word; a dash for what a run does not have.
fn cell(run: &Run, constant: Option<&ConstantValue>, beside: &ConstantOfRuns) -> Cell {
    let sure = constant.and_then(|constant| constant.how_sure(run));
    Cell {
        text: constant.map_or_else(|| Message::plain("–"), |constant| beside.value(constant)),
        lines: sure.into_iter().collect(),
        ..Cell::default()
    }
}
