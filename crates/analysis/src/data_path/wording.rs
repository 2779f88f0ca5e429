//! One pipeline after another: drawn, with what each process takes, the slowest named, and what to change, with the commands that do it.

use hostmark_model::{Lang, Message, Text, Unit};
use hostmark_say::say;

use super::Item;
use super::model::{Forecast, PathPart, forecast};
use super::model::{block, changes};
use super::pipeline::{Because, Slowest, slowest};
use super::pipeline::{Pipeline, PipelineProcess};
use super::pipeline::{Setting, reason};
use crate::Spoken;
use crate::format::{self, in_scale, number, percent, scale_for};
use crate::groups::grouped;
use crate::plain_table::{Row, Table};
use crate::propagated::Propagated;
use crate::texts::data_path as texts;
use crate::typography::{COMMA, SEMICOLON};

pub(super) const READING_TITLE: Text = term!("How to read this");

pub(super) const READING: &[Text] = &[texts::wording::DRAWING, texts::wording::STAGES, texts::wording::MODEL];

pub(super) fn items(all: &[Setting], setting: &Setting, with_intervals: bool) -> Vec<Item> {
    let mut items = vec![Item::Heading(title(setting))];
    items.extend(congestion(setting).map(Item::Line));
    for pipeline in setting.composed() {
        items.extend(items_of_one(all, setting, pipeline, with_intervals));
    }
    items.extend(unmeasured(setting).into_iter().map(Item::Line));
    items
}

/// Each reason once, with the paths that it keeps from being measured; alone where that is all of them.
fn unmeasured(setting: &Setting) -> Vec<Message> {
    let cases = setting.unmeasured.iter();
    let all = grouped(cases.map(|case| (reason(case), case.params.get(super::PATH).unwrap_or_default())));
    if setting.pipelines.is_empty() && all.len() == 1 {
        return all.into_iter().map(|(why, _)| why).collect();
    }
    let one = |(why, paths): (Message, Vec<&str>)| {
        let paths = paths.join(", ");
        say!("{paths}: {why}")
    };
    all.into_iter().map(one).collect()
}

/// `On 1 CPU, blocks of 64 KiB`.
pub(super) fn title(setting: &Setting) -> Message {
    let (cpus, block) = (setting.cpus, block(setting));
    match block.is_empty() {
        true => say!("On {cpus:CPU}"),
        false => say!("On {cpus:CPU}, blocks of {block}"),
    }
}

/// Congestion control of the sockets, and its effect even without congestion.
fn congestion(setting: &Setting) -> Option<Message> {
    let mut all: Vec<&str> = setting.pipelines.iter().filter_map(|pipeline| pipeline.congestion).collect();
    all.sort_unstable();
    all.dedup();
    let paces = if all.contains(&"bbr") {
        term!(" bbr paces what it sends, over loopback too: cubic or reno may give more.")
    } else {
        Text { en: "", zh: "" }
    };
    let all = all.join(", ");
    (!all.is_empty()).then(|| say!("Congestion control of TCP: {all}.{paces}"))
}

fn items_of_one(all: &[Setting], setting: &Setting, pipeline: &Pipeline, with_intervals: bool) -> Vec<Item> {
    let slowest = slowest(pipeline);
    let path = pipeline.path;
    let name = match command(setting, pipeline) {
        Some(line) => say!("{path}: {line}"),
        None => Message::plain(path),
    };
    let mut items = vec![Item::Heading(name), Item::Line(sums(setting, pipeline))];
    if let Some(remark) = &pipeline.remark {
        items.push(Item::Line(say!("! {remark}")));
    }
    if !pipeline.processes.is_empty() {
        items.push(Item::Drawing(drawing(pipeline, slowest.as_ref())));
        items.push(Item::Table(processes(pipeline, slowest.as_ref())));
        let each = pipeline.processes.iter().enumerate().filter(|_| with_intervals);
        items.extend(each.filter_map(|(index, process)| intervals(pipeline, index, process)).map(Item::Line));
    }
    items.extend(slowest.map(|slowest| Item::Line(why(setting, pipeline, &slowest))));
    items.extend(crowded(setting, pipeline).map(Item::Line));
    let forecast = forecast(all, setting, pipeline);
    items.extend(parts(pipeline, &forecast).map(Item::Line));
    items.extend(beside(setting, pipeline, &forecast).map(Item::Line));
    items.extend(to_change(all, setting, pipeline).map(Item::Line));
    items
}

/// The rate, and the sums over all processes.
fn sums(setting: &Setting, pipeline: &Pipeline) -> Message {
    let (rate, count, cpus) = (rate(pipeline.rate), pipeline.processes.len(), setting.cpus);
    if count == 0 {
        return say!("{rate}; the run does not name its processes");
    }
    let copies = times(pipeline.total(|process| process.copies));
    let crossings = times(pipeline.total(|process| process.crossings));
    let busy = pipeline.busy_cpus.map_or_else(|| NOTHING.to_owned(), |busy| format!("{:.2}", busy.value));
    let (time, outside) = (plain(pipeline.time_per_byte_ns(), false), outside(setting, pipeline));
    match &*copies {
        "1" => say!(
            "{rate}: {count} processes, {copies} copy and {crossings} crossings of each byte; {busy} of {cpus:CPU} busy{outside}, \
             {time} ns of CPU time a byte"
        ),
        _ => say!(
            "{rate}: {count} processes, {copies} copies and {crossings} crossings of each byte; {busy} of {cpus:CPU} busy{outside}, \
             {time} ns of CPU time a byte"
        ),
    }
}

/// Less than this of a CPU that programs outside had is within what counters and medians tell.
const OUTSIDE: f64 = 0.1;

/// CPU use by programs outside the pipeline, where it is worth a word.
pub(super) fn outside(setting: &Setting, pipeline: &Pipeline) -> Message {
    match pipeline.outside(setting.cpus) {
        outside if outside >= OUTSIDE => say!(" and other programs at least {outside:.2}"),
        _ => Message::default(),
    }
}

/// The columns of what each process took.
const HEADS: [Text; 9] = [
    term!("user"),
    term!("kernel", "CPU time"),
    Text { en: "ns/B", zh: "ns/B" },
    term!("copies"),
    term!("crossed"),
    term!("in"),
    term!("out"),
    term!("no CPU"),
    term!("switches"),
];

fn processes(pipeline: &Pipeline, slowest: Option<&Slowest>) -> Table {
    let mut table = Table {
        title: term!("Each process:").into(),
        columns: HEADS.iter().map(|head| head.into()).collect(),
        ..Table::default()
    };
    for (index, process) in pipeline.processes.iter().enumerate() {
        let asterisk = if slowest.is_some_and(|slowest| slowest.index == index) { " *" } else { "" };
        let label = Message::plain(format!("{}{asterisk}", process_name(pipeline, index)));
        let cells = cells(pipeline, process, false).map(Message::plain).into();
        table.rows.push(Row { label, cells });
    }
    table
}

/// Times of a process with intervals, which do not fit beside each other.
fn intervals(pipeline: &Pipeline, index: usize, process: &PipelineProcess) -> Option<Message> {
    let cells = cells(pipeline, process, true);
    let ranges = || HEADS.iter().zip(&cells).filter(|(_, cell)| cell.contains('…'));
    let name = process_name(pipeline, index);
    ranges().next().is_some().then(|| {
        let ranges = Message::joined(ranges().map(|(head, cell)| say!("{head} {cell}")), COMMA);
        say!("{name}: {ranges}")
    })
}

fn cells(pipeline: &Pipeline, process: &PipelineProcess, all: bool) -> [String; 9] {
    [
        share(process.user, all),
        share(process.kernel, all),
        plain(process.time_per_byte_ns(pipeline.rate), all),
        times(process.copies),
        times(process.crossings),
        share(process.read_wait, all),
        share(process.write_wait, all),
        share(process.run_delay, all),
        plain(process.switches, all),
    ]
}

/// Share of the CPUs from which on they count as all busy.
const FULL: f64 = 0.9;

fn why(setting: &Setting, pipeline: &Pipeline, slowest: &Slowest) -> Message {
    let name = process_name(pipeline, slowest.index);
    let (waits, of) = (percent(slowest.waits), percent(slowest.because.share()));
    let does = match slowest.because {
        Because::Kernel(_) => say!("{of} of the time it works in the kernel"),
        Because::User(_) => say!("{of} of the time it works in user space"),
        Because::NoCpu(_) if pipeline.outside(setting.cpus) >= OUTSIDE => {
            say!("{of} of the time it could run and has no CPU, since other programs have it too")
        }
        Because::NoCpu(_) => say!("{of} of the time it could run and has no CPU, since the others have them"),
        Because::Source(_) => say!("{of} of the time it waits for its source"),
    };
    let tied = slowest.tied_with.map(|(next, share_of_next)| {
        let (name, share) = (process_name(pipeline, next), percent(share_of_next));
        say!(" {name} is hardly better ({share}): a faster one of them alone changes little.")
    });
    let tied = tied.unwrap_or_default();
    let full = is_full(setting, pipeline).then(|| {
        let cpus = setting.cpus;
        match cpus <= 1.0 {
            true => say!(" The CPU is full: the CPU time of all processes adds up, and less of any helps."),
            false => say!(" All {cpus} CPUs are full: less CPU time of any process helps."),
        }
    });
    let full = full.unwrap_or_default();
    say!("Slowest: {name}. It waits {waits} of the time for its neighbours, the least of all; {does}.{tied}{full}")
}

/// CPUs that stand idle, and CPUs that processes wait for, from which on the one beside the other is told.
const CROWDED: f64 = 0.3;

/// Processes wait for a CPU while another one is idle.
fn crowded(setting: &Setting, pipeline: &Pipeline) -> Option<Message> {
    let idle = pipeline.idle_cpus(setting.cpus).filter(|idle| *idle > CROWDED)?;
    let waits =
        pipeline.total(|process| process.run_delay).map(|waits| waits.value).filter(|waits| *waits > CROWDED)?;
    let cpus = setting.cpus;
    (cpus > 1.0).then(|| say!("{waits:.2} processes wait for a CPU at any time, while {idle:.2} of {cpus} CPUs are idle: the scheduler keeps them \
             together."))
}

pub(super) fn is_full(setting: &Setting, pipeline: &Pipeline) -> bool {
    pipeline.busy_cpus.is_some_and(|busy| busy.value >= FULL * setting.cpus)
}

/// Parts of a byte's time by the single stages.
fn parts(pipeline: &Pipeline, forecast: &Forecast) -> Option<Message> {
    let (all, total) = (forecast.parts(), forecast.parts().iter().map(|part| part.time_ns).sum::<f64>());
    if all.is_empty() || !total.is_finite() {
        return None;
    }
    let one = |part: &PathPart| {
        let (time, share) = (number(part.time_ns), percent(part.time_ns / total));
        let (of, path) = (in_words(&part.of), &part.path);
        say!("{of} {time} ns ({share}, {path})")
    };
    let all = Message::joined(all.iter().map(one), COMMA);
    let is_point = matches!(forecast, Forecast::Point { .. });
    let off = forecast.error(pipeline.rate).filter(|error| error.value != 0.0 || is_point);
    let off = off.map(|off| say!(", error {off}", off = off.text(true, over))).unwrap_or_default();
    let forecast = forecast_text(forecast);
    Some(match is_point {
        true => say!("A byte's time by single stages: {all}. Added up: {forecast}{off}."),
        false => {
            say!("A byte's time by single stages: {all}. One after another to all at once: {forecast}{off}.")
        }
    })
}

pub(super) fn forecast_text(forecast: &Forecast) -> Message {
    match forecast {
        Forecast::Point { rate: expected, .. } => Message::plain(rate(*expected)),
        Forecast::Range { low, high, .. } => Message::plain(range(low.value, high.value)),
        Forecast::Lacks(paths) => {
            let paths = paths.join(", ");
            say!("not measured or not believed: {paths}")
        }
        Forecast::OtherCalls => term!("no model for its calls").into(),
        Forecast::Unknown => term!("processes unknown").into(),
    }
}

/// An error of the model from which on the view says what stands beside it.
pub(super) const LARGE_ERROR: f64 = 0.15;
/// Least share of an idle CPU that counts, and of switches and CPU time beyond those of the single stages.
const IDLE: f64 = 0.05;
const MORE_SWITCHES: f64 = 0.1;
const MORE_TIME: f64 = 0.05;

/// Observations where the forecast is far off: idle CPUs, switches, CPU time beside the single stages' own.
fn beside(setting: &Setting, pipeline: &Pipeline, forecast: &Forecast) -> Option<Message> {
    let error = forecast.error(pipeline.rate).filter(|error| error.value.abs() > LARGE_ERROR)?;
    let parts = forecast.parts();
    let mut seen: Vec<Message> = Vec::new();
    if let Some(idle) = pipeline.idle_cpus(setting.cpus).filter(|idle| *idle > IDLE) {
        seen.push(say!("{idle:.2} of {cpus:CPU} idle", cpus = setting.cpus));
    }
    let of_stages = parts.iter().map(|part| part.switches).sum::<Option<f64>>();
    let of_all = pipeline.total(|process| process.switches).map(|switches| switches.value);
    if let (Some(stages), Some(all)) = (of_stages, of_all)
        && all > stages * (1.0 + MORE_SWITCHES)
    {
        let (all, stages) = (crate::format::number(all), crate::format::number(stages));
        seen.push(say!("{all} switches for each MiB, of the single stages {stages}"));
    }
    let of_stages = parts.iter().map(|part| part.cpu_ns).sum::<Option<f64>>();
    let of_all = pipeline.time_per_byte_ns().map(|time| time.value);
    if let (Some(stages), Some(all)) = (of_stages.filter(|time| *time > 0.0), of_all)
        && (all / stages - 1.0).abs() > MORE_TIME
    {
        let by = over(all / stages - 1.0);
        let (all, stages) = (crate::format::number(all), crate::format::number(stages));
        seen.push(say!("{all} ns of CPU time a byte, of the single stages {stages} ({by})"));
    }
    let off = over(error.value);
    let all = Message::joined(&seen, SEMICOLON);
    Some(match seen.is_empty() {
        true => say!("The model is off by {off}, and nothing that was measured beside tells why."),
        false => say!("The model is off by {off}. Seen beside: {all}."),
    })
}

/// Other measured pipelines with one thing changed.
fn to_change(all: &[Setting], setting: &Setting, pipeline: &Pipeline) -> Option<Message> {
    let found = changes(all, setting, pipeline);
    let one = |change: &super::model::Change| {
        let (rate, times) = (plain_rate(change.rate.value), crate::format::number(change.times.value));
        say!("{what} {rate} (×{times})", what = change.what)
    };
    let each = Message::joined(found.iter().map(one), SEMICOLON);
    (!found.is_empty()).then(|| say!("Changed here, as measured: {each}."))
}

/// A path that a command line makes.
struct PathCommand {
    path: &'static str,
    line: Text,
    programs: &'static [&'static str],
}

const fn made_by(path: &'static str, line: &'static str, programs: &'static [&'static str]) -> PathCommand {
    PathCommand { path, line: Text { en: line, zh: line }, programs }
}

const COMMANDS: &[PathCommand] = &[
    made_by("zero_pipe_poll_socket_poll_null", "dd | nc → nc -l > /dev/null", &["dd", "nc", "nc -l"]),
    made_by("file_poll_socket_poll_null", "nc < file → nc -l > /dev/null", &["nc", "nc -l"]),
    made_by("zero_pipe_socket_null", "dd | nc → nc -l > /dev/null", &["dd", "nc", "nc -l"]),
    made_by("file_pipe_socket_null", "cat file | nc → nc -l > /dev/null", &["cat", "nc", "nc -l"]),
    made_by("file_socket_null", "nc < file → nc -l > /dev/null", &["nc", "nc -l"]),
    PathCommand {
        path: "cold_file_socket_null",
        line: term!("nc < file, not cached → nc -l > /dev/null"),
        programs: &["nc", "nc -l"],
    },
    made_by("zero_pipe_socket_pipe_null", "dd | nc → nc -l | dd > /dev/null", &["dd", "nc", "nc -l", "dd"]),
    made_by(
        "zero_pipe_socket_pipe_pipe_null",
        "dd | nc → nc -l | dd | pv > /dev/null",
        &["dd", "nc", "nc -l", "dd", "pv"],
    ),
];

/// The command line that does what a path does, where people know one. A nc that does not poll moves blocks of another size.
pub(super) fn command(setting: &Setting, pipeline: &Pipeline) -> Option<Message> {
    let line = COMMANDS.iter().find(|command| command.path == pipeline.path)?.line;
    let block = block(setting);
    Some(match (pipeline.polls(), block.is_empty()) {
        (true, _) => line.into(),
        (false, true) => say!("{line} (no poll)"),
        (false, false) => say!("{line} ({block} blocks, no poll)"),
    })
}

/// A command without its receiver, in few words.
pub(super) fn short_command(setting: &Setting, pipeline: &Pipeline) -> Option<Message> {
    let line = COMMANDS.iter().find(|command| command.path == pipeline.path)?.line;
    let short = |line: &str| line.replace(" → nc -l > /dev/null", "");
    let line = Text { en: short(line.en), zh: short(line.zh) };
    let block = block(setting);
    Some(match (pipeline.polls(), block.is_empty()) {
        (true, _) => line.into(),
        (false, true) => say!("{line} (no poll)"),
        (false, false) => say!("{line} ({block}, no poll)"),
    })
}

/// A process by its number and its program, or by what it reads and writes.
pub(super) fn process_name(pipeline: &Pipeline, index: usize) -> String {
    let programs = COMMANDS.iter().find(|command| command.path == pipeline.path).map(|command| command.programs);
    let named = programs.filter(|programs| programs.len() == pipeline.processes.len());
    match (named.and_then(|programs| programs.get(index)), pipeline.processes.get(index)) {
        (Some(program), _) => format!("{} {program}", index + 1),
        (None, Some(process)) => format!("{} {}>{}", index + 1, process.from, process.to),
        (None, None) => (index + 1).to_string(),
    }
}

/// Arrow of a hop that copies each byte, and of one that does not.
const COPIED: &str = " => ";
const NOT_COPIED: &str = " -> ";

/// Two lines: the processes and what stands between them, the slowest with a star; below, the CPUs that each keeps busy.
pub(super) fn drawing(pipeline: &Pipeline, slowest: Option<&Slowest>) -> [Message; 2] {
    let draw = |lang| {
        let (mut line, mut below) = (String::new(), String::new());
        for (index, process) in pipeline.processes.iter().enumerate() {
            if process.from != "memory" || index > 0 {
                line += &place(&process.from).get(lang);
                line += if reads_by_copy(pipeline, process) { COPIED } else { NOT_COPIED };
            }
            let asterisk = if slowest.is_some_and(|slowest| slowest.index == index) { "*" } else { "" };
            let at = unicode_width::UnicodeWidthStr::width(line.as_str());
            let busy = process.busy().map_or_else(|| "–".to_owned(), |busy| format!("{:.2}", busy.value));
            below += &" ".repeat(at.saturating_sub(below.chars().count()));
            below += &busy;
            line += &format!("[{}]{asterisk}", index + 1);
            if process.to != "memory" {
                line += if writes_by_copy(pipeline, process) { COPIED } else { NOT_COPIED };
            }
            if index + 1 == pipeline.processes.len() && process.to != "memory" {
                line += &place(&process.to).get(lang);
            }
        }
        (line, below)
    };
    let (en, zh) = (draw(Lang::En), draw(Lang::Zh));
    [Text { en: en.0, zh: zh.0 }, Text { en: en.1, zh: zh.1 }].map(Message::from)
}

fn reads_by_copy(pipeline: &Pipeline, process: &PipelineProcess) -> bool {
    process.is_copying() || sends_a_copy(pipeline, process) && process.from != "memory"
}

/// Tells whether a process writes by copying; the null device ignores what is written.
fn writes_by_copy(pipeline: &Pipeline, process: &PipelineProcess) -> bool {
    process.to != "null" && (process.is_copying() || sends_a_copy(pipeline, process))
}

fn sends_a_copy(pipeline: &Pipeline, process: &PipelineProcess) -> bool {
    process.method == "zero_copy" && pipeline.copied_all_the_same
}

/// A source, a place between processes, or a sink.
fn place(name: &str) -> Message {
    match name {
        "null" => Message::plain("/dev/null"),
        "pipe" => term!("pipe").into(),
        "file" => term!("file").into(),
        "cold_file" => term!("disk").into(),
        other => in_words(other),
    }
}

pub(super) fn in_words(name: &str) -> Message {
    match name {
        "zero" => Message::plain("/dev/zero"),
        "pipe" => term!("the pipe").into(),
        "socket" => Message::plain("TCP"),
        "file" => term!("the cached file").into(),
        "cold_file" => term!("the disk").into(),
        other => Message::plain(other),
    }
}

/// Mark in place of a number that the run lacks.
pub(super) const NOTHING: &str = "–";

/// `2.24 GB/s (2.20 … 2.28)`.
pub(super) fn rate(rate: Propagated) -> String {
    let text = plain_rate(rate.value);
    match rate.interval {
        Some((low, high)) => {
            let scale = scale_for(rate.value, Unit::BytesPerSecond);
            format!("{text} ({} … {})", in_scale(low, scale), in_scale(high, scale))
        }
        None => text,
    }
}

/// `0.704 … 4.00 GB/s`.
pub(super) fn range(low: f64, high: f64) -> String {
    format!("{} … {}", in_scale(low, scale_for(high, Unit::BytesPerSecond)), plain_rate(high))
}

/// `2.24 GB/s`.
pub(super) fn plain_rate(rate: f64) -> String {
    format::value(rate, Unit::BytesPerSecond, Lang::En)
}

/// `0.447`.
pub(super) fn plain(value: Option<Propagated>, all: bool) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |value| value.text(all, number))
}

/// `25 %`.
fn share(value: Option<Propagated>, all: bool) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |value| value.text(all, percent))
}

/// Copies and crossings: `2`, or `1.98`.
pub(super) fn times(value: Option<Propagated>) -> String {
    let is_whole = |value: f64| (value - value.round()).abs() < 0.005;
    match value {
        Some(Propagated { value, .. }) if is_whole(value) => format!("{value:.0}").replace("-0", "0"),
        other => plain(other, false),
    }
}

/// A fraction over something, in whole percent: `+8 %`, `−12 %`.
pub(super) fn over(fraction: f64) -> String {
    let text = format!("{:+.0} %", fraction * 100.0);
    if text == "-0 %" || text == "+0 %" { "0 %".to_owned() } else { text.replacen('-', "−", 1) }
}
