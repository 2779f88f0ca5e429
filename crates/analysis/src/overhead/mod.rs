//! Overhead of an environment or a case over another, in percent of a named base. Runs of one name are one environment, the first the base.

mod conclusions;
mod environment;
mod pairs;
mod remarks;
mod sheet;
mod stream;
mod tables;
mod value;

use std::collections::HashMap;

use hostmark_model::{CaseRecord, Guest, Message, Run, Text};

pub use conclusions::{ClaimVerdict, LayerConclusion};

use self::sheet::FAMILIES;
use crate::bars::Bars;
use crate::groups::grouped;
use crate::plain_table::{Row, Table};
use crate::propagated::Propagated;
use crate::typography::COLON;
use sheet::Sheet;

/// An environment: a bare machine, a guest, a container.
#[derive(Debug, Clone)]
pub struct Environment<'a> {
    /// The name that its runs have in common.
    pub name: &'a str,
    pub runs: Vec<&'a Run>,
    /// The cases of each run by id; of two with one id the first.
    cases: Vec<HashMap<&'a str, &'a CaseRecord>>,
}

impl<'a> Environment<'a> {
    fn new(name: &'a str, runs: Vec<&'a Run>) -> Environment<'a> {
        let by_id = |run: &&'a Run| run.cases.iter().rev().map(|case| (case.id.as_str(), case)).collect();
        Environment { name, cases: runs.iter().map(by_id).collect(), runs }
    }

    /// The case `id` of each run that has it, with the run's index.
    fn cases_of(&self, id: &str) -> impl Iterator<Item = (usize, &'a CaseRecord)> {
        self.cases.iter().enumerate().filter_map(move |(at, cases)| Some((at, *cases.get(id)?)))
    }

    pub(crate) fn typed_id(&self, id: &str) -> String {
        self.runs.first().map_or_else(|| id.to_owned(), |run| run.typed_id(id))
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableGroup {
    /// Title over them; none where they need none.
    pub title: Option<Text>,
    pub tables: Vec<Table>,
    pub bars: Vec<Bars>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overhead {
    /// Remarks that readers need before the tables.
    pub remarks: Vec<Message>,
    pub parts: Vec<TableGroup>,
    /// Conclusions, as far as these runs tell.
    pub conclusions: Vec<LayerConclusion>,
}

/// The environment that the others are held against, where one is called so.
const BASE: &str = "native";
/// The environment that is not held to the size of the others; a value of it is shown, and never a base.
const FREE: &str = "native-free";

impl Environment<'_> {
    /// Tells whether it has all of its machine.
    pub(crate) fn is_free(&self) -> bool {
        self.name == FREE
    }

    /// The virtual machine of its runs, where the one who ordered them started it.
    pub(crate) fn guest(&self) -> Option<&Guest> {
        self.runs.iter().find_map(|run| run.guest.as_deref())
    }

    /// Tells whether its instructions are emulated by software.
    pub(crate) fn is_emulated(&self) -> bool {
        self.guest().is_some_and(Guest::is_emulated)
    }
}

/// The environments of `runs` by first appearance, but the bare machine first, and what has all of its machine last.
pub fn environments(runs: &[Run]) -> Vec<Environment<'_>> {
    let named = grouped(runs.iter().map(|run| (run.name.as_str(), run)));
    let mut all: Vec<Environment> = named.into_iter().map(|(name, runs)| Environment::new(name, runs)).collect();
    all.sort_by_key(|one| (one.name != BASE, one.is_free()));
    all
}

/// Tells whether runs are those of environments, and not any runs beside each other: some have a name in common, one is called the bare
/// machine's, or was measured in a virtual machine that was started for it.
pub fn is_wanted(runs: &[Run]) -> bool {
    let environments = environments(runs);
    let is_named = || environments.iter().any(|one| one.name == BASE || one.guest().is_some());
    environments.len() > 1 && (environments.len() < runs.len() || is_named())
}

/// The view of `runs`. `base`: the case of the first environment under all others; else each family stands over its plain case in the
/// kernel, every other case over itself in the first environment. `all` adds intervals. An error is one sentence.
pub fn overhead(runs: &[Run], base: Option<&str>, all: bool) -> Result<Overhead, String> {
    let environments = environments(runs);
    let Some(first) = environments.first() else { return Ok(Overhead::default()) };
    let base = base.map(|id| pairs::base(first, id)).transpose()?;
    let plain = |tables: Vec<Table>| TableGroup { tables, ..TableGroup::default() };
    let mut view = Overhead { remarks: remarks::of_machines(&environments), ..Overhead::default() };
    match base.filter(|case| !sheet::is_part(case)) {
        Some(case) => view.parts.push(plain(pairs::over(&environments, case, all).into_iter().collect())),
        None => {
            let (sheets, kinds) = (sheets(&environments, base), environment::kinds(&environments));
            view.remarks.extend(remarks::of_sheets(&sheets));
            for sheet in &sheets {
                let tables = tables::tables(sheet, &kinds, all);
                view.parts.push(TableGroup { title: Some(sheet.family.title), tables, bars: Vec::new() });
            }
            view.parts.push(stream::part(&environments, all));
            view.parts.push(plain(pairs::tables(&environments, all).into_iter().collect()));
            // No claim is about an environment that is not held to the size of the others.
            let held = environments.iter().take_while(|one| !one.is_free()).count().max(1);
            let held = &environments[..held];
            view.conclusions = conclusions::draw(&self::sheets(held, base), &kinds);
            view.conclusions.extend(conclusions::of_environments(held, &kinds));
        }
    }
    view.parts.retain(|part| !part.tables.is_empty());
    if environments.len() > 1 && !view.parts.is_empty() {
        view.parts.insert(0, plain(vec![environment::machine_table(&environments)]));
    }
    Ok(view)
}

/// Conclusions from one run alone; its environment has no name, as there is no other.
pub(crate) fn conclusions(run: &Run) -> Vec<LayerConclusion> {
    let environments = [Environment::new("", vec![run])];
    conclusions::draw(&sheets(&environments, None), &environment::kinds(&environments))
}

/// The cases that a table of this view shows: of each family all bindings, and inside the kernel with interrupts on and off.
pub fn cells() -> impl Iterator<Item = (&'static str, Vec<(&'static str, &'static str)>)> {
    FAMILIES.iter().flat_map(|family| family.cells())
}

fn sheets<'a>(environments: &'a [Environment<'a>], named: Option<&CaseRecord>) -> Vec<Sheet<'a>> {
    FAMILIES.iter().map(|family| Sheet::of(family, environments, named)).collect()
}

/// A fraction as the percentage that something lies over its base: `+15.64 %`, `−4.07 %`.
fn over(fraction: f64) -> String {
    let text = format!("{:+.2} %", fraction * 100.0);
    match text.as_str() {
        "+0.00 %" | "-0.00 %" => "0.00 %".to_owned(),
        _ => text.replacen('-', "−", 1),
    }
}

/// Message that a value cannot be compared, with the reason.
fn not_comparable(why: Message) -> Message {
    Message::joined([term!("not comparable").into(), why], COLON)
}

/// A ratio as a percentage of something: `95.93 %`.
fn of(ratio: f64) -> String {
    format!("{:.2} %", ratio * 100.0)
}

/// The cell of a fraction over a base, with its interval where `all` is shown.
fn cell_of(fraction: &Propagated, all: bool) -> Message {
    Message::plain(fraction.text(all, over))
}
