//! lmbench's summary: its twelve tables as data, where each column's value lies in a run, and what a cell says of it.

pub mod tables;

use std::borrow::Cow;

use hostmark_model::{AxisKind, CaseRecord, FlagKind, Measured, Message, Outcome, PEER_AXIS, Params, Run, Text, Unit};
use hostmark_say::say;
pub use tables::TABLES;

use crate::format::{agreement, amount, number, other_value, plus_minus_of};
use crate::groups::distinct;
use crate::levels::{HIERARCHY, LEVELS, UNNAMED, bracket_of, bracket_text, unnamed};
use crate::reasons;
use crate::typography::COMMA;

/// The programs of lmbench 3, whose places probes take; their names are filters.
pub fn programs() -> impl Iterator<Item = &'static str> {
    "bw_file_rd bw_mem bw_mmap_rd bw_pipe bw_tcp bw_udp bw_unix cache disk enough lat_cmd lat_connect lat_ctx \
     lat_dram_page lat_fcntl lat_fifo lat_fs lat_http lat_mem_rd lat_mmap lat_ops lat_pagefault lat_pipe \
     lat_pmake lat_proc lat_rand lat_rpc lat_select lat_sem lat_sig lat_syscall lat_tcp lat_udp lat_unix \
     lat_unix_connect lat_usleep line lmdd lmhttp loop_o memsize mhz par_mem par_ops stream timing_o tlb"
        .split(' ')
}

#[derive(Debug)]
pub struct SummaryTable {
    /// Title, with the unit of its values.
    pub title: Text,
    /// Columns behind host and system, in lmbench's order.
    pub columns: &'static [SummaryColumn],
}

#[derive(Debug)]
pub struct SummaryColumn {
    /// Heading; a line break begins a further line.
    pub head: Text,
    /// Number of a value's base units in one of the column's.
    pub scale: f64,
    /// Place of its value in a run of this program.
    pub ours: CellSource,
    /// Place of its value in a run that was read from a result file of lmbench.
    pub theirs: CellSource,
}

/// Place of a value in a run.
#[derive(Debug, Clone, Copy)]
pub enum CellSource {
    Case(CasePoint),
    Mean(CasePoint, CasePoint),
    /// First of two cases; where that has no value, the second, which measures the same in another way.
    Either(CasePoint, CasePoint),
    /// Number of copies: of ours, up to which none hinders another; of lmbench's, how many measured at once.
    Load,
    /// Text on the machine itself: its model.
    Machine,
    Caches,
}

/// A case, by the axes on which it is not at its probe's default.
#[derive(Debug, Clone, Copy)]
pub struct CasePoint {
    pub probe: &'static str,
    pub at: &'static [(&'static str, &'static str)],
    /// The axis of which the case with the largest value is meant; empty for none.
    pub largest: &'static str,
    /// The further quantity of the case that is meant; empty for its value.
    pub quantity: &'static str,
}

impl CellSource {
    fn probes(&self) -> Vec<&'static str> {
        match self {
            CellSource::Load => vec![SCALING],
            CellSource::Caches => vec![crate::levels::HIERARCHY],
            _ => self.points().iter().map(|point| point.probe).collect(),
        }
    }

    pub fn points(&self) -> Vec<CasePoint> {
        match *self {
            CellSource::Case(point) => vec![point],
            CellSource::Mean(one, other) | CellSource::Either(one, other) => vec![one, other],
            CellSource::Load | CellSource::Machine | CellSource::Caches => Vec::new(),
        }
    }
}

/// The cases of all columns: a run that has them leaves no cell of the summary blank.
pub fn cells() -> impl Iterator<Item = CasePoint> {
    let columns = TABLES.iter().flat_map(|table| table.columns);
    columns.flat_map(|column| match column.ours {
        CellSource::Load => vec![point(SCALING, &[])],
        CellSource::Caches => vec![point(crate::levels::HIERARCHY, &[])],
        ref other => other.points(),
    })
}

/// The probes of the columns whose head is `name` in either language, whatever its case and spaces; none without such a probe.
pub fn probes_of_column(name: &str) -> Vec<&'static str> {
    let columns = TABLES.iter().flat_map(|table| table.columns).filter(|column| column.head.is_called(name));
    distinct(columns.flat_map(|column| column.ours.probes()))
}

/// A case at its probe's default but for `at`.
const fn point(probe: &'static str, at: &'static [(&'static str, &'static str)]) -> CasePoint {
    CasePoint { probe, at, largest: "", quantity: "" }
}

/// Probe of the throughput of several copies beside one.
pub(super) const SCALING: &str = "cpu.scaling";

#[derive(Debug, Clone, PartialEq)]
pub struct SummaryCell {
    /// The value; none when there is none.
    pub text: Option<Message>,
    /// Reason for an empty cell, or a remark on its value.
    pub note: Option<CellRemark>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CellRemark {
    pub text: Message,
    /// Filter of the case that would fill it.
    pub filter: Option<String>,
}

impl From<Message> for CellRemark {
    fn from(text: Message) -> CellRemark {
        CellRemark { text, filter: None }
    }
}

impl From<Text> for CellRemark {
    fn from(text: Text) -> CellRemark {
        Message::from(text).into()
    }
}

impl SummaryCell {
    fn of(text: String) -> SummaryCell {
        SummaryCell { text: Some(Message::plain(text)), note: None }
    }

    fn without(why: impl Into<CellRemark>) -> SummaryCell {
        SummaryCell { text: None, note: Some(why.into()) }
    }
}

pub fn cell(run: &Run, column: &SummaryColumn) -> SummaryCell {
    match source(run, column) {
        CellSource::Case(point) => numeric(run, &[point], column.scale),
        CellSource::Mean(one, other) => numeric(run, &[one, other], column.scale),
        CellSource::Either(one, other) => either(run, one, other, column.scale),
        CellSource::Load => match &run.imported {
            None => unhindered(run),
            Some(_) => match run.settings.set.get("SYNC_MAX") {
                Some(copies) => SummaryCell::of(copies.clone()),
                None => SummaryCell::without(term!("the result file does not tell it")),
            },
        },
        CellSource::Machine => machine(run),
        CellSource::Caches => caches(run),
    }
}

/// The first's value; the second's, with the reason, where that alone is there.
fn either(run: &Run, one: CasePoint, other: CasePoint, scale: f64) -> SummaryCell {
    let first = numeric(run, &[one], scale);
    match (&first, numeric(run, &[other], scale)) {
        (SummaryCell { text: None, note: Some(why) }, SummaryCell { text: Some(text), .. }) => {
            let (wanted, way) = (wanted(one), wanted(other));
            let said = say!("by {way}; {wanted}: {why}", why = why.text);
            SummaryCell { text: Some(text), note: Some(said.into()) }
        }
        _ => first,
    }
}

/// Interval of the column's value, as ±; of a mean of two the wider of both. None where there is no interval.
pub fn interval(run: &Run, column: &SummaryColumn) -> Option<String> {
    let half = |point: &CasePoint| {
        let measured = measured(run, *point).ok()?;
        match point.quantity {
            "" => measured.estimate.relative_half_width(),
            quantity => measured.companion(quantity)?.relative_half_width(),
        }
    };
    let points = source(run, column).points();
    // Of two ways the value is that of the first that there is.
    let shown = if let CellSource::Either(..) = source(run, column) { 1 } else { points.len() };
    let widest = points.iter().filter_map(half).take(shown).reduce(f64::max)?;
    Some(plus_minus_of(widest))
}

/// The number of copies of which each is within 5 % of one alone, of the probe that needs nothing but its CPU.
fn unhindered(run: &Run) -> SummaryCell {
    const WITHIN: &str = "within_5_percent";
    let of_sieve = |case: &&CaseRecord| case.probe == SCALING && case.params.get("source") == Some("cpu.sieve");
    let mut cases = run.cases.iter().filter(of_sieve);
    let shown = cases.clone().find_map(|case| case.measured()?.also.get(WITHIN));
    match (shown, cases.next().map(|case| &case.outcome)) {
        (Some(within), _) => SummaryCell::of(format!("{:.0}", within.estimate.value())),
        // More than one copy takes more than one CPU.
        (None, _) if run.host.usable_cpus().len() == 1 => SummaryCell::of("1".into()),
        (None, Some(Outcome::Skipped { reason })) => SummaryCell::without(reasons::because(reasons::SKIPPED, reason)),
        _ => SummaryCell::without(CellRemark { filter: Some(SCALING.into()), ..not_here().into() }),
    }
}

/// The column's source, by where the run comes from.
fn source(run: &Run, column: &SummaryColumn) -> CellSource {
    if run.imported.is_some() { column.theirs } else { column.ours }
}

/// The values that a column is made of, in its unit; none where one of them is missing or not above zero.
pub fn values(run: &Run, column: &SummaryColumn) -> Option<Vec<f64>> {
    let value = |point: CasePoint| Some(value_of(measured(run, point).ok()?, point) / column.scale);
    let is_value = |value: &f64| value.is_finite() && *value > 0.0;
    let values = source(run, column).points().into_iter().map(|point| value(point).filter(is_value));
    let values = match source(run, column) {
        CellSource::Either(..) => values.flatten().next().map(|value| vec![value]),
        _ => values.collect::<Option<Vec<f64>>>(),
    };
    values.filter(|values| !values.is_empty())
}

pub fn case_of<'a>(run: &'a Run, column: &SummaryColumn) -> Option<&'a CaseRecord> {
    find(run, *source(run, column).points().first()?)
}

pub fn cases_of<'a>(run: &'a Run, column: &SummaryColumn) -> impl Iterator<Item = &'a CaseRecord> {
    source(run, column).points().into_iter().filter_map(|point| find(run, point))
}

fn numeric(run: &Run, points: &[CasePoint], scale: f64) -> SummaryCell {
    let mut values = Vec::new();
    let mut note = None;
    for point in points {
        match measured(run, *point) {
            Err(why) => return SummaryCell::without(why),
            Ok(measured) => {
                note = note.or_else(|| remark(measured)).or_else(|| far(run, *point)).or_else(|| set(run, *point));
                note = note.or_else(|| apart(run, measured, *point));
                values.push(value_of(measured, *point));
            }
        }
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    if !mean.is_finite() || mean <= 0.0 {
        let shown = number(mean / scale);
        return SummaryCell::without(say!(
            "it came out as {shown}: what is taken off it is as large as what was measured"
        ));
    }
    // Numbers of pages and bytes are exact.
    let is_whole = scale == 1.0 && mean.fract() == 0.0 && points.len() == 1 && is_counted(run, points[0]);
    let shown = if is_whole { format!("{mean:.0}") } else { number(mean / scale) };
    SummaryCell { text: Some(Message::plain(shown)), note: note.map(CellRemark::from) }
}

fn is_counted(run: &Run, point: CasePoint) -> bool {
    let probe = run.probes.iter().find(|probe| probe.id == point.probe);
    probe.is_some_and(|probe| matches!(probe.unit, Unit::Count | Unit::Bytes))
}

/// Whose value it is, where the other end was another host.
fn far(run: &Run, point: CasePoint) -> Option<Message> {
    let peer = &run.peers.first().filter(|_| is_far(point))?.name;
    Some(say!("to {peer}"))
}

/// Options that the person set for the case and the column does not ask for: the value is not that of other runs.
fn set(run: &Run, point: CasePoint) -> Option<Message> {
    let case = find(run, point).filter(|_| run.imported.is_none())?;
    let is_set = |axis: &str| {
        let set = &run.settings.set;
        set.contains_key(axis) || set.contains_key(&format!("{}:{axis}", point.probe))
    };
    let is_asked = |axis: &str| point.at.iter().any(|(name, _)| *name == axis);
    let pairs = case.params.0.iter().filter(|(axis, _)| is_set(axis) && !is_asked(axis));
    let pairs: Vec<String> = pairs.map(|(axis, value)| format!("{axis}={value}")).collect();
    let pairs = (!pairs.is_empty()).then(|| pairs.join(" "))?;
    Some(say!("set to {pairs}"))
}

/// The value of what a point names in its case; not a number where the case lacks it.
fn value_of(measured: &Measured, point: CasePoint) -> f64 {
    match point.quantity {
        "" => measured.estimate.value(),
        quantity => measured.companion(quantity).map_or(f64::NAN, |estimate| estimate.value()),
    }
}

/// Value of the other estimator, where it differs.
fn apart(run: &Run, measured: &Measured, point: CasePoint) -> Option<Message> {
    let probe = run.probes.iter().find(|probe| probe.id == point.probe)?;
    let (estimate, unit) = match point.quantity {
        "" => (Cow::Borrowed(&measured.estimate), probe.unit),
        name => (measured.companion(name)?, probe.also.iter().find(|also| also.name == name)?.unit),
    };
    other_value(&estimate, unit)
}

pub fn remark(measured: &Measured) -> Option<Message> {
    let split = || {
        let estimate =
            Some(&measured.estimate).filter(|estimate| estimate.agreement.is_some_and(|share| share < 1.0))?;
        agreement(estimate)
    };
    flagged(measured).or_else(split)
}

fn flagged(measured: &Measured) -> Option<Message> {
    let shown = [FlagKind::Implausible, FlagKind::UnderResolution, FlagKind::FromCache, FlagKind::Unconfirmed];
    let flag = shown.iter().find_map(|kind| measured.flags.iter().find(|flag| flag.kind == *kind))?;
    let what: Text = match flag.kind {
        FlagKind::Implausible => term!("implausible"),
        FlagKind::FromCache => term!("from a cache below"),
        FlagKind::Unconfirmed => term!("unconfirmed"),
        FlagKind::SmallBuffer => term!("small buffer"),
        _ => term!("smaller than the clock can tell"),
    };
    Some(reasons::because(what, flag.sentence()))
}

/// The measurement at a point, or why there is none.
fn measured(run: &Run, point: CasePoint) -> Result<&Measured, CellRemark> {
    let Some(case) = find(run, point) else {
        return Err(match &run.imported {
            Some(_) => term!("the result file has no value").into(),
            None if is_far(point) && !run.peers.is_empty() => {
                CellRemark { filter: Some(point.probe.to_owned()), ..not_here().into() }
            }
            None if is_far(point) || lacks_axis(run, point) => term!("no second host was measured").into(),
            None => CellRemark { filter: Some(wanted(point)), ..not_here().into() },
        });
    };
    match &case.outcome {
        Outcome::Measured(measured) => Ok(measured),
        outcome => Err(reasons::of_outcome(outcome).unwrap_or_default().into()),
    }
}

/// Tells whether the point is that of a far end: the filter that would measure it depends on the program that made the run.
pub fn is_far(point: CasePoint) -> bool {
    point.at.contains(&tables::PEER)
}

/// Tells whether the point names an axis that its probe, as this run knows it, does not have: that of the far end.
fn lacks_axis(run: &Run, point: CasePoint) -> bool {
    let probe = run.probes.iter().find(|probe| probe.id == point.probe);
    let has = |name: &str| probe.is_some_and(|probe| probe.axes.iter().any(|axis| axis.name == name));
    probe.is_some() && point.at.iter().any(|(name, _)| !has(name))
}

fn not_here() -> Message {
    term!("not in this run").into()
}

/// The point as a filter that a person could type.
fn wanted(point: CasePoint) -> String {
    let at: Vec<String> = point.at.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    if at.is_empty() { point.probe.to_owned() } else { format!("{}@{}", point.probe, at.join(",")) }
}

/// The case at a point: on every other axis it stands at the probe's default.
fn find(run: &Run, point: CasePoint) -> Option<&CaseRecord> {
    let cases = || run.cases.iter().filter(|case| case.probe == point.probe);
    if !point.largest.is_empty() {
        let size = |case: &CaseRecord| case.params.get(point.largest).and_then(|size| size.parse::<u64>().ok());
        let has_all = |case: &&CaseRecord| point.at.iter().all(|(axis, value)| case.params.get(axis) == Some(value));
        // A case with a value is preferred to a larger one without.
        return cases().filter(has_all).max_by_key(|case| (case.measured().is_some(), size(case)));
    }
    match is_far(point) && run.imported.is_none() {
        true => far_case(run, point.probe, point.at),
        false => case_at(run, point.probe, point.at),
    }
}

/// The case of a probe that has these values and else its defaults, and whose other end is the run's first peer.
pub fn far_case<'a>(run: &'a Run, probe: &str, at: &[(&str, &str)]) -> Option<&'a CaseRecord> {
    let peer = run.peers.first()?.name.as_str();
    let info = run.probes.iter().find(|info| info.id == probe)?;
    let is_meant = |case: &&CaseRecord| {
        info.axes.iter().filter(|axis| axis.kind != AxisKind::Placement && axis.name != PEER_AXIS).all(|axis| {
            let asked = at.iter().find(|(name, _)| *name == axis.name).map_or(&*axis.default, |(_, value)| value);
            asked.is_empty() || case.params.get(&axis.name).is_none_or(|value| value == asked)
        })
    };
    run.cases.iter().filter(|case| case.probe == probe && case.peer() == Some(peer)).find(is_meant)
}

/// The case of a probe with these values and its defaults on every other axis, with both ends on one machine.
pub fn case_at<'a>(run: &'a Run, probe: &str, at: &[(&str, &str)]) -> Option<&'a CaseRecord> {
    let cases = || run.cases.iter().filter(|case| case.probe == probe);
    let info = run.probes.iter().find(|info| info.id == probe)?;
    let is_wanted = |params: &Params| {
        // A point that the probe's axes do not have is none of its cases.
        at.iter().all(|(axis, value)| params.get(axis) == Some(*value))
            && info.axes.iter().all(|axis| {
                at.iter().any(|(name, _)| *name == axis.name)
                    || params.get(&axis.name) == Some(axis.default.as_str())
                    // Of a probe whose default depends on the host, the first case is the default.
                    || axis.default.is_empty()
                    || (axis.kind == AxisKind::Placement && cases().next().is_some_and(|first| first.params == *params))
            })
    };
    cases().find(|case| case.peer().is_none() && is_wanted(&case.params))
}

fn machine(run: &Run) -> SummaryCell {
    let host = &run.host;
    let model = host.cpu.plain_model();
    let description = if run.imported.is_some() { Some(run.tool.target.clone()) } else { model };
    let description = description.filter(|text| !text.trim().is_empty());
    match description.or_else(|| Some(host.cpu.architecture.clone()).filter(|text| !text.is_empty())) {
        Some(text) => SummaryCell::of(text.trim().to_owned()),
        None => SummaryCell::without(term!("the run does not tell it")),
    }
}

/// The levels of the hierarchy with their measured sizes; of lmbench's own values only whether neighbours look alike.
fn caches(run: &Run) -> SummaryCell {
    if run.imported.is_some() {
        return alike(run);
    }
    let mut parts = Vec::new();
    for level in LEVELS.iter().filter(|level| level.cache.is_some()) {
        let size = level.bracket(run).and_then(|bracket| bracket_text(&bracket));
        let (Some(size), Some(case)) = (size, level.case(run)) else { continue };
        // lmbench has no column for it.
        let measured = case.measured().filter(|_| level.key == "l3");
        let latency = measured.map(|measured| amount(measured.estimate.value(), Unit::Nanoseconds));
        parts.push(Message::joined([Message::from(level.name), size, latency.unwrap_or_default()], " "));
    }
    for case in unnamed(run) {
        let size = bracket_of(case).and_then(|bracket| bracket_text(&bracket));
        let (Some(size), Some(measured)) = (size, case.measured()) else { continue };
        let latency = amount(measured.estimate.value(), Unit::Nanoseconds);
        parts.push(Message::joined([UNNAMED.into(), size, latency], " "));
    }
    if parts.is_empty() {
        return SummaryCell::without(CellRemark { filter: Some(HIERARCHY.into()), ..not_here().into() });
    }
    let text = Message::joined(parts, COMMA);
    SummaryCell { text: Some(text), note: None }
}

/// Largest difference of two levels that look like one.
const ALIKE: f64 = 0.2;

fn alike(run: &Run) -> SummaryCell {
    let latency = |point: Option<CasePoint>| Some(measured(run, point?).ok()?.estimate.value());
    let [l1, l2, memory] = [1, 2, 3].map(|index| {
        let column = TABLES.last().and_then(|table| table.columns.get(index));
        latency(column.and_then(|column| column.theirs.points().first().copied()))
    });
    let is_one = |one: f64, other: f64| (one - other).abs() <= ALIKE * one.max(other);
    let text = match (l1, l2, memory) {
        (Some(l1), Some(l2), _) if is_one(l1, l2) => term!("L1 = L2?"),
        (_, Some(l2), Some(memory)) if is_one(l2, memory) => term!("L2 = memory?"),
        (Some(_), Some(_), Some(_)) => term!("three levels"),
        _ => {
            return SummaryCell::without(term!("the result file has no chain with a stride of 128 bytes"));
        }
    };
    SummaryCell { text: Some(text.into()), note: None }
}
