//! Kept data of a turn of a series: a thousand whole runs would take gigabytes.

use std::collections::BTreeMap;

use hostmark_model::timestamp::Timestamp;
use hostmark_model::{Better, Run, SeriesTurn, Text, Unit};
use hostmark_stats::descriptive::median;
use serde::Serialize;

use crate::compare::facts::facts;
use crate::constants;
use crate::duration::duration_s;
use crate::findings::steal::stolen_ns;
use crate::neighbours::of_rounds;
use crate::words;

/// Facts that change from turn to turn, and explain nothing.
const FLEETING: [&str; 1] = ["settings."];

/// Quantity measured over time: a constant, or a case where a series measures others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Subject {
    /// Case, and its further quantity.
    pub key: String,
    pub name: Text<String>,
    pub unit: Unit,
    pub better: Better,
}

impl Subject {
    /// The logarithm of a value, more being better.
    pub(super) fn goodness(&self, value: f64) -> f64 {
        if self.better == Better::Lower { -value.ln() } else { value.ln() }
    }

    pub(super) fn value(&self, goodness: f64) -> f64 {
        if self.better == Better::Lower { (-goodness).exp() } else { goodness.exp() }
    }
}

/// Other load of the machine in a turn, as its run recorded it; absent where it did not.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Company {
    /// The share of its time that the hypervisor gave to others.
    pub steal: Option<f64>,
    /// The share of the CPUs' time that other programs used.
    pub others: Option<f64>,
    /// The share of looks at a core in which another thread ran on it too.
    pub core_shared: Option<f64>,
    /// The median of the looks at the last cache, ns.
    pub last_cache_ns: Option<f64>,
    /// The share of its time in which a quota stopped it.
    pub throttled: Option<f64>,
    /// The share of its time in which what it measured was ready to run and did not.
    pub waited: Option<f64>,
    /// The hottest that its processors were, degrees Celsius.
    pub celsius: Option<f64>,
}

#[derive(Debug, Clone)]
pub struct Turn {
    pub host: String,
    /// The file's name.
    pub name: String,
    pub started: Timestamp,
    pub series: Option<SeriesTurn>,
    pub values: Vec<(Subject, f64)>,
    pub company: Company,
    /// Facts of the machine: by key what it is called and what it is.
    pub facts: BTreeMap<String, (Text<String>, String)>,
}

impl Turn {
    /// Keeps the data of a run; none for one that has no time or no value.
    pub fn of(run: &Run) -> Option<Turn> {
        let values = values(run);
        let started = Timestamp::parse(&run.started).filter(|_| !values.is_empty())?;
        let is_lasting = |key: &str| !FLEETING.iter().any(|kind| key.starts_with(kind));
        let known = facts(run).into_iter().filter(|fact| is_lasting(&fact.key));
        Some(Turn {
            host: run.host.hostname.clone(),
            name: run.name.clone(),
            started,
            series: run.series.clone(),
            values,
            company: company(run),
            facts: known.filter_map(|fact| Some((fact.key, (fact.label, fact.value?)))).collect(),
        })
    }
}

/// Turns at least that a new one is held against as it ends.
const LEAST_BEFORE: usize = 3;
/// Least slowdown that is reported.
const SLOWER: f64 = 1.25;

/// The subjects in which a turn is slower than the turns before it at their median, and how many times; the slowest first.
pub fn slower<'a>(turn: &'a Turn, before: &[Turn]) -> Vec<(&'a Subject, f64)> {
    let usual = |key: &str| {
        let of = |turn: &Turn| turn.values.iter().find(|(subject, _)| subject.key == key).map(|(_, value)| *value);
        let values: Vec<f64> = before.iter().filter_map(of).collect();
        median(&values).filter(|_| values.len() >= LEAST_BEFORE)
    };
    let times = |(subject, value): &'a (Subject, f64)| {
        let times = subject.goodness(usual(&subject.key)?) - subject.goodness(*value);
        Some((subject, times.exp())).filter(|(_, times)| times.is_finite() && *times >= SLOWER)
    };
    let mut slower: Vec<(&Subject, f64)> = turn.values.iter().filter_map(times).collect();
    slower.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    slower
}

/// The constants of a run; of one whose person named cases these.
fn values(run: &Run) -> Vec<(Subject, f64)> {
    let of_constants = constants::of_run(run).into_iter().flat_map(|(_, all)| {
        let of_line = |constant: constants::ConstantValue| {
            let key = match constant.quantity() {
                "" => constant.key(),
                quantity => format!("{}:{quantity}", constant.key()),
            };
            (
                Subject { key, name: constant.row.to_owned_text(), unit: constant.unit, better: constant.better },
                constant.estimate.value(),
            )
        };
        all.into_iter().map(of_line)
    });
    let of_cases = run.cases.iter().filter_map(|case| {
        let info = run.probes.iter().find(|info| info.id == case.probe)?;
        let (value, key) = (case.measured()?.estimate.value(), case.id.clone());
        let subject = Subject { name: words(&key), key, unit: info.unit, better: info.better };
        (value > 0.0).then_some((subject, value))
    });
    let all: Vec<(Subject, f64)> =
        if run.settings.filters.is_empty() { of_constants.collect() } else { of_cases.collect() };
    all.into_iter().filter(|(subject, value)| value.is_finite() && subject.better != Better::Neither).collect()
}

fn company(run: &Run) -> Company {
    let whole_ns = duration_s(run).map(|seconds| seconds * 1e9).filter(|ns| *ns > 0.0);
    let share = |ns: f64| whole_ns.map(|whole_ns| (ns / whole_ns).min(1.0));
    let measured = || run.cases.iter().filter_map(|case| case.measured());
    let knows_steal = measured().any(|one| one.noise.steal_ns.is_some());
    let steal_ns: f64 = run.cases.iter().filter_map(stolen_ns).sum();
    let throttled: Vec<f64> = measured().filter_map(|one| one.noise.throttled_ns).collect();
    let looks = run.neighbours.as_ref().and_then(|neighbours| neighbours.last_cache.as_ref());
    Company {
        steal: share(steal_ns).filter(|_| knows_steal),
        // What a file does not say of the whole run, its rounds say at least.
        others: run.others_share.or_else(|| of_rounds(measured().flat_map(|one| &one.rounds))),
        core_shared: run.neighbours.as_ref().and_then(|neighbours| neighbours.core_shared),
        last_cache_ns: looks.and_then(|looks| median(&looks.looks_ns)),
        throttled: share(throttled.iter().sum()).filter(|_| !throttled.is_empty()),
        waited: share(measured().map(|one| one.noise.run_delay_ns).sum()),
        celsius: run.hottest_celsius,
    }
}
