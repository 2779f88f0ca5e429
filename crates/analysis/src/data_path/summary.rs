//! A setting in tables: the single stages, each pipeline beside its forecasts, and cold files beside the disk.

use hostmark_model::{CaseRecord, Message, Params, Run, Text};
use hostmark_say::say;

use crate::plain_table::{Row, Table};

use super::Item;
use super::figures::{NOTHING, over, plain, plain_rate, rate};
use super::model::{Forecast, forecast, from_crossings};
use super::pipeline::{Pipeline, number};
use super::setting::{COLD_FILE, Setting};
use super::wording::{forecast_text, title};

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
pub const DISK: &str = "disk.read";
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
    let in_order =
        run.cases.iter().filter(|case| case.probe == DISK && case.params.get(IN_ORDER[0].0) == Some(IN_ORDER[0].1));
    let mut fastest: Option<f64> = None;
    for case in in_order {
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
                 device's) is unknown: the disk was not read directly beside it (disk.read)."
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
