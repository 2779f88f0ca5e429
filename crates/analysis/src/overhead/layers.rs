//! The layers side by side: what an operation takes from user space and inside the kernel of each environment, and what lies
//! between two of these.

use hostmark_model::{Message, Params, Text};
use hostmark_say::say;

use super::family::{BIND, FamilyOperation, IRQ, SPACES, Space};
use super::kind::EnvironmentKind;
use super::sheet::{Sheet, at};
use super::value::ComparableValue;
use super::{Row, Table, control};
use crate::propagated::Propagated;

/// An environment's side: a column of the values.
type Column = (usize, Space);

/// Tables of values, where there are several environments, and for each operation of the percentages between them.
pub(super) fn tables(sheet: &Sheet, kinds: &[EnvironmentKind], all: bool) -> Vec<Table> {
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
                over.map(|(over, may_equal)| control::beside(&over, may_equal, distance(step.of.1, place), all));
            cells.push(shown.unwrap_or_else(|why| table.without(why)));
        }
        table.rows.push(Row { label: step.title(sheet), cells });
    }
    table.rows.extend(own.iter().map(|column| {
        let (head, name) = (control::TITLE, short(sheet, *column));
        let label = Message::joined([head.into(), name], ": ");
        Row { label, cells: places.iter().map(|place| control::cell(distance(column.1, place))).collect() }
    }));
    table
}

/// An operation at a binding.
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

/// The sides that were measured: of the first environment from the outside inwards, of the others from the inside outwards,
/// so that one kernel stands beside the other.
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

/// The points of binding anywhere.
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
