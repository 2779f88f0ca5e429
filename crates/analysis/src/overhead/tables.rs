//! The cost of an operation, taken apart: inside the kernel, with interrupts on, from user space, and all of it in further
//! environments, each over the plain operation inside the kernel of the first, which is as fast as the hardware goes.

use hostmark_model::{Message, Params, Text};
use hostmark_say::say;

use super::environment::EnvironmentKind;
use super::sheet::{BIND, FamilyOperation, IRQ, SPACES, Space};
use super::sheet::{Figure, Sheet, at};
use super::sheet::{of_rates, side_of, title};
use super::value::{ComparableValue, middle};
use super::{Row, Table, cell_of, value};
use crate::format::{number, percent};
use crate::propagated::{Propagated, propagated_ratio};
use crate::typography::COMMA;

/// All tables of a family; none where no run has a value of it. `all` adds intervals.
pub(super) fn tables(sheet: &Sheet, kinds: &[EnvironmentKind], all: bool) -> Vec<Table> {
    let each = || (0..sheet.environments.len()).flat_map(|environment| SPACES.map(|side| (environment, side)));
    let mut tables: Vec<Table> = layer_tables(sheet, kinds, all);
    tables.extend(each().filter_map(|(environment, side)| values(sheet, environment, side, all)));
    tables.extend(each().filter_map(|(environment, side)| {
        let title = title(sheet, environment, side, kinds[environment]);
        percentages(sheet, environment, side, title, all)
    }));
    tables.extend((0..sheet.environments.len()).filter_map(|environment| interrupts(sheet, environment, all)));
    tables.extend(ratio(sheet, all));
    tables.extend(deviation(sheet));
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
                false => value::beside_control(
                    &over,
                    sheet.may_equal(environment, operation, side, point),
                    sheet.control(operation, side, point),
                    all,
                ),
            })
        });
        let of = |operation, point: &Params| value::control_cell(sheet.control(operation, side, point));
        table.rows.extend(controls(sheet, &points, of));
        table
    })
}

/// A row for each operation with what the first environment's halves differ by at each of `points`.
fn controls(sheet: &Sheet, points: &[Params], cell: impl Fn(usize, &Params) -> Message) -> Vec<Row> {
    let row = |(index, operation): (usize, &FamilyOperation)| Row {
        label: say!("{operation}, {head}", operation = operation.name, head = value::CONTROL_TITLE),
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
            Ok(value::beside_control(&over, on_value.may_equal(off_value), distance, all))
        };
        let cells = pairs.iter().map(|pair| over(pair).unwrap_or_else(|why| table.without(why))).collect();
        table.rows.push(Row { label: operation.name.into(), cells });
    }
    let with: Vec<Params> = pairs.into_iter().map(|(_, on)| on).collect();
    let of = |operation, point: &Params| value::control_cell(sheet.control(operation, Space::Kernel, point));
    table.rows.extend(controls(sheet, &with, of));
    (!with.is_empty()).then_some(table)
}

/// An environment's side: a column of the values.
type Column = (usize, Space);

/// Tables of values, where there are several environments, and for each operation of the percentages between them.
pub(super) fn layer_tables(sheet: &Sheet, kinds: &[EnvironmentKind], all: bool) -> Vec<Table> {
    let columns: Vec<Column> = columns(sheet);
    let bindings = bindings(sheet);
    if columns.iter().filter(|(environment, _)| *environment > 0).count() == 0 || bindings.is_empty() {
        return Vec::new();
    }
    let places: Vec<BoundOperation> = (sheet.operations())
        .flat_map(|(index, operation)| bindings.iter().map(move |binding| BoundOperation { index, operation, binding }))
        .collect();
    let mut values = Table {
        title: term!("Side by side").into(),
        columns: columns.iter().map(|column| short(sheet, *column)).collect(),
        ..Table::default()
    };
    for place in &places {
        let value = |column: &Column| found(sheet, *column, place);
        let shown = |value: &ComparableValue| if all { value.text_with_interval() } else { value.text() };
        let cells = columns.iter().map(|column| value(column).map_or_else(|why| values.without(why), shown)).collect();
        values.rows.push(Row { label: place.label(), cells });
    }
    let steps = steps(&columns, kinds);
    let own: Vec<Column> = columns.iter().copied().filter(|column| column.0 == 0 && sheet.is_controlled()).collect();
    let of_operation = |places: &[BoundOperation]| layers(sheet, places, &steps, &own, all);
    std::iter::once(values).chain(places.chunks(bindings.len()).map(of_operation)).collect()
}

/// The percentages of one operation: a row for each step, and for each side of the first environment its control.
fn layers(sheet: &Sheet, places: &[BoundOperation], steps: &[LayerStep], own: &[Column], all: bool) -> Table {
    let name = places.first().map(|place| place.operation.name).unwrap_or(Text { en: "", zh: "" });
    let mut table = Table {
        title: say!("What each layer adds, in the time of an operation: {name}"),
        columns: places.iter().map(|place| at(place.binding)).collect(),
        ..Table::default()
    };
    let distance = |side, place: &BoundOperation| sheet.control(place.index, side, &point(sheet, side, place.binding));
    for step in steps {
        let mut cells = Vec::new();
        for place in places {
            let over = step.over(sheet, place);
            let shown =
                over.map(|(over, may_equal)| value::beside_control(&over, may_equal, distance(step.of.1, place), all));
            cells.push(shown.unwrap_or_else(|why| table.without(why)));
        }
        table.rows.push(Row { label: step.title(sheet), cells });
    }
    table.rows.extend(own.iter().map(|column| {
        let (head, name) = (value::CONTROL_TITLE, short(sheet, *column));
        let label = Message::joined([head.into(), name], ": ");
        Row { label, cells: places.iter().map(|place| value::control_cell(distance(column.1, place))).collect() }
    }));
    table
}

struct BoundOperation<'a> {
    index: usize,
    operation: &'static FamilyOperation,
    binding: &'a Params,
}

impl BoundOperation<'_> {
    fn label(&self) -> Message {
        match self.binding.0.is_empty() {
            true => self.operation.name.into(),
            false => Message::joined([self.operation.name.into(), at(self.binding)], Text { en: " ", zh: " " }),
        }
    }
}

/// A side of an environment in few letters.
fn short(sheet: &Sheet, (environment, side): Column) -> Message {
    let (name, side) = (sheet.environments[environment].name, side.short());
    Message::joined([Message::plain(name), side.into()], " ")
}

/// The measured sides: of the first environment inwards, of the others outwards, so that one kernel stands beside the other.
fn columns(sheet: &Sheet) -> Vec<Column> {
    let sides = |environment: usize| {
        let mut sides = SPACES;
        if environment == 0 {
            sides.reverse();
        }
        sides.map(|side| (environment, side))
    };
    let is_measured = |(environment, side): &Column| {
        let mut figures = sheet.figures.iter();
        figures.any(|one| (one.environment, one.side) == (*environment, *side) && one.value.is_ok())
    };
    (0..sheet.environments.len()).flat_map(sides).filter(is_measured).collect()
}

fn bindings(sheet: &Sheet) -> Vec<Params> {
    let mut all: Vec<Params> = Vec::new();
    for point in SPACES.into_iter().flat_map(|side| sheet.measured_points(side)) {
        let binding = Params(point.0.into_iter().filter(|(axis, _)| axis == BIND).collect());
        if !all.contains(&binding) {
            all.push(binding);
        }
    }
    all
}

/// The point of a side at a binding; inside the kernel with interrupts as the family's base has them.
fn point(sheet: &Sheet, side: Space, binding: &Params) -> Params {
    let irq = if sheet.family.is_base_without_irq { "off" } else { "on" };
    let is_meant = |point: &Params| {
        point.get(BIND) == binding.get(BIND) && point.get(IRQ).is_none_or(|on| side == Space::User || on == irq)
    };
    sheet.points(side).into_iter().find(is_meant).unwrap_or_else(|| binding.clone())
}

fn found<'a>(
    sheet: &'a Sheet,
    (environment, side): Column,
    place: &BoundOperation,
) -> Result<&'a ComparableValue, Message> {
    sheet.value(environment, place.index, side, &point(sheet, side, place.binding))
}

struct LayerStep {
    of: Column,
    over: Column,
    kind: EnvironmentKind,
}

/// Layers between columns: in each environment the OS, and between two environments the other one's hypervisor or container.
fn steps(columns: &[Column], kinds: &[EnvironmentKind]) -> Vec<LayerStep> {
    let is_there = |column: &Column| columns.contains(column);
    let mut all = Vec::new();
    for (environment, kind) in kinds.iter().enumerate() {
        let pairs = [
            ((environment, Space::Kernel), (0, Space::Kernel)),
            ((environment, Space::User), (0, Space::User)),
            ((environment, Space::User), (environment, Space::Kernel)),
        ];
        let pairs = pairs.into_iter().filter(|(of, over)| of != over && is_there(of) && is_there(over));
        all.extend(pairs.map(|(of, over)| LayerStep { of, over, kind: *kind }));
    }
    all
}

impl LayerStep {
    /// Name of the layer, and its two sides.
    fn title(&self, sheet: &Sheet) -> Message {
        const OS: Text = term!("OS");
        let layer = match self.kind {
            _ if self.of.0 == self.over.0 => OS,
            EnvironmentKind::Guest => term!("hypervisor"),
            EnvironmentKind::Container => term!("container"),
            EnvironmentKind::Free => term!("all of the machine"),
            EnvironmentKind::First | EnvironmentKind::Other => term!("environment"),
        };
        let (of, over) = (short(sheet, self.of), short(sheet, self.over));
        Message::joined([layer.into(), Message::joined([of, over], " / ")], ": ")
    }

    fn over(&self, sheet: &Sheet, place: &BoundOperation) -> Result<(Propagated, bool), Message> {
        let (Ok(of), Ok(over)) = (found(sheet, self.of, place), found(sheet, self.over, place)) else {
            return Err(Message::plain("–"));
        };
        let (environment, side) = self.of;
        let figure = sheet.figure(environment, place.index, side, &point(sheet, side, place.binding));
        // What one environment's sides say of each other does not depend on another environment.
        match figure.and_then(|figure| figure.unlike.clone()).filter(|_| self.over.0 != environment) {
            Some(why) => Err(why),
            None => Ok((of.time().over(&over.time())?, of.may_equal(over))),
        }
    }
}

/// Reads and writes, where a family has both.
pub(super) const READ: usize = 0;
pub(super) const WRITE: usize = 1;

/// The times of reads and writes at the points of a side, in turn, with where each pair stands.
pub(super) struct Pairs {
    pub(super) points: Vec<Params>,
    pub(super) times: Vec<Propagated>,
    pub(super) cases: Vec<String>,
}

/// Pairs of both on a side of an environment.
pub(super) fn pairs(sheet: &Sheet, environment: usize, side: Space) -> Pairs {
    let mut all = Pairs { points: Vec::new(), times: Vec::new(), cases: Vec::new() };
    for point in sheet.points(side) {
        let figure = |operation| sheet.figure(environment, operation, side, &point);
        let (Some(read), Some(write)) = (figure(READ), figure(WRITE)) else { continue };
        let (Ok(reading), Ok(writing)) = (&read.value, &write.value) else { continue };
        if reading.unit == writing.unit && reading.value > 0.0 && writing.value > 0.0 {
            all.times.extend([reading, writing].map(|value| value.propagated_time()));
            all.cases.extend([read.id.clone(), write.id.clone()]);
            all.points.push(point);
        }
    }
    all
}

/// The mean of the ratios of times that [`Pairs`] has in turn.
pub(super) fn mean_ratio(times: &[f64]) -> Option<f64> {
    let ratios = times.chunks_exact(2).map(|pair| pair[1] / pair[0]);
    (!times.is_empty()).then(|| ratios.sum::<f64>() / (times.len() / 2) as f64)
}

/// Table by environment and side, and the mean over these.
pub(super) fn ratio(sheet: &Sheet, all: bool) -> Option<Table> {
    let mut rows = Vec::new();
    let mut means = Vec::new();
    for environment in 0..sheet.environments.len() {
        for side in SPACES {
            let pairs = pairs(sheet, environment, side);
            let Some(mean) = propagated_ratio(&pairs.times, mean_ratio) else { continue };
            let each: Vec<(Message, Propagated)> = (pairs.points.iter().map(at))
                .zip(pairs.times.chunks_exact(2))
                .filter_map(|(at, times)| Some((at, propagated_ratio(times, mean_ratio)?)))
                .collect();
            means.push(mean.value);
            let times = |ratio: &Propagated| Message::plain(ratio.text(all, two_digits));
            let each = each.iter().map(|(at, ratio)| Message::joined([at.clone(), times(ratio)], " "));
            let cells = vec![times(&mean), Message::joined(each, "  ")];
            rows.push(Row { label: side_of(&sheet.environments[environment], side), cells });
        }
    }
    let mean = (means.len() > 1).then(|| means.iter().sum::<f64>() / means.len() as f64);
    rows.extend(mean.map(|mean| Row {
        label: term!("mean of these").into(),
        cells: vec![Message::plain(two_digits(mean)), Message::plain("–")],
    }));
    (!rows.is_empty()).then(|| Table {
        title: term!("Write/read ratio: what a write takes, in times of a read").into(),
        columns: vec![term!("mean").into(), term!("each").into()],
        rows,
        ..Table::default()
    })
}

fn two_digits(ratio: f64) -> String {
    if ratio.abs() < 1e6 { format!("{ratio:.2}") } else { number(ratio) }
}

/// Standard deviation over mean, by environment, side and operation: the least, the middle and the greatest of the points.
pub(super) fn deviation(sheet: &Sheet) -> Option<Table> {
    let mut rows = Vec::new();
    for (environment, here) in sheet.environments.iter().enumerate() {
        for side in SPACES {
            for (index, operation) in sheet.operations() {
                let of = |value: &ComparableValue| value.deviation;
                let at_point = |point: &Params| sheet.value(environment, index, side, point).ok().and_then(of);
                let mut all: Vec<f64> = sheet.points(side).iter().filter_map(at_point).collect();
                all.sort_by(f64::total_cmp);
                let (Some(least), Some(most), Some(middle)) = (all.first(), all.last(), middle(all.iter().copied()))
                else {
                    continue;
                };
                let (place, name) = (side_of(here, side), operation.name);
                let label = Message::joined([place, name.into()], COMMA);
                rows.push(Row {
                    label,
                    cells: [*least, middle, *most].map(|part| Message::plain(percent(part))).into(),
                });
            }
        }
    }
    (!rows.is_empty()).then(|| Table {
        title: term!("Deviation/mean of all samples, over the columns above").into(),
        columns: vec![term!("least").into(), term!("middle").into(), term!("greatest").into()],
        rows,
        ..Table::default()
    })
}
