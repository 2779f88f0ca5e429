//! Kind of an environment beside the first: a guest, a container, all of the same machine.

use hostmark_model::{ISOLATE, Run};

use super::Environment;

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

/// Kind of each environment.
pub(super) fn kinds(environments: &[Environment]) -> Vec<EnvironmentKind> {
    let Some((first, others)) = environments.split_first() else { return Vec::new() };
    std::iter::once(EnvironmentKind::First).chain(others.iter().map(|other| kind_of(first, other))).collect()
}

/// Kind of an environment beside `first`.
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
