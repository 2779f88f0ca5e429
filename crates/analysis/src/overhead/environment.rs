//! Environments beside each other: the kind of each, whether its machine is like the first's, and the table of machines.

use std::collections::BTreeSet;

use hostmark_model::{CaseRecord, ISOLATE, Lang, Message, Run, Text, Unit, size_text};
use hostmark_say::say;

use super::{Environment, Row, Table, not_comparable};
use crate::format;
use crate::typography::COMMA;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EnvironmentKind {
    First,
    /// Runs under a hypervisor that the first does not have.
    Guest,
    /// Runs on a kernel like the first's, with limits or filters that the first does not have.
    Container,
    /// Has all of the first's machine.
    Free,
    Other,
}

pub(super) fn kinds(environments: &[Environment]) -> Vec<EnvironmentKind> {
    let Some((first, others)) = environments.split_first() else { return Vec::new() };
    std::iter::once(EnvironmentKind::First).chain(others.iter().map(|other| kind_of(first, other))).collect()
}

pub(super) fn kind_of(first: &Environment, other: &Environment) -> EnvironmentKind {
    match (first.runs.first(), other.runs.first()) {
        _ if other.is_free() => EnvironmentKind::Free,
        (Some(one), Some(two)) => kind(one, two),
        _ => EnvironmentKind::Other,
    }
}

fn kind(first: &Run, other: &Run) -> EnvironmentKind {
    let within = |run: &Run| run.settings.set.get(ISOLATE).cloned();
    let is_new = |one: &Option<String>, two: &Option<String>| two.is_some() && one != two;
    let is_within = is_new(&within(first), &within(other));
    let is_guest = other.guest.is_some() && first.guest != other.guest;
    let (first, other) = (&first.host, &other.host);
    let (one, two) = (&first.virtualization, &other.virtualization);
    let (held, limited) = (&first.limits, &other.limits);
    // The same boot is the same kernel.
    let has_limits = other.boot_id.is_some()
        && first.boot_id == other.boot_id
        && ((&held.seccomp, held.cpu_quota, held.memory_limit_bytes)
            != (&limited.seccomp, limited.cpu_quota, limited.memory_limit_bytes));
    match () {
        () if is_guest || is_new(&one.hypervisor, &two.hypervisor) => EnvironmentKind::Guest,
        () if is_within || is_new(&one.container, &two.container) || has_limits => EnvironmentKind::Container,
        () => EnvironmentKind::Other,
    }
}

/// The groups whose cases depend on how much memory there is, and on the pages behind it.
const OF_MEMORY: [&str; 3] = ["memory", "paging", "file"];

/// A machine shows a little less memory than it was given.
const TOLERANCE: f64 = 0.1;

/// Note of a case on the pages that it asked for, and the name of an ordinary page there and in [`Guest`].
///
/// [`Guest`]: hostmark_model::Guest
const PAGE: &str = "page";
const BASE: &str = "base";

/// The memory that an environment may use, bytes; 0 where its run does not tell.
pub(super) fn memory(environment: &Environment) -> u64 {
    environment.runs.first().map(|run| memory_of(run)).unwrap_or_default()
}

fn memory_of(run: &Run) -> u64 {
    let seen = run.guest.as_ref().map_or(run.host.memory.total_bytes, |guest| guest.memory);
    seen.min(run.host.limits.memory_limit_bytes.unwrap_or(u64::MAX))
}

/// The CPUs that an environment's run was given, of those that it may use; 0 where it does not tell.
pub(super) fn cpus(environment: &Environment) -> usize {
    let of_run = |run: &&Run| {
        let given = run.settings.inputs.cpus.as_deref().and_then(count);
        given.unwrap_or_else(|| run.host.usable_cpus().len())
    };
    environment.runs.first().map(of_run).unwrap_or_default()
}

/// Number of CPUs in a list such as `0-3,8`.
fn count(list: &str) -> Option<usize> {
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let [from, to] = [from, to].map(|end| end.trim().parse::<u32>().ok());
        Some(to?.checked_sub(from?)? as usize + 1)
    };
    list.split(',').map(range).sum()
}

/// Tells whether two sizes of memory are practically equal.
pub(super) fn is_as_large(one: u64, other: u64) -> bool {
    one.abs_diff(other) as f64 <= TOLERANCE * one as f64
}

/// Reason why a case of a guest says nothing of the same case in the first environment; none where it does, and for other environments.
pub(super) fn unlike(first: &Environment, other: &Environment, case: &CaseRecord) -> Option<Message> {
    let group = crate::repetition::group_of(&case.probe);
    if other.is_free() || kind_of(first, other) != EnvironmentKind::Guest || !OF_MEMORY.contains(&group) {
        return None;
    }
    let (one, two) = (memory(first), memory(other));
    let bytes = |bytes: u64| format::value(bytes as f64, Unit::Bytes, Lang::En);
    if one > 0 && two > 0 && !is_as_large(one, two) {
        let (one, two) = (bytes(one), bytes(two));
        return Some(not_comparable(say!("memory of {one} and {two}")));
    }
    let backing = |environment: &Environment| environment.guest().map(|guest| guest.backing.clone());
    match (backing(first), backing(other)) {
        (Some(one), Some(two)) if one != two => Some(not_comparable(say!("{one} and {two} pages behind it"))),
        (None, Some(two)) if two == BASE && case.params.get(PAGE).is_some_and(|page| page != BASE) => {
            Some(not_comparable(say!("base pages behind it")))
        }
        _ => None,
    }
}

/// The same of a case that an environment has by this id.
pub(super) fn unlike_by_id(first: &Environment, other: &Environment, id: &str) -> Option<Message> {
    unlike(first, other, other.cases_of(id).next()?.1)
}

/// Digits of a digest that tell two programs apart.
const DIGITS: usize = 12;

pub(super) fn machine_table(environments: &[Environment]) -> Table {
    const HEADS: [Text; 6] =
        [term!("runs"), term!("CPUs"), term!("memory"), term!("kernel"), term!("under"), term!("program's SHA-256")];
    Table {
        title: term!("Environments").into(),
        columns: HEADS.into_iter().map(|head| head.into()).collect(),
        rows: environments.iter().map(machine_row).collect(),
        ..Table::default()
    }
}

fn machine_row(environment: &Environment) -> Row {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_cpus_is_counted() {
        for (list, cpus) in
            [("0", Some(1)), ("0-3,8", Some(5)), ("4-6", Some(3)), ("3-1", None), ("", None), ("a", None)]
        {
            assert_eq!(count(list), cpus, "{list}");
        }
    }
}
