//! Table of the environments: runs, size, kernel, hypervisor, and the program that measured.

use std::collections::BTreeSet;

use hostmark_model::{Message, Run, Text, size_text};
use hostmark_say::say;

use super::alike::{cpus, memory};
use super::{Environment, Row, Table};
use crate::typography::COMMA;

/// Digits of a digest that tell two programs apart.
const DIGITS: usize = 12;

/// A row for each environment.
pub(super) fn table(environments: &[Environment]) -> Table {
    const HEADS: [Text; 6] =
        [term!("runs"), term!("CPUs"), term!("memory"), term!("kernel"), term!("under"), term!("program's SHA-256")];
    Table {
        title: term!("Environments").into(),
        columns: HEADS.into_iter().map(|head| head.into()).collect(),
        rows: environments.iter().map(row).collect(),
        ..Table::default()
    }
}

fn row(environment: &Environment) -> Row {
    let cpus = Some(cpus(environment)).filter(|cpus| *cpus > 0).map(|cpus| cpus.to_string());
    let bytes = Some(memory(environment)).filter(|bytes| *bytes > 0).map(size_text);
    let kernel = distinct(environment, |run| Some(run.host.kernel.release.clone()));
    let program = distinct(environment, |run| Some(run.tool.digest.as_ref()?.chars().take(DIGITS).collect()));
    let cells = [
        Message::plain(environment.runs.len().to_string()),
        Message::plain(cpus.unwrap_or_default()),
        Message::plain(bytes.unwrap_or_default()),
        kernel,
    ];
    let cells = cells.into_iter().chain([under(environment), program]);
    Row { label: Message::plain(environment.name), cells: cells.map(filled).collect() }
}

/// Distinct texts of the runs.
fn distinct(environment: &Environment, of: impl Fn(&Run) -> Option<String>) -> Message {
    let all: BTreeSet<String> = environment.runs.iter().filter_map(|run| of(run)).collect();
    Message::plain(all.into_iter().collect::<Vec<_>>().join(" | "))
}

fn filled(cell: Message) -> Message {
    if cell.is_empty() { Message::plain("–") } else { cell }
}

/// The virtual machine, the hypervisor, the container.
fn under(environment: &Environment) -> Message {
    let Some(guest) = environment.guest() else {
        let of = |run: &Run| run.host.virtualization.hypervisor.clone().or(run.host.virtualization.container.clone());
        return distinct(environment, of);
    };
    let backing = &guest.backing;
    let pinned: Vec<String> = guest.pinned.iter().map(usize::to_string).collect();
    let pinned = pinned.join(" ");
    let on = say!("on CPUs {pinned}");
    let parts = [
        Message::plain(format!("{} {}", guest.accel, guest.machine)),
        say!("{backing} pages"),
        if pinned.is_empty() { Message::default() } else { on },
    ];
    Message::joined(parts, COMMA)
}
