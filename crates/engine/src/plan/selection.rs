//! Selection: filters, cells of a table, `--set [PROBE:]AXIS=V1,V2` (points instead of the probe's own), and derived probes' needs.

use std::collections::{HashMap, HashSet};

use hostmark_model::{CaseId, EACH_POINT, HostFacts, Params};
use hostmark_say::say;

use super::{Plan, PlanError, Priority, Request, Swept, checked_value, nearest, plan, unknown_axis};
use crate::probe::{Axis, Catalogue, Entry, Measure, Source, TO, entries, find};

/// A filter: which probes, and which of their points.
struct Filter {
    pub probes: Vec<String>,
    /// Axis values that a case must have.
    pairs: Vec<(String, String)>,
}

impl Filter {
    pub fn parse(catalogue: Catalogue, text: &str) -> Result<Filter, PlanError> {
        let (name, axes) = text.split_once('@').map_or((text, None), |(name, axes)| (name, Some(axes)));
        let matching: Vec<Entry> = entries(catalogue)
            .filter(|entry| entry.group == name || entry.id() == name || entry.probe.replaces.contains(&name))
            .collect();
        if matching.is_empty() {
            return Err(PlanError::UnknownProbe(name.into(), nearest(catalogue, name)));
        }
        let mut matching = matching;
        if axes.is_some_and(|axes| {
            axes.split(',').any(|part| part.split_once('=').is_some_and(|(axis, _)| axis == TO.name))
        }) {
            // Of a group those that have a far end; where none has one, the error says so.
            let far: Vec<Entry> = matching.iter().filter(|entry| entry.probe.service().is_some()).copied().collect();
            matching = if far.is_empty() { matching } else { far };
        }
        let probes = matching.iter().map(Entry::id).collect();
        let Some(axes) = axes else { return Ok(Filter { probes, pairs: Vec::new() }) };
        let mut pairs = Vec::new();
        for part in axes.split(',') {
            let Some((axis, value)) = part.split_once('=') else {
                let refused = say!(
                    "'{typed}' is not of the form axis=value, with a value of a-z 0-9 _ . + -; write a filter as group, group.probe or group.probe@axis=value",
                    typed = part
                );
                return Err(refused.into());
            };
            for entry in &matching {
                let value = checked_value(entry, axis, value)?;
                match pairs.iter().find(|(known, _): &&(String, String)| known == axis) {
                    Some((_, known)) if *known == value => {}
                    Some((_, known)) => {
                        let (probe, one, other) = (entry.id(), known, value);
                        let refused =
                            say!("{probe}'s axis {axis} has two values, {one} and {other}; give one, or two filters");
                        return Err(refused.into());
                    }
                    None => pairs.push((axis.to_owned(), value)),
                }
            }
        }
        Ok(Filter { probes, pairs })
    }

    pub fn picks(&self, entry: &Entry) -> bool {
        self.probes.contains(&entry.id())
    }

    /// The places of the planned cases that have the filter's values; where there is none, the default point with those values.
    fn points(&self, entry: &Entry, planned: &CasesByValue, host: &HostFacts) -> (Vec<usize>, Option<Params>) {
        let settled = |(axis, value): &(String, String)| {
            let axes = entry.axes();
            let known = axes.iter().find(|known| known.name == axis);
            (axis.clone(), known.map_or_else(|| value.clone(), |known| known.on(host, value)))
        };
        let pairs: Vec<(String, String)> = self.pairs.iter().map(settled).collect();
        let places = planned.having(&pairs);
        if !places.is_empty() {
            return (places, None);
        }
        // An axis that the cases of this host do not have, as that of cores which are all alike: the case says so.
        let mut point = planned.cases[0].clone();
        for (axis, value) in &pairs {
            match point.get(axis) {
                Some(_) => point = point.with(axis, value),
                None if entry.axes().iter().any(|known| known.name == axis && known.default == value) => {}
                None => point.0.push((axis.clone(), value.clone())),
            }
        }
        (places, Some(point))
    }
}

/// The planned cases and where each value stands among them: so that thousands of filters do not look at thousands of cases each.
struct CasesByValue<'a> {
    cases: &'a [Params],
    places: HashMap<(&'a str, &'a str), Vec<usize>>,
}

impl CasesByValue<'_> {
    fn of(cases: &[Params]) -> CasesByValue<'_> {
        let mut places: HashMap<_, Vec<usize>> = HashMap::new();
        for (place, params) in cases.iter().enumerate() {
            for (axis, value) in &params.0 {
                places.entry((axis.as_str(), value.as_str())).or_default().push(place);
            }
        }
        CasesByValue { cases, places }
    }

    /// The places of those that have all these values.
    fn having(&self, pairs: &[(String, String)]) -> Vec<usize> {
        let has_all = |&place: &usize| {
            let case = &self.cases[place];
            pairs.iter().all(|(axis, value)| case.get(axis) == Some(value))
        };
        let of_each = pairs.iter().map(|(axis, value)| self.places.get(&(axis.as_str(), value.as_str())));
        match of_each.map(|places| places.map_or(&[][..], Vec::as_slice)).min_by_key(|places| places.len()) {
            Some(fewest) => fewest.iter().copied().filter(has_all).collect(),
            None => (0..self.cases.len()).collect(),
        }
    }
}

pub(super) struct Selection {
    filters: Vec<Filter>,
    /// Sources of the picked probes that are computed, each with its probe's id.
    sources: Vec<(String, Source)>,
}

impl Selection {
    pub fn parse(catalogue: Catalogue, filters: &[String]) -> Result<Selection, PlanError> {
        // One that is said again, be it in other words, picks nothing more.
        let (mut texts, mut seen) = (HashSet::new(), HashSet::new());
        let filters = filters.iter().filter(|text| texts.insert(*text));
        let mut filters = filters.map(|text| Filter::parse(catalogue, text)).collect::<Result<Vec<_>, _>>()?;
        filters.retain(|filter| {
            let mut pairs = filter.pairs.clone();
            pairs.sort();
            seen.insert((filter.probes.clone(), pairs))
        });
        let mut selection = Selection { filters, sources: Vec::new() };
        for entry in entries(catalogue).filter(|entry| selection.picks(entry)).collect::<Vec<_>>() {
            if let Measure::Derive { from, .. } = entry.probe.measure {
                selection.sources.extend(from.iter().map(|source| (entry.id(), *source)));
            }
        }
        Ok(selection)
    }

    /// Tells whether the person asked for the probe; without filters, for all of them.
    pub fn picks(&self, entry: &Entry) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| filter.picks(entry))
    }

    /// Tells whether the probe is picked, or one that is picked is computed from it.
    pub fn has(&self, entry: &Entry) -> bool {
        self.picks(entry) || !self.needed(entry).is_empty()
    }

    /// Returns the picked probes that are computed from this one, and what each needs of it.
    fn needed(&self, entry: &Entry) -> Vec<&(String, Source)> {
        let id = entry.id();
        self.sources.iter().filter(|(_, source)| source.probe == id).collect()
    }

    /// The probes for whose sake alone this one is there; none where the person asked for it.
    pub fn brought_by(&self, entry: &Entry) -> Vec<String> {
        match self.picks(entry) {
            true => Vec::new(),
            false => self.needed(entry).into_iter().map(|(id, _)| id.clone()).collect(),
        }
    }

    /// The planned cases that are asked for or needed, then those asked for beyond; none that a computed probe cannot use here.
    pub fn points(&self, entry: &Entry, planned: &[Params], host: &HostFacts) -> Vec<Params> {
        if self.filters.is_empty() {
            return planned.to_vec();
        }
        let by_value = CasesByValue::of(planned);
        let (mut is_asked, mut beyond) = (vec![false; planned.len()], Vec::new());
        for (_, source) in self.needed(entry) {
            let needed: Vec<usize> =
                (0..planned.len()).filter(|&place| source.needs(&planned[place], &planned[0])).collect();
            // Where this host and profile have but one point along the axes, there is nothing to compare.
            if needed.len() > 1 || source.axes().is_none_or(<[_]>::is_empty) {
                needed.into_iter().for_each(|place| is_asked[place] = true);
            }
        }
        for filter in self.filters.iter().filter(|filter| filter.picks(entry)) {
            let (places, point) = filter.points(entry, &by_value, host);
            places.into_iter().for_each(|place| is_asked[place] = true);
            beyond.extend(point);
        }
        let asked = planned.iter().zip(is_asked).filter(|(_, is_asked)| *is_asked).map(|(params, _)| params.clone());
        asked.chain(beyond).collect()
    }
}

/// Everything that was set; what names its probes more closely comes later, and counts.
pub(super) struct Sets(Vec<Set>);

struct Set {
    /// Setting as typed, and the filter for its probes.
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
        let malformed = || {
            say!(
                "'{what}' is not of the form [PROBE:]AXIS=V1,V2; write --set size=4K,1M or --set memory.read:size=4K",
                what = typed
            )
        };
        let (place, values) = typed.split_once('=').ok_or_else(malformed)?;
        let (scope, axis) = match place.split_once(':') {
            Some((name, axis)) => (Scope::of(catalogue, name)?, axis),
            None => (Scope::Everything, place),
        };
        if axis.is_empty() {
            return Err(malformed().into());
        }
        let values = values.split(',').map(str::to_owned).collect();
        Ok(Set { typed: typed.to_owned(), scope, axis: axis.to_owned(), values })
    }
}

impl Scope {
    fn has(&self, entry: &Entry) -> bool {
        match self {
            Scope::Everything => true,
            Scope::Group(probes, _) => probes.contains(&entry.id()),
            Scope::Probe(probe) => *probe == entry.id(),
        }
    }

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
            let [one, other] = [&pair[0].typed, &pair[1].typed];
            return Err(say!("--set {one} and --set {other} set the same axis; give all its values in one").into());
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
            let set = self.0.iter().rfind(|set| set.axis == axis.name && set.scope.has(entry))?;
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

    /// Rejects settings that change nothing.
    pub(super) fn check(&self, selected: &[Entry], host: &HostFacts, peers: &[String]) -> Result<(), PlanError> {
        for Set { typed, scope, axis, .. } in &self.0 {
            let mut meant = selected.iter().filter(|entry| scope.has(entry)).peekable();
            let is_selected = meant.peek().is_some();
            let mut known: Vec<&str> = Vec::new();
            for axis in meant.flat_map(|entry| entry.axes_on(host, peers)) {
                if !known.contains(&axis.name) {
                    known.push(axis.name);
                }
            }
            if known.contains(&axis.as_str()) {
                continue;
            }
            let refused = match scope {
                Scope::Probe(probe) if is_selected => unknown_axis(probe, axis, &known),
                _ if known.is_empty() => {
                    let set = typed;
                    say!("--set {set} is for no selected probe; select one that has this axis, or leave it out")
                }
                _ => say!("no selected probe has an axis '{axis}'; use {known}", known = known.join(", ")),
            };
            return Err(refused.into());
        }
        Ok(())
    }
}

/// Turns cells, which name the axes off their defaults, into a plan with derived cells' sources. They replace the request's filters.
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

/// Returns the cells with a value for each named axis. Computed cells keep the name alone: their cases follow from their sources.
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
            return Err(PlanError::UnknownProbe(cell.probe.clone(), None));
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
    let found = axes.iter().find(|known| known.name == axis);
    let found = found.ok_or_else(|| unknown_axis(&entry.id(), axis, &entry.probe.axis_names()))?;
    Ok(swept.points(found))
}

#[cfg(test)]
#[path = "selection_tests.rs"]
mod tests;
