//! Plan of a run: filters, axes and needs turned into cases, before anything is timed.

pub(crate) mod fit;
pub(crate) mod time_budget;

mod placed;
mod selection;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use hostmark_host as host_facts;
use hostmark_model::{
    AxisKind, CaseId, HostFacts, Inputs, MOST_CASES, Message, Params, ProbeInfo, Profile, Reason, displays_its_message,
    is_axis_value,
};
use hostmark_say::say;

use crate::case::surroundings::Bind;
use crate::probe::{
    Axis, CORE, Catalogue, Entry, FullFactorial, IP, Measure, Points, TO, TWO_HOSTS, entries, no_such_peer,
};
use crate::quantity::Quantity;
use crate::sys::affinity::MOST_CPUS;

pub use fit::TableCell;
pub(crate) use fit::no_time;
pub use placed::{cpu_list, keep_to_cpus, nearest_other};
use placed::{cpu_pair, placed};
use selection::Selection;
pub use selection::plan_table;
pub use time_budget::{ProfileLimits, limits_of, profile_limits};

#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Filters as typed; none selects everything.
    pub filters: Vec<String>,
    pub profile: Profile,
    /// The seed of all sequences and samples.
    pub seed: u64,
    /// Points in the place of an axis' own, as typed: `[PROBE:]AXIS=V1,V2`. The setting that names its probes more closely counts.
    pub set: Vec<String>,
    pub inputs: Inputs,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PlanError {
    /// No probe, group or lmbench program has this name; the nearest one, where one is alike.
    UnknownProbe(String, Option<String>),
    /// Any other error, as a sentence that ends with what to do.
    Refused(Message),
}

impl From<&PlanError> for Message {
    fn from(error: &PlanError) -> Message {
        match error {
            PlanError::UnknownProbe(name, Some(nearest)) => {
                say!("no probe is called '{name}'; did you mean {nearest}? (hostmark list shows all)")
            }
            PlanError::UnknownProbe(name, None) => say!("no probe is called '{name}'; hostmark list shows all"),
            PlanError::Refused(message) => message.clone(),
        }
    }
}

displays_its_message!(PlanError);

impl std::error::Error for PlanError {}

impl From<Message> for PlanError {
    fn from(message: Message) -> PlanError {
        PlanError::Refused(message)
    }
}

fn no_cpu() -> Message {
    say!("this process may run on no online CPU; widen its affinity")
}

fn unknown_axis(probe: &str, axis: &str, known: &[&str]) -> Message {
    match known.join(", ") {
        known if known.is_empty() => {
            say!("{probe} has no axis '{axis}'; it has none, so leave out the part behind @")
        }
        known => say!("{probe} has no axis '{axis}'; use {known}"),
    }
}

/// Priority of a case, the highest first: that one is measured whatever becomes of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Case that a person looks at first: the first screen, and the tables of bandwidth and latency by size.
    First,
    /// Default of its probe: no run is without it.
    Default,
    /// A cell of a table that people know.
    Cell,
    /// Any other, by the first profile that has it: what a shorter one measures tells more than what a longer one adds.
    Further(Profile),
}

#[derive(Clone)]
pub struct PlannedCase {
    pub entry: Entry,
    pub id: CaseId,
    /// True at its probe's defaults: such a case is never dropped for time.
    pub is_default: bool,
    /// Number of axes on which it is not at its probe's default.
    pub steps: usize,
    pub priority: Priority,
    /// Forecast time of a round besides its samples; zero before the plan is fitted.
    pub set_up: Duration,
    /// Forecast time that the first round in a worker takes beyond that, for the first touch of memory that the others find touched.
    pub first_touch: Duration,
    /// The CPUs it runs on, the measuring thread's first.
    pub cpus: Vec<usize>,
    /// Reason to skip it, when known beforehand.
    pub skip: Option<Reason>,
}

/// Plan of a run, in catalogue order.
#[derive(Clone)]
pub struct Plan {
    pub request: Request,
    pub cases: Vec<PlannedCase>,
    /// Probes computed from the others afterwards.
    pub derived: Vec<Entry>,
    /// Every selected probe, in catalogue order.
    pub selected: Vec<Entry>,
    /// The CPU of single-party cases.
    pub cpu: usize,
    /// Base point of each probe: its defaults, or the first of the points that an axis was set to.
    bases: HashMap<String, Params>,
    /// The derived probes for whose sake alone a probe is there.
    brought_by: HashMap<String, Vec<String>>,
}

impl Plan {
    /// The derived probes for whose sake alone a probe is measured; none where it was asked for.
    pub fn brought_by(&self, probe: &str) -> &[String] {
        self.brought_by.get(probe).map_or(&[], Vec::as_slice)
    }

    /// Base point of a probe, around which its axes are swept.
    pub(crate) fn base(&self, probe: &str) -> Option<&Params> {
        self.bases.get(probe)
    }

    /// The case of a probe by the axes on which it is not at its default.
    pub fn case_at(&self, cell: TableCell) -> Option<&PlannedCase> {
        let base = self.base(cell.probe)?.clone();
        let params = cell.at.iter().fold(base, |params, (axis, value)| params.with(axis, value));
        self.cases.iter().find(|case| case.id.probe == cell.probe && case.id.params == params)
    }

    /// Descriptions of the selected probes for a run file: an axis' default is the value at which this plan sweeps the others.
    pub fn probes(&self) -> Vec<ProbeInfo> {
        let info = |entry: &Entry| {
            let mut info = entry.info();
            if self.request.inputs.counters {
                info.also = entry.quantities().map(Quantity::info).collect();
            }
            info.brought_by = self.brought_by(&info.id).to_vec();
            let base = self.bases.get(&info.id);
            let has = |axis: &&Axis| base.is_some_and(|base| base.get(axis.name).is_some());
            info.axes.extend([CORE, TO, IP].iter().filter(has).map(Axis::info));
            for axis in &mut info.axes {
                if let Some(value) = base.and_then(|base| base.get(&axis.name)) {
                    axis.default = value.to_owned();
                }
            }
            info
        };
        self.selected.iter().map(info).collect()
    }
}

/// The probes that filters pick, in catalogue order; without filters all of them.
pub fn pick(catalogue: Catalogue, filters: &[String]) -> Result<Vec<Entry>, PlanError> {
    let selection = Selection::parse(catalogue, filters)?;
    Ok(entries(catalogue).filter(|entry| selection.picks(entry)).collect())
}

pub fn plan(catalogue: Catalogue, host: &HostFacts, request: Request) -> Result<Plan, PlanError> {
    let cpu = host_facts::single(host).ok_or_else(no_cpu)?;
    let selection = Selection::parse(catalogue, &request.filters)?;
    let sets = selection::Sets::parse(catalogue, &request.set)?;
    let has_command = !request.inputs.command.is_empty();
    let takes_command = |entry: &Entry| entry.probe.needs.iter().any(|need| need.is_command());
    // A command is a run of its own, and without one there is nothing to measure.
    let is_everything = request.filters.is_empty();
    let is_due =
        |entry: &Entry| takes_command(entry) == has_command && entry.probe.from <= request.profile.max(Profile::Quick);
    let is_meant = |entry: &Entry| selection.has(entry) && (!is_everything || is_due(entry));
    let mut wanted: Vec<Entry> = entries(catalogue).filter(is_meant).collect();
    let of_command = wanted.iter().find(|entry| takes_command(entry)).map(Entry::id);
    // Of a command one thing is the value, and one probe measures it.
    let is_given = |entry: &Entry| entry.probe.needs.iter().all(|need| need.not_given(&request.inputs).is_none());
    wanted.retain(|entry| !takes_command(entry) || is_given(entry));
    if let Some(probe) = of_command.filter(|_| !wanted.iter().any(&takes_command)) {
        let refused = match has_command {
            true => say!(
                "{probe} does not measure what was asked of the command; leave the filter out: --bytes, --value and --unit pick the probe"
            ),
            false => say!("{probe} measures a command, and none was given; name one, as --command 'make -j4'"),
        };
        return Err(refused.into());
    }
    if let Some(other) = wanted.iter().find(|entry| has_command && !takes_command(entry)) {
        let probe = other.id();
        let refused = say!("--command measures a command and nothing else; leave out the filter that picks {probe}");
        return Err(refused.into());
    }
    let (cases, derived, selected) = (Vec::new(), Vec::new(), Vec::new());
    let (bases, brought_by) = (HashMap::new(), HashMap::new());
    let mut plan = Plan { request, cases, derived, selected, cpu, bases, brought_by };
    for entry in wanted {
        if let Measure::Derive { .. } = entry.probe.measure {
            plan.selected.push(entry);
            plan.derived.push(entry);
            continue;
        }
        let peers = &plan.request.inputs.peers;
        let (axes, set, profile) = (entry.axes_on(host, peers), sets.of(&entry, host, peers)?, plan.request.profile);
        let swept = |profile| {
            // What was set of the far end's machine chooses among all of them.
            let (to, set) = set.iter().cloned().partition::<Vec<_>, _>(|(name, _)| *name == TO.name);
            let mut planned = with_peers(&entry, &Swept { axes: &axes, set, host, profile }, peers)?;
            planned.retain(|params| {
                to.iter().all(|(name, values)| params.get(name).is_none_or(|to| values.iter().any(|value| value == to)))
            });
            Ok::<_, PlanError>(planned)
        };
        let planned = swept(profile)?;
        if planned.is_empty() {
            continue;
        }
        let profile = profile.max(Profile::Quick);
        let shorter = [Profile::Quick, Profile::Standard].into_iter();
        let shorter = shorter.filter(|&shorter| (entry.probe.from..profile).contains(&shorter));
        let shorter: Vec<(Profile, HashSet<Params>)> = shorter
            .map(|shorter| Ok((shorter, swept(shorter)?.into_iter().collect())))
            .collect::<Result<_, PlanError>>()?;
        let mut points = unique(selection.points(&entry, &planned, host));
        if points.is_empty() {
            continue;
        }
        // What to load is said once.
        let mut setup_hints = entry.probe.needs.iter().filter(|need| need.is_setup_hint());
        if setup_hints.any(|need| need.unmet(host, &plan.request.inputs).is_some()) {
            points.truncate(1);
        }
        enough(&entry, plan.cases.len().saturating_add(points.len()))?;
        plan.selected.push(entry);
        for params in points {
            let needs = if entry.peer(&params).is_some() { &[][..] } else { entry.probe.needs };
            let skip = needs.iter().find_map(|need| need.unmet(host, &plan.request.inputs));
            let strange = entry.peer(&params).filter(|peer| !peers.iter().any(|known| known == peer));
            let skip = skip.or_else(|| Some(no_such_peer(strange?)));
            // Cases of a peer are swept around a point of its own.
            let base = entry.peer(&params).and_then(|peer| entry.towards(&planned[0], peer));
            let base = base.as_ref().unwrap_or(&planned[0]);
            let base = &entry.way(&params).map_or_else(|| base.clone(), |(axis, way)| base.with(axis, way));
            let priority = fit::of_case(&params, base, &shorter, profile);
            plan.cases.push(PlannedCase { priority, ..placed(entry, params, base, host, cpu, skip) });
        }
        plan.bases.insert(entry.id(), planned[0].clone());
        plan.brought_by.insert(entry.id(), selection.brought_by(&entry));
    }
    sets.check(&plan.selected, host, &plan.request.inputs.peers)?;
    Ok(plan)
}

/// The cases with both ends here, and behind them those with the far end at each of the peers.
fn with_peers(entry: &Entry, swept: &Swept, peers: &[String]) -> Result<Vec<Params>, PlanError> {
    let mut all = one_factor_at_a_time(swept, entry)?;
    if entry.probe.service().is_none() || peers.is_empty() {
        return Ok(all);
    }
    // One machine has one way to itself.
    let is_here = |params: &&Params| params.get(IP.name).is_none_or(|ip| ip == IP.default);
    let here: Vec<Params> = all.iter().filter(is_here).cloned().collect();
    let base = all[0].clone();
    for axis in swept.axes.iter().filter(|axis| axis.is_of_links && swept.set(axis).is_none()) {
        let points = points(axis, swept.host, swept.profile.max(Profile::Standard));
        all.extend(points.iter().map(|point| base.with(axis.name, point)));
    }
    let there = peers.iter().flat_map(|peer| all.iter().filter_map(|params| entry.towards(params, peer)));
    Ok(unique(here.iter().cloned().chain(there).collect()))
}

/// Typed settings may come to any number of cases, each with its memory and its share of the time that planning takes.
fn enough(entry: &Entry, cases: usize) -> Result<(), PlanError> {
    if cases <= MOST_CASES {
        return Ok(());
    }
    let (probe, most) = (entry.id(), MOST_CASES);
    Err(say!("{probe} brings the plan to more than {most} cases; name fewer values by --set").into())
}

fn unique(points: Vec<Params>) -> Vec<Params> {
    let mut seen = std::collections::HashSet::new();
    points.into_iter().filter(|params| seen.insert(params.clone())).collect()
}

/// The points of one axis, its default among them, in order.
fn points(axis: &Axis, host: &HostFacts, profile: Profile) -> Vec<String> {
    let given = match (axis.at_a_glance, profile) {
        (Some(few), Profile::Glance) => Points::OfHost(few),
        _ => axis.points,
    };
    let profile = profile.max(Profile::Quick);
    let mut points: Vec<String> = match given {
        Points::Listed { quick, standard, thorough } => {
            let lists = match profile {
                Profile::Glance | Profile::Quick => [quick, &[], &[]],
                Profile::Standard => [quick, standard, &[]],
                Profile::Thorough => [quick, standard, thorough],
            };
            lists.into_iter().flatten().map(|&point| point.to_owned()).collect()
        }
        Points::OfHost(of_host) => of_host(host, profile).into_iter().map(|point| point.to_string()).collect(),
        Points::NamesOfHost(of_host) => of_host(host, profile),
        Points::NodePairs => {
            let pairs = host_facts::node_pairs(host, profile);
            pairs.iter().map(|[cpus, memory]| format!("{cpus}-{memory}")).collect()
        }
    };
    points.push(axis.default.to_owned());
    points.iter_mut().for_each(|point| *point = axis.on(host, point));
    in_order(axis, &mut points);
    let mut seen = std::collections::HashSet::new();
    points.retain(|point| seen.insert(point.clone()));
    points
}

fn in_order(axis: &Axis, points: &mut [String]) {
    if matches!(axis.kind, AxisKind::Size | AxisKind::Count | AxisKind::Threads | AxisKind::Copies) {
        points.sort_by_key(|point| point.parse().unwrap_or(u64::MAX));
    } else if axis.kind == AxisKind::Nodes {
        points.sort_by_key(|point| node_pair(point));
    }
}

/// `0-1` as two nodes.
fn node_pair(text: &str) -> Option<[usize; 2]> {
    let (cpus, memory) = text.split_once('-')?;
    let node = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?;
    Some([node(cpus)?, node(memory)?])
}

/// The axes of a probe, with what was set in the place of their own points.
struct Swept<'a> {
    axes: &'a [Axis],
    set: Vec<(&'static str, Vec<String>)>,
    host: &'a HostFacts,
    profile: Profile,
}

impl Swept<'_> {
    fn set(&self, axis: &Axis) -> Option<&Vec<String>> {
        self.set.iter().find(|(name, _)| *name == axis.name).map(|(_, values)| values)
    }

    /// The value of an axis while another is swept: its default, unless that is not among what was set.
    fn base(&self, axis: &Axis) -> String {
        let default = axis.on(self.host, axis.default);
        match self.set(axis) {
            Some(values) if !values.contains(&default) => values[0].clone(),
            _ => default,
        }
    }

    fn points(&self, axis: &Axis) -> Vec<String> {
        match self.set(axis) {
            Some(values) => {
                let mut values = values.clone();
                in_order(axis, &mut values);
                values
            }
            None => points(axis, self.host, self.profile),
        }
    }
}

/// The cases of a probe: the base, then one axis at a time, then the products that the probe asks for.
fn one_factor_at_a_time(swept: &Swept, entry: &Entry) -> Result<Vec<Params>, PlanError> {
    let base = Params(swept.axes.iter().map(|axis| (axis.name.to_owned(), swept.base(axis))).collect());
    let mut cases = vec![base.clone()];
    for axis in swept.axes {
        cases.extend(swept.points(axis).iter().map(|point| base.with(axis.name, point)));
    }
    // Who sets all axes of a product by hand asks for the product, in any profile.
    let is_set = |name: &&str| swept.set.iter().any(|(set, _)| set == name);
    let is_wanted = |full_factorial: &&FullFactorial| {
        swept.profile.max(Profile::Quick) >= full_factorial.from || full_factorial.axes.iter().all(is_set)
    };
    // What a kind of core is like shows along the probe's first axis: the levels of its caches, its operations.
    let first = swept.axes.first().filter(|_| swept.axes.iter().any(|axis| axis.name == CORE.name));
    let of_cores = first.map(|first| [first.name, CORE.name]);
    let of_cores = of_cores.as_ref().filter(|axes| swept.profile >= Profile::Standard || axes.iter().all(is_set));
    let products = entry.probe.full_factorial.iter().filter(is_wanted).map(|full_factorial| full_factorial.axes);
    for axes in products.chain(of_cores.map(|axes| &axes[..])) {
        let mut product = vec![base.clone()];
        for axis in swept.axes.iter().filter(|axis| axes.contains(&axis.name)) {
            let points = swept.points(axis);
            enough(entry, product.len().saturating_mul(points.len()))?;
            product = product
                .iter()
                .flat_map(|params| points.iter().map(|point| params.with(axis.name, point)).collect::<Vec<_>>())
                .collect();
        }
        cases.extend(product);
    }
    Ok(unique(cases))
}

/// A size over this is none: no machine addresses as much for a process.
const MOST_BYTES: u64 = 1 << 46;
/// A count over this is none, but for what the host's memory settles: each of what is counted takes time and memory.
const MOST_COUNTED: u64 = 1 << 20;

/// Aliases that people type for points.
const OTHER_NAMES: [(&str, &str); 1] = [("huge", "pmd")];
const SIZES: &str = "bytes, as 4096, 32K, 64M or 1G";

/// Tells whether a size of 0 is a point of the axis.
fn has_zero(axis: &Axis) -> bool {
    let listed: &[&[&str]] = match axis.points {
        Points::Listed { quick, standard, thorough } => &[quick, standard, thorough],
        _ => &[],
    };
    listed.iter().copied().flatten().chain([&axis.default]).any(|&point| point == "0")
}

/// A typed value as it stands in a case id, when the axis can have it.
pub(crate) fn checked_value(entry: &Entry, axis: &str, value: &str) -> Result<String, PlanError> {
    let axes = entry.axes();
    let Some(found) = axes.iter().find(|known| known.name == axis) else {
        // That of the kinds of core is there on few hosts.
        return Err(unknown_axis(&entry.id(), axis, &entry.probe.axis_names()).into());
    };
    let no_value =
        |known: String| PlanError::from(say!("invalid {axis} '{value}' for {probe}; use {known}", probe = entry.id()));
    // What names no number: `auto`, or all threads that there can be.
    if value == found.default {
        return Ok(value.to_owned());
    }
    if axis == TO.name || (found.kind == AxisKind::Placement && entry.probe.service().is_some() && value == TWO_HOSTS) {
        return is_axis_value(value).then(|| value.to_owned()).ok_or_else(|| no_value("what a peer is called".into()));
    }
    match found.kind {
        AxisKind::Size => match parse_size(value) {
            // Nothing is a size where the probe has it as a point, however it is typed.
            Some(0) if !has_zero(found) => Err(no_value(SIZES.into())),
            Some(bytes) if bytes <= MOST_BYTES => Ok(bytes.to_string()),
            _ => Err(no_value(SIZES.into())),
        },
        AxisKind::Count | AxisKind::Threads | AxisKind::Copies => {
            let most = if found.settled.is_some() { MOST_BYTES } else { MOST_COUNTED };
            match value.parse::<u64>() {
                Ok(count) if (1..=most).contains(&count) => Ok(count.to_string()),
                _ => Err(no_value(format!("a positive whole number up to {most}"))),
            }
        }
        AxisKind::Nodes => match node_pair(value) {
            Some([cpus, memory]) => Ok(format!("{cpus}-{memory}")),
            None => Err(no_value("two memory nodes, that of the CPU and that of the memory, as 0-1".into())),
        },
        AxisKind::Choice | AxisKind::Placement => {
            let mut known = points(found, &HostFacts::default(), Profile::Thorough);
            let takes_pairs = found.takes_pairs();
            let is_cpu = || found.takes_a_cpu() && matches!(Bind::of(value), Some(Bind::Cpu(id)) if id < MOST_CPUS);
            if is_axis_value(value)
                && (known.iter().any(|point| point == value) || (takes_pairs && cpu_pair(value).is_some()) || is_cpu())
            {
                return Ok(value.to_owned());
            }
            let meant = OTHER_NAMES.iter().find(|(other, _)| *other == value).map(|(_, name)| *name);
            if let Some(same) = known.iter().find(|point| meant == Some(point.as_str())) {
                return Ok(same.clone());
            }
            // A name that is a size, as the stride 4096 or blocks of 1k, may be typed as any other size.
            let bytes = parse_size(value);
            if let Some(same) = known.iter().find(|point| bytes.is_some() && parse_size(point) == bytes) {
                return Ok(same.clone());
            }
            known.extend(takes_pairs.then(|| "two CPUs as 0-1".to_owned()));
            known.extend(found.takes_a_cpu().then(|| "a CPU as 3".to_owned()));
            Err(no_value(known.join(", ")))
        }
    }
}

/// Bytes as a person types them: a whole number, or one with K, M or G (2^10 …), in either case.
pub fn parse_size(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' | b'k' => (&text[..text.len() - 1], 10),
        b'M' | b'm' => (&text[..text.len() - 1], 20),
        b'G' | b'g' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Characters of a name that may be a slip: how alike two are takes time by the product of their lengths.
const LONGEST_SLIP: usize = 200;

/// The known name that is most like `name`, when one is alike.
pub fn nearest(catalogue: Catalogue, name: &str) -> Option<String> {
    if name.len() > LONGEST_SLIP {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for entry in entries(catalogue) {
        names.extend([entry.id(), entry.group.to_owned()]);
        names.extend(entry.probe.replaces.iter().map(|&replaced| replaced.to_owned()));
    }
    let name = name.to_lowercase();
    let alike = |known: String| (strsim::jaro_winkler(&name, &known), known);
    let best = names.into_iter().map(alike).max_by(|one, other| one.0.total_cmp(&other.0))?;
    (best.0 > 0.8).then_some(best.1)
}

#[cfg(test)]
#[path = "plan/bind_tests.rs"]
mod bind_tests;
#[cfg(test)]
#[path = "plan/peer_tests.rs"]
mod peer_tests;
#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
