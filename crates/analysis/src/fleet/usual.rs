//! Position of hosts in what is usual for servers of their design, whatever the other hosts of the fleet are like.

use hostmark_model::{Better, CaseId, Message, Run};
use serde::Serialize;

use super::slim::{SlimCase, SlimOutcome, SlimProbe};
use crate::constants;
use crate::references::{Counterpart, Reference, ReferenceValue, Standing, usual};

/// Position of a host's value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BesideUsual {
    pub id: String,
    pub standing: Standing,
    /// Delivered rate over the near end of the usual range: below 1 is worse; 1 within it, and where it is not known.
    pub over: f64,
    #[serde(skip)]
    known: UsualRange,
    #[serde(skip)]
    words: Message,
}

#[derive(Debug, Clone, PartialEq)]
struct UsualRange {
    name: Message,
    range: Message,
    machine: Message,
}

/// A case of a kind of hosts beside what is usual.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseBesideUsual {
    pub name: Message,
    /// `87.7 … 119 ns`.
    pub range: Message,
    pub machine: Message,
    pub better: usize,
    pub within: usize,
    /// Hosts that deliver less, and by which factor, the worst first.
    pub worse: Vec<(String, f64)>,
    /// Hosts without a verdict, and the reason.
    pub unknown: Vec<(String, Message)>,
}

impl CaseBesideUsual {
    /// Hosts of which it is known.
    pub fn judged(&self) -> usize {
        self.better + self.within + self.worse.len()
    }

    /// Tells whether most of the hosts with a verdict deliver less than is usual.
    pub fn is_slow_as_a_whole(&self) -> bool {
        2 * self.worse.len() > self.judged()
    }
}

/// Positions of a run's values.
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
    let id: CaseId = value.id.parse().ok()?;
    // Without its probe nobody asked for it.
    let probe = probes.iter().find(|probe| probe.id == id.probe)?;
    let measured = cases.iter().find(|case| case.id == value.id).and_then(|case| match &case.outcome {
        SlimOutcome::Measured(measured) => Some(measured),
        _ => None,
    });
    let unit = value.unit_beside(probe.unit);
    let better = if unit == probe.unit { probe.better } else { Better::Lower };
    let found = measured.and_then(|measured| {
        Some(Counterpart { estimate: measured.quantity(&value.quantity)?, flags: &measured.flags, unit, better })
    });
    let (standing, over, words) = match (found, measured) {
        (Some(found), _) => {
            let verdict = value.verdict(&found, true);
            let why = verdict.standing.why_none().map(Message::from);
            (verdict.standing, if why.is_some() { 1.0 } else { verdict.better }, why.unwrap_or(verdict.words.into()))
        }
        (None, measured) => {
            let standing = if measured.is_some() { Standing::NoCycles } else { Standing::NotMeasured };
            (standing, 1.0, standing.why_none().unwrap_or_default().into())
        }
    };
    let name = constants::name_of(&value.id).map_or_else(|| Message::plain(&value.id), Message::from);
    let range = value.range(unit).unwrap_or_default();
    let machine = reference.machine_and_source(reference.machine_for(&run.host));
    let known = UsualRange { name, range, machine };
    Some(BesideUsual { id: value.id.clone(), standing, over, known, words })
}

/// The same of all hosts of a kind, case by case.
pub(super) fn of_kind<'a>(hosts: impl Iterator<Item = (&'a str, &'a [BesideUsual])>) -> Vec<CaseBesideUsual> {
    let mut cases: Vec<CaseBesideUsual> = Vec::new();
    for (host, usual) in hosts {
        for beside in usual {
            let known = &beside.known;
            let is_it = |case: &CaseBesideUsual| (&case.name, &case.range) == (&known.name, &known.range);
            let place = cases.iter().position(is_it).unwrap_or_else(|| {
                let UsualRange { name, range, machine } = known.clone();
                let (worse, unknown) = (Vec::new(), Vec::new());
                cases.push(CaseBesideUsual { name, range, machine, better: 0, within: 0, worse, unknown });
                cases.len() - 1
            });
            let case = &mut cases[place];
            match beside.standing {
                Standing::Better => case.better += 1,
                Standing::Worse => case.worse.push((host.to_owned(), beside.over.recip())),
                Standing::Within | Standing::PerhapsBetter => case.within += 1,
                _ => case.unknown.push((host.to_owned(), beside.words.clone())),
            }
        }
    }
    cases.iter_mut().for_each(|case| case.worse.sort_by(|one, other| other.1.total_cmp(&one.1)));
    cases
}
