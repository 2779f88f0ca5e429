//! `--set [PROBE:]AXIS=V1,V2`: the points of an axis as a person wants them, in the place of the probe's own.

use std::collections::HashSet;

use hostmark_model::HostFacts;

use super::selection::Filter;
use super::{PlanError, checked_value};
use crate::probe::{Axis, Catalogue, Entry};

/// Everything that was set; what names its probes more closely comes later, and counts.
pub(super) struct Sets(Vec<Set>);

struct Set {
    /// As typed, and what it names its probes by.
    typed: String,
    scope: Scope,
    axis: String,
    values: Vec<String>,
}

/// The word for all pairs of the usable CPUs, of an axis that takes pairs.
const MATRIX: &str = "matrix";

fn matrix(host: &HostFacts) -> impl Iterator<Item = String> {
    let cpus = host.usable_cpus();
    let pairs = move |(index, one): (usize, usize)| {
        cpus[index + 1..].iter().map(|other| format!("{one}-{other}")).collect::<Vec<_>>()
    };
    host.usable_cpus().into_iter().enumerate().flat_map(pairs)
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    Everything,
    Group(Vec<String>, String),
    Probe(String),
}

impl Set {
    fn parse(catalogue: Catalogue, typed: &str) -> Result<Set, PlanError> {
        let malformed = || PlanError::MalformedSet(typed.to_owned());
        let (place, values) = typed.split_once('=').ok_or_else(malformed)?;
        let (scope, axis) = match place.split_once(':') {
            Some((name, axis)) => (Scope::of(catalogue, name)?, axis),
            None => (Scope::Everything, place),
        };
        if axis.is_empty() {
            return Err(malformed());
        }
        let values = values.split(',').map(str::to_owned).collect();
        Ok(Set { typed: typed.to_owned(), scope, axis: axis.to_owned(), values })
    }

    fn is_for(&self, entry: &Entry) -> bool {
        match &self.scope {
            Scope::Everything => true,
            Scope::Group(probes, _) => probes.contains(&entry.id()),
            Scope::Probe(probe) => *probe == entry.id(),
        }
    }
}

impl Scope {
    fn of(catalogue: Catalogue, name: &str) -> Result<Scope, PlanError> {
        // A filter's names, without its values.
        let name_alone = name.split('@').next().unwrap_or_default();
        let probes = Filter::parse(catalogue, name_alone)?.probes;
        Ok(if probes[..] == [name] { Scope::Probe(name.to_owned()) } else { Scope::Group(probes, name.to_owned()) })
    }
}

impl Sets {
    pub(super) fn parse(catalogue: Catalogue, typed: &[String]) -> Result<Sets, PlanError> {
        let mut sets = typed.iter().map(|typed| Set::parse(catalogue, typed)).collect::<Result<Vec<Set>, _>>()?;
        sets.sort_by(|one, other| (&one.scope, &one.axis).cmp(&(&other.scope, &other.axis)));
        if let Some(pair) = sets.windows(2).find(|pair| pair[0].scope == pair[1].scope && pair[0].axis == pair[1].axis)
        {
            return Err(PlanError::SetTwice { one: pair[0].typed.clone(), other: pair[1].typed.clone() });
        }
        Ok(Sets(sets))
    }

    /// The axes of a probe that are set, with their points: as they stand in a case id, each once.
    pub(super) fn of(
        &self,
        entry: &Entry,
        host: &HostFacts,
        peers: &[String],
    ) -> Result<Vec<(&'static str, Vec<String>)>, PlanError> {
        let of_axis = |axis: &Axis| {
            let set = self.0.iter().rfind(|set| set.axis == axis.name && set.is_for(entry))?;
            let (mut values, mut seen) = (Vec::new(), HashSet::new());
            for value in &set.values {
                if value == MATRIX && axis.takes_pairs() {
                    values.extend(matrix(host));
                    continue;
                }
                match checked_value(entry, axis.name, value).map(|value| axis.on(host, &value)) {
                    Ok(value) if !seen.insert(value.clone()) => {}
                    Ok(value) => values.push(value),
                    Err(error) => return Some(Err(error)),
                }
            }
            Some(Ok((axis.name, values)))
        };
        entry.axes_on(host, peers).iter().filter_map(of_axis).collect()
    }

    /// What is set and changes nothing was meant otherwise.
    pub(super) fn check(&self, selected: &[Entry], host: &HostFacts, peers: &[String]) -> Result<(), PlanError> {
        for set in &self.0 {
            let meant: Vec<&Entry> = selected.iter().filter(|entry| set.is_for(entry)).collect();
            if meant.is_empty() {
                return Err(PlanError::SetUnselected { set: set.typed.clone() });
            }
            let mut known: Vec<String> = Vec::new();
            for axis in meant.iter().flat_map(|entry| entry.axes_on(host, peers)) {
                if !known.iter().any(|known| known == axis.name) {
                    known.push(axis.name.to_owned());
                }
            }
            if known.contains(&set.axis) {
                continue;
            }
            let axis = set.axis.clone();
            return Err(match (&set.scope, known.is_empty()) {
                (Scope::Probe(probe), _) => PlanError::UnknownAxis { probe: probe.clone(), axis, known },
                (_, true) => PlanError::SetUnselected { set: set.typed.clone() },
                (_, false) => PlanError::SetUnknownAxis { axis, known: known.join(", ") },
            });
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "set_tests.rs"]
mod tests;
