//! Turns of a watch: their values and company, what came together, and gaps between turns.

use std::collections::BTreeMap;

use hostmark_model::timestamp::Timestamp;
use hostmark_model::{Better, Run, SeriesTurn, Text, Unit};
use hostmark_stats::descriptive::{median, quantile};
use serde::Serialize;

use crate::compare::facts::facts;
use crate::duration::duration_s;
use crate::findings::steal::stolen_ns;
use crate::neighbours::of_rounds;
use crate::{constants, words};

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
        // More than there was is a broken counter.
        steal: share(steal_ns).filter(|_| knows_steal && whole_ns.is_some_and(|whole_ns| steal_ns <= whole_ns)),
        // What a file does not say of the whole run, its rounds say at least.
        others: run.others_share.or_else(|| of_rounds(measured().flat_map(|one| &one.rounds))),
        core_shared: run.neighbours.as_ref().and_then(|neighbours| neighbours.core_shared),
        last_cache_ns: looks.and_then(|looks| median(&looks.looks_ns)),
        throttled: share(throttled.iter().sum()).filter(|_| !throttled.is_empty()),
        waited: share(measured().map(|one| one.noise.run_delay_ns).sum()),
        celsius: run.hottest_celsius,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The hypervisor gave the CPU to other guests.
    Steal,
    Throttling,
    /// Other programs of this system used the CPUs.
    Others,
    /// Another thread ran on its core.
    CoreShared,
    /// The last cache took longer, as others use it.
    LastCache,
    /// The processors were hotter.
    Temperature,
    /// Waits for a CPU that no other cause explains: a quota that cannot be seen from inside.
    Waited,
}

/// Cause that was higher than at other times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Together {
    pub cause: Cause,
    /// Median then and at other times: shares of the time, ns of the last cache, or degrees Celsius.
    pub then: f64,
    pub otherwise: f64,
}

/// Reader of a cause, and the least increase that counts: a difference of shares or degrees, or a share of the last cache's time.
type Read = (Cause, fn(&Company) -> Option<f64>, f64);

/// All causes, those first that explain the most.
const CAUSES: [Read; 7] = [
    (Cause::Throttling, |company| company.throttled, 0.02),
    (Cause::Steal, |company| company.steal, 0.02),
    (Cause::Others, |company| company.others, 0.05),
    (Cause::CoreShared, |company| company.core_shared, 0.05),
    // A fifth more.
    (Cause::LastCache, |company| company.last_cache_ns, 0.2),
    // A program more makes a processor some degrees hotter, and slows nothing by that.
    (Cause::Temperature, |company| company.celsius, 10.0),
    (Cause::Waited, |company| company.waited, 0.05),
];
/// Share of the other turns in which the cause must be lower.
const MOSTLY: f64 = 0.9;

/// Causes that are higher in these turns than in the others.
pub(super) fn together(turns: &[Turn], then: &[usize], others: &[usize]) -> Vec<Together> {
    let of = |(cause, read, least): &Read| {
        let values = |which: &[usize]| -> Vec<f64> {
            which.iter().filter_map(|turn| read(&turns.get(*turn)?.company)).collect()
        };
        let (now, usual) = (values(then), values(others));
        let (now, middle, most) = (median(&now)?, median(&usual)?, quantile(&usual, MOSTLY)?);
        let more = if *cause == Cause::LastCache { now / middle - 1.0 } else { now - middle };
        (more >= *least && now > most).then_some(Together { cause: *cause, then: now, otherwise: middle })
    };
    let mut found: Vec<Together> = CAUSES.iter().filter_map(of).collect();
    // Whoever has a CPU makes others wait for it.
    let is_had = found.iter().any(|one| matches!(one.cause, Cause::Throttling | Cause::Steal | Cause::Others));
    found.retain(|one| one.cause != Cause::Waited || !is_had);
    found
}

/// The causes of which any turn tells.
pub(super) fn recorded(turns: &[Turn]) -> Vec<Cause> {
    let is_told = |(_, read, _): &&Read| turns.iter().any(|turn| read(&turn.company).is_some());
    CAUSES.iter().filter(is_told).map(|(cause, ..)| *cause).collect()
}

/// Least time from turn to turn that is a gap, in multiples of the usual one.
const LEAST: f64 = 1.5;
/// The fact that tells one boot of a machine from another.
const BOOT: &str = "host.boot_id";

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gap {
    /// Start of the turns before it and behind it.
    pub from: String,
    pub to: String,
    /// Delay of the overdue turn, seconds.
    pub seconds: f64,
    /// True where the machine was rebooted meanwhile, where that is known.
    pub restarted: Option<bool>,
}

/// Ages from which on a series has one turn an hour, and one a day, days, and these times in seconds.
pub const THINNED: [(i64, f64); 2] = [(7, 3600.0), (30, 86_400.0)];

/// Usual time from the turns before this one to this, where old turns are thinned.
fn spacing_s(turns: &[Turn], turn: usize, every_s: f64) -> f64 {
    let age_s = turns.last().map_or(0.0, |last| last.started.since(turns[turn - 1].started));
    let thinned = THINNED.iter().filter(|(days, _)| age_s > *days as f64 * 86_400.0);
    thinned.map(|(_, spacing_s)| *spacing_s).fold(every_s, f64::max)
}

/// Tells whether there is a gap between this turn and the one before it. Runs that a person put together have no distance to keep.
pub(super) fn is_before(turns: &[Turn], turn: usize, every_s: f64) -> bool {
    let pair = turn.checked_sub(1).and_then(|before| Some((turns.get(before)?, turns.get(turn)?)));
    pair.is_some_and(|(before, now)| {
        now.series.is_some() && now.started.since(before.started) >= LEAST * spacing_s(turns, turn, every_s)
    })
}

pub(super) fn gaps(turns: &[Turn], every_s: f64) -> Vec<Gap> {
    let of = |turn: usize| {
        let (before, now) = (&turns[turn - 1], &turns[turn]);
        let boots = before.facts.get(BOOT).zip(now.facts.get(BOOT));
        Gap {
            from: before.started.to_string(),
            to: now.started.to_string(),
            seconds: now.started.since(before.started) - spacing_s(turns, turn, every_s),
            restarted: boots.map(|((_, before), (_, now))| before != now),
        }
    };
    (1..turns.len()).filter(|turn| is_before(turns, *turn, every_s)).map(of).collect()
}
