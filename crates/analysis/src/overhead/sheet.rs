//! All figures of a family of operations in all environments, the one that the others are held against, and the families themselves.

use std::collections::{HashMap, HashSet};

use hostmark_model::{CaseRecord, ISOLATE, Message, Params, Text};
use hostmark_say::say;

use super::environment::EnvironmentKind;
use super::value::ComparableValue;
use super::{Environment, environment, value};
use crate::propagated::Propagated;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    Kernel,
    User,
}

/// The side that is nearer to the hardware first.
pub(super) const SPACES: [Space; 2] = [Space::Kernel, Space::User];

impl Space {
    /// Label behind the name of an environment.
    pub(super) fn name(self) -> Text {
        match self {
            Space::Kernel => term!("inside the kernel"),
            Space::User => term!("in user space"),
        }
    }

    /// Label in the head of a column.
    pub(super) fn short(self) -> Text {
        match self {
            Space::Kernel => term!("kernel", "CPU time"),
            Space::User => term!("user"),
        }
    }
}

/// The cases of one side of an operation: a probe, where it stands on axes.
#[derive(Debug)]
pub(super) struct OperationCases {
    pub(super) probe: &'static str,
    pub(super) at: &'static [(&'static str, &'static str)],
}

#[derive(Debug)]
pub(super) struct FamilyOperation {
    pub(super) name: Text,
    pub(super) kernel: Option<OperationCases>,
    pub(super) user: OperationCases,
}

impl FamilyOperation {
    pub(super) fn source(&self, side: Space) -> Option<&OperationCases> {
        match side {
            Space::Kernel => self.kernel.as_ref(),
            Space::User => Some(&self.user),
        }
    }
}

/// Operations that are held against each other. Their points differ by [`FREE`] axes alone.
#[derive(Debug)]
pub(super) struct OperationFamily {
    pub(super) title: Text,
    /// Name before a conclusion.
    pub(super) name: Text,
    pub(super) operations: &'static [FamilyOperation],
    /// An axis on which all of its cases stand at the same value, whichever that is.
    pub(super) alike: Option<&'static str>,
    /// True where the base has interrupts off; else they stay on, as the work waits for them.
    pub(super) is_base_without_irq: bool,
    /// True where a case that lacks an axis is one of its cases.
    pub(super) may_lack_axes: bool,
}

pub(super) const BIND: &str = "bind";
pub(super) const IRQ: &str = "irq";
const FREE: [&str; 2] = [BIND, IRQ];
/// The point of [`BIND`] at which the plan chooses the CPU: neither free nor the same CPU everywhere.
const CHOSEN: &str = "cpu";

const READ: Text = term!("READ");
const WRITE: Text = term!("WRITE");

const fn cases(probe: &'static str, at: &'static [(&'static str, &'static str)]) -> OperationCases {
    OperationCases { probe, at }
}

const fn operation(name: Text, kernel: Option<OperationCases>, user: OperationCases) -> FamilyOperation {
    FamilyOperation { name, kernel, user }
}

const READS: (&str, &str) = ("op", "read");
const WRITES: (&str, &str) = ("op", "write");
const CACHED: (&str, &str) = ("through", "cache");
const DIRECTLY: (&str, &str) = ("through", "direct");
const ANYWHERE: (&str, &str) = ("within", "all");
const BASE_PAGES: (&str, &str) = ("page", "base");
const IN_KERNEL: &str = "memory.kernel_random_access";
const AT_RANDOM: &str = "memory.random_access";

/// A page of a file that the page cache holds. The conclusions of the report that this view follows are drawn from it.
pub(super) static FILE: OperationFamily = OperationFamily {
    title: term!("File access: 4 KiB at the start of a file, read and overwritten, without O_SYNC"),
    name: term!("file"),
    operations: &[
        operation(READ, Some(cases("file.kernel_block", &[READS])), cases("file.block", &[READS, CACHED])),
        operation(WRITE, Some(cases("file.kernel_block", &[WRITES])), cases("file.block", &[WRITES, CACHED])),
    ],
    alike: None,
    is_base_without_irq: false,
    may_lack_axes: true,
};

static DIRECT: OperationFamily = OperationFamily {
    title: term!("File access past the page cache (O_DIRECT): what compares disks"),
    name: term!("file past the page cache"),
    operations: &[
        operation(READ, None, cases("file.block", &[READS, DIRECTLY])),
        operation(WRITE, None, cases("file.block", &[WRITES, DIRECTLY])),
    ],
    alike: None,
    is_base_without_irq: false,
    may_lack_axes: false,
};

static CPU: OperationFamily = OperationFamily {
    title: term!("CPU: a prime sieve"),
    name: Text { en: "CPU", zh: "CPU" },
    operations: &[operation(
        term!("SIEVE"),
        Some(cases("cpu.kernel_sieve", &[])),
        cases("cpu.sieve", &[("threads", "1"), ("copies", "1")]),
    )],
    alike: None,
    is_base_without_irq: true,
    may_lack_axes: false,
};

static MEMORY: OperationFamily = OperationFamily {
    title: term!("Memory: 8-byte loads and stores at random places, base pages"),
    name: term!("memory"),
    operations: &[
        operation(READ, Some(cases(IN_KERNEL, &[READS])), cases(AT_RANDOM, &[READS, ANYWHERE, BASE_PAGES])),
        operation(WRITE, Some(cases(IN_KERNEL, &[WRITES])), cases(AT_RANDOM, &[WRITES, ANYWHERE, BASE_PAGES])),
    ],
    alike: Some("size"),
    is_base_without_irq: true,
    may_lack_axes: false,
};

/// All of them, in the order of the view.
pub(super) static FAMILIES: [&OperationFamily; 4] = [&FILE, &DIRECT, &CPU, &MEMORY];

impl OperationFamily {
    /// Operation, side and point of a case; none where it is none of the family's.
    pub(super) fn place(&self, case: &CaseRecord) -> Option<(usize, Space, Params)> {
        let has = |(axis, wanted): &(&str, &str)| match case.params.get(axis) {
            Some(value) => value == *wanted,
            None => self.may_lack_axes,
        };
        let is_of = |source: &OperationCases| source.probe == case.probe && source.at.iter().all(has);
        let sides =
            |operation: &FamilyOperation| SPACES.into_iter().find(|side| operation.source(*side).is_some_and(is_of));
        let (index, side) =
            self.operations.iter().enumerate().find_map(|(index, operation)| Some((index, sides(operation)?)))?;
        let is_wanted = match case.params.get(BIND) {
            Some(bind) => bind != CHOSEN,
            None => self.may_lack_axes,
        };
        let is_free = |(axis, _): &&(String, String)| FREE.contains(&axis.as_str());
        is_wanted.then(|| (index, side, Params(case.params.0.iter().filter(is_free).cloned().collect())))
    }

    /// The value of the axis that all of its cases have alike; empty where there is no such axis.
    pub(super) fn alike<'a>(&self, case: &'a CaseRecord) -> &'a str {
        self.alike.and_then(|axis| case.params.get(axis)).unwrap_or_default()
    }
}

/// The points of [`BIND`] that are measured.
const BOUND: [&str; 3] = [FREE_OF_CPUS, "0", "last"];
/// The one at which the scheduler chooses.
pub(super) const FREE_OF_CPUS: &str = "none";

impl OperationFamily {
    /// The cases of its tables, by probe and the axes on which they may not be at their default.
    pub(super) fn cells(&self) -> impl Iterator<Item = (&'static str, Vec<(&'static str, &'static str)>)> {
        let of = |source: &'static OperationCases, more: Vec<(&'static str, &'static str)>| {
            (source.probe, source.at.iter().copied().chain(more).collect())
        };
        // Where interrupts stay on, one case is enough to be told why.
        let is_asked = |bind: &str, irq: &str| self.is_base_without_irq || irq == "on" || bind == FREE_OF_CPUS;
        self.operations.iter().flat_map(move |operation| {
            let points = BOUND.into_iter().flat_map(|bind| ["on", "off"].map(|irq| (bind, irq)));
            let kernel = points
                .filter(|(bind, irq)| is_asked(bind, irq))
                .filter_map(|(bind, irq)| Some(of(operation.kernel.as_ref()?, vec![(BIND, bind), (IRQ, irq)])));
            let user = BOUND.into_iter().map(|bind| of(&operation.user, vec![(BIND, bind)]));
            kernel.chain(user).collect::<Vec<_>>()
        })
    }
}

/// Tells whether a case belongs to a family, and stands in its tables.
pub(super) fn is_part(case: &CaseRecord) -> bool {
    FAMILIES.iter().any(|family| family.place(case).is_some())
}

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
                let unlike = unlike.or_else(|| environment::unlike(&environments[0], here, case));
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
        let base = self.base.as_ref().ok_or_else(|| Message::from(term!("no base")))?;
        let base = self.value(0, operation, base.side, &base.point).map_err(|why| say!("no base: {why}"))?;
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
        self.environments.first().is_some_and(value::has_control)
    }

    /// Distance of halves of the first environment's runs there.
    pub(super) fn control(&self, operation: usize, side: Space, point: &Params) -> Option<f64> {
        value::control_distance(self.value(0, operation, side, point).ok()?)
    }

    pub(super) fn is_base(&self, environment: usize, side: Space, point: &Params) -> bool {
        environment == 0 && self.base.as_ref().is_some_and(|base| base.side == side && base.point == *point)
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

/// The layers that an environment's run names, in brackets; empty where it names none.
fn layers(environment: &Environment) -> String {
    let named = environment.runs.first().and_then(|run| run.settings.set.get(ISOLATE));
    named.map(|named| format!(" ({})", named.replace(',', ", "))).unwrap_or_default()
}

/// Title of the overhead of an environment's side over the base.
pub(super) fn overhead(kind: EnvironmentKind, side: Space, environment: &Environment) -> Message {
    let (name, layers) = (environment.name, layers(environment));
    match (kind, side) {
        (EnvironmentKind::First, Space::Kernel) => term!("Kernel overhead").into(),
        (EnvironmentKind::First, Space::User) => term!("OS overhead").into(),
        (EnvironmentKind::Guest, Space::Kernel) => term!("Hypervisor + kernel overhead").into(),
        (EnvironmentKind::Guest, Space::User) => term!("Hypervisor + guest OS overhead").into(),
        (EnvironmentKind::Container, Space::Kernel) => say!("Container layers{layers} + kernel overhead"),
        (EnvironmentKind::Container, Space::User) => say!("Container layers{layers} + OS overhead"),
        (EnvironmentKind::Free, Space::Kernel) => term!("Kernel overhead with all of the machine").into(),
        (EnvironmentKind::Free, Space::User) => term!("OS overhead with all of the machine").into(),
        (EnvironmentKind::Other, Space::Kernel) => say!("{name} + kernel overhead"),
        (EnvironmentKind::Other, Space::User) => say!("{name} + OS overhead"),
    }
}

/// The name of an environment's side; the side alone where the environment has no name.
pub(super) fn side_of(environment: &Environment, side: Space) -> Message {
    let (name, side) = (environment.name, side.name());
    if name.is_empty() {
        return side.into();
    }
    say!("{name}, {side}")
}

pub(super) fn title(sheet: &Sheet, environment: usize, side: Space, kind: EnvironmentKind) -> Message {
    let here = &sheet.environments[environment];
    let place = side_of(here, side);
    let Some(base) = &sheet.base else { return place };
    let (over, point) = (side_of(&sheet.environments[0], base.side), at(&base.point));
    // Without the kernel's side it is not the OS that the base lacks.
    let name = match base.side {
        Space::Kernel => overhead(kind, side, here),
        Space::User => term!("Overhead").into(),
    };
    let of = of_rates(sheet);
    say!("{name}: {place}, over {over}, {point}{of}")
}

/// End of a title of percentages where rates were turned into times.
pub(super) fn of_rates(sheet: &Sheet) -> Text {
    match sheet.figures.iter().any(|figure| figure.value.as_ref().is_ok_and(ComparableValue::is_rate)) {
        true => term!(", in the time of an operation"),
        false => Text { en: "", zh: "" },
    }
}
