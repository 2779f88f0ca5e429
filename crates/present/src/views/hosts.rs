//! Several runs beside each other: where each was measured, what differs between their machines, and the constants of each.

use std::collections::{HashMap, HashSet};

use hostmark_analysis::compare::{FactOfRuns, differing};
use hostmark_analysis::escape::visible;
use hostmark_analysis::format::amount;
use hostmark_analysis::labels::run_letter;
use hostmark_analysis::typography::{COLON, COMMA};
use hostmark_model::{CaseRecord, Message, Run, Text, Unit};
use hostmark_say::say;
use unicode_width::UnicodeWidthStr;

use super::comparison::known;
use super::{constants, run};
use crate::document::{Align, Block, Cell, Column, Document, NamedParty, Remark, Row, Style, Table, TableLayout};
use crate::words;

/// A name of a run may be this wide over its column; a longer one has a letter in its place.
const WIDEST_NAME: usize = 14;

/// Columns that one value of a fact may take, unless everything is asked for: the flags of a CPU fill a page.
const LONGEST_VALUE: usize = 100;

const TRUST: Text = term!("trust");

pub(crate) fn hosts(runs: &[Run]) -> Document {
    let names = names(runs);
    let machines: Vec<Vec<Message>> = runs.iter().map(machine).collect();
    let are_one = machines.windows(2).all(|pair| pair[0] == pair[1]);
    let named = |((run, name), machine): ((&Run, &String), &Vec<Message>)| NamedParty {
        role: name.into(),
        name: if *name == run.name { String::new() } else { run.name.clone() },
        facts: if are_one { Vec::new() } else { machine.clone() },
        ..NamedParty::default()
    };
    let mut all: Vec<NamedParty> = runs.iter().zip(&names).zip(&machines).map(named).collect();
    all.extend(
        machines.into_iter().next().filter(|_| are_one).map(|facts| NamedParty { facts, ..NamedParty::default() }),
    );
    let (differ, same_facts) = differing(runs);
    let rows = differ.iter().map(|fact| differing_row(fact, &names)).collect();
    let (title, caption) = super::comparison::differing(differ.len(), same_facts);
    let columns = vec![Column::default(), Column { longest: Some(LONGEST_VALUE), ..Column::default() }];
    let facts = Table { title, caption, columns, rows, layout: TableLayout::Labels, ..Table::default() };
    // One run differs from none.
    let facts = (runs.len() > 1).then_some(Block::Table(facts));
    let constants = match constants::beside(runs, &names) {
        Some(mut table) => {
            table.title = std::mem::take(&mut table.caption);
            table.rows.splice(..0, trust(runs));
            Block::Table(table)
        }
        None => {
            values(runs, &names).map_or_else(|| Block::Sentence(words::NO_CASES.into(), Style::Plain), Block::Table)
        }
    };
    let verdict = |run: usize| Remark::new(constants::verdict(runs, run, &names[run]), Style::Heading);
    let verdicts = (runs.len() > 1).then(|| Block::Remarks((1..runs.len()).map(verdict).collect()));
    [verdicts, Some(Block::Named(all)), Some(constants), facts].into_iter().flatten().collect()
}

/// Values of runs that have none of the constants, as those of other tools; none where nothing was measured.
fn values(runs: &[Run], names: &[String]) -> Option<Table> {
    /// Cases that are listed; the rest is counted.
    const LISTED: usize = 40;
    let by_id: Vec<HashMap<&str, &CaseRecord>> =
        runs.iter().map(|run| run.cases.iter().map(|case| (case.id.as_str(), case)).collect()).collect();
    let mut seen: HashSet<&str> = HashSet::new();
    let cases = runs.iter().flat_map(|run| run.cases.iter().map(move |case| (run, case)));
    let cases = cases.filter(|(_, case)| case.measured().is_some() && seen.insert(&case.id));
    let cases: Vec<(&Run, &CaseRecord)> = cases.collect();
    let row = |(run, case): &(&Run, &CaseRecord)| {
        let unit = run.probes.iter().find(|probe| probe.id == case.probe).map_or(Unit::Count, |probe| probe.unit);
        let of_run = |cases: &HashMap<&str, &CaseRecord>| {
            let measured = cases.get(case.id.as_str()).and_then(|case| case.measured());
            measured.map_or_else(|| Message::plain("–"), |one| amount(one.estimate.value(), unit)).into()
        };
        let label = Message::plain(visible(&run.typed_id(&case.id)));
        Row { cells: std::iter::once(label.into()).chain(by_id.iter().map(of_run)).collect(), ..Row::default() }
    };
    let more = cases.len().saturating_sub(LISTED);
    let table = Table {
        title: term!("Values").into(),
        caption: if more > 0 { say!("{more} more: --format markdown") } else { Message::default() },
        columns: std::iter::once(Column::default())
            .chain(names.iter().map(|name| Column { style: Style::Run, ..Column::new(name, Align::Point) }))
            .collect(),
        rows: cases.iter().take(LISTED).map(row).collect(),
        layout: TableLayout::Runs,
        ..Table::default()
    };
    (!cases.is_empty()).then_some(table)
}

/// Machine and place of a run.
fn machine(run: &Run) -> Vec<Message> {
    std::iter::once(Message::plain(&run.host.hostname)).chain(run::machine(run)).chain(run::place(run)).collect()
}

/// Headings of the runs' columns: names where all are short and unique, else letters.
fn names(runs: &[Run]) -> Vec<String> {
    let is_short = |run: &Run| !run.name.is_empty() && run.name.width() <= WIDEST_NAME;
    let is_alone = |run: &Run| runs.iter().filter(|other| other.name == run.name).count() == 1;
    match runs.iter().all(|run| is_short(run) && is_alone(run)) {
        true => runs.iter().map(|run| run.name.clone()).collect(),
        false => (0..runs.len()).map(run_letter).collect(),
    }
}

/// A fact that is not the same everywhere: each value once, behind those that have it.
fn differing_row(fact: &FactOfRuns, names: &[String]) -> Row {
    let mut groups: Vec<(&Option<String>, Vec<Message>)> = Vec::new();
    for (value, name) in fact.values.iter().zip(names) {
        match groups.iter_mut().find(|(known, _)| *known == value) {
            Some((_, whose)) => whose.push(name.into()),
            None => groups.push((value, vec![name.into()])),
        }
    }
    let line = |(value, whose): (&Option<String>, Vec<Message>)| {
        Message::joined([Message::joined(whose, COMMA), known(value)], COLON)
    };
    let values = Cell { lines: groups.into_iter().map(line).collect(), ..Cell::default() };
    Row { cells: vec![(&fact.label.clone()).into(), values], ..Row::default() }
}

/// Grade of each run, where it is known of any.
fn trust(runs: &[Run]) -> Option<Row> {
    let grade = |run: &Run| Message::plain(run.trust.as_ref().map_or("–", |trust| trust.grade.letter())).into();
    let label = Cell { text: TRUST.into(), style: Style::Dim, ..Cell::default() };
    let row = || Row { cells: std::iter::once(label).chain(runs.iter().map(grade)).collect(), ..Row::default() };
    runs.iter().any(|run| run.trust.is_some()).then(row)
}
