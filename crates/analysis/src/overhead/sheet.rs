//! All figures of a family in all environments, and the one that the others are held against.

use std::collections::{HashMap, HashSet};

use hostmark_model::{CaseRecord, Message, Params};
use hostmark_say::say;

use super::family::{BIND, FREE_OF_CPUS, FamilyOperation, IRQ, OperationFamily, Space};
use super::value::ComparableValue;
use super::{Environment, alike, control};
use crate::propagated::Propagated;

/// Note of the cases on the reference cycles of a batch of operations.
const BATCH: &str = "batch_cycles";

/// A case of a family in an environment.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) environment: usize,
    pub(super) operation: usize,
    pub(super) side: Space,
    pub(super) point: Params,
    pub(super) id: String,
    pub(super) value: Result<ComparableValue, Message>,
    /// Reference cycles of a batch.
    pub(super) batch: Option<ComparableValue>,
    /// Reason why it says nothing about the first environment.
    pub(super) unlike: Option<Message>,
}

/// Base of all comparisons: a side and a point in the first environment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Base {
    pub(super) side: Space,
    pub(super) point: Params,
}

pub(super) struct Sheet<'a> {
    pub(super) family: &'static OperationFamily,
    pub(super) environments: &'a [Environment<'a>],
    pub(super) figures: Vec<Figure>,
    /// None where the first environment has no case.
    pub(super) base: Option<Base>,
}

type Placed<'a> = (usize, &'a CaseRecord, (usize, Space, Params));

impl<'a> Sheet<'a> {
    /// Sheet over the side and point of `named`, where that is a case of the family.
    pub(super) fn of(
        family: &'static OperationFamily,
        environments: &'a [Environment<'a>],
        named: Option<&CaseRecord>,
    ) -> Self {
        let cases = environments.iter().enumerate().flat_map(|(index, environment)| {
            environment.runs.iter().flat_map(move |run| run.cases.iter().map(move |case| (index, case)))
        });
        let placed = |(index, case): (usize, &'a CaseRecord)| Some((index, case, family.place(case)?));
        let all: Vec<Placed> = cases.filter_map(placed).collect();
        let named = named.and_then(|case| Some((case, family.place(case)?)));
        // The kernel's side has one such value; without it a probe's default comes first.
        let inside = all.iter().find(|(_, _, (_, side, _))| *side == Space::Kernel).map(|(_, case, _)| *case);
        let leading =
            named.as_ref().map(|(case, _)| *case).or(inside).or_else(|| all.first().map(|(_, case, _)| *case));
        let alike = leading.map(|case| family.alike(case)).unwrap_or_default();
        let mut figures: Vec<Figure> = Vec::new();
        let mut known: HashMap<(usize, &str), usize> = HashMap::new();
        for (environment, case, (operation, side, point)) in all {
            let at = (environment, case.id.as_str());
            if family.alike(case) == alike && !known.contains_key(&at) {
                known.insert(at, figures.len());
                let here = &environments[environment];
                let value = ComparableValue::of(here, &case.id);
                let first = known.get(&(0, case.id.as_str())).and_then(|first| figures.get(*first));
                let unlike = first.and_then(|first: &Figure| {
                    let (first, value) = (first.value.as_ref().ok()?, value.as_ref().ok()?);
                    value.over(first).err().or_else(|| value.over_alike(first).err())
                });
                let unlike = unlike.or_else(|| alike::unlike(&environments[0], here, case));
                let batch = ComparableValue::of_quantity(here, &case.id, Some(BATCH)).ok();
                figures.push(Figure { environment, operation, side, point, id: case.id.clone(), value, batch, unlike });
            }
        }
        let mut sheet = Sheet { family, environments, figures, base: None };
        sheet.base = match named {
            Some((_, (_, side, point))) => Some(Base { side, point }),
            None => sheet.plainest(),
        };
        sheet
    }

    /// Inside the kernel, not bound, and with interrupts off where the family has that; else the next best there is.
    fn plainest(&self) -> Option<Base> {
        let is_candidate = |figure: &&Figure| figure.environment == 0 && figure.value.is_ok();
        let first = self.figures.iter().filter(is_candidate).min_by_key(|figure| {
            let is_bound = figure.point.get(BIND).is_some_and(|bind| bind != FREE_OF_CPUS);
            let wanted = if self.family.is_base_without_irq { "off" } else { "on" };
            let has_other_irq = figure.point.get(IRQ).is_some_and(|irq| irq != wanted);
            (figure.side == Space::User, is_bound, has_other_irq)
        })?;
        Some(Base { side: first.side, point: first.point.clone() })
    }

    pub(super) fn operations(&self) -> impl Iterator<Item = (usize, &'static FamilyOperation)> {
        self.family.operations.iter().enumerate()
    }

    /// The points of a side anywhere, in the order of the runs.
    pub(super) fn points(&self, side: Space) -> Vec<Params> {
        self.points_where(side, |_| true)
    }

    fn points_where(&self, side: Space, is_wanted: impl Fn(&Figure) -> bool) -> Vec<Params> {
        let wanted = self.figures.iter().filter(|figure| figure.side == side && is_wanted(figure));
        let wanted: HashSet<&Params> = wanted.map(|figure| &figure.point).collect();
        let mut seen: HashSet<&Params> = HashSet::new();
        let points = self.figures.iter().filter(|figure| figure.side == side).map(|figure| &figure.point);
        points.filter(|point| wanted.contains(point) && seen.insert(point)).cloned().collect()
    }

    /// Points at which any environment has a value.
    pub(super) fn measured_points(&self, side: Space) -> Vec<Params> {
        self.points_where(side, |figure| figure.value.is_ok())
    }

    pub(super) fn figure(&self, environment: usize, operation: usize, side: Space, point: &Params) -> Option<&Figure> {
        self.figures.iter().find(|figure| {
            (figure.environment, figure.operation, figure.side) == (environment, operation, side)
                && figure.point == *point
        })
    }

    /// The value at a place, or why there is none.
    pub(super) fn value(
        &self,
        environment: usize,
        operation: usize,
        side: Space,
        point: &Params,
    ) -> Result<&ComparableValue, Message> {
        match self.figure(environment, operation, side, point) {
            None => Err(term!("not measured").into()),
            Some(figure) => figure.value.as_ref().map_err(Clone::clone),
        }
    }

    /// Fraction by which an operation takes longer there than at the base, or the reason why that is not known.
    pub(super) fn overhead(
        &self,
        environment: usize,
        operation: usize,
        side: Space,
        point: &Params,
    ) -> Result<Propagated, Message> {
        let value = self.value(environment, operation, side, point)?;
        let base = self.base.as_ref().map(|base| self.value(0, operation, base.side, &base.point));
        let base = match base {
            None => return Err(term!("no base").into()),
            Some(Err(why)) => {
                return Err(say!("no base: {why}"));
            }
            Some(Ok(base)) => base,
        };
        if let Some(why) = self.figure(environment, operation, side, point).and_then(|figure| figure.unlike.clone()) {
            return Err(why);
        }
        match self.is_base(environment, side, point) {
            true => Ok(Propagated { value: 0.0, interval: None }),
            false => value.time().over(&base.time()),
        }
    }

    /// Tells whether a value there may be that of the base.
    pub(super) fn may_equal(&self, environment: usize, operation: usize, side: Space, point: &Params) -> bool {
        let base = self.base.as_ref().and_then(|base| self.value(0, operation, base.side, &base.point).ok());
        let value = self.value(environment, operation, side, point).ok();
        value.zip(base).is_some_and(|(value, base)| value.may_equal(base))
    }

    /// Tells whether the first environment is compared with itself.
    pub(super) fn is_controlled(&self) -> bool {
        self.environments.first().is_some_and(control::is_there)
    }

    /// Distance of halves of the first environment's runs there.
    pub(super) fn control(&self, operation: usize, side: Space, point: &Params) -> Option<f64> {
        control::distance(self.value(0, operation, side, point).ok()?)
    }

    pub(super) fn is_base(&self, environment: usize, side: Space, point: &Params) -> bool {
        environment == 0 && self.base.as_ref().is_some_and(|base| base.side == side && base.point == *point)
    }

    /// Tells whether the family's values are rates, which are turned into times.
    pub(super) fn is_of_rates(&self) -> bool {
        self.figures.iter().any(|figure| figure.value.as_ref().is_ok_and(ComparableValue::is_rate))
    }
}

/// A point as it is written in a head of a column.
pub(super) fn at(point: &Params) -> Message {
    let points: Vec<String> = point.0.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    match points.is_empty() {
        true => term!("plain").into(),
        false => Message::plain(points.join(" ")),
    }
}
