//! A probe is data and one function; everything that help, plan, worker and report need of it stands in its one struct.

pub(crate) mod serving;

mod axes;
mod need;

use hostmark_model::{
    AxisInfo, AxisKind, Better, CaseRecord, Explain, HostFacts, Params, ProbeInfo, Profile, Text, Unit,
};

use crate::case::Case;
use crate::case::surroundings::{BIND, Bind};
use crate::probe::serving::Service;
use crate::round_error::{Result, RoundError};
use crate::sampling::counted;

pub use crate::quantity::{Quantity, ValueSource};
pub use axes::Fill;
pub(crate) use axes::{IP, TO, TWO_HOSTS, no_such_peer};
pub use need::Need;
pub(crate) use need::too_few_cpus;

/// The points of an axis. Quick's are part of standard's, and those of thorough's.
#[derive(Clone, Copy)]
pub enum Points {
    /// The same on every host; standard adds to quick, thorough to both.
    Listed {
        quick: &'static [&'static str],
        /// Points added by the standard profile.
        standard: &'static [&'static str],
        /// Points added by the thorough profile.
        thorough: &'static [&'static str],
    },
    /// Points computed from the host's facts, such as its cache sizes.
    OfHost(fn(&HostFacts, Profile) -> Vec<u64>),
    /// Names from the host's facts, as its pairs of CPUs.
    NamesOfHost(fn(&HostFacts, Profile) -> Vec<String>),
    /// The host's pairs of memory nodes.
    NodePairs,
}

impl Points {
    /// Points from the quick profile on, the same on every host.
    pub const fn quick(quick: &'static [&'static str]) -> Points {
        Points::Listed { quick, standard: &[], thorough: &[] }
    }

    /// These, and `more` from the standard profile on.
    pub const fn standard(self, more: &'static [&'static str]) -> Points {
        match self {
            Points::Listed { quick, thorough, .. } => Points::Listed { quick, standard: more, thorough },
            of_host => of_host,
        }
    }

    /// These, and `more` in the thorough profile.
    pub const fn thorough(self, more: &'static [&'static str]) -> Points {
        match self {
            Points::Listed { quick, standard, .. } => Points::Listed { quick, standard, thorough: more },
            of_host => of_host,
        }
    }
}

/// A parameter that a probe sweeps.
#[derive(Clone, Copy)]
pub struct Axis {
    pub name: &'static str,
    pub kind: AxisKind,
    /// Value while another axis is swept: the same on every host, so that hosts compare.
    pub default: &'static str,
    pub points: Points,
    /// The few sizes of a glance, where these are not the quick profile's points.
    pub at_a_glance: Option<fn(&HostFacts, Profile) -> Vec<u64>>,
    /// Number that the default stands for on this host, where it is a word: the plan puts the number in the word's place,
    /// so that every case id has the number, and no limit or profile changes what an id means.
    pub settled: Option<fn(&HostFacts) -> u64>,
    /// Memory that its value makes a round fill before it measures: the plan forecasts the time.
    pub fill: Fill,
    /// True where the points of the standard profile apply from quick on if the far end is a peer.
    pub is_of_links: bool,
    /// Number of threads that may share a CPU, for an axis of thread numbers.
    pub threads_per_cpu: usize,
    /// True where a case at any of its values, and at the defaults of the other axes, is a default case.
    pub is_way: bool,
}

/// The word for a number that the host's facts settle.
const AUTO: &str = "auto";
/// The placement that leaves the choice to the scheduler.
pub(crate) const FREE: &str = "free";
/// The axis of how several threads lie over the CPUs.
pub(crate) const ORDER: &str = "order";
/// The axis of the kinds of core, which no probe declares: see [`Entry::axes`].
pub(crate) const CORE: Axis = Axis::kinds();
/// The word for as many threads as there are usable CPUs.
pub(crate) const ALL: &str = "all";
fn usable_cpus(host: &HostFacts) -> u64 {
    host.usable_cpus().len() as u64
}

fn copies(host: &HostFacts, profile: Profile, from: Profile) -> Vec<u64> {
    let all = host.usable_cpus().len() as u64;
    let mut points = vec![1];
    if profile >= from && all > 1 {
        points.extend([2, all]);
    }
    if profile >= from.max(Profile::Standard) {
        points.extend((2..u64::BITS).map(|power| 1 << power).take_while(|&copies| copies < all));
    }
    points
}

impl Axis {
    const fn new(name: &'static str, kind: AxisKind, default: &'static str, points: Points) -> Axis {
        let (at_a_glance, settled, fill, is_of_links, is_way) = (None, None, axes::Fill::Nothing, false, false);
        Axis { name, kind, default, points, at_a_glance, settled, fill, is_of_links, threads_per_cpu: 1, is_way }
    }

    pub const fn size(name: &'static str, default: &'static str, points: Points) -> Axis {
        Axis::new(name, AxisKind::Size, default, points)
    }

    pub const fn choice(name: &'static str, default: &'static str, points: Points) -> Axis {
        Axis::new(name, AxisKind::Choice, default, points)
    }

    /// An axis of ways to do the same, each worth as much as a probe of its own.
    pub const fn ways(name: &'static str, default: &'static str, points: Points) -> Axis {
        Axis { is_way: true, ..Axis::choice(name, default, points) }
    }

    pub const fn count(name: &'static str, default: &'static str, points: Points) -> Axis {
        Axis::new(name, AxisKind::Count, default, points)
    }

    /// Axis of bytes whose default the host's facts settle before measuring. `auto`, when typed, is that number too.
    pub const fn settled_size(name: &'static str, by: fn(&HostFacts) -> u64) -> Axis {
        Axis::settled(name, AxisKind::Size, by)
    }

    /// The same of plain integers.
    pub const fn settled_count(name: &'static str, by: fn(&HostFacts) -> u64) -> Axis {
        Axis::settled(name, AxisKind::Count, by)
    }

    const fn settled(name: &'static str, kind: AxisKind, by: fn(&HostFacts) -> u64) -> Axis {
        let points = Points::quick(&[AUTO]);
        Axis { settled: Some(by), ..Axis::new(name, kind, AUTO, points) }
    }

    /// A value as it stands in case ids of this host: the number in the place of the word for it.
    pub(crate) fn on(&self, host: &HostFacts, value: &str) -> String {
        match self.settled {
            Some(by) if value == self.default => by(host).to_string(),
            _ => value.to_owned(),
        }
    }

    /// An axis of numbers of threads, each on a CPU of its own; 1 by default.
    pub const fn threads(name: &'static str, points: Points) -> Axis {
        Axis::new(name, AxisKind::Threads, "1", points)
    }

    /// An axis of numbers of threads whose default is `all`: a thread on every usable CPU, as a number in case ids.
    pub const fn all_threads(name: &'static str, points: Points) -> Axis {
        Axis { settled: Some(usable_cpus), ..Axis::new(name, AxisKind::Threads, ALL, points) }
    }

    /// The axis of how threads lie over the CPUs: near first by default; the standard profile adds the host's other orders.
    pub const fn order() -> Axis {
        let points = Points::NamesOfHost(axes::orders);
        let default = hostmark_host::Order::Compact.name();
        Axis::choice(ORDER, default, points)
    }

    /// An axis of pairs of memory nodes, of the CPUs and of the memory; all CPUs of the first are the case's. Default: `0-0`.
    pub const fn nodes(name: &'static str) -> Axis {
        Axis::new(name, AxisKind::Nodes, "0-0", Points::NodePairs)
    }

    /// The axis of numbers of processes that do the same, each on its own CPU: 1, and from a profile on 2, all usable CPUs and (from
    /// standard on) powers of two. The engine starts the others: the value is of one copy, and the probe's function knows nothing.
    pub const fn copies(from: Profile) -> Axis {
        let points: fn(&HostFacts, Profile) -> Vec<u64> = match from {
            Profile::Glance | Profile::Quick => |host, profile| copies(host, profile, Profile::Quick),
            Profile::Standard => |host, profile| copies(host, profile, Profile::Standard),
            Profile::Thorough => |host, profile| copies(host, profile, Profile::Thorough),
        };
        Axis::new("copies", AxisKind::Copies, "1", Points::OfHost(points))
    }
}

/// Axes of which every combination is measured from a profile on (a full factorial design); elsewhere one factor changes at a time.
#[derive(Debug, Clone, Copy)]
pub struct FullFactorial {
    /// The first profile that measures every combination.
    pub from: Profile,
    pub axes: &'static [&'static str],
}

/// Physical limit of a probe's value: the plausibility gate marks values beyond it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    None,
    /// A dependent operation takes at least one core cycle.
    CyclesPerOp,
    /// A dependent load takes some cycles, and its latency does not fall as this axis, the memory's size, grows.
    Rising(&'static str),
    /// The limit along a further axis with one of these values; elsewhere prefetchers and cache sets may make larger memory faster.
    RisingOf(&'static str, (&'static str, &'static [&'static str])),
    /// A dependent load of what no cache holds: no less than one of the last cache.
    DramLatency,
    /// A system call, a fault or more: the way into the kernel and back is in it.
    KernelEntry,
    /// A switch from one party to another, with which hand-overs on the same CPU are compared.
    Switch,
    /// Number of hand-overs between two parties that wait for each other in the kernel: 2 are a round trip.
    HandOvers(u32),
    /// No more bytes per core cycle and thread than the load and store ports move.
    BytesPerCycle,
    /// The same, and no more than the sockets' memory gives.
    DramBandwidth,
    /// Most operations per core cycle and thread, by the first entry whose word is a value of the case's axes; "" is every case.
    OperationsPerCycle(&'static [(&'static str, u32)]),
    /// No more bytes a second than the slower of both ends' links and the sender's queue let through.
    Link,
    /// Multiple of one copy's work, limited to the number of copies on this axis.
    Copies(&'static str),
    /// The value rises along this axis up to the hardware's limit: if it still rises at the largest point, it is at least that.
    Saturating(&'static str),
    /// A discrete quantity: rounds vote, and without a majority there is no value. The probe yields only numbers that hardware has.
    Voted,
    /// The same of a size that is a power of two.
    PowerOfTwo,
}

impl Limit {
    /// The axis along which a latency does not fall.
    pub fn rising(&self) -> Option<&'static str> {
        match *self {
            Limit::Rising(axis) | Limit::RisingOf(axis, _) => Some(axis),
            _ => None,
        }
    }
}

/// Extent of a probe's work: the core's own, where one thread that waits for nobody executes, enters the kernel or uses the core's caches,
/// so that others only disturb it. Elsewhere others are part of what a program gets.
#[derive(Clone, Copy)]
pub enum CoreBound {
    /// Work beyond the core: there is a typical value alone.
    No,
    /// The core's own: the quiet value leads, in cycles of the core.
    Yes,
    /// Core-bound where the core's own caches hold so many bytes; elsewhere the typical value leads, and a quiet one stands beside it.
    Within(fn(&Params) -> Option<f64>),
}

impl CoreBound {
    /// Extent by the bytes of the axis `size`.
    pub const SIZE: CoreBound = CoreBound::Within(|params| params.get("size")?.parse().ok());
}

/// Origin of a probe's value.
#[derive(Clone, Copy)]
pub enum Measure {
    /// Measured in a worker, a round at a time.
    Run(fn(&mut Case) -> Result<()>),
    /// The same between two parties: opposite a far end, which is started before the round, on this machine or on another.
    Between { service: &'static Service, measure: fn(&mut Case) -> Result<()> },
    /// Computed in the parent from what other probes measured, whose cases it brings along as far as it needs them.
    Derive {
        from: &'static [Source],
        /// The records, default case first.
        derive: fn(&[CaseRecord], &HostFacts) -> Vec<CaseRecord>,
    },
}

impl Measure {
    /// Function that a worker runs, where it is measured in one.
    pub fn in_worker(&self) -> Option<fn(&mut Case) -> Result<()>> {
        match *self {
            Measure::Run(measure) | Measure::Between { measure, .. } => Some(measure),
            Measure::Derive { .. } => None,
        }
    }
}

/// Need of a derived probe for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    pub probe: &'static str,
    /// The axes along which its cases are needed, while the others stay at their defaults; none where all cases are.
    along: Option<&'static [&'static str]>,
}

impl Source {
    /// Every case that the profile has of a probe.
    pub const fn whole(probe: &'static str) -> Source {
        Source { probe, along: None }
    }

    /// The default case of a probe, and those that differ from it on these axes alone.
    pub const fn along(probe: &'static str, axes: &'static [&'static str]) -> Source {
        Source { probe, along: Some(axes) }
    }

    /// The axes along which cases are needed, where not all are.
    pub fn axes(&self) -> Option<&'static [&'static str]> {
        self.along
    }

    /// Tells whether the case of a probe that is swept around `base` is needed.
    pub(crate) fn needs(&self, params: &Params, base: &Params) -> bool {
        let is_base = |axis: &str| params.get(axis) == base.get(axis);
        self.along.is_none_or(|axes| params.0.iter().all(|(axis, _)| axes.contains(&axis.as_str()) || is_base(axis)))
    }
}

/// Probe. All fields are mandatory; its id is its group's name and its file's.
pub struct Probe {
    pub title: Text,
    /// Raised when the meaning of the number changes.
    pub revision: u32,
    pub unit: Unit,
    pub better: Better,
    /// Further quantities of the same measurement.
    pub also: &'static [Quantity],
    pub explain: Explain,
    /// Ids of the probes to read beside it.
    pub related: &'static [&'static str],
    /// Difference of its method from the lmbench programs that it replaces; `None` where it replaces none.
    pub differs: Option<Text>,
    /// Axes, in the order of a case id.
    pub axes: &'static [Axis],
    /// Axes whose product is measured.
    pub full_factorial: &'static [FullFactorial],
    pub limit: Limit,
    /// The point whose samples are independent adds in sequence, as looks at a core are: these show a thread's share of its width.
    pub adds: Option<&'static [(&'static str, &'static str)]>,
    /// True where the value is the size of a structure of the core, from which others that use it only take: the best value that
    /// repeats stands for the case, and a remark says what the other rounds saw.
    pub is_structure: bool,
    /// True where the operation waits for another party, so that waiting for a CPU is part of it.
    pub blocking: bool,
    /// Bytes that a round fills whatever its axes say.
    pub fills_bytes: u64,
    /// Extent of its work: where that is the core's own, the undisturbed value leads.
    pub core_bound: CoreBound,
    pub needs: &'static [Need],
    /// The lmbench programs whose place it takes.
    pub replaces: &'static [&'static str],
    /// The section of a report that shows it.
    pub section: Text,
    /// The first profile whose runs of everything measure it; a filter picks it in any.
    pub from: Profile,
    pub measure: Measure,
}

/// The probes of one folder.
pub struct Group {
    /// The folder's name, the first half of an id.
    pub name: &'static str,
    /// True where its cases leave the process as they found it: one worker may measure several, with shared memory.
    pub shares_worker: bool,
    /// File name and probe, in the order of a report.
    pub probes: &'static [(&'static str, &'static Probe)],
}

/// All groups, in the order of a report.
pub type Catalogue = &'static [&'static Group];

impl Probe {
    /// Probe that says only what it must: a time in nanoseconds of which less is better, and no further quantity, axis, limit or
    /// need. Differing fields stand before the constant of its page, which has its texts and its group's section.
    pub const PLAIN: Probe = Probe {
        title: Text { en: "", zh: "" },
        revision: 1,
        unit: Unit::Nanoseconds,
        better: Better::Lower,
        also: &[],
        explain: Explain {
            what: Text { en: "", zh: "" },
            why: Text { en: "", zh: "" },
            reading: Text { en: "", zh: "" },
            typical: Text { en: "", zh: "" },
            causes: Text { en: "", zh: "" },
        },
        related: &[],
        differs: None,
        axes: &[],
        full_factorial: &[],
        limit: Limit::None,
        adds: None,
        is_structure: false,
        blocking: false,
        fills_bytes: 0,
        core_bound: CoreBound::No,
        needs: &[],
        replaces: &[],
        section: Text { en: "", zh: "" },
        from: Profile::Quick,
        measure: Measure::Run(|_| Err(RoundError::internal(""))),
    };

    /// Returns its far half, where it is measured between two parties.
    pub fn service(&self) -> Option<&'static Service> {
        match self.measure {
            Measure::Between { service, .. } => Some(service),
            _ => None,
        }
    }

    pub(crate) fn axis_names(&self) -> Vec<&'static str> {
        self.axes.iter().map(|axis| axis.name).collect()
    }

    pub fn axis_of(&self, kind: AxisKind) -> Option<&'static Axis> {
        self.axes.iter().find(|axis| axis.kind == kind)
    }
}

/// A probe with its group and name.
#[derive(Clone, Copy)]
pub struct Entry {
    pub group: &'static str,
    pub name: &'static str,
    /// True where the group's cases share workers.
    pub shares_worker: bool,
    pub probe: &'static Probe,
}

impl Entry {
    /// `group.name`.
    pub fn id(&self) -> String {
        format!("{}.{}", self.group, self.name)
    }

    /// Returns its axes, with that of the kinds of core (one CPU in the groups cpu and memory stands for its kind; a host whose cores are
    /// alike has no such cases) and those of the far end's machine.
    pub fn axes(&self) -> Vec<Axis> {
        let is_of_one_cpu = self.probe.axes.iter().all(|axis| match axis.kind {
            AxisKind::Threads | AxisKind::Copies => axis.default == "1",
            AxisKind::Placement | AxisKind::Nodes => false,
            // What is bound nowhere is done on all kinds.
            AxisKind::Choice => axis.name != BIND || Bind::of(axis.default) != Some(Bind::Free),
            AxisKind::Size | AxisKind::Count => true,
        });
        let is_of_core = ["cpu", "memory"].contains(&self.group) && matches!(self.probe.measure, Measure::Run(_));
        let core = (is_of_core && is_of_one_cpu).then_some(CORE);
        let peers = self.probe.service().map(|_| [TO, IP]).into_iter().flatten();
        self.probe.axes.iter().copied().chain(core).chain(peers).collect()
    }

    /// The axes that cases of this host have in a run with these peers.
    pub(crate) fn axes_on(&self, host: &HostFacts, peers: &[String]) -> Vec<Axis> {
        let mut axes = self.axes();
        axes.retain(|axis| axis.name != CORE.name || hostmark_host::core_kinds(host).len() > 1);
        axes.retain(|axis| ![TO.name, IP.name].contains(&axis.name) || !peers.is_empty());
        axes
    }

    /// The way of a case, where the probe has ways.
    pub(crate) fn way<'a>(&self, params: &'a Params) -> Option<(&'static str, &'a str)> {
        let axis = self.probe.axes.iter().find(|axis| axis.is_way)?;
        Some((axis.name, params.get(axis.name)?))
    }

    /// Every further quantity that a measurement of it may yield: its own, and those of counters.
    pub(crate) fn quantities(&self) -> impl Iterator<Item = &'static Quantity> {
        self.probe.also.iter().chain(&counted::QUANTITIES)
    }

    /// The point at which every axis has its default.
    pub fn default_params(&self) -> Params {
        Params(self.probe.axes.iter().map(|axis| (axis.name.to_owned(), axis.default.to_owned())).collect())
    }

    /// Describes the probe for a run file.
    pub fn info(&self) -> ProbeInfo {
        let probe = self.probe;
        let explain = &probe.explain;
        ProbeInfo {
            id: self.id(),
            title: probe.title.to_owned_text(),
            unit: probe.unit,
            better: probe.better,
            also: probe.also.iter().map(Quantity::info).collect(),
            revision: probe.revision,
            explain: Explain {
                what: explain.what.to_owned_text(),
                why: explain.why.to_owned_text(),
                reading: explain.reading.to_owned_text(),
                typical: explain.typical.to_owned_text(),
                causes: explain.causes.to_owned_text(),
            },
            section: probe.section.to_owned_text(),
            related: probe.related.iter().map(|&id| id.to_owned()).collect(),
            replaces: probe.replaces.iter().map(|&name| name.to_owned()).collect(),
            differs: probe.differs.map(|text| text.to_owned_text()),
            axes: probe.axes.iter().map(Axis::info).collect(),
            needs: probe.needs.iter().map(Need::to_string).collect(),
            brought_by: Vec::new(),
        }
    }
}

impl Axis {
    pub(crate) fn info(&self) -> AxisInfo {
        AxisInfo { name: self.name.into(), kind: self.kind, default: self.default.into() }
    }
}

/// Every probe of the catalogue, in its order.
pub fn entries(catalogue: Catalogue) -> impl Iterator<Item = Entry> {
    catalogue.iter().flat_map(|&Group { name: group, shares_worker, probes }| {
        probes.iter().map(move |&(name, probe)| Entry { group, name, shares_worker: *shares_worker, probe })
    })
}

pub fn find(catalogue: Catalogue, id: &str) -> Option<Entry> {
    entries(catalogue).find(|entry| entry.id() == id)
}
