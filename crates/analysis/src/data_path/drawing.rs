//! Drawing of a pipeline and names of its processes.

use hostmark_model::{Lang, Message, Text};
use hostmark_say::say;

use super::changes::block;
use super::pipeline::{Pipeline, PipelineProcess};
use super::setting::Setting;
use super::slowest::Slowest;
use crate::Spoken;

/// A path that a command line makes.
struct PathCommand {
    path: &'static str,
    line: Text,
    /// Programs of each process.
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

/// Two lines: the processes in brackets with what stands between them, the slowest with a star; and the CPUs that each
/// keeps busy below it.
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
    let known: Text = match name {
        "zero" => Text { en: "/dev/zero", zh: "/dev/zero" },
        "null" => Text { en: "/dev/null", zh: "/dev/null" },
        "pipe" => term!("pipe"),
        "socket" => Text { en: "TCP", zh: "TCP" },
        "file" => term!("file"),
        "cold_file" => term!("disk"),
        _ => return Message::plain(name),
    };
    known.into()
}

pub(super) fn in_words(name: &str) -> Message {
    let known: Text = match name {
        "zero" => Text { en: "/dev/zero", zh: "/dev/zero" },
        "pipe" => term!("the pipe"),
        "socket" => Text { en: "TCP", zh: "TCP" },
        "file" => term!("the cached file"),
        "cold_file" => term!("the disk"),
        _ => return Message::plain(name),
    };
    known.into()
}
