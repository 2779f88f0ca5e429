//! Assignment of runs to hosts: by name, and where several hosts share a name, by what distinguishes them.

use std::collections::BTreeMap;

use super::gathering::{Gathering, RunRow};
use super::kind::HostClass;

/// A host with its runs, by their number, oldest first.
#[derive(Debug, Clone)]
pub(super) struct Host {
    /// Name, made unique among hosts of the same name.
    pub(super) name: String,
    /// True where another host has the same name.
    pub(super) shares_name: bool,
    pub(super) runs: Vec<usize>,
    pub(super) kind: HostClass,
}

/// Names that machines have before somebody gives them one: they say nothing.
const NO_NAMES: [&str; 4] = ["", "localhost", "localhost.localdomain", "(none)"];

/// The hosts of all runs, by name.
pub(super) fn hosts(gathering: &Gathering) -> Vec<Host> {
    let mut named: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, run) in gathering.runs.iter().enumerate() {
        named.entry(&run.hostname).or_default().push(index);
    }
    let mut hosts = Vec::new();
    for (name, runs) in named {
        let mut parts: BTreeMap<(&HostClass, &str), Vec<usize>> = BTreeMap::new();
        let mut of_kind: BTreeMap<&HostClass, Vec<usize>> = BTreeMap::new();
        for run in runs {
            of_kind.entry(&gathering.runs[run].kind).or_default().push(run);
        }
        let kinds = of_kind.len();
        for (kind, runs) in of_kind {
            let by_boot = NO_NAMES.contains(&name) || are_at_once(&runs, &gathering.runs);
            for run in runs {
                let boot = gathering.runs[run].boot.as_deref().filter(|_| by_boot).unwrap_or_default();
                parts.entry((kind, boot)).or_default().push(run);
            }
        }
        let boots_of = |kind: &HostClass| parts.keys().filter(|(other, _)| *other == kind).count();
        let counts: Vec<usize> = parts.keys().map(|(kind, _)| boots_of(kind)).collect();
        let shares_name = parts.len() > 1;
        for (((kind, boot), mut runs), boots) in parts.into_iter().zip(counts) {
            runs.sort_by(|one, other| gathering.runs[*one].started.cmp(&gathering.runs[*other].started));
            let mut details = Vec::new();
            if kinds > 1 {
                details.push(kind.words().en);
            }
            if boots > 1 {
                details.push(format!("boot {}", boot.chars().take(8).collect::<String>()));
            }
            let shown = if name.is_empty() { "?" } else { name };
            let name = if details.is_empty() { shown.to_owned() } else { format!("{shown} ({})", details.join(", ")) };
            hosts.push(Host { name, shares_name, runs, kind: kind.clone() });
        }
    }
    hosts
}

/// Tells whether two of the boots ran at the same time, or by turns: then they are two machines, not one that was rebooted.
fn are_at_once(runs: &[usize], all: &[RunRow]) -> bool {
    let mut boots: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    for run in runs.iter().map(|run| &all[*run]) {
        let Some(boot) = run.boot.as_deref() else { continue };
        let time = boots.entry(boot).or_insert((&run.started, &run.finished));
        *time = (time.0.min(&run.started), time.1.max(&run.finished));
    }
    let mut times: Vec<(&str, &str)> = boots.into_values().collect();
    times.sort_unstable();
    times.windows(2).any(|two| two[1].0 <= two[0].1)
}
