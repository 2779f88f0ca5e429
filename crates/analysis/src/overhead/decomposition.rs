//! The cost of an operation, taken apart: inside the kernel, with interrupts on, from user space, and all of it in further
//! environments, each over the plain operation inside the kernel of the first, which is as fast as the hardware goes.

use hostmark_model::{Message, Params};
use hostmark_say::say;

use super::family::{BIND, FamilyOperation, IRQ, SPACES, Space};
use super::kind::EnvironmentKind;
use super::names::{of_rates, side_of, title};
use super::sheet::{Figure, Sheet, at};
use super::value::ComparableValue;
use super::{Row, Table, cell_of, control, layers, ratio};

/// All tables of a family; none where no run has a value of it. `all` adds intervals.
pub(super) fn tables(sheet: &Sheet, kinds: &[EnvironmentKind], all: bool) -> Vec<Table> {
    let each = || (0..sheet.environments.len()).flat_map(|environment| SPACES.map(|side| (environment, side)));
    let mut tables: Vec<Table> = layers::tables(sheet, kinds, all);
    tables.extend(each().filter_map(|(environment, side)| values(sheet, environment, side, all)));
    tables.extend(each().filter_map(|(environment, side)| {
        let title = title(sheet, environment, side, kinds[environment]);
        percentages(sheet, environment, side, title, all)
    }));
    tables.extend((0..sheet.environments.len()).filter_map(|environment| interrupts(sheet, environment, all)));
    tables.extend(ratio::ratio(sheet, all));
    tables.extend(ratio::deviation(sheet));
    tables
}

/// Tells whether an environment has a value of a side.
fn is_measured(sheet: &Sheet, environment: usize, side: Space) -> bool {
    let is_here = |figure: &&Figure| figure.environment == environment && figure.side == side;
    sheet.figures.iter().filter(is_here).any(|figure| figure.value.is_ok())
}

/// A table with a row for each operation and a column for each of `points`.
fn table(
    sheet: &Sheet,
    title: Message,
    points: &[Params],
    cell: impl Fn(usize, &Params) -> Result<Message, Message>,
) -> Table {
    let mut table = Table { title, columns: points.iter().map(at).collect(), ..Table::default() };
    for (index, operation) in sheet.operations() {
        let cells = points.iter().map(|point| cell(index, point).unwrap_or_else(|why| table.without(why))).collect();
        table.rows.push(Row { label: operation.name.into(), cells });
    }
    table
}

fn values(sheet: &Sheet, environment: usize, side: Space, all: bool) -> Option<Table> {
    if !is_measured(sheet, environment, side) {
        return None;
    }
    let (place, runs) = (side_of(&sheet.environments[environment], side), sheet.environments[environment].runs.len());
    let title = say!("{place}: medians of {runs:run}");
    let points = sheet.points(side);
    let shown = |value: &ComparableValue| if all { value.text_with_interval() } else { value.text() };
    let mut table =
        table(sheet, title, &points, |operation, point| sheet.value(environment, operation, side, point).map(shown));
    let row = |(index, operation): (usize, &FamilyOperation)| {
        let of = |point| sheet.figure(environment, index, side, point)?.batch.as_ref();
        let batches: Vec<Option<&ComparableValue>> = points.iter().map(of).collect();
        batches.iter().any(Option::is_some).then(|| Row {
            label: say!("{operation}, cycles of 10 000", operation = operation.name),
            cells: batches
                .iter()
                .map(|batch| {
                    Message::plain(batch.map_or_else(|| "–".to_owned(), |batch| format!("{:.0}", batch.value)))
                })
                .collect(),
        })
    };
    let batches: Vec<Row> = sheet.operations().filter_map(row).collect();
    table.rows.extend(batches);
    let mean = |(index, operation): (usize, &FamilyOperation)| {
        let of = |point: &Params| {
            let figure = sheet.figure(environment, index, side, point)?;
            figure.batch.as_ref().or(figure.value.as_ref().ok())?.mean_text()
        };
        Row {
            label: say!("{operation}, mean ± deviation", operation = operation.name),
            cells: points.iter().map(|point| of(point).unwrap_or_else(|| Message::plain("–"))).collect(),
        }
    };
    if all {
        table.rows.extend(sheet.operations().map(mean).collect::<Vec<Row>>());
    }
    Some(table)
}

fn percentages(sheet: &Sheet, environment: usize, side: Space, title: Message, all: bool) -> Option<Table> {
    let points = sheet.measured_points(side);
    // A base that stands over itself alone tells nothing.
    let is_shown = points.iter().any(|point| !sheet.is_base(environment, side, point));
    (is_shown && is_measured(sheet, environment, side)).then(|| {
        let mut table = table(sheet, title, &points, |operation, point| {
            let over = sheet.overhead(environment, operation, side, point)?;
            Ok(match sheet.is_base(environment, side, point) {
                true => cell_of(&over, all),
                false => control::beside(
                    &over,
                    sheet.may_equal(environment, operation, side, point),
                    sheet.control(operation, side, point),
                    all,
                ),
            })
        });
        let of = |operation, point: &Params| control::cell(sheet.control(operation, side, point));
        table.rows.extend(controls(sheet, &points, of));
        table
    })
}

/// A row for each operation with what the first environment's halves differ by at each of `points`.
fn controls(sheet: &Sheet, points: &[Params], cell: impl Fn(usize, &Params) -> Message) -> Vec<Row> {
    let row = |(index, operation): (usize, &FamilyOperation)| Row {
        label: say!("{operation}, {head}", operation = operation.name, head = control::TITLE),
        cells: points.iter().map(|point| cell(index, point)).collect(),
    };
    let operations = sheet.operations().filter(|_| sheet.is_controlled());
    operations.map(row).collect()
}

/// Cost of interrupts: inside the kernel with them on, over the same with them off.
fn interrupts(sheet: &Sheet, environment: usize, all: bool) -> Option<Table> {
    let pairs: Vec<(Params, Params)> = (sheet.measured_points(Space::Kernel).into_iter())
        .filter(|point| point.get(IRQ) == Some("on"))
        .map(|on| (on.with(IRQ, "off"), on))
        .filter(|(off, _)| {
            sheet.operations().any(|(index, _)| sheet.value(environment, index, Space::Kernel, off).is_ok())
        })
        .collect();
    let place = side_of(&sheet.environments[environment], Space::Kernel);
    let of = of_rates(sheet);
    let mut table = Table {
        title: say!("Interrupt overhead: {place}, irq=on over irq=off{of}"),
        columns: pairs
            .iter()
            .map(|(_, on)| at(&Params(on.0.iter().filter(|(axis, _)| axis == BIND).cloned().collect())))
            .collect(),
        ..Table::default()
    };
    for (index, operation) in sheet.operations() {
        let over = |(off, on): &(Params, Params)| {
            let value = |point| sheet.value(environment, index, Space::Kernel, point);
            let (on_value, off_value) = (value(on)?, value(off)?);
            let over = on_value.time().over(&off_value.time())?;
            let distance = sheet.control(index, Space::Kernel, on);
            Ok(control::beside(&over, on_value.may_equal(off_value), distance, all))
        };
        let cells = pairs.iter().map(|pair| over(pair).unwrap_or_else(|why| table.without(why))).collect();
        table.rows.push(Row { label: operation.name.into(), cells });
    }
    let with: Vec<Params> = pairs.into_iter().map(|(_, on)| on).collect();
    let of = |operation, point: &Params| control::cell(sheet.control(operation, Space::Kernel, point));
    table.rows.extend(controls(sheet, &with, of));
    (!with.is_empty()).then_some(table)
}
