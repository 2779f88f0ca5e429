//! The constants that people ask for: of a run alone beside what is usual, of several runs beside each other.

use hostmark_analysis::constants::{ConstantOfRuns, ConstantValue, LINES, NOT_KNOWN, not_measured};
use hostmark_analysis::labels::run_letter;
use hostmark_analysis::references::{NearestReference, Tone};
use hostmark_model::{Message, Run, Text};
use hostmark_say::say;

use super::comparison::words::sentence;
use crate::document::{Align, Cell, Column, Row, Style, Table, TableLayout};

const CAPTION: Text = term!("Key figures");
/// Runs beside each other up to which each value has its range.
const FEW_RUNS: usize = 3;
const HERE: Text = term!("here");
const REPEAT: Text = term!("a repeat");

/// Constants that any run has; none where none has any.
pub(crate) fn constants(runs: &[Run], reference: Option<&NearestReference>) -> Option<Table> {
    match runs {
        [run] => Some(alone(run, known(runs), reference)).filter(|table| !table.rows.is_empty()),
        _ => beside(runs, &(0..runs.len()).map(run_letter).collect::<Vec<_>>()),
    }
}

type Known<'a> = (Message, ConstantOfRuns<'a>);

fn known(runs: &[Run]) -> impl Iterator<Item = Known<'_>> {
    LINES.iter().flat_map(|line| line.constants).filter_map(|constant| {
        let beside = constant.beside(runs)?;
        // A percentile says which.
        let which = if beside.name == constant.name { Text::default() } else { beside.name };
        Some((Message::joined([Message::from(constant.row), Message::from(which)], " "), beside))
    })
}

fn alone<'a>(run: &Run, known: impl Iterator<Item = Known<'a>>, reference: Option<&NearestReference>) -> Table {
    let mut is_judged = false;
    let row = |(name, beside): Known| {
        let constant = beside.values[0].as_ref();
        let both = reference.zip(constant);
        let verdict = both.and_then(|(reference, constant)| reference.verdict(constant));
        is_judged |= verdict.is_some();
        let usual = both.filter(|(reference, _)| reference.is_usual());
        let usual =
            usual.map(|(reference, constant)| reference.range_beside(constant).unwrap_or_else(|| NOT_KNOWN.into()));
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
        let [here, repeat] = constant.map(|one| [one.here(), one.repeat()]).unwrap_or_default();
        let cells = vec![name.into(), here.into(), repeat.into(), usual.unwrap_or_default().into(), verdict];
        Row { cells, ..Row::default() }
    };
    let rows: Vec<Row> = known.map(row).collect();
    let mut notes = not_measured(run);
    notes.extend(reference.filter(|_| is_judged).map(NearestReference::legend));
    // Beside one machine the verdict has the heading, as it has no range.
    let column = |is_usual| reference.filter(|it| it.is_usual() == is_usual).map(NearestReference::column);
    let [usual, machine] = [true, false].map(|is_usual| column(is_usual).unwrap_or_default());
    let heads = [Text::default(), HERE, REPEAT, usual, machine];
    let columns = heads.map(|head| Column::new(head, Align::Left)).into();
    Table { caption: CAPTION.into(), columns, rows, notes, layout: TableLayout::Constants, ..Table::default() }
}

/// Constants of several runs, each in a column of its name.
pub(super) fn beside(runs: &[Run], names: &[String]) -> Option<Table> {
    let row = |(name, beside): Known| {
        let cells = beside.values.iter().map(|one| cell(one.as_ref(), &beside, runs.len() > FEW_RUNS));
        Row { cells: std::iter::once(name.into()).chain(cells).collect(), ..Row::default() }
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

/// Verdict on a run's key figures over those of the first.
pub(super) fn verdict(runs: &[Run], run: usize, name: &str) -> Message {
    let costs = known(runs).filter_map(|(name, beside)| Some((beside.cost(run)?, name)));
    let (same, changed): (Vec<_>, Vec<_>) = costs.partition(|(cost, _)| *cost == 1.0);
    let (slower, faster) = changed.into_iter().partition(|(cost, _)| *cost > 1.0);
    let rest = (!same.is_empty()).then(|| say!("within error in {same}", same = same.len()));
    sentence(name, [slower, faster], [rest])
}

/// A value, and the range of a repeat unless columns are narrow; a dash for what a run does not have.
fn cell(constant: Option<&ConstantValue>, beside: &ConstantOfRuns, is_narrow: bool) -> Cell {
    match constant {
        Some(constant) if is_narrow => constant.here().into(),
        Some(constant) => beside.value(constant).into(),
        None => Message::plain("–").into(),
    }
}
