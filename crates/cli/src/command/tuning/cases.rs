//! Which cases a trial measures on either side, and how those are the same case afterwards that differ by its axis.

use anyhow::Result;
use hostmark_engine::plan;
use hostmark_engine::probe::Entry;
use hostmark_model::{CaseId, CaseRecord, HostFacts, Outcome, Run, Text};
use hostmark_probes::CATALOGUE;

use super::catalogue::{Mechanism, NEAR, Tuning};
use super::possible::near;
use crate::language::refuse;

/// What a case notes of the pages that it got. Where the trial is of pages they differ, and are no reason to compare nothing.
const PAGES: &str = "pages";

/// The filters of the setting's own cases, as this host has them, and what each measures.
pub fn own(tuning: &Tuning, host: &HostFacts) -> Vec<(String, Text)> {
    let near = near(host).map(|placement| placement.name());
    let possible = tuning.cases.iter().filter(|case| near.is_some() || !case.filter.contains(NEAR));
    possible.map(|case| (case.filter.replace(NEAR, near.unwrap_or_default()), case.name)).collect()
}

/// What either side measures of these filters.
pub fn of_sides(tuning: &Tuning, filters: &[String]) -> Result<[Vec<String>; 2]> {
    let Mechanism::Axis(axes) = tuning.turn else { return Ok([filters.to_vec(), filters.to_vec()]) };
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for filter in filters {
        let (name, points) = filter.split_once('@').map_or((filter.as_str(), ""), |(name, points)| (name, points));
        for entry in plan::pick(CATALOGUE, &[name.to_owned()])? {
            let Some([axis, off, on]) = axis_of(axes, &entry, points) else { continue };
            let id = entry.id();
            let points = if points.is_empty() { String::new() } else { format!("{points},") };
            without.push(format!("{id}@{points}{axis}={off}"));
            with.push(format!("{id}@{points}{axis}={on}"));
        }
    }
    if without.is_empty() {
        let names: Vec<&str> = axes.iter().map(|[axis, ..]| *axis).collect();
        let (tuning, names, filters) = (tuning.name, names.join("/"), filters.join(", "));
        refuse!(
            "{tuning} tries the axis {names}, and no probe of {filters} has it, or its point is given; leave the filter out \
             (hostmark list shows the axes)"
        );
    }
    Ok([without, with])
}

/// The first of these axes that a probe has; none where the filter itself says where it stands.
fn axis_of<'a>(axes: &'a [[&'static str; 3]], entry: &Entry, points: &str) -> Option<&'a [&'static str; 3]> {
    let has = |name: &str| entry.axes().iter().any(|axis| axis.name == name);
    let axis = axes.iter().find(|[name, ..]| has(name))?;
    let is_given = points.split(',').any(|point| point.split('=').next() == Some(axis[0]));
    (!is_given).then_some(axis)
}

/// Makes the cases of a run those that the other side has as well: without the axis that is tried, and whatever pages they got.
pub fn make_alike(tuning: &Tuning, run: &mut Run) {
    match tuning.turn {
        Mechanism::Axis(axes) => {
            let side = |case: &CaseRecord| {
                axes.iter()
                    .find(|[axis, off, on]| case.params.get(axis).is_some_and(|value| value == *off || value == *on))
            };
            // They differ by what is tried and nothing else.
            run.settings.filters.clear();
            for case in &mut run.cases {
                if let Some([axis, ..]) = side(case) {
                    case.params.0.retain(|(name, _)| name != axis);
                    case.id = CaseId { probe: case.probe.clone(), params: case.params.clone() }.to_string();
                }
            }
        }
        Mechanism::HugePages => {
            for case in &mut run.cases {
                if let Outcome::Measured(measured) = &mut case.outcome {
                    measured.notes.remove(PAGES);
                }
            }
        }
        Mechanism::Neighbour(_) | Mechanism::Machine(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::tuning::catalogue::{TUNINGS, named};
    use hostmark_host::Placement;

    #[test]
    fn an_axis_is_off_on_one_side_and_on_on_the_other() {
        let filters = |name: &str, filters: &[&str]| {
            let filters: Vec<String> = filters.iter().map(|filter| (*filter).to_owned()).collect();
            of_sides(named(name).unwrap(), &filters)
        };
        let [without, with] = filters("pipe-size", &["ipc.bandwidth@message=4K"]).unwrap();
        assert_eq!(without, ["ipc.bandwidth@message=4K,capacity=default"]);
        assert_eq!(with, ["ipc.bandwidth@message=4K,capacity=1m"]);
        let [without, _] = filters("binding", &["memory.random_access", "ipc.round_trip"]).unwrap();
        assert_eq!(without, ["memory.random_access@bind=none", "ipc.round_trip@cpus=free"]);
        let [without, with] = filters("pipe-size", &["ipc"]).unwrap();
        assert_eq!((without.len(), with.len()), (1, 1), "of a group those that have the axis");
        for wrong in ["syscall.null", "ipc.bandwidth@capacity=1m"] {
            let error = filters("pipe-size", &[wrong]).unwrap_err().to_string();
            assert!(error.starts_with("pipe-size tries the axis capacity"), "{error}");
        }
        assert!(filters("pipe-size", &["no.such"]).is_err());
        let [without, with] = filters("huge-pages", &["memory.latency"]).unwrap();
        assert_eq!(without, with);
    }

    #[test]
    fn every_case_of_every_setting_is_one_of_the_catalogue() {
        for tuning in TUNINGS {
            let filters: Vec<String> =
                tuning.cases.iter().map(|case| case.filter.replace(NEAR, Placement::SameCache.name())).collect();
            // As they stand in case ids, so that the sentence finds them.
            let points = filters.iter().filter_map(|filter| filter.split_once('@'));
            let mut values = points.flat_map(|(_, points)| points.split(',')).filter_map(|point| point.split_once('='));
            assert!(values.all(|(_, value)| hostmark_model::is_axis_value(value)), "{}", tuning.name);
            for side in of_sides(tuning, &filters).unwrap() {
                assert_eq!(side.len(), tuning.cases.len(), "{}", tuning.name);
                plan::pick(CATALOGUE, &side).unwrap();
            }
        }
    }
}
