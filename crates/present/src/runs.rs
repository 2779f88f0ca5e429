//! Several runs as one: the probes and cases of all, in the first's order, each with what every run has of it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use hostmark_analysis::format::{agreement, amount, both, estimator, low_high, other_value, plus_minus_of};
use hostmark_analysis::labels::{ProbeLabels, run_letter};
use hostmark_analysis::references::{NearestReference, beside};
use hostmark_analysis::split_huge_pages::split_huge_pages;
use hostmark_model::{
    AxisInfo, AxisKind, CaseRecord, Estimate, FlagKind, Leading, Measured, Message, Params, ProbeInfo, Run, Unit,
};
use hostmark_say::say;

use crate::words;

pub(crate) struct Runs<'a> {
    pub(crate) all: &'a [Run],
    /// Flags of each run that say something about the run and nothing about a case.
    pub(crate) common: Vec<HashSet<FlagKind>>,
    pub(crate) estimators: Vec<Estimators<'a>>,
    /// The note on a figure of each run that is of memory in huge pages.
    pub(crate) split_huge_pages: Vec<NoteOnCase>,
    pub(crate) probes: Vec<Probe<'a>>,
    /// The nearest kind of machine, where a run stands alone.
    pub(crate) reference: Option<NearestReference<'static>>,
}

/// Function that gives the note on a case.
pub(crate) type NoteOnCase = Box<dyn Fn(&CaseRecord) -> Option<Message>>;

/// A probe, and its cases in any of the runs.
pub(crate) struct Probe<'a> {
    pub(crate) id: &'a str,
    /// Description in the first run that has the probe; a file may lack it.
    pub(crate) info: Option<&'a ProbeInfo>,
    pub(crate) labels: ProbeLabels<'a>,
    pub(crate) cases: Vec<Case<'a>>,
    /// True where the runs have it in different revisions, so that its values mean different things.
    pub(crate) revisions_differ: bool,
}

/// A case, and what each run has of it.
pub(crate) struct Case<'a> {
    pub(crate) id: &'a str,
    pub(crate) params: &'a Params,
    /// The same number of records as there are runs; none where a run did not plan it.
    pub(crate) records: Vec<Option<&'a CaseRecord>>,
    /// Number among all cases: the anchor of its row.
    pub(crate) number: usize,
}

impl<'a> Runs<'a> {
    pub(crate) fn new(all: &'a [Run]) -> Runs<'a> {
        let reference = match all {
            [run] => beside(run),
            _ => None,
        };
        let common = all.iter().map(|run| Flags::of(run).common).collect();
        let split_huge_pages = all.iter().map(|run| Box::new(split_huge_pages(run)) as NoteOnCase).collect();
        let estimators = all.iter().map(Estimators::of).collect();
        Runs { all, common, estimators, split_huge_pages, probes: probes(all), reference }
    }

    /// The id of a case as people type it.
    pub(crate) fn typed_id(&self, id: &str) -> String {
        let info = self.probe(id.split('@').next().unwrap_or(id)).and_then(|probe| probe.info);
        info.map_or_else(|| id.to_owned(), |info| info.typed_id(id))
    }

    pub(crate) fn probe(&self, id: &str) -> Option<&Probe<'a>> {
        self.probes.iter().find(|probe| probe.id == id)
    }

    pub(crate) fn are_many(&self) -> bool {
        self.all.len() > 1
    }

    /// Letter of a run where there are several.
    pub(crate) fn letter(&self, index: usize) -> String {
        if self.are_many() { run_letter(index) } else { String::new() }
    }

    /// `label` of one run's series: its letter before it where there are several runs.
    pub(crate) fn of_run(&self, index: usize, label: Message) -> Message {
        if self.are_many() { Message::joined([run_letter(index).into(), label], " ") } else { label }
    }
}

fn probes(all: &[Run]) -> Vec<Probe<'_>> {
    let mut probes: Vec<Probe> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for run in all {
        let named = run.probes.iter().map(|info| (info.id.as_str(), Some(info)));
        for (id, info) in named.chain(run.cases.iter().map(|case| (case.probe.as_str(), None))) {
            let place = *places.entry(id).or_insert_with(|| {
                probes.push(Probe {
                    id,
                    info: None,
                    labels: ProbeLabels::new(id, None, None),
                    cases: Vec::new(),
                    revisions_differ: false,
                });
                probes.len() - 1
            });
            let probe = &mut probes[place];
            if let (Some(known), Some(new)) = (probe.info, info) {
                probe.revisions_differ |= known.revision != new.revision;
            }
            probe.info = probe.info.or(info);
        }
    }
    let mut cases: HashMap<&str, (usize, usize)> = HashMap::new();
    for (index, run) in all.iter().enumerate() {
        for record in &run.cases {
            let Some(&place) = places.get(record.probe.as_str()) else { continue };
            let known = &mut probes[place].cases;
            let (_, at) = *cases.entry(record.id.as_str()).or_insert_with(|| {
                let records = vec![None; all.len()];
                known.push(Case { id: &record.id, params: &record.params, records, number: 0 });
                (place, known.len() - 1)
            });
            if let Some(case) = known.get_mut(at) {
                case.records[index] = Some(record);
            }
        }
    }
    probes.retain(|probe| !probe.cases.is_empty());
    for probe in &mut probes {
        probe.labels = ProbeLabels::new(probe.id, probe.info, probe.cases.first().map(|case| case.params));
    }
    for (number, case) in probes.iter_mut().flat_map(|probe| probe.cases.iter_mut()).enumerate() {
        case.number = number;
    }
    probes
}

impl<'a> Probe<'a> {
    pub(crate) fn unit(&self) -> Unit {
        self.info.map_or(Unit::Ratio, |info| info.unit)
    }

    pub(crate) fn title(&self) -> Message {
        self.labels.title(&[])
    }

    /// The names of its axes, in the order of a case id.
    pub(crate) fn axes(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.cases.iter().flat_map(|case| case.params.0.iter()) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// The axes along which its cases differ.
    pub(crate) fn varying(&self) -> Vec<&'a str> {
        let first = self.cases.first();
        let differs = |axis: &&str| {
            let wanted = first.and_then(|case| case.params.get(axis));
            self.cases.iter().any(|case| case.params.get(axis) != wanted)
        };
        self.axes().into_iter().filter(differs).collect()
    }

    /// Tells whether `params` is at the default of every axis but those named.
    pub(crate) fn is_default_but(&self, params: &Params, but: &[&str]) -> bool {
        params.0.iter().all(|(axis, at)| but.contains(&axis.as_str()) || self.labels.default_of(axis) == Some(at))
    }

    /// All of `params` that stands on `axes`, named.
    pub(crate) fn all_named(&self, params: &Params, axes: &[&str]) -> Message {
        let points = params.0.iter().map(|(axis, at)| (axis.as_str(), at.as_str()));
        self.labels.points(&points.filter(|(axis, _)| axes.contains(axis)).collect::<Vec<_>>())
    }

    pub(crate) fn measured(&self, run: usize) -> impl Iterator<Item = (&Case<'a>, &'a Estimate)> {
        self.cases.iter().filter_map(move |case| Some((case, case.estimate(run)?)))
    }

    pub(crate) fn section(&self) -> Message {
        self.info.map_or_else(|| words::OTHER.into(), |info| Message::from(&info.section))
    }

    /// Percentiles that it gives, as shares with their names.
    pub(crate) fn percentiles(&self) -> Vec<(f64, &'a str)> {
        let named = self.info.into_iter().flat_map(|info| info.also.iter()).filter_map(|also| {
            let percentile = hostmark_stats::histogram::Percentile::of_name(&also.name)?;
            Some((percentile.numerator as f64 / percentile.denominator as f64, also.name.as_str()))
        });
        let mut all: Vec<(f64, &str)> = named.collect();
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        all
    }
}

impl<'a> Case<'a> {
    pub(crate) fn record(&self, run: usize) -> Option<&'a CaseRecord> {
        self.records.get(run).copied().flatten()
    }

    pub(crate) fn estimate(&self, run: usize) -> Option<&'a Estimate> {
        let estimate = &self.record(run)?.measured()?.estimate;
        estimate.value().is_finite().then_some(estimate)
    }

    /// Value on an axis as a number.
    pub(crate) fn number_on(&self, axis: &str) -> Option<f64> {
        self.params.get(axis)?.parse().ok().filter(|at: &f64| at.is_finite())
    }

    /// The outcomes are of some probes: the anchors of rows.
    pub(crate) fn anchor(&self) -> String {
        format!("c{}", self.number)
    }
}

/// A value and its interval: `24.1 GB/s [95 %: 23.9 … 24.3]`. It is the same in both languages wherever the unit is, so
/// that a page of thousands of marks has it once.
pub(crate) fn value_and_interval(estimate: &Estimate, unit: Unit) -> Message {
    let shown = both(estimate, unit);
    match (low_high(estimate, unit), agreement(estimate)) {
        (Some(interval), _) => say!("{shown} [95 %: {interval}]"),
        (None, Some(agreement)) => say!("{shown} [{agreement}]"),
        (None, None) => shown,
    }
}

pub(crate) fn reading(point: impl Into<Message>, value: Message) -> Message {
    Message::joined([point.into(), value], ": ")
}

/// The ends of an interval, where there is one.
pub(crate) fn interval(estimate: &Estimate) -> Option<(f64, f64)> {
    let (low, high) = estimate.interval()?;
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

/// Half an interval's width as `±2.1 %`, or nothing.
pub(crate) fn plus_minus(estimate: &Estimate) -> String {
    estimate.relative_half_width().map(plus_minus_of).unwrap_or_default()
}

/// A flag that at least this many cases carry is told once for the run and not beside each value …
const COMMON_CASES: usize = 8;
/// … when it is on at least one of this many.
const COMMON_SHARE: usize = 5;

pub(crate) struct Flags {
    /// Number of measured cases by flag.
    pub(crate) counts: BTreeMap<FlagKind, usize>,
    /// Flags of so many cases that they say something about the run and nothing about a case.
    pub(crate) common: HashSet<FlagKind>,
    pub(crate) measured: usize,
}

impl Flags {
    pub(crate) fn of(run: &Run) -> Flags {
        let mut counts: BTreeMap<FlagKind, usize> = BTreeMap::new();
        let mut measured = 0;
        for values in run.cases.iter().filter_map(CaseRecord::measured) {
            measured += 1;
            let kinds: HashSet<FlagKind> = values.flags.iter().map(|flag| flag.kind).collect();
            kinds.into_iter().for_each(|kind| *counts.entry(kind).or_insert(0) += 1);
        }
        let is_common = |(kind, count): (&FlagKind, &usize)| {
            (!is_of_the_value(*kind) && *count >= COMMON_CASES && count * COMMON_SHARE >= measured).then_some(*kind)
        };
        let common = counts.iter().filter_map(is_common).collect();
        Flags { counts, common, measured }
    }
}

/// Tells whether a flag of this kind is about a value itself, however many have it.
pub(crate) fn is_of_the_value(kind: FlagKind) -> bool {
    needs_detail(kind) || matches!(kind, FlagKind::UnderResolution | FlagKind::FromCache)
}

/// Tells whether a remark of this kind says little without its detail.
pub(crate) fn needs_detail(kind: FlagKind) -> bool {
    matches!(kind, FlagKind::Implausible | FlagKind::Unconfirmed | FlagKind::SmallBuffer | FlagKind::PartlyUsed)
}

/// A case's value as a row of its own begins with it: in cycles where the core alone decides, since these repeat where its clock does
/// not; the same in nanoseconds follows.
pub(crate) fn in_first_unit(measured: &Measured, unit: Unit) -> (Cow<'_, Estimate>, Unit) {
    let as_it_is = || (Cow::Borrowed(&measured.estimate), unit);
    measured.in_cycles().map_or_else(as_it_is, |cycles| (cycles, Unit::CoreCycles))
}

/// Addition to a value: the other estimator's where the two differ, and always where the same on more or fewer CPUs, or the base of its
/// scaling, leads with the other one. A single value is there called the value of its estimator, never by a name that a number would have
/// to follow.
pub(crate) fn other_estimator(all: &Estimators, case: &CaseRecord, estimate: &Estimate, unit: Unit) -> Option<Message> {
    let (by, other) = (estimate.estimator(), estimate.estimator().other());
    if !all.lead_beside(case, other) {
        return other_value(estimate, unit);
    }
    Some(match estimate.by(other) {
        Some(stated) => Message::joined([estimator(other).into(), amount(stated.value, unit)], " "),
        None => say!("the {estimator} value", estimator = estimator(by)),
    })
}

/// The value, and what stands beside it: `1.36 k/s (typical 1.37 k/s)`.
pub(crate) fn value_and_other(all: &Estimators, case: &CaseRecord, estimate: &Estimate, unit: Unit) -> Message {
    let shown = amount(estimate.value(), unit);
    match other_estimator(all, case, estimate, unit) {
        Some(other) => say!("{shown} ({other})"),
        None => shown,
    }
}

/// A case without its axes of CPUs: those alike are read beside each other. Without a point it is a probe as a whole, which others
/// scale.
type Kin<'a> = (&'a str, Option<Vec<(&'a str, &'a str)>>);

/// Estimators that the cases of a run lead with. One pass collects them: a look at all other cases for each would be quadratic.
pub(crate) struct Estimators<'a> {
    /// The axes of each probe that tell how many CPUs work.
    of_cpus: HashMap<&'a str, Vec<&'a str>>,
    leading: HashSet<(Kin<'a>, Leading)>,
}

impl<'a> Estimators<'a> {
    pub(crate) fn of(run: &'a Run) -> Estimators<'a> {
        let is_of_cpus = |axis: &&AxisInfo| matches!(axis.kind, AxisKind::Threads | AxisKind::Copies);
        let axes = |info: &'a ProbeInfo| info.axes.iter().filter(is_of_cpus).map(|axis| &*axis.name).collect();
        let of_cpus = run.probes.iter().map(|info| (&*info.id, axes(info))).collect();
        let mut all = Estimators { of_cpus, leading: HashSet::new() };
        for (case, measured) in run.cases.iter().filter_map(|case| Some((case, case.measured()?))) {
            let kin = all.kin(case);
            all.leading.extend([(&*case.probe, None), kin].map(|kin| (kin, measured.estimate.estimator())));
        }
        all
    }

    fn kin<'b>(&self, case: &'b CaseRecord) -> Kin<'b> {
        let of_cpus = self.of_cpus.get(&*case.probe).map_or(&[][..], Vec::as_slice);
        let points = case.params.0.iter().map(|(axis, at)| (&**axis, &**at));
        (&case.probe, Some(points.filter(|(axis, _)| !of_cpus.contains(axis)).collect()))
    }

    /// Tells whether a case that is read beside this one leads with this estimator: the same on more or fewer CPUs, or the base of its
    /// scaling.
    fn lead_beside(&self, case: &CaseRecord, by: Leading) -> bool {
        let scaled = case.params.0.iter().map(|(_, at)| (&**at, None));
        std::iter::once(self.kin(case)).chain(scaled).any(|kin| self.leading.contains(&(kin, by)))
    }
}
