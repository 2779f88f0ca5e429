//! Check that two environments agree in what a case depends on: memory, and the pages behind it.

use hostmark_model::{CaseRecord, Lang, Message, Run, Unit};
use hostmark_say::say;

use super::kind::{EnvironmentKind, kind_of};
use super::{Environment, not_comparable};
use crate::format;

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

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn a_list_of_cpus_is_counted() {
        for (list, cpus) in
            [("0", Some(1)), ("0-3,8", Some(5)), ("4-6", Some(3)), ("3-1", None), ("", None), ("a", None)]
        {
            assert_eq!(count(list), cpus, "{list}");
        }
    }
}
