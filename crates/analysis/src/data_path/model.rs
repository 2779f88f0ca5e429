//! Forecast of a pipeline's rate by single stages alone: a point on one CPU, a range on several; and of what a change would bring.

use hostmark_model::{Message, size_text};
use hostmark_say::say;

use super::pipeline::{COLD_FILE, CPUS, FILE, PIPE, SOCKET, SOCKET_BEHIND, SOCKET_CLOSE, Setting, ZERO, is_of_one_cpu};
use super::pipeline::{NS_PER_S, Pipeline, PipelineProcess};
use crate::groups::grouped;
use crate::propagated::{Propagated, propagated_ratio};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Forecast {
    /// One rate: on one CPU the times of a byte add up.
    Point { rate: Propagated, parts: Vec<PathPart> },
    /// Range from one hop after another to all at once.
    Range { low: Propagated, high: Propagated, parts: Vec<PathPart> },
    /// These single stages were not measured, or cannot be believed.
    Lacks(Vec<String>),
    /// A process makes other calls than the single stages, which only read and write.
    OtherCalls,
    /// The run does not name the processes.
    Unknown,
}

/// A part of a byte's way: a source that is read, or a place between two processes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PathPart {
    pub(super) of: String,
    /// The single stage that stands for it.
    pub(super) path: String,
    /// The time of a byte there, ns.
    pub(super) time_ns: f64,
    /// CPU time of a byte there, ns, where the run tells it.
    pub(super) cpu_ns: Option<f64>,
    /// Switches for each MiB there, where the run tells them.
    pub(super) switches: Option<f64>,
}

/// TCP alone: what is sent goes into the kernel, and what is received comes out.
pub(super) const CROSSINGS_OF_TCP: f64 = 2.0;

/// Forecasts a pipeline of a setting from its single stages. Where there are several CPUs the scheduler may keep all processes on one of
/// them: then the forecast for one CPU is the low end, if it is lower.
pub(super) fn forecast(all: &[Setting], setting: &Setting, pipeline: &Pipeline) -> Forecast {
    let here = of_setting(setting, pipeline);
    let Forecast::Range { low, high, parts } = here else { return here };
    let alone = all.iter().find(|other| other.cpus <= 1.0 && setting.differs_in(CPUS, other));
    let on_one = match alone.map(|alone| of_setting(alone, pipeline)) {
        Some(Forecast::Point { rate: on_one, .. } | Forecast::Range { low: on_one, .. }) => on_one,
        _ => low,
    };
    let low = if on_one.value < low.value { on_one } else { low };
    Forecast::Range { low, high, parts }
}

fn of_setting(setting: &Setting, pipeline: &Pipeline) -> Forecast {
    let Some((source, _)) = pipeline.ends() else { return Forecast::Unknown };
    if !pipeline.is_copying() || pipeline.polls() {
        return Forecast::OtherCalls;
    }
    let places: Vec<&str> = pipeline.places().collect();
    let wanted = places.iter().enumerate().map(|(index, place)| single_stages_of(setting, &places, index, place));
    let mut missing: Vec<String> = Vec::new();
    let mut found = |path: &str| {
        let stage = believed(setting, path);
        if stage.is_none() && !missing.iter().any(|known| known == path) {
            missing.push(path.to_owned());
        }
        stage
    };
    let source_stage = source_path(source).map(|path| found(&path));
    let stages: Vec<Vec<Option<&Pipeline>>> =
        wanted.map(|paths| paths.iter().map(|path| found(path)).collect()).collect();
    if !missing.is_empty() {
        return Forecast::Lacks(missing);
    }
    let source_stage = source_stage.flatten();
    // A place of which several ways were measured: the slowest makes the low end, the cheapest the high one.
    let choose = |least: fn(&Pipeline) -> f64| -> Vec<&Pipeline> {
        let one = |ways: &Vec<Option<&'_ Pipeline<'_>>>| -> usize {
            let key = |index: &usize| ways[*index].map_or(f64::INFINITY, least);
            (0..ways.len()).min_by(|one, other| key(one).total_cmp(&key(other))).unwrap_or(0)
        };
        stages.iter().filter_map(|ways| ways.get(one(ways)).copied().flatten()).collect()
    };
    let slowest = choose(|stage| stage.rate.value);
    let cheapest = choose(|stage| stage.time_per_byte_ns().map_or(f64::INFINITY, |time| time.value));
    let parts = |places_as: &[&Pipeline]| -> Vec<PathPart> {
        let head = source_stage.map(|stage| part(source, stage));
        head.into_iter().chain(places.iter().zip(places_as).map(|(place, stage)| part(place, stage))).collect()
    };
    let each = source_stage.into_iter().chain(slowest.iter().copied());
    let Some(in_turn) = one_after_another(&each.collect::<Vec<_>>()) else { return Forecast::Unknown };
    if setting.cpus <= 1.0 && source_path(source).as_deref() != Some(COLD_FILE) {
        return Forecast::Point { rate: in_turn, parts: parts(&slowest) };
    }
    match at_once(setting.cpus, source_stage, &cheapest) {
        Ok(high) => Forecast::Range { low: in_turn, high, parts: parts(&cheapest) },
        Err(path) => Forecast::Lacks(vec![path]),
    }
}

/// The single stage that reads a source; none of memory, which is there already.
fn source_path(source: &str) -> Option<String> {
    match source {
        "memory" => None,
        "zero" => Some(ZERO.to_owned()),
        "file" => Some(FILE.to_owned()),
        "cold_file" => Some(COLD_FILE.to_owned()),
        other => Some(format!("{other}_null")),
    }
}

/// The single stages that may stand for a place.
///
/// On one CPU it is known how the two ends of a connection take turns: a sender that has to wait for its own source lets the
/// receiver take each block at once, and one that never waits fills the window first. A receiver that has to wait for a pipe behind it
/// may be some blocks behind: the slower of both ways holds it up. On several CPUs the scheduler decides: each of the ways that were
/// measured may be.
fn single_stages_of(setting: &Setting, places: &[&str], index: usize, place: &str) -> Vec<String> {
    match place {
        "pipe" => vec![PIPE.to_owned()],
        "socket" if setting.cpus <= 1.0 => {
            let (is_fed, has_more_behind) = (index > 0, index + 1 < places.len());
            let way = match (is_fed, has_more_behind) {
                (true, false) => SOCKET_CLOSE,
                (true, true) => slower_way(setting),
                (false, _) => SOCKET,
            };
            vec![way.to_owned()]
        }
        "socket" => {
            let more = [SOCKET_CLOSE, SOCKET_BEHIND].into_iter().filter(|path| believed(setting, path).is_some());
            std::iter::once(SOCKET).chain(more).map(str::to_owned).collect()
        }
        other => vec![format!("memory_{other}_memory")],
    }
}

/// Slower path of two processes that take turns, with or without blocks between them; one that was not measured, if there is one.
fn slower_way(setting: &Setting) -> &'static str {
    let rate = |way| believed(setting, way).map(|stage| stage.rate.value);
    match (rate(SOCKET_CLOSE), rate(SOCKET_BEHIND)) {
        (Some(close), Some(behind)) if close < behind => SOCKET_CLOSE,
        (None, _) => SOCKET_CLOSE,
        _ => SOCKET_BEHIND,
    }
}

fn believed<'s, 'a>(setting: &'s Setting<'a>, path: &str) -> Option<&'s Pipeline<'a>> {
    setting.named(path).filter(|stage| stage.is_believed)
}

fn part(of: &str, stage: &Pipeline) -> PathPart {
    PathPart {
        of: of.to_owned(),
        path: stage.path.to_owned(),
        time_ns: NS_PER_S / stage.rate.value,
        cpu_ns: stage.time_per_byte_ns().map(|time| time.value),
        switches: stage.total(|process| process.switches).map(|switches| switches.value),
    }
}

/// The rate at which a byte passes all stages before the next one comes: one over the sum of their times.
fn one_after_another(stages: &[&Pipeline]) -> Option<Propagated> {
    // A stage that stands in it twice moves both at once.
    let each = grouped(stages.iter().map(|stage| (&stage.path, &stage.rate)));
    let values: Vec<Propagated> = each.iter().map(|(_, rates)| *rates[0]).collect();
    let time = |rates: &[f64]| {
        let times = rates.iter().zip(&each).map(|(rate, (_, all))| (*rate > 0.0).then(|| all.len() as f64 / rate));
        times.sum::<Option<f64>>()
    };
    propagated_ratio(&values, |rates| time(rates).filter(|time| *time > 0.0).map(f64::recip))
}

/// The rate where all processes work at once: no faster than the source, than the process that takes most CPU time, or than
/// the CPUs together. An error is the single stage whose CPU time is not known.
fn at_once(cpus: f64, source: Option<&Pipeline>, places: &[&Pipeline]) -> Result<Propagated, String> {
    let time = |stage: &Pipeline, process: Option<&PipelineProcess>| {
        process.and_then(|process| process.time_per_byte_ns(stage.rate)).ok_or_else(|| stage.path.to_owned())
    };
    let mut times: Vec<Vec<Propagated>> = Vec::new();
    times.push(source.map(|stage| time(stage, stage.processes.first())).transpose()?.into_iter().collect());
    for stage in places {
        if let Some(writer) = times.last_mut() {
            writer.push(time(stage, stage.processes.first())?);
        }
        times.push(vec![time(stage, stage.processes.get(1))?]);
    }
    let values: Vec<Propagated> = times.iter().flatten().copied().chain(source.map(|stage| stage.rate)).collect();
    let lengths: Vec<usize> = times.iter().map(Vec::len).collect();
    let make = |values: &[f64]| {
        let all = lengths.iter().sum::<usize>();
        let mut rest = values.get(..all)?;
        let (mut slowest, mut total) = (0.0_f64, 0.0);
        for length in &lengths {
            let (own, others) = rest.split_at(*length);
            rest = others;
            let time: f64 = own.iter().sum();
            slowest = slowest.max(time);
            total += time;
        }
        let of_source = values.get(all).copied().unwrap_or(f64::INFINITY);
        (slowest > 0.0).then(|| (NS_PER_S / slowest).min(cpus * NS_PER_S / total).min(of_source))
    };
    propagated_ratio(&values, make)
        .ok_or_else(|| places.first().map_or_else(String::new, |stage| stage.path.to_owned()))
}

impl Forecast {
    /// Fraction by which it lies over the measured rate: of a range its nearer end, and zero within.
    pub(super) fn error(&self, measured: Propagated) -> Option<Propagated> {
        let over = |rate: &Propagated| rate.over(measured).map(Propagated::beyond_one);
        match self {
            Forecast::Point { rate, .. } => over(rate),
            Forecast::Range { low, .. } if measured.value < low.value => over(low),
            Forecast::Range { high, .. } if measured.value > high.value => over(high),
            Forecast::Range { .. } => Some(Propagated { value: 0.0, interval: None }),
            Forecast::Lacks(_) | Forecast::OtherCalls | Forecast::Unknown => None,
        }
    }

    /// The parts of a byte's way, where there is a forecast.
    pub(super) fn parts(&self) -> &[PathPart] {
        match self {
            Forecast::Point { parts, .. } | Forecast::Range { parts, .. } => parts,
            Forecast::Lacks(_) | Forecast::OtherCalls | Forecast::Unknown => &[],
        }
    }
}

/// Forecast by counting crossings alone: TCP has two of them, so that a pipeline with six gives a third of its rate.
pub(super) fn from_crossings(setting: &Setting, pipeline: &Pipeline) -> Option<Propagated> {
    let bare = believed(setting, SOCKET)?.rate;
    let crossings = pipeline.total(|process| process.crossings)?;
    propagated_ratio(&[bare, crossings], |values| (values[1] > 0.0).then(|| values[0] * CROSSINGS_OF_TCP / values[1]))
}

/// The axis of bytes that a read or write is given.
pub(super) const BLOCK: &str = "block";

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change {
    pub(super) what: Message,
    pub(super) rate: Propagated,
    /// Factor to the rate without it.
    pub(super) times: Propagated,
}

/// All that were measured, what gives most first.
pub(super) fn changes(all: &[Setting], setting: &Setting, pipeline: &Pipeline) -> Vec<Change> {
    let mut found: Vec<Change> = Vec::new();
    let mut add = |what: Message, other: &Pipeline| {
        let times = other.rate.over(pipeline.rate);
        if let Some(times) = times.filter(|_| other.is_believed && pipeline.is_believed) {
            found.push(Change { what, rate: other.rate, times });
        }
    };
    for other in setting.pipelines.iter().filter(|other| other.path != pipeline.path) {
        if let Some(calls) = without_a_copy(pipeline, other) {
            add(say!("{calls} ({path})", path = other.path), other);
        }
    }
    let of_same_way = |other: &&Pipeline| other.ends() == pipeline.ends() && other.places().eq(pipeline.places());
    for other in setting
        .pipelines
        .iter()
        .filter(|other| pipeline.polls() && other.is_copying() && !other.polls())
        .filter(of_same_way)
    {
        let (block, path) = (block(setting), other.path);
        add(say!("blocks of {block} without poll ({path})"), other);
    }
    let fewer = || setting.pipelines.iter().filter(|other| is_a_process_less(pipeline, other));
    let of_same_source = |other: &&Pipeline| other.ends() == pipeline.ends();
    let has_same_source = fewer().any(|other| of_same_source(&other));
    for other in fewer().filter(|other| !has_same_source || of_same_source(other)) {
        let path = other.path;
        add(say!("a process less ({path})"), other);
    }
    for other in all.iter().filter(|other| setting.differs_in(CPUS, other)) {
        if let Some(same) = other.named(pipeline.path) {
            add(say!("{cpus:CPU}", cpus = other.cpus), same);
        }
    }
    for other in all.iter().filter(|other| setting.differs_in(BLOCK, other)) {
        if let Some(same) = other.named(pipeline.path) {
            let block = block(other);
            add(say!("blocks of {block}"), same);
        }
    }
    found.sort_by(|one, other| other.times.value.total_cmp(&one.times.value));
    found
}

pub(super) fn block(setting: &Setting) -> String {
    let text = setting.point.get(BLOCK).unwrap_or_default();
    text.parse::<u64>().map_or_else(|_| text.to_owned(), size_text)
}

/// The calls by which `other` does the same with a copy less.
fn without_a_copy(pipeline: &Pipeline, other: &Pipeline) -> Option<String> {
    let same = pipeline.ends().is_some() && pipeline.ends() == other.ends() && pipeline.places().eq(other.places());
    let mut calls: Vec<&str> = Vec::new();
    for process in other.processes.iter().filter(|process| !process.is_copying()) {
        if !calls.contains(&process.method.as_str()) {
            calls.push(&process.method);
        }
    }
    let by: Vec<String> = calls.iter().map(|call| call.replace('_', " ")).collect();
    (same && pipeline.is_copying() && !by.is_empty()).then(|| by.join(", "))
}

/// Tells whether `other` does the same with one pipe less. What reads zeros may as well read a cached file.
fn is_a_process_less(pipeline: &Pipeline, other: &Pipeline) -> bool {
    let (Some((from, to)), Some((other_from, other_to))) = (pipeline.ends(), other.ends()) else { return false };
    let is_cached = |source: &str| matches!(source, "zero" | "file");
    let same_ends = to == other_to && (from == other_from || is_cached(from) && is_cached(other_from));
    let (places, fewer): (Vec<&str>, Vec<&str>) = (pipeline.places().collect(), other.places().collect());
    let is_one_less = |left_out: usize| {
        let left = places.iter().enumerate().filter(|(index, _)| *index != left_out).map(|(_, place)| place);
        places.get(left_out) == Some(&"pipe") && left.eq(fewer.iter())
    };
    same_ends
        && pipeline.is_copying()
        && other.is_copying()
        && pipeline.polls() == other.polls()
        && !fewer.is_empty()
        && (0..places.len()).any(is_one_less)
        // Of TCP alone one way is enough.
        && !is_of_one_cpu(other.path)
}
