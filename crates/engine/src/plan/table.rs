//! The plan of a table: exactly the cases that its cells name.

use hostmark_model::{CaseId, EACH_POINT, HostFacts, Params};

use super::set::Sets;
use super::{Plan, PlanError, Priority, Request, Swept, plan};
use crate::probe::{Catalogue, Entry, Measure, find};

/// Turns cells into a plan: each names the axes on which it is not at its probe's default. What derived cells are computed
/// from comes along. The cells take the place of the request's filters.
pub fn plan_table(
    catalogue: Catalogue,
    host: &HostFacts,
    request: Request,
    cells: &[CaseId],
) -> Result<Plan, PlanError> {
    let cells = cells_of_host(catalogue, host, &request, cells)?;
    let filters = cells.iter().map(CaseId::to_string).collect();
    let mut plan = plan(catalogue, host, Request { filters, ..request })?;
    // In less time than the profile has, of what is computed what its value is made of: its first source.
    let most = if plan.is_short() { 1 } else { usize::MAX };
    let needed = |probe: &str, params: &Params, base: &Params| {
        let sources = plan.derived.iter().filter_map(|entry| match entry.probe.measure {
            Measure::Derive { from, .. } => Some(&from[..most.min(from.len())]),
            Measure::Run(_) | Measure::Between { .. } => None,
        });
        sources.flatten().any(|source| source.probe == probe && source.needs(params, base))
    };
    let keep: Vec<Option<Priority>> = (plan.cases.iter())
        .map(|case| {
            let base = plan.base(&case.id.probe)?;
            let is_cell = |cell: &CaseId| {
                let axis = |name: &str| case.entry.probe.axes.iter().find(|axis| axis.name == name);
                let on =
                    |name: &str, value: &str| axis(name).map_or_else(|| value.to_owned(), |axis| axis.on(host, value));
                let pairs = cell.params.0.iter();
                cell.probe == case.id.probe
                    && pairs.fold(base.clone(), |params, (name, value)| params.with(name, &on(name, value)))
                        == case.id.params
            };
            match cells.iter().any(is_cell) {
                true => Some(case.priority.min(Priority::Cell)),
                false => needed(&case.id.probe, &case.id.params, base).then_some(case.priority),
            }
        })
        .collect();
    let mut kept = keep.iter();
    plan.cases.retain(|_| kept.next().is_some_and(Option::is_some));
    for (case, priority) in plan.cases.iter_mut().zip(keep.into_iter().flatten()) {
        case.priority = priority;
    }
    plan.request.filters.clear();
    Ok(plan)
}

/// The cells with a value for every axis that they name. Of what is computed the name alone is left: its cases follow from
/// its sources.
fn cells_of_host(
    catalogue: Catalogue,
    host: &HostFacts,
    request: &Request,
    cells: &[CaseId],
) -> Result<Vec<CaseId>, PlanError> {
    let sets = Sets::parse(catalogue, &request.set)?;
    let mut all = Vec::new();
    for cell in cells {
        let Some(entry) = find(catalogue, &cell.probe) else {
            return Err(PlanError::UnknownProbe { name: cell.probe.clone(), suggestion: None });
        };
        if matches!(entry.probe.measure, Measure::Derive { .. }) {
            all.push(CaseId { probe: cell.probe.clone(), params: Params(Vec::new()) });
            continue;
        }
        let mut points = vec![cell.params.clone()];
        for (name, _) in cell.params.0.iter().filter(|(_, value)| value == EACH_POINT) {
            let values = values_of(&entry, name, &sets, host, request)?;
            let each = |params: &Params| values.iter().map(|value| params.with(name, value)).collect::<Vec<_>>();
            points = points.iter().flat_map(each).collect();
        }
        all.extend(points.into_iter().map(|params| CaseId { probe: cell.probe.clone(), params }));
    }
    Ok(all)
}

fn values_of(
    entry: &Entry,
    axis: &str,
    sets: &Sets,
    host: &HostFacts,
    request: &Request,
) -> Result<Vec<String>, PlanError> {
    let axes = entry.probe.axes;
    let swept = Swept { axes, set: sets.of(entry, host, &request.inputs.peers)?, host, profile: request.profile };
    let unknown = || PlanError::UnknownAxis {
        probe: entry.id(),
        axis: axis.to_owned(),
        known: axes.iter().map(|axis| axis.name.to_owned()).collect(),
    };
    axes.iter().find(|known| known.name == axis).map(|axis| swept.points(axis)).ok_or_else(unknown)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
