//! What a person asked for, and what derived probes need of others.

use std::collections::{HashMap, HashSet};

use hostmark_model::{CaseIdError, HostFacts, Params};

use super::refused::PlanError;
use super::{checked_value, nearest};
use crate::probe::{Catalogue, Entry, Measure, Source, TO, entries};

/// A filter: which probes, and which of their points.
pub(super) struct Filter {
    /// Ids of the probes it picks.
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
            return Err(PlanError::UnknownProbe { name: name.into(), suggestion: nearest(catalogue, name) });
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
                return Err(CaseIdError::Axis(part.to_owned()).into());
            };
            for entry in &matching {
                let value = checked_value(entry, axis, value)?;
                match pairs.iter().find(|(known, _): &&(String, String)| known == axis) {
                    Some((_, known)) if *known == value => {}
                    Some((_, known)) => {
                        let (one, other) = (known.clone(), value);
                        return Err(PlanError::TwoValues { probe: entry.id(), axis: axis.into(), one, other });
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

/// Which cases of which probes a run has.
pub(super) struct Selection {
    filters: Vec<Filter>,
    /// What the picked probes that are computed need, each with its probe's id.
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

    /// Whether the person asked for the probe; without filters, for all of them.
    pub fn picks(&self, entry: &Entry) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| filter.picks(entry))
    }

    /// Whether the probe is picked, or one that is picked is computed from it.
    pub fn has(&self, entry: &Entry) -> bool {
        self.picks(entry) || !self.needed(entry).is_empty()
    }

    /// What is computed from the probe, and what each needs of it.
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

    /// The planned cases that are asked for or needed, in its order, and then what was asked for beyond them; none where
    /// what is computed from the probe can make nothing of it here.
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

#[cfg(test)]
#[path = "selection_tests.rs"]
mod tests;
