//! The constants of a machine that people ask for first, and where each lies in a run.

use std::borrow::Cow;

use hostmark_model::{Better, CaseId, CaseRecord, Estimate, Lang, Measured, Message, Outcome, Reason, Run, Text, Unit};
use hostmark_say::say;
use hostmark_stats::histogram::Percentile;

use crate::format::{WIDEST, amount, between, interval_target, low_high, other_value, plus_minus};
use crate::lmbench::{case_at, distinct};
use crate::reasons;
use crate::reasons::Spoken;
use crate::typography::COMMA;

/// Findings that stand beside the constants at most.
pub const MOST_FINDINGS: usize = 3;

#[derive(Debug)]
pub struct Constant {
    pub(crate) name: Text,
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
    /// Labels of rows of the first screen that hold two constants each (the first two, the next two, …); none where each always has its own
    /// row.
    pub pairs: &'static [Text],
    /// Scarcity of lines from which on two constants share a row.
    pub paired_from: Scarcity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scarcity {
    None,
    Some,
    Great,
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
        pairs: &[],
        paired_from: Scarcity::Great,
    },
    ConstantGroup {
        name: term!("memory bandwidth"),
        constants: &[
            constant(
                term!("read by one core"),
                term!("read, one core"),
                &[quantity("memory.hierarchy", &[("level", "dram")], "read"), at("memory.read", &[])],
            ),
            constant(
                term!("STREAM triad by all"),
                term!("triad, all CPUs"),
                &[at("memory.stream", &[("kernel", "triad")])],
            ),
        ],
        pairs: &[term!("read · triad")],
        paired_from: Scarcity::Great,
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
        pairs: &[term!("clock · gettime")],
        paired_from: Scarcity::Some,
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
                &[at("process.fork_exec", &[("child", "static")])],
            ),
        ],
        pairs: &[term!("null · switch"), term!("fault · exec")],
        paired_from: Scarcity::Great,
    },
    ConstantGroup {
        name: term!("pipe round trip"),
        constants: &[
            constant(
                term!("on one CPU"),
                term!("pipe, one CPU"),
                &[at("ipc.round_trip", &[("by", "pipe"), ("cpus", "same_cpu")])],
            ),
            constant(
                term!("across CPUs"),
                term!("pipe, two CPUs"),
                &[
                    at("ipc.round_trip", &[("by", "pipe"), ("cpus", "same_cache")]),
                    at("ipc.round_trip", &[("by", "pipe"), ("cpus", "other_cache")]),
                    at("ipc.round_trip", &[("by", "pipe"), ("cpus", "same_package_other_node")]),
                    at("ipc.round_trip", &[("by", "pipe"), ("cpus", "other_node")]),
                    at("ipc.round_trip", &[("by", "pipe"), ("cpus", "smt_sibling")]),
                ],
            ),
        ],
        pairs: &[term!("pipe, 1 · 2 CPU")],
        paired_from: Scarcity::Some,
    },
    ConstantGroup {
        name: term!("TCP over loopback"),
        constants: &[
            constant(term!("round trip"), term!("TCP round trip"), &[at("net.tcp", &[("cpus", "same_cpu")])]),
            constant(term!("stream"), term!("TCP stream"), &[at("net.tcp_bandwidth", &[("cpus", "same_cpu")])]),
        ],
        pairs: &[term!("TCP RTT · stream")],
        paired_from: Scarcity::Some,
    },
    ConstantGroup {
        name: term!("disk"),
        constants: &[
            constant(term!("append + fdatasync"), term!("disk fdatasync"), &[at("disk.fsync", &[])]),
            constant(
                term!("its tail"),
                term!("disk tail"),
                &[quantity("disk.fsync", &[], "p99"), quantity("disk.fsync", &[], "p90")],
            ),
        ],
        pairs: &[term!("disk fdatasync")],
        paired_from: Scarcity::None,
    },
];

/// A case in which a constant may lie.
#[derive(Debug, Clone, Copy)]
pub struct OfConstant {
    /// Name of the constant; none for a further quantity of the case.
    pub name: Option<Text>,
    /// The case's probe.
    pub probe: &'static str,
    /// The axes on which it is not at its default.
    pub at: Point,
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

/// Name of the constant whose value is this case's; none if the case is no constant.
pub fn name_of(id: &str) -> Option<Text> {
    let id: CaseId = id.parse().ok()?;
    let is_there = |place: &&ConstantCase| {
        let has = |(axis, value): &(&str, &str)| id.params.get(axis) == Some(value);
        place.probe == id.probe && place.quantity.is_empty() && place.at.iter().all(has)
    };
    let constants = LINES.iter().flat_map(|line| line.constants);
    constants
        .filter(|constant| constant.places.iter().any(|place| is_there(&place)))
        .map(|constant| constant.name)
        .next()
}

/// The probes behind the constants of this name, or of the line or the row of this name, in either language; none where nothing is called so.
pub fn probes_of(name: &str) -> Vec<&'static str> {
    let of_line = |line: &'static ConstantGroup| {
        let is_meant = move |(at, constant): &(usize, &Constant)| {
            let pair = line.pairs.get(at / 2);
            [Some(&line.name), Some(&constant.name), Some(&constant.row), pair]
                .into_iter()
                .flatten()
                .any(|one| one.is_called(name))
        };
        line.constants.iter().enumerate().filter(is_meant).map(|(_, constant)| constant)
    };
    distinct(LINES.iter().flat_map(of_line).filter_map(|constant| Some(constant.places.first()?.probe)))
}

/// A constant that a run has.
#[derive(Debug)]
pub struct ConstantValue<'a> {
    /// Name, of a percentile with the percentile.
    pub name: Text,
    pub row: Text,
    pub estimate: &'a Estimate,
    pub(crate) unit: Unit,
    pub(crate) better: Better,
    pub(crate) case: &'a CaseRecord,
    place: &'static ConstantCase,
}

impl ConstantValue<'_> {
    /// The further quantity of its case that it is; empty for its value.
    pub(crate) fn quantity(&self) -> &'static str {
        self.place.quantity
    }

    /// Id of the case on any machine: the probe and the axes that are not at their default.
    pub(crate) fn key(&self) -> String {
        let axes: Vec<String> = self.place.at.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        if axes.is_empty() { self.place.probe.to_owned() } else { format!("{}@{}", self.place.probe, axes.join(",")) }
    }

    /// Tells whether a case id means this constant on any machine.
    pub(crate) fn is_at(&self, id: &str) -> bool {
        let Some(id) = id.strip_prefix(self.place.probe).and_then(|_| id.parse::<CaseId>().ok()) else { return false };
        let is_there = |(axis, value): &(&str, &str)| id.params.get(axis) == Some(value);
        id.probe == self.place.probe && id.params.0.len() == self.place.at.len() && self.place.at.iter().all(is_there)
    }

    /// Value with its unit; for what the core does by itself the cycles before it.
    pub fn value(&self) -> Message {
        Message::joined(self.cycles().into_iter().chain([self.plain_value()]), " · ")
    }

    pub(crate) fn plain_value(&self) -> Message {
        amount(self.estimate.value(), self.unit)
    }

    /// Estimate in core cycles, by whichever estimator leads; none where the clock was not known.
    pub(crate) fn in_core_cycles(&self) -> Option<Cow<'_, Estimate>> {
        self.case.measured().filter(|_| self.quantity().is_empty())?.companion(Measured::CYCLES)
    }

    /// Value in core cycles, where the core alone decides.
    pub fn cycles(&self) -> Option<Message> {
        let cycles = self.case.measured().filter(|_| self.quantity().is_empty()).and_then(Measured::in_cycles)?;
        Some(amount(cycles.value(), Unit::CoreCycles))
    }

    /// Value in a row and its uncertainty, of a percentile with the percentile. Disagreement of rounds is only a word; the other estimator
    /// is named if `with_other`.
    pub fn in_row(&self, run: &Run, with_other: bool) -> Message {
        let which = Percentile::of_name(self.place.quantity).map_or("", |_| self.place.quantity);
        followed(Message::joined([which.into(), self.plain_value()], " "), self.sureness(run, with_other, false))
    }

    /// Uncertainty, where it is worth a word: half of an interval that is wider than the run's profile aims at, or the range of rounds that
    /// do not agree; and the other estimator's value, where it differs.
    pub fn how_sure(&self, run: &Run) -> Option<Message> {
        self.sureness(run, true, true)
    }

    fn sureness(&self, run: &Run, with_other: bool, names_unsteady: bool) -> Option<Message> {
        let ConstantValue { estimate, unit, .. } = self;
        let in_brackets = |range: Message| say!("({range})");
        let range = || match estimate.shown_range().filter(|_| !names_unsteady) {
            Some([low, high]) => Some(in_brackets(between((low, high), estimate.value(), *unit).into())),
            None => low_high(estimate, *unit).map(in_brackets),
        };
        let half = estimate.relative_half_width();
        let sure = match (estimate.shown_range(), half) {
            (None, Some(half)) if half <= interval_target(run.settings.profile) => None,
            (None, Some(half)) if half <= WIDEST => plus_minus(estimate).map(Message::plain),
            _ => range().or_else(|| (estimate.rounds == 1).then(|| ONE_ROUND.into())),
        };
        let other = other_value(estimate, *unit).filter(|_| with_other);
        Some(Message::joined(sure.into_iter().chain(other), COMMA)).filter(|sure| !sure.is_empty())
    }
}

/// A value with how sure it is behind it: full-width brackets have their own room.
pub fn followed(value: Message, sure: Option<Message>) -> Message {
    match sure {
        Some(sure) => say!("{value} {sure}"),
        None => value,
    }
}

/// Mark of a value of one round, which has no other sign of its uncertainty.
const ONE_ROUND: Text = term!("(one round)");

/// A constant that a run was to have and does not, and why.
#[derive(Debug)]
pub(crate) struct NotMeasured<'a> {
    pub(crate) name: Text,
    /// Reason in the run's file.
    pub(crate) reason: &'a Reason,
}

/// A constant of several runs.
#[derive(Debug)]
pub struct ConstantOfRuns<'a> {
    /// Name in the first run that has it.
    pub name: Text,
    pub values: Vec<Option<ConstantValue<'a>>>,
}

impl ConstantOfRuns<'_> {
    /// The value of one of the runs; where it is another percentile than the name says, it says which.
    pub fn value(&self, constant: &ConstantValue) -> Message {
        match constant.name == self.name {
            true => constant.value(),
            false => Message::joined([constant.name.into(), constant.value()], " "),
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
    fn missing_in<'a>(&'static self, run: &'a Run) -> Option<NotMeasured<'a>> {
        if self.value_in(run).is_some() {
            return None;
        }
        self.places.iter().find_map(|place| match &case_at(run, place.probe, place.at)?.outcome {
            Outcome::Skipped { reason } | Outcome::Failed { reason } => Some(NotMeasured { name: self.name, reason }),
            Outcome::Measured(_) => None,
        })
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
            (estimate.value() > 0.0).then_some(ConstantValue { name, row, estimate, unit, better, case, place })
        })
    }
}

/// The lines of which a run has anything.
pub fn of_run(run: &Run) -> Vec<(&'static ConstantGroup, Vec<ConstantValue<'_>>)> {
    let of_line = |line: &'static ConstantGroup| {
        let values: Vec<ConstantValue> = line.constants.iter().filter_map(|constant| constant.value_in(run)).collect();
        (!values.is_empty()).then_some((line, values))
    };
    LINES.iter().filter_map(of_line).collect()
}

/// Sentences that list the constants that are missing, one for each reason.
pub fn not_measured(run: &Run) -> Vec<Text<String>> {
    let mut by_reason: Vec<(&Reason, Vec<[Text; 2]>)> = Vec::new();
    let of_line = |line: &'static ConstantGroup| line.constants.iter().map(move |constant| (line.name, constant));
    for (kind, constant) in LINES.iter().flat_map(of_line) {
        let Some(NotMeasured { name, reason }) = constant.missing_in(run) else { continue };
        match by_reason.iter_mut().find(|(known, _)| known.text == reason.text) {
            Some((_, names)) => names.push([kind, name]),
            None => by_reason.push((reason, vec![[kind, name]])),
        }
    }
    let sentence = |(reason, names): (&Reason, Vec<[Text; 2]>)| {
        let named = names.iter().map(|[kind, name]| say!("{kind} · {name}"));
        let named = Message::joined(named, term!(", ", "list"));
        let why = reasons::brief(reason);
        // As plain texts, whose spaces stay.
        let sentence =
            |lang| say!("{named} not measured: {why}", named = named.get(lang), why = why.get(lang)).get(lang);
        Text { en: sentence(Lang::En), zh: sentence(Lang::Zh) }
    };
    by_reason.into_iter().map(sentence).collect()
}
