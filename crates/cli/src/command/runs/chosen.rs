//! Cases of runs that are there, as a person asks for them: by filters beside the arguments that name runs.

use anyhow::Result;
use hostmark_analysis::format::unit_name;
use hostmark_engine::plan;
use hostmark_model::{CaseRecord, Exit, Params, PrintedUnit, Run, typed_value};
use hostmark_probes::CATALOGUE;
use hostmark_say::say;

use super::several;
use crate::command::EndsWith;
use crate::language::refuse;
use crate::store;

/// Filters; without one, all cases.
#[derive(Debug, Default)]
pub struct Chosen(Vec<String>);

/// The arguments that name runs, and those that name cases and no run.
pub fn parted(arguments: &[String]) -> (Vec<String>, Chosen) {
    let is_run = |argument: &str| {
        let runs = argument.split_once('=').map_or(argument, |(_, runs)| runs);
        [argument, runs].into_iter().any(|name| several::files(name).is_ok())
    };
    // Probes of other tools are in no catalogue.
    let is_like_a_probe = |name: &str| {
        name.contains('.') && !name.contains('/') && ![".json", ".json.gz"].iter().any(|end| name.ends_with(end))
    };
    let names_cases = |argument: &String| {
        let name = probe_of(argument);
        (is_known(name) || is_like_a_probe(name)) && !is_run(argument)
    };
    let (cases, runs) = arguments.iter().cloned().partition(names_cases);
    (runs, Chosen(cases))
}

impl Chosen {
    /// Leaves of the runs only these cases, and nothing that was said of others. An error where a filter picks none of any run.
    pub fn narrow<'a>(&self, runs: impl Iterator<Item = &'a mut Run>) -> Result<()> {
        let runs: Vec<&mut Run> = runs.collect();
        for filter in &self.0 {
            if !runs.iter().any(|run| run.cases.iter().any(|case| picks(run, filter, case))) {
                return Err(none_of(filter));
            }
        }
        if self.0.is_empty() {
            return Ok(());
        }
        for run in runs {
            let mut cases = std::mem::take(&mut run.cases);
            cases.retain(|case| self.0.iter().any(|filter| picks(run, filter, case)));
            run.probes.retain(|probe| cases.iter().any(|case| case.probe == probe.id));
            run.cases = cases;
            run.findings.clear();
        }
        Ok(())
    }
}

fn none_of(filter: &str) -> anyhow::Error {
    let sentence = say!("there is no case {filter} in what was measured; hostmark report RUN --full lists all that is");
    match store::find(filter) {
        Err(no_run) if !is_known(probe_of(filter)) => no_run,
        _ => EndsWith(Exit::NothingSelected, sentence).into(),
    }
}

/// The name before a filter's axes.
fn probe_of(filter: &str) -> &str {
    filter.split_once('@').map_or(filter, |(name, _)| name)
}

/// Whether it is the name of a group, a probe or a program of lmbench.
fn is_known(name: &str) -> bool {
    plan::pick(CATALOGUE, &[name.to_owned()]).is_ok()
}

/// Whether a filter of a run's cases, as `hostmark run` takes it, picks this one.
fn picks(run: &Run, filter: &str, case: &CaseRecord) -> bool {
    let (name, axes) = filter.split_once('@').unwrap_or((filter, ""));
    let probe = run.probes.iter().find(|probe| probe.id == case.probe);
    let is_named = case.probe == name
        || case.probe.split_once('.').is_some_and(|(group, _)| group == name)
        || probe.is_some_and(|probe| probe.replaces.iter().any(|program| program == name));
    let typed = |axis: &str, value: &str| {
        let axis = probe.and_then(|probe| probe.axes.iter().find(|known| known.name == axis));
        axis.map_or_else(|| value.to_owned(), |axis| typed_value(axis.kind, value))
    };
    let has = |pair: &str| {
        let Some((axis, wanted)) = pair.split_once('=') else { return false };
        case.params.get(axis).is_some_and(|value| value == wanted || typed(axis, value) == wanted)
    };
    is_named && axes.split(',').filter(|pair| !pair.is_empty()).all(has)
}

/// The value of one case of a run, to six digits: in `unit` as a number alone, or in the base unit with its name behind it. Of a probe,
/// that of its default case.
pub fn number(run: &Run, filter: &str, unit: Option<&PrintedUnit>) -> Result<String> {
    let picked: Vec<&CaseRecord> = run.cases.iter().filter(|case| picks(run, filter, case)).collect();
    let case = match picked.as_slice() {
        [] => return Err(none_of(filter)),
        [only] => only,
        // Run files keep catalogue order, a probe's default case first.
        [first, ..] if first.probe == filter || is_of_one_way(run, filter, &first.params) => first,
        [first, ..] => {
            let (count, first) = (picked.len(), run.typed_id(&first.id));
            refuse!("--get {filter} means {count} cases; name one, as {first}")
        }
    };
    let (id, name) = (run.typed_id(&case.id), &run.name);
    let Some(measured) = case.measured() else {
        let sentence = say!("{id} has no value in {name}; hostmark report {name} {id} tells why");
        return Err(EndsWith(Exit::NothingSelected, sentence).into());
    };
    let stored = run.probes.iter().find(|probe| probe.id == case.probe).map(|probe| probe.unit);
    match unit {
        Some(unit) if stored != Some(unit.stored) => {
            refuse!("{id} cannot be told in {unit}; leave --unit out for its base unit", unit = unit.name)
        }
        Some(unit) => Ok(six_digits(measured.estimate.value() / unit.factor)),
        None => {
            let name = stored.map_or("", |unit| unit_name(unit).en);
            Ok(format!("{} {name}", six_digits(measured.estimate.value())).trim_end().to_owned())
        }
    }
}

/// True where a filter names only the first axis of a probe, and a point is at the defaults of the others.
fn is_of_one_way(run: &Run, filter: &str, point: &Params) -> bool {
    let probe = run.probes.iter().find(|probe| probe.id == probe_of(filter));
    let Some([way, others @ ..]) = probe.map(|probe| &probe.axes[..]) else { return false };
    let is_way = |value| filter.ends_with(&format!("@{}={value}", way.name));
    point.get(&way.name).is_some_and(is_way) && others.iter().all(|axis| point.get(&axis.name) == Some(&axis.default))
}

/// A number to six significant digits, without an exponent: more than any value is known to.
fn six_digits(value: f64) -> String {
    format!("{value:.5e}").parse::<f64>().unwrap_or(value).to_string()
}
