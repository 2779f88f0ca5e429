//! The answer at the head of the view: how fast through which pipeline, how fast TCP alone, and why.

use hostmark_model::{Message, Run, Text};
use hostmark_say::say;

use crate::typography::COMMA;

use super::drawing::{command, process_name, short_command};
use super::figures::{plain, plain_rate, times};
use super::model::CROSSINGS_OF_TCP;
use super::pipeline::Pipeline;
use super::setting::{SOCKET, Setting, settings};
use super::slowest::slowest;
use super::wording::{is_full, outside, title};

/// The pipelines that the answer names, the first of each that was measured: as nc moves bytes, or without its polls.
const NAMED: [[&str; 2]; 2] =
    [["zero_pipe_poll_socket_poll_null", "zero_pipe_socket_null"], ["file_poll_socket_poll_null", "file_socket_null"]];

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PathAnswer {
    /// The first pipeline and TCP alone in a line.
    pub(crate) short: Message,
    pub(crate) text: Message,
    /// The cases it stands on, where it stands on a pipeline and TCP alone that are believed.
    pub(crate) cases: Vec<String>,
    /// The share of its time that the first pipeline loses over TCP alone; 0 where that is not proven.
    pub(crate) cost: f64,
    /// CPUs that the processes could use.
    pub(crate) cpus: f64,
    /// Rate of TCP alone that counting crossings predicts from the first pipeline, beside the real one.
    pub(crate) by_crossings: Option<Message>,
}

/// One for each setting that has any pipeline or TCP alone.
pub(crate) fn answers(run: &Run) -> Vec<PathAnswer> {
    settings(run).iter().filter_map(answer).collect()
}

fn answer(setting: &Setting) -> Option<PathAnswer> {
    let named: Vec<&Pipeline> =
        NAMED.iter().filter_map(|ways| ways.iter().find_map(|path| setting.named(path))).collect();
    let others = setting.composed().filter(|pipeline| pipeline.is_copying()).take(NAMED.len());
    let through: Vec<&Pipeline> = if named.is_empty() { others.collect() } else { named };
    let bare = setting.named(SOCKET);
    let all: Vec<&Pipeline> = through.iter().copied().chain(bare).collect();
    if all.is_empty() {
        return None;
    }
    let title = title(setting);
    let rates = join(&all, |pipeline| {
        let rate = plain_rate(pipeline.rate.value);
        if pipeline.path == SOCKET {
            return say!("{rate} TCP alone");
        }
        let line = command(setting, pipeline).unwrap_or_else(|| Message::plain(pipeline.path));
        say!("{rate} through {line}")
    });
    let because = because(setting, &through, &all);
    let text = say!("{title}: {rates}{because}.");
    let is_proven = |pipeline: &&&Pipeline| pipeline.is_believed && NAMED[0].contains(&pipeline.path);
    let pair = through.iter().find(is_proven).copied().zip(bare.filter(|bare| bare.is_believed));
    let (cases, cost) =
        pair.map(|(one, bare)| (vec![one.id.to_owned(), bare.id.to_owned()], lost(one, bare))).unwrap_or_default();
    let by_crossings = through.first().zip(bare).and_then(|(first, bare)| by_crossings(first, bare));
    let short = through.first().zip(bare).map(|(one, bare)| in_short(setting, one, bare)).unwrap_or_default();
    Some(PathAnswer { short, text, cases, cost, cpus: setting.cpus, by_crossings })
}

/// `dd | nc 1.2 GB/s on 1 CPU, its TCP leg alone 3.4 GB/s`: `net.tcp_bandwidth` is another figure, a stream that has reached its rate.
fn in_short(setting: &Setting, pipeline: &Pipeline, bare: &Pipeline) -> Message {
    let line = short_command(setting, pipeline).unwrap_or_else(|| Message::plain(pipeline.path));
    let [rate, bare] = [pipeline, bare].map(|pipeline| plain_rate(pipeline.rate.value));
    let cpus = setting.cpus;
    say!("{line}: {rate} on {cpus:CPU}, its TCP leg alone {bare}")
}

/// The forecast of who counts crossings alone, of which TCP has two.
fn by_crossings(pipeline: &Pipeline, bare: &Pipeline) -> Option<Message> {
    let crossings = pipeline.total(|process| process.crossings)?;
    let expected = plain_rate(pipeline.rate.value * crossings.value / CROSSINGS_OF_TCP);
    let (count, rate, bare) = (times(Some(crossings)), plain_rate(pipeline.rate.value), plain_rate(bare.rate.value));
    Some(say!("By copies alone TCP would give {rate} × {count} / 2 = {expected}; alone it gives {bare}."))
}

/// Share of TCP's rate that a pipeline loses, where the intervals prove it.
fn lost(pipeline: &Pipeline, bare: &Pipeline) -> f64 {
    let is_slower = pipeline.rate.interval.zip(bare.rate.interval).is_some_and(|((_, high), (low, _))| high < low);
    if is_slower { 1.0 - pipeline.rate.value / bare.rate.value } else { 0.0 }
}

/// The CPU time of a byte in each of `all`, and what decides of the first.
fn because(setting: &Setting, through: &[&Pipeline], all: &[&Pipeline]) -> Message {
    if all.iter().any(|pipeline| pipeline.time_per_byte_ns().is_none()) {
        return Message::default();
    }
    let times = join(all, |pipeline| {
        let time = plain(pipeline.time_per_byte_ns(), false);
        let crossings = times(pipeline.total(|process| process.crossings));
        let count = pipeline.processes.len();
        say!("{time} ns ({count} processes, {crossings} crossings)")
    });
    let decides = through.first().map(|first| decides(setting, first)).unwrap_or_default();
    say!("; because a byte takes CPU time of {times}{decides}")
}

/// Full CPUs, or the slowest process.
fn decides(setting: &Setting, first: &Pipeline) -> Message {
    let Some(busy) = first.busy_cpus else { return Message::default() };
    let cpus = setting.cpus;
    let slowest = slowest(first).map(|slowest| process_name(first, slowest.index));
    match (is_full(setting, first), slowest) {
        (true, slowest) => {
            let most = slowest.map(|name| say!("; {name} is the slowest process"));
            let most = most.unwrap_or_default();
            // Chinese needs no number here.
            let en = if cpus > 1.0 { format!("all {cpus} CPUs are") } else { "the CPU is".to_owned() };
            let full = Text { en, zh: String::new() };
            say!(", and {full} full{most}")
        }
        (false, Some(name)) => {
            let (busy, outside) = (busy.value, outside(setting, first));
            say!(
                ", and in the first {name} is the slowest process, while its processes keep {busy:.2} of {cpus:CPU} busy{outside}"
            )
        }
        (false, None) => outside(setting, first),
    }
}

fn join(all: &[&Pipeline], one: impl Fn(&Pipeline) -> Message) -> Message {
    Message::joined(all.iter().map(|pipeline| one(pipeline)), COMMA)
}
