//! The constants of a machine that people ask for first, and where each lies in a run.

use std::borrow::Cow;

use hostmark_model::{Better, CaseId, CaseRecord, Estimate, Measured, Message, Outcome, Reason, Run, Text, Unit};
use hostmark_say::say;
use hostmark_stats::histogram::Percentile;

use crate::format::{Scale, UNSTEADY, amount, in_short, likely_ends, scale_for};
use crate::groups::{distinct, grouped};
use crate::lmbench::case_at;
use crate::reasons;

/// Latency over that of memory from which on nothing is left of a last cache.
const AS_MEMORY: f64 = 0.9;
/// A run with fewer constants was not made to answer for a machine: its table is the answer.
pub const LEAST_CONSTANTS: usize = 8;
/// Findings that stand beside the constants at most.
pub const MOST_FINDINGS: usize = 3;

#[derive(Debug)]
pub struct Constant {
    pub name: Text,
    /// Label in its row of the first screen.
    pub row: Text,
    /// Cases that hold the constant; the first that was measured counts.
    places: &'static [ConstantCase],
}

/// A case, by the axes on which it is not at its probe's default, and a further quantity of it; empty for its value.
#[derive(Debug)]
struct ConstantCase {
    probe: &'static str,
    at: Point,
    quantity: &'static str,
}

#[derive(Debug)]
pub struct ConstantGroup {
    pub name: Text,
    pub constants: &'static [Constant],
}

/// Axes with the values at which they are not at their default.
pub type Point = &'static [(&'static str, &'static str)];

const fn at(probe: &'static str, at: Point) -> ConstantCase {
    ConstantCase { probe, at, quantity: "" }
}

const fn quantity(probe: &'static str, at: Point, quantity: &'static str) -> ConstantCase {
    ConstantCase { probe, at, quantity }
}

const fn constant(name: Text, row: Text, places: &'static [ConstantCase]) -> Constant {
    Constant { name, row, places }
}

/// All constants, in the order in which they are told.
pub static LINES: &[ConstantGroup] = &[
    ConstantGroup {
        name: term!("memory latency"),
        constants: &[
            constant(Text::name("L1d"), term!("L1d latency"), &[at("memory.hierarchy", &[("level", "l1d")])]),
            constant(Text::name("L2"), Text::name("L2"), &[at("memory.hierarchy", &[("level", "l2")])]),
            constant(Text::name("L3"), Text::name("L3"), &[at("memory.hierarchy", &[("level", "l3")])]),
            constant(Text::name("DRAM"), Text::name("DRAM"), &[at("memory.hierarchy", &[("level", "dram")])]),
        ],
    },
    ConstantGroup {
        name: term!("memory bandwidth"),
        constants: &[
            constant(
                term!("read by one core"),
                term!("read, 1 core"),
                &[quantity("memory.hierarchy", &[("level", "dram")], "read"), at("memory.read", &[])],
            ),
            constant(
                term!("STREAM triad by all"),
                term!("triad, all CPUs"),
                &[at("memory.stream", &[("kernel", "triad")])],
            ),
        ],
    },
    ConstantGroup {
        name: term!("core"),
        constants: &[
            constant(term!("clock", "constant"), term!("core clock"), &[at("cpu.frequency", &[])]),
            constant(
                term!("clock_gettime"),
                Text::name("clock_gettime"),
                &[at("clock.read", &[("source", "monotonic")])],
            ),
        ],
    },
    ConstantGroup {
        name: term!("kernel"),
        constants: &[
            constant(term!("null call"), term!("null call"), &[at("syscall.null", &[])]),
            constant(term!("context switch"), term!("context switch"), &[at("sched.context_switch", &[])]),
            constant(term!("page fault"), term!("page fault"), &[at("paging.fault", &[("kind", "anonymous")])]),
            constant(
                Text::name("fork + exec"),
                Text::name("fork + exec"),
                &[at("process.exec", &[("way", "fork"), ("child", "static")])],
            ),
        ],
    },
    ConstantGroup {
        name: term!("pipe round trip"),
        constants: &[
            constant(
                term!("on one CPU"),
                term!("pipe, 1 CPU"),
                &[at("ipc.round_trip", &[("by", "pipe"), ("cpus", "same_cpu")])],
            ),
            constant(
                term!("across CPUs"),
                term!("pipe, 2 CPUs"),
                &[
                    at("ipc.round_trip", &[("by", "pipe"), ("cpus", "same_cache")]),
                    at("ipc.round_trip", &[("by", "pipe"), ("cpus", "other_cache")]),
                    at("ipc.round_trip", &[("by", "pipe"), ("cpus", "same_package_other_node")]),
                    at("ipc.round_trip", &[("by", "pipe"), ("cpus", "other_node")]),
                    at("ipc.round_trip", &[("by", "pipe"), ("cpus", "smt_sibling")]),
                ],
            ),
        ],
    },
    ConstantGroup {
        name: term!("TCP over loopback"),
        constants: &[
            constant(term!("round trip"), term!("TCP round trip"), &[at("net.round_trip", &[("cpus", "same_cpu")])]),
            constant(term!("stream"), term!("TCP stream"), &[at("net.tcp_bandwidth", &[("cpus", "same_cpu")])]),
        ],
    },
    ConstantGroup {
        name: term!("disk"),
        constants: &[
            constant(term!("append + fdatasync"), term!("disk fdatasync"), &[at("disk.fsync", &[])]),
            constant(
                term!("its tail"),
                term!("fsync"),
                &[quantity("disk.fsync", &[], "p99"), quantity("disk.fsync", &[], "p90")],
            ),
        ],
    },
];

/// A case in which a constant may lie.
#[derive(Debug, Clone, Copy)]
pub struct OfConstant {
    /// Name of the constant; none for a further quantity of the case.
    pub name: Option<Text>,
    pub probe: &'static str,
    /// The axes on which it is not at its default.
    pub at: Point,
}

impl ConstantCase {
    /// Tells whether a case is this one, by the axes that are not at their default.
    fn is_at(&self, id: &CaseId) -> bool {
        self.probe == id.probe && self.at.iter().all(|(axis, value)| id.params.get(axis) == Some(value))
    }
}

/// Every case in which a constant may lie.
pub fn cases() -> impl Iterator<Item = OfConstant> {
    let constants = LINES.iter().flat_map(|line| line.constants);
    let of_place = |constant: &'static Constant, place: &'static ConstantCase| OfConstant {
        name: place.quantity.is_empty().then_some(constant.row),
        probe: place.probe,
        at: place.at,
    };
    constants.flat_map(move |constant| constant.places.iter().map(move |place| of_place(constant, place)))
}

/// Levels that belong to the core: their time is its clock's, and only their cycles say anything of them.
pub(crate) fn is_of_core(id: &str) -> bool {
    ["memory.hierarchy@level=l1d", "memory.hierarchy@level=l2"].contains(&id)
}

/// Name of the constant whose value is this case's; none if the case is no constant.
pub fn name_of(id: &str) -> Option<Text> {
    let id: CaseId = id.parse().ok()?;
    let is_it = |place: &ConstantCase| place.quantity.is_empty() && place.is_at(&id);
    let mut constants = LINES.iter().flat_map(|line| line.constants);
    constants.find(|constant| constant.places.iter().any(is_it)).map(|constant| constant.name)
}

/// Case ids of the constants that lie in one and the same case of each run that has them, each with its row.
pub(crate) fn rows_by_case<'a>(runs: impl Iterator<Item = &'a Run> + Clone) -> Vec<(&'a str, Text)> {
    let row = |constant: &'static Constant| {
        let mut ids = runs.clone().filter_map(|run| constant.case_in(run)).map(|case| case.id.as_str());
        let first = ids.next()?;
        ids.all(|id| id == first).then_some((first, constant.row))
    };
    LINES.iter().flat_map(|line| line.constants).filter_map(row).collect()
}

/// The probes behind the constants of this name, or of the line or the row of this name, in either language; none where nothing is called so.
pub fn probes_of(name: &str) -> Vec<&'static str> {
    let of_line = |line: &'static ConstantGroup| {
        let is_meant =
            |constant: &&Constant| [line.name, constant.name, constant.row].iter().any(|one| one.is_called(name));
        line.constants.iter().filter(is_meant)
    };
    distinct(LINES.iter().flat_map(of_line).filter_map(|constant| Some(constant.places.first()?.probe)))
}

#[derive(Debug)]
pub struct ConstantValue<'a> {
    /// Name, of a percentile with the percentile.
    pub name: Text,
    pub row: Text,
    pub estimate: &'a Estimate,
    pub(crate) unit: Unit,
    pub(crate) better: Better,
    pub case: &'a CaseRecord,
    place: &'static ConstantCase,
    /// True of a last cache that is as slow as memory.
    pub is_as_memory: bool,
}

impl ConstantValue<'_> {
    /// The further quantity of its case that it is; empty for its value.
    pub(crate) fn quantity(&self) -> &'static str {
        self.place.quantity
    }

    /// Tells whether it is a latency of a level of memory, or the core's clock: what is known of similar servers.
    pub fn is_of_machine(&self) -> bool {
        self.quantity().is_empty() && ["memory.hierarchy", "cpu.frequency"].contains(&self.place.probe)
    }

    /// Id of the case on any machine: the probe and the axes that are not at their default.
    pub(crate) fn key(&self) -> String {
        let axes: Vec<String> = self.place.at.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        if axes.is_empty() { self.place.probe.to_owned() } else { format!("{}@{}", self.place.probe, axes.join(",")) }
    }

    /// Key with the further quantity, where the value is one: `disk.fsync p99`.
    pub fn id(&self) -> String {
        [&self.key(), self.quantity()].join(" ").trim_end().to_owned()
    }

    /// Ends of the range in which a repeat should fall, in the unit of the value shown.
    pub fn ends(&self) -> Option<(f64, f64)> {
        likely_ends(&self.shown().0)
    }

    /// Tells whether a case id means this constant on any machine.
    pub(crate) fn is_at(&self, id: &str) -> bool {
        let id = id.strip_prefix(self.place.probe).and_then(|_| id.parse::<CaseId>().ok());
        id.is_some_and(|id| id.params.0.len() == self.place.at.len() && self.place.is_at(&id))
    }

    /// Estimate in core cycles, by whichever estimator leads; none where the clock was not known.
    pub(crate) fn in_core_cycles(&self) -> Option<Cow<'_, Estimate>> {
        self.case.measured().filter(|_| self.quantity().is_empty())?.companion(Measured::CYCLES)
    }

    /// Value as key figures are shown, in core cycles where the core alone decides and its clock is known.
    pub fn shown(&self) -> (Cow<'_, Estimate>, Unit) {
        match self.in_core_cycles().filter(|_| is_of_core(&self.key())) {
            Some(cycles) => (cycles, Unit::CoreCycles),
            None => (Cow::Borrowed(self.estimate), self.unit),
        }
    }

    pub(crate) fn scale(&self) -> Scale {
        let (estimate, unit) = self.shown();
        scale_for(estimate.value(), unit)
    }

    /// That value with its unit, of a percentile with the percentile.
    pub fn here(&self) -> Message {
        let (estimate, unit) = self.shown();
        let which = Percentile::of_name(self.place.quantity).map_or("", |_| self.place.quantity);
        Message::joined([which.into(), amount(estimate.value(), unit)], " ")
    }

    /// Range in which a repeat should fall, in the scale of that value: `157 … 196`.
    pub fn repeat(&self) -> Message {
        match self.ends() {
            Some((low, high)) if high > MOST_APART * low => UNSTEADY.into(),
            Some(ends) => Message::plain(in_short(ends, self.scale())),
            None if self.estimate.rounds == 1 => ONE_ROUND.into(),
            None => NOT_KNOWN.into(),
        }
    }

    /// Value and range in a line: `177 ns (157 … 196)`.
    pub fn in_line(&self) -> Message {
        let (estimate, unit) = self.shown();
        say!("{here} ({repeat})", here = amount(estimate.value(), unit), repeat = self.repeat())
    }
}

/// A range whose ends differ by more than this factor tells nothing but that the value is unsteady.
const MOST_APART: f64 = 10.0;
/// Range of a value of one round, which has none.
const ONE_ROUND: Text = term!("one round");
/// Cell of what nobody knows.
pub const NOT_KNOWN: Text = term!("not known");

#[derive(Debug)]
pub struct ConstantOfRuns<'a> {
    /// Name in the first run that has it.
    pub name: Text,
    pub values: Vec<Option<ConstantValue<'a>>>,
}

impl ConstantOfRuns<'_> {
    /// Cost of a run's value over the first run's, above 1 for a slower one; 1 where the ranges of a repeat meet. None without both.
    pub fn cost(&self, run: usize) -> Option<f64> {
        let [base, new] = [0, run].map(|run| self.values.get(run)?.as_ref());
        let (base, new) = base.zip(new).filter(|(base, new)| base.shown().1 == new.shown().1)?;
        let [(low, high), (from, to)] = [likely_ends(&base.shown().0)?, likely_ends(&new.shown().0)?];
        let ratio = new.shown().0.value() / base.shown().0.value();
        let cost = if base.better == Better::Higher { ratio.recip() } else { ratio };
        Some(if from > high || to < low { cost } else { 1.0 })
    }

    /// The value of one of the runs; where it is another percentile than the name says, it says which.
    pub fn value(&self, constant: &ConstantValue) -> Message {
        match constant.name == self.name {
            true => constant.in_line(),
            false => Message::joined([constant.name.into(), constant.in_line()], " "),
        }
    }
}

impl Constant {
    /// Values of the constant in several runs; none where no run has it.
    pub fn beside<'a>(&'static self, runs: &'a [Run]) -> Option<ConstantOfRuns<'a>> {
        let values: Vec<Option<ConstantValue>> = runs.iter().map(|run| self.value_in(run)).collect();
        let name = values.iter().flatten().map(|constant| constant.name).next()?;
        Some(ConstantOfRuns { name, values })
    }

    /// Reason why a run lacks the constant although it was planned; none where it was measured or nobody asked for it.
    fn missing_in<'a>(&'static self, run: &'a Run) -> Option<&'a Reason> {
        if self.value_in(run).is_some() {
            return None;
        }
        self.places.iter().find_map(|place| match &case_at(run, place.probe, place.at)?.outcome {
            Outcome::Skipped { reason } | Outcome::Failed { reason } => Some(reason),
            Outcome::Measured(_) => None,
        })
    }

    /// Case of a run whose value is the constant; none where the run has no such case.
    fn case_in<'a>(&'static self, run: &'a Run) -> Option<&'a CaseRecord> {
        let mut places = self.places.iter().filter(|place| place.quantity.is_empty());
        places.find_map(|place| case_at(run, place.probe, place.at))
    }

    /// Value of the constant in a run; none where it was not measured.
    pub(crate) fn value_in<'a>(&'static self, run: &'a Run) -> Option<ConstantValue<'a>> {
        self.places.iter().find_map(|place| {
            let case = case_at(run, place.probe, place.at)?;
            let info = run.probes.iter().find(|info| info.id == case.probe)?;
            let measured = case.measured()?;
            let (estimate, unit, better) = match place.quantity {
                "" => (&measured.estimate, info.unit, info.better),
                name => {
                    let also = info.also.iter().find(|also| also.name == name);
                    let (unit, better) = also.map_or((info.unit, info.better), |also| (also.unit, also.better));
                    (&measured.also.get(name)?.estimate, unit, better)
                }
            };
            let name = Percentile::of_name(place.quantity).map_or(self.name, |_| Text::name(place.quantity));
            let row = self.row;
            let memory = || case_at(run, place.probe, &[("level", "dram")])?.measured().map(|it| it.estimate.value());
            let is_as_memory = place.at == [("level", "l3")]
                && place.quantity.is_empty()
                && memory().is_some_and(|memory| estimate.value() > AS_MEMORY * memory);
            let value = ConstantValue { name, row, estimate, unit, better, case, place, is_as_memory };
            (estimate.value() > 0.0).then_some(value)
        })
    }
}

/// Row and value of the constants of a run that are known once this case has ended, while others are to come.
pub fn known_by(run: &Run, ended: &CaseId, to_come: &[CaseId]) -> Vec<(Text, Message)> {
    let has = |constant: &Constant, case: &CaseId| constant.places.iter().any(|place| place.is_at(case));
    let is_known = |one: &&'static Constant| has(one, ended) && !to_come.iter().any(|case| has(one, case));
    let row = |constant: &'static Constant| Some((constant.row, constant.value_in(run)?.here()));
    LINES.iter().flat_map(|line| line.constants).filter(is_known).filter_map(row).collect()
}

/// The lines of which a run has anything.
pub fn of_run(run: &Run) -> Vec<(&'static ConstantGroup, Vec<ConstantValue<'_>>)> {
    let of_line = |line: &'static ConstantGroup| {
        let values: Vec<ConstantValue> = line.constants.iter().filter_map(|constant| constant.value_in(run)).collect();
        (!values.is_empty()).then_some((line, values))
    };
    LINES.iter().filter_map(of_line).collect()
}

/// Rows of the constants that are missing, each with its reason.
pub fn missing(run: &Run) -> impl Iterator<Item = (Text, &Reason)> {
    let constants = LINES.iter().flat_map(|line| line.constants);
    constants.filter_map(|constant| Some((constant.row, constant.missing_in(run)?)))
}

/// Sentences that list the constants that are missing, one for each reason.
pub fn not_measured(run: &Run) -> Vec<Message> {
    let by_reason = grouped(missing(run).map(|(row, reason)| (&reason.text, (reason, row))));
    let sentence = |(_, missing): (&String, Vec<(&Reason, Text)>)| {
        let named = Message::joined(missing.iter().map(|(_, row)| *row), term!(", ", "list"));
        say!("{named}: not measured ({why})", why = reasons::brief(missing[0].0))
    };
    by_reason.into_iter().map(sentence).collect()
}
