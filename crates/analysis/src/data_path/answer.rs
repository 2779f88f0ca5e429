//! Answer to why a pipeline is slower than the TCP beneath it, and the tables above all settings.

use hostmark_model::{CaseRecord, Message, Params, Run, Text};
use hostmark_say::say;

use super::Item;
use super::model::{CROSSINGS_OF_TCP, Forecast, forecast, from_crossings};
use super::pipeline::slowest;
use super::pipeline::{COLD_FILE, SOCKET, Setting, settings};
use super::pipeline::{Pipeline, number};
use super::wording::{NOTHING, over, plain, plain_rate, rate, times};
use super::wording::{command, process_name, short_command};
use super::wording::{forecast_text, is_full, outside, title};
use crate::plain_table::{Row, Table};
use crate::typography::COMMA;

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
    say!("; CPU time per byte: {times}{decides}")
}

/// Full CPUs, or the slowest process.
fn decides(setting: &Setting, first: &Pipeline) -> Message {
    let Some(busy) = first.busy_cpus else { return Message::default() };
    let cpus = setting.cpus;
    let slowest = slowest(first).map(|slowest| process_name(first, slowest.index));
    match (is_full(setting, first), slowest) {
        (true, slowest) => {
            let most = slowest.map(|name| say!(", {name} is the slowest process"));
            let most = most.unwrap_or_default();
            // Chinese needs no number here.
            let en = if cpus > 1.0 { format!("all {cpus} CPUs are") } else { "the CPU is".to_owned() };
            let full = Text { en, zh: String::new() };
            say!("; {full} saturated{most}")
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

/// The tables of a setting; none of them is empty.
pub(super) fn summary(run: &Run, all: &[Setting], setting: &Setting) -> Vec<Item> {
    let tables = [single_stages(setting), forecasts(all, setting), cold_files(run, setting)];
    tables.into_iter().flatten().filter(|table| !table.rows.is_empty()).map(Item::Table).collect()
}

fn texts(all: &[Text]) -> Vec<Message> {
    all.iter().map(Message::from).collect()
}

fn single_stages(setting: &Setting) -> Option<Table> {
    let mut table = Table {
        title: say!("Single stages: {setting}", setting = title(setting)),
        columns: texts(&[term!("rate"), Text::name("ns/B"), Text::name("CPU ns/B")]),
        ..Table::default()
    };
    for stage in setting.single_stages() {
        let time = crate::format::number(1e9 / stage.rate.value);
        let cpu = plain(stage.time_per_byte_ns(), false);
        table.rows.push(row(stage, vec![Message::plain(rate(stage.rate)), Message::plain(time), Message::plain(cpu)]));
        table.notes.extend(noted(stage));
    }
    Some(table)
}

/// Each pipeline as measured, by the model and by its crossings alone.
fn forecasts(all: &[Setting], setting: &Setting) -> Option<Table> {
    let mut table = Table {
        title: say!("Measured and expected: {setting}", setting = title(setting)),
        columns: texts(&[
            term!("measured"),
            term!("model", "forecast"),
            term!("error"),
            term!("copies alone"),
            term!("error"),
        ]),
        ..Table::default()
    };
    for pipeline in setting.composed() {
        let model = forecast(all, setting, pipeline);
        let within = term!("within").into();
        let error = match (&model, model.error(pipeline.rate)) {
            (Forecast::Range { .. }, Some(error)) if error.value == 0.0 => within,
            (_, Some(error)) => Message::plain(over(error.value)),
            (_, None) => Message::plain(NOTHING),
        };
        let cell = match &model {
            Forecast::Point { rate, .. } => Message::plain(plain_rate(rate.value)),
            Forecast::Range { .. } => forecast_text(&model),
            Forecast::Lacks(_) | Forecast::OtherCalls | Forecast::Unknown => table.without(forecast_text(&model)),
        };
        let alone = from_crossings(setting, pipeline);
        let off = alone.map(|alone| over(alone.value / pipeline.rate.value - 1.0));
        let alone = alone.map(|alone| plain_rate(alone.value));
        let or_nothing = |text: Option<String>| Message::plain(text.unwrap_or_else(|| NOTHING.to_owned()));
        let cells =
            vec![Message::plain(plain_rate(pipeline.rate.value)), cell, error, or_nothing(alone), or_nothing(off)];
        table.rows.push(row(pipeline, cells));
    }
    Some(table)
}

fn row(pipeline: &Pipeline, cells: Vec<Message>) -> Row {
    Row { label: Message::plain(pipeline.path), cells }
}

fn noted(stage: &Pipeline) -> Option<Message> {
    let why = stage.remark.as_ref()?;
    Some(say!("{paths}: {why}", paths = stage.path))
}

/// The probe of direct reads, and where it reads in order, large blocks, several at a time.
pub const DISK: &str = "disk.direct_io";
pub const IN_ORDER: [(&str, &str); 3] = [("pattern", "sequential"), ("block", "1048576"), ("depth", "4")];

/// Table of pipelines from a file that is not cached, beside the file alone and the disk itself.
fn cold_files(run: &Run, setting: &Setting) -> Option<Table> {
    let cold = |pipeline: &&Pipeline| pipeline.ends().is_some_and(|(source, _)| source == "cold_file");
    let all: Vec<&Pipeline> = setting.pipelines.iter().filter(cold).collect();
    let alone = setting.named(COLD_FILE);
    let mut table = Table {
        title: term!("Files that are not cached, beside the disk").into(),
        columns: texts(&[term!("rate"), term!("of the file alone")]),
        ..Table::default()
    };
    for pipeline in &all {
        let of = alone.map(|alone| crate::format::percent(pipeline.rate.value / alone.rate.value));
        let cells = vec![Message::plain(rate(pipeline.rate)), Message::plain(of.unwrap_or_else(|| NOTHING.to_owned()))];
        table.rows.push(row(pipeline, cells));
    }
    if all.is_empty() {
        return None;
    }
    let is_at = |case: &CaseRecord, (axis, value)| case.params.get(axis) == Some(value);
    let disk = run.cases.iter().filter(|case| case.probe == DISK && is_at(case, ("op", "read")));
    let mut fastest: Option<f64> = None;
    for case in disk.filter(|case| is_at(case, IN_ORDER[0])) {
        let Some(measured) = case.measured().and_then(|measured| number(&measured.estimate)) else { continue };
        fastest = Some(fastest.map_or(measured.value, |fastest| fastest.max(measured.value)));
        let of = alone.map(|alone| crate::format::percent(measured.value / alone.rate.value));
        let cells = vec![Message::plain(rate(measured)), Message::plain(of.unwrap_or_else(|| NOTHING.to_owned()))];
        table.rows.push(Row { label: Message::plain(disk_label(case)), cells });
    }
    table.notes.extend(alone.and_then(|alone| from_below(alone, fastest)));
    Some(table)
}

/// A file that is read by so much faster than the disk past the page cache did not come from the disk alone.
const FASTER: f64 = 1.1;

/// Remark that a cold file may have come from a cache below that of this system, beside the fastest direct read of the disk.
fn from_below(alone: &Pipeline, disk: Option<f64>) -> Option<Message> {
    let path = COLD_FILE;
    let Some(disk) = disk else {
        return Some(say!(
            "{path} was dropped from this system's page cache alone. Whether a cache below it answered (the hypervisor's, the \
                 device's) is unknown: the disk was not read directly beside it (disk.direct_io)."
        ));
    };
    (alone.rate.value > FASTER * disk).then(|| {
        let [file, disk] = [alone.rate.value, disk].map(plain_rate);
        say!("{path} gives {file}, more than the {disk} of the disk past the page cache: a cache below (the hypervisor's, the \
                 device's) may hold the file, which was written just before, or read-ahead asks for more at once. Take it for no \
                 cold disk.")
    })
}

/// The probe with what tells its sequential cases apart.
fn disk_label(case: &CaseRecord) -> String {
    let rest = Params(case.params.0.iter().filter(|(axis, _)| axis == "block" || axis == "depth").cloned().collect());
    let at: Vec<String> = rest.0.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    format!("{DISK}, {} {}", IN_ORDER[0].1, at.join(" ")).trim_end().to_owned()
}
