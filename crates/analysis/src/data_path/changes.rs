//! Variants of a pipeline in the same run with one thing changed, and their rates.

use hostmark_model::{Message, size_text};
use hostmark_say::say;

use crate::propagated::{Propagated, propagated_ratio};

use super::pipeline::Pipeline;
use super::setting::{CPUS, Setting, is_of_one_cpu};

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
        let values = [(other.rate.value, other.rate.interval), (pipeline.rate.value, pipeline.rate.interval)];
        let times = propagated_ratio(&values, |values| (values[1] > 0.0).then(|| values[0] / values[1]));
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

/// The block of a setting, for people.
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
