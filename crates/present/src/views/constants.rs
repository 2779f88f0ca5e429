//! Key figures: of a run beside what is usual or a reference, of several runs beside each other.

use std::collections::{HashMap, HashSet};

use hostmark_analysis::compare::{FactOfRuns, differing};
use hostmark_analysis::constants::{ConstantOfRuns, ConstantValue, LINES, NOT_KNOWN, name_of, not_measured};
use hostmark_analysis::escape::visible;
use hostmark_analysis::format::{amount, both};
use hostmark_analysis::groups::grouped;
use hostmark_analysis::labels::run_letter;
use hostmark_analysis::references::{Counterpart, NearestReference, Reference, ReferenceValue, Tone, ratio_text};
use hostmark_analysis::typography::{COLON, COMMA};
use hostmark_model::{CaseRecord, Message, Run, Text, Unit};
use hostmark_say::say;
use unicode_width::UnicodeWidthStr;

use super::comparison::known;
use super::comparison::words::sentence;
use super::run;
use crate::document::{Align, Block, Cell, Column, Document, NamedParty, Remark, Row, Style, Table, TableLayout};
use crate::words;

const CAPTION: Text = term!("Key figures");
/// Runs beside each other up to which each value has its range.
const FEW_RUNS: usize = 3;
const HERE: Text = term!("here");
const REPEAT: Text = term!("a repeat");

/// Constants that any run has; none where none has any.
pub(crate) fn constants(runs: &[Run], reference: Option<&NearestReference>) -> Option<Table> {
    match runs {
        [run] => Some(alone(run, figures(runs), reference)).filter(|table| !table.rows.is_empty()),
        _ => beside(runs, &(0..runs.len()).map(run_letter).collect::<Vec<_>>()),
    }
}

type Known<'a> = (Message, ConstantOfRuns<'a>);

fn figures(runs: &[Run]) -> impl Iterator<Item = Known<'_>> {
    LINES.iter().flat_map(|line| line.constants).filter_map(|constant| {
        let beside = constant.beside(runs)?;
        // A percentile says which.
        let which = if beside.name == constant.name { Text::default() } else { beside.name };
        Some((Message::joined([Message::from(constant.row), Message::from(which)], " "), beside))
    })
}

fn alone<'a>(run: &Run, known: impl Iterator<Item = Known<'a>>, reference: Option<&NearestReference>) -> Table {
    let mut is_judged = false;
    let row = |(_, beside): Known| {
        let constant = beside.values[0].as_ref();
        // The value says which percentile it is.
        let name = Message::from(constant.map_or(beside.name, |one| one.row));
        let both = reference.zip(constant);
        let verdict = both.and_then(|(reference, constant)| reference.verdict(constant));
        is_judged |= verdict.is_some();
        let usual = both.filter(|(reference, _)| reference.is_usual());
        let usual =
            usual.map(|(reference, constant)| reference.range_beside(constant).unwrap_or_else(|| NOT_KNOWN.into()));
        let verdict = verdict.map_or_else(Cell::default, |verdict| Cell {
            style: match verdict.tone {
                Tone::Good => Style::Good,
                Tone::Bad => Style::Bad,
                Tone::Plain | Tone::Doubtful => Style::Plain,
            },
            text: verdict.words.into(),
            strip: both.and_then(|(reference, constant)| reference.strip(constant)),
            ..Cell::default()
        });
        let [here, repeat] = constant.map(|one| [one.here(), one.repeat()]).unwrap_or_default();
        let cells = vec![name.into(), here.into(), repeat.into(), usual.unwrap_or_default().into(), verdict];
        Row { cells, ..Row::default() }
    };
    let rows: Vec<Row> = known.map(row).collect();
    let mut notes = not_measured(run);
    notes.extend(reference.filter(|_| is_judged).map(NearestReference::legend));
    // Beside one machine the verdict has the heading, as it has no range.
    let column = |is_usual| reference.filter(|it| it.is_usual() == is_usual).map(NearestReference::column);
    let [usual, machine] = [true, false].map(|is_usual| column(is_usual).unwrap_or_default());
    let heads = [Message::default(), HERE.into(), REPEAT.into(), usual, machine];
    let columns = heads.map(|head| Column::new(head, Align::Left)).into();
    Table { caption: CAPTION.into(), columns, rows, notes, layout: TableLayout::Constants, ..Table::default() }
}

/// Constants of several runs, each in a column of its name.
pub(super) fn beside(runs: &[Run], names: &[String]) -> Option<Table> {
    let row = |(name, beside): Known| {
        let cells = beside.values.iter().map(|one| cell(one.as_ref(), &beside, runs.len() > FEW_RUNS));
        Row { cells: std::iter::once(name.into()).chain(cells).collect(), ..Row::default() }
    };
    let of_run = |name: &String| Column { style: Style::Run, ..Column::new(name, Align::Point) };
    let table = Table {
        caption: CAPTION.into(),
        columns: std::iter::once(Column::default()).chain(names.iter().map(of_run)).collect(),
        rows: figures(runs).map(row).collect(),
        layout: TableLayout::Runs,
        ..Table::default()
    };
    (!table.rows.is_empty()).then_some(table)
}

/// Verdict on a run's key figures over those of the first.
pub(super) fn verdict(runs: &[Run], run: usize, name: &str) -> Message {
    let costs = figures(runs).filter_map(|(name, beside)| Some((beside.cost(run)?, name)));
    let (same, changed): (Vec<_>, Vec<_>) = costs.partition(|(cost, _)| *cost == 1.0);
    let (slower, faster) = changed.into_iter().partition(|(cost, _)| *cost > 1.0);
    let rest = (!same.is_empty()).then(|| say!("cannot tell in {open}", open = same.len()));
    sentence(name, [slower, faster], [rest])
}

/// A value, and the range of a repeat unless columns are narrow; a dash for what a run does not have.
fn cell(constant: Option<&ConstantValue>, beside: &ConstantOfRuns, is_narrow: bool) -> Cell {
    match constant {
        Some(constant) if is_narrow => constant.here().into(),
        Some(constant) => beside.value(constant).into(),
        None => Message::plain("–").into(),
    }
}

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
    let constants = match beside(runs, &names) {
        Some(mut table) => {
            table.title = std::mem::take(&mut table.caption);
            table.rows.splice(..0, trust(runs));
            Block::Table(table)
        }
        None => {
            values(runs, &names).map_or_else(|| Block::Sentence(words::NO_CASES.into(), Style::Plain), Block::Table)
        }
    };
    let verdict = |run: usize| Remark::new(verdict(runs, run, &names[run]), Style::Heading);
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
    let groups = grouped(fact.values.iter().zip(names));
    let line = |(value, whose): (&Option<String>, Vec<&String>)| {
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

const CASE: Text = term!("case");
const RUN: Text = term!("this run");
const REFERENCE: Text = term!("reference");
const USUAL: Text = term!("usual");
const RATIO: Text = term!("ratio");

/// A value of a reference, and what the run has of it.
pub(crate) type AgainstRow<'a> = (&'a ReferenceValue, Option<Counterpart<'a>>);

pub(crate) fn against<'a>(run: &Run, reference: &Reference, rows: &[AgainstRow<'a>]) -> Document {
    let (name, source) = (&reference.name, reference.source());
    let is_usual = reference.design.is_some();
    let machine = reference.class_of(&run.host).map_or(&reference.machine, |class| &class.machine);
    let title = say!("{run} against {name}: {machine}", run = run.name);
    let method = say!("{date}; {method}", date = source.date, method = source.method);
    let remarks = [source.address.into(), method].map(|text| Remark::new(text, Style::Plain));
    let mut notes: Vec<Message> = Vec::new();
    let row = |(value, found): &AgainstRow<'a>| {
        let verdict = found.as_ref().map(|found| value.verdict(found, is_usual));
        let mut words: Message = match &verdict {
            Some(verdict) => verdict.standing.why_none().map_or_else(|| Message::from(&verdict.words), Message::from),
            None => value.why_missing(run).0.why_none().unwrap_or_default().into(),
        };
        let why = || Some(value.why_missing(run).1).filter(|why| found.is_none() && *why != words);
        if let Some(note) = value.differs.as_ref().map(Message::from).or_else(why) {
            let known = notes.iter().position(|known| *known == note);
            let at = known.unwrap_or(notes.len());
            notes.extend(known.is_none().then_some(note));
            words = say!("{words} ({number})", number = at + 1);
        }
        let unit = found.as_ref().map(|found| found.unit).or_else(|| {
            let info = run.probes.iter().find(|info| value.id.split('@').next() == Some(info.id.as_str()))?;
            Some(value.unit_beside(info.unit))
        });
        let here = found.as_ref().map_or_else(|| "–".into(), |found| both(&found.estimate, found.unit));
        let known = match unit {
            Some(unit) if is_usual => value.range(unit).unwrap_or_default(),
            Some(unit) => amount(value.value, unit),
            None => Message::default(),
        };
        let ratio = found.as_ref().filter(|_| !is_usual).map(|found| found.estimate.value() / value.value);
        let id = || format!("{} {}", run.typed_id(&value.id), value.quantity).trim_end().into();
        let name = name_of(&value.id).filter(|_| is_usual).map_or_else(id, Message::from);
        let cells = [Some(name), Some(here), Some(known), ratio.map(|ratio| ratio_text(ratio).into()), Some(words)];
        Row { cells: cells.into_iter().flatten().map(Into::into).collect(), ..Row::default() }
    };
    let rows: Vec<Row> = rows.iter().map(row).collect();
    let columns = match is_usual {
        // How far beyond is told in words, from the near end of the range.
        true => {
            vec![(CASE, Align::Left), (RUN, Align::Point), (USUAL, Align::Ellipsis), (Text::default(), Align::Left)]
        }
        false => vec![
            (CASE, Align::Left),
            (RUN, Align::Point),
            (REFERENCE, Align::Point),
            (RATIO, Align::Right),
            (Text::default(), Align::Left),
        ],
    };
    let columns = columns.into_iter().map(|(head, align)| Column::new(head, align)).collect();
    let (all, lacking) = (reference.values.len(), reference.values_for(&run.host).len() - rows.len());
    let lacking = (lacking > 0).then(|| say!("Of its {all} values this run lacks {lacking}."));
    let notes = (1..).zip(notes).map(|(number, note)| say!("({number}) {note}"));
    let ratio = match is_usual {
        true => say!(
            "Slower and faster count from the near end of the usual range. hostmark explain {name} has each source."
        ),
        false => {
            say!("The ratio is this run's value over the reference's. hostmark explain {name} has each source.")
        }
    };
    vec![
        Block::Sentence(title, Style::Plain),
        Block::Remarks(remarks.into()),
        Block::Table(Table { columns, rows, ..Table::default() }),
        Block::Method(lacking.into_iter().chain(notes).chain([ratio]).collect()),
    ]
}
