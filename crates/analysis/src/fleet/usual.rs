//! Where hosts lie in what is usual for servers of their design, whatever the other hosts of the fleet are like.

use hostmark_model::{Better, CaseId, Lang, Run, Text};
use serde::Serialize;

use super::slim::{SlimCase, SlimOutcome, SlimProbe};
use crate::bilingual::each;
use crate::levels::Level;
use crate::references::{Reference, ReferenceValue, Standing, usual};

/// Where a value of a host lies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BesideUsual {
    /// The case.
    pub id: String,
    pub standing: Standing,
    /// What is delivered over the near end of what is usual: below 1 is worse; 1 within it.
    pub over: f64,
    #[serde(skip)]
    known: UsualRange,
}

/// What is usual.
#[derive(Debug, Clone, PartialEq)]
struct UsualRange {
    name: String,
    range: String,
    machine: Text<String>,
}

/// A case of a kind of hosts beside what is usual.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseBesideUsual {
    pub name: String,
    /// `87.7 … 119 ns`.
    pub range: String,
    /// Of which servers.
    pub machine: Text<String>,
    pub better: usize,
    /// As usual, or perhaps.
    pub within: usize,
    /// Those that deliver less, and how many times less, the worst first.
    pub worse: Vec<(String, f64)>,
}

/// Where the values of a run lie.
pub(super) fn of_run(run: &Run, probes: &[SlimProbe], cases: &[SlimCase]) -> Vec<BesideUsual> {
    // What another tool measured has cases of its own.
    let Some(reference) = usual(&run.host).filter(|_| run.imported.is_none()) else { return Vec::new() };
    let of_value = |value: &ReferenceValue| of_value(reference, run, value, probes, cases);
    reference.values_for(&run.host).iter().filter_map(of_value).collect()
}

fn of_value(
    reference: &Reference,
    run: &Run,
    value: &ReferenceValue,
    probes: &[SlimProbe],
    cases: &[SlimCase],
) -> Option<BesideUsual> {
    let case = cases.iter().find(|case| case.id == value.id)?;
    let probe = probes.iter().find(|probe| probe.id == case.probe)?;
    let SlimOutcome::Measured(measured) = &case.outcome else { return None };
    let [low, high] = value.interval?;
    let standing = value.standing(&measured.estimate, &measured.flags, probe.better);
    let here = measured.estimate.value();
    let near = here.clamp(low, high);
    let over = match standing {
        Standing::Worse | Standing::Better if probe.better == Better::Lower => near / here,
        Standing::Worse | Standing::Better => here / near,
        Standing::Within => 1.0,
        Standing::NoInterval | Standing::OtherMethod | Standing::NoDirection => return None,
    };
    let level = case.id.parse::<CaseId>().ok().and_then(|id| Level::of(id.params.get("level")?));
    let known = UsualRange {
        name: level.map_or_else(|| case.id.clone(), |level| level.name.to_owned()),
        range: value.range(probe.unit, Lang::En)?,
        machine: each(|lang| reference.machine_and_source(reference.machine_for(&run.host), lang)),
    };
    Some(BesideUsual { id: case.id.clone(), standing, over, known })
}

/// The same of all hosts of a kind, case by case.
pub(super) fn of_kind<'a>(hosts: impl Iterator<Item = (&'a str, &'a [BesideUsual])>) -> Vec<CaseBesideUsual> {
    let mut cases: Vec<CaseBesideUsual> = Vec::new();
    for (host, usual) in hosts {
        for beside in usual {
            let UsualRange { name, range, machine } = &beside.known;
            let place = cases.iter().position(|case| (&case.name, &case.range) == (name, range)).unwrap_or_else(|| {
                let (name, range, machine) = (name.clone(), range.clone(), machine.clone());
                cases.push(CaseBesideUsual { name, range, machine, better: 0, within: 0, worse: Vec::new() });
                cases.len() - 1
            });
            let case = &mut cases[place];
            match beside.standing {
                Standing::Better => case.better += 1,
                Standing::Worse => case.worse.push((host.to_owned(), beside.over.recip())),
                _ => case.within += 1,
            }
        }
    }
    cases.iter_mut().for_each(|case| case.worse.sort_by(|one, other| other.1.total_cmp(&one.1)));
    cases
}
