//! The data path of TCP, taken apart: each process's share of a byte's time, which one limits it, and what the stages predict.

mod answer;
mod model;
mod pipeline;
mod wording;

use hostmark_model::{Message, Run};

use crate::plain_table::Table;

pub use answer::{DISK, IN_ORDER};
pub(crate) use answer::{PathAnswer, answers};
pub use pipeline::is_of_one_cpu;

#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// Heading of the items below.
    Heading(Message),
    Line(Message),
    /// Lines that keep their columns.
    Drawing([Message; 2]),
    Table(Table),
}

/// Every path of the probe, in the order of its axis.
pub const PATHS: [&str; 21] = [
    "zero_null",
    "file_null",
    "cold_file_null",
    "memory_pipe_memory",
    "memory_socket_memory",
    "memory_socket_memory_close",
    "memory_socket_memory_behind",
    "zero_pipe_poll_socket_poll_null",
    "file_poll_socket_poll_null",
    "zero_pipe_socket_null",
    "file_socket_null",
    "cold_file_socket_null",
    "file_pipe_socket_null",
    "memory_socket_pipe_memory",
    "zero_pipe_socket_pipe_null",
    "zero_pipe_socket_pipe_pipe_null",
    "zero_pipe_splice_socket_null",
    "zero_pipe_socket_splice_null",
    "file_splice_socket_null",
    "file_sendfile_socket_null",
    "memory_zero_copy_socket_memory",
];

/// Probe and axes of the paths.
pub const PROBE: &str = pipeline::PROBE;
pub const PATH: &str = pipeline::PATH;
pub const CPUS: &str = pipeline::CPUS;

/// The view of a run; nothing where it has no case of the probe. `all` adds the intervals of what each process took.
pub fn data_path(run: &Run, all: bool) -> Vec<Item> {
    let settings = pipeline::settings(run);
    if settings.is_empty() {
        return Vec::new();
    }
    let mut items: Vec<Item> = answers(run)
        .into_iter()
        .flat_map(|answer| std::iter::once(answer.text).chain(answer.by_crossings).map(Item::Line))
        .collect();
    for setting in &settings {
        items.extend(wording::items(&settings, setting, all));
        items.extend(answer::summary(run, &settings, setting));
    }
    items.push(Item::Heading(wording::READING_TITLE.into()));
    items.extend(wording::READING.iter().map(|text| Item::Line(text.into())));
    items
}
