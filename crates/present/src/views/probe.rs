//! A probe: what it measures, its charts, and a row for each case and run with its value, interval and remarks, or why there is none.

use hostmark_analysis::findings::soon_enough_for_etcd;
use hostmark_analysis::format::{DISTURBED_SHARE, agreement, amount, low_high, number, rounds_and_samples, unit_name};
use hostmark_analysis::labels::{axis_name, run_letter};
use hostmark_analysis::reasons;
use hostmark_analysis::short_arrays::short_arrays;
use hostmark_analysis::typography::{COLON, COMMA};
use hostmark_model::{CaseRecord, FlagKind, Measured, Message, Outcome, ProbeInfo, QuantityInfo, Text, Unit};
use hostmark_stats::histogram::Percentile;

use crate::document::{
    Align, Block, Cell, Chart, Column, Document, NamedParty, Remark, Row, RowKind, Style, Table, TableLayout,
};
use crate::runs::{Case, Probe, Runs, plus_minus, value_and_other};
use crate::words;

const DIFFER: Text = term!("The runs have this probe in different revisions: its values are not comparable.");
const EXPLAINED: Text = term!("What is measured, why, and how to read it");
const STORED: Text = term!("Stored in ");
const SAMPLES: Text = term!("Samples");
const RUN: Text = term!("run");
const BETWEEN: Text = Text::name(" · ");
const DISTURBED: Text = term!("disturbed");

/// A probe: what it measures, its charts, a row for each case and run, and its samples.
pub(crate) fn probe(runs: &Runs, probe: &Probe, charts: Vec<Chart>, samples: Vec<Chart>) -> Document {
    let mut blocks = Vec::new();
    if probe.revisions_differ {
        blocks.push(Block::Warnings(vec![DIFFER.into()]));
    }
    blocks.extend(probe.info.map(|info| Block::Folded(EXPLAINED.into(), vec![Block::Named(explained(info))])));
    blocks.extend([Block::Charts(charts), Block::Table(table(runs, probe))]);
    if !samples.is_empty() {
        blocks.push(Block::Folded(SAMPLES.into(), vec![Block::Charts(samples)]));
    }
    blocks
}

fn table(runs: &Runs, probe: &Probe) -> Table {
    let axes = probe.varying();
    let common: Vec<&str> = probe.axes().into_iter().filter(|axis| !axes.contains(axis)).collect();
    // What nobody measured needs no column.
    let has = |name: &str| {
        let mut all = probe.cases.iter().flat_map(|case| case.records.iter().flatten());
        all.any(|record| record.measured().is_some_and(|measured| measured.also.contains_key(name)))
    };
    let also = probe.info.into_iter().flat_map(|info| info.also.iter());
    let quantities: Vec<&QuantityInfo> = also.filter(|also| has(&also.name)).collect();
    let notes = common_notes(probe);
    let row = |case: &Case, run: usize| {
        let record = case.record(run);
        let (instead, failed) = instead(record).unzip();
        let point = |axis: &str| case.params.get(axis).map_or_else(|| "–".into(), |at| probe.labels.value(axis, at));
        let mut cells: Vec<Cell> = axes.iter().map(|axis| point(axis).into()).collect();
        if runs.are_many() {
            cells.push(Cell { text: run_letter(run).into(), style: Style::Run, ..Cell::default() });
        }
        if let Some((record, measured)) = record.and_then(|record| Some((record, record.measured()?))) {
            let value = value_and_other(&runs.estimators[run], record, &measured.estimate, probe.unit());
            cells.extend(values(probe, measured, value));
            cells.extend(quantities.iter().map(|quantity| Cell::from(companion(measured, quantity))));
        }
        Row {
            kind: if failed == Some(true) { RowKind::Failed } else { RowKind::None },
            anchor: if run == 0 { case.anchor() } else { String::new() },
            cells,
            instead,
            remarks: record.map(|record| remarks(runs, run, record, &notes)).unwrap_or_default(),
            is_further: run > 0,
            ..Row::default()
        }
    };
    let mut caption = vec![Message::joined([STORED, unit_name(probe.unit())], "")];
    let mut fixed_parts: Vec<Message> =
        probe.cases.first().map(|case| probe.all_named(case.params, &common)).into_iter().collect();
    fixed_parts.extend(notes.iter().map(|(key, note)| format!("{key}={note}").into()));
    caption.push(Message::joined(fixed_parts, COMMA));
    let left = |head: Message| Column::new(head, Align::Left);
    let right = |head: Message| Column::new(head, Align::Right);
    let mut columns: Vec<Column> = axes.iter().map(|axis| left(axis_name(axis))).collect();
    columns.extend(runs.are_many().then(|| left(RUN.into())));
    columns.push(Column { is_value: true, ..right(words::VALUE.into()) });
    columns.extend([words::INTERVAL.into(), "±".into(), words::SAMPLES.into(), DISTURBED.into()].map(right));
    columns.extend(quantities.iter().map(|also| right(quantity_title(also))));
    let rows = probe.cases.iter().flat_map(|case| (0..runs.all.len()).map(move |run| (case, run)));
    Table {
        title: probe.id.into(),
        caption: Message::joined(caption, BETWEEN),
        columns,
        rows: rows.map(|(case, run)| row(case, run)).collect(),
        layout: TableLayout::Cases(axes.len()),
        ..Table::default()
    }
}

/// Anchor of a probe on the page.
pub(crate) fn anchor(probe: &str) -> String {
    format!("p-{probe}")
}

fn quantity_title(also: &QuantityInfo) -> Message {
    match Percentile::of_name(&also.name) {
        Some(percentile) => format!("p{}", percentile.numerator as f64 / percentile.denominator as f64 * 100.0).into(),
        None => Message::from(&also.title),
    }
}

fn companion(measured: &Measured, quantity: &QuantityInfo) -> Message {
    let Some(estimate) = measured.companion(&quantity.name) else { return "–".into() };
    let led = estimate.value();
    // Cycles stand in the column's head: the unit's name, which differs by language, is not said in each row.
    let shown = match quantity.unit {
        Unit::CoreCycles | Unit::ReferenceCycles => number(led).into(),
        unit => amount(led, unit),
    };
    Message::joined([shown, plus_minus(&estimate).into()], " ")
}

/// Explanation of a probe, under the question that it answers.
fn explained(info: &ProbeInfo) -> Vec<NamedParty> {
    let explain = &info.explain;
    let shown = [
        (term!("What is executed", "page"), Message::from(&explain.what)),
        (term!("Why it matters", "page"), Message::from(&explain.why)),
        (term!("How to read it", "page"), Message::from(&explain.reading)),
        (term!("Typical figures"), Message::from(&explain.typical)),
        (term!("Usual causes of a bad value"), Message::from(&explain.causes)),
        (term!("Takes the place of lmbench's"), info.replaces.join(", ").into()),
    ];
    let shown = shown.into_iter().filter(|(_, text)| !text.is_empty());
    let named = |(role, text)| NamedParty {
        role: Message::from(role),
        name: String::new(),
        facts: vec![text],
        warnings: Vec::new(),
    };
    shown.map(named).collect()
}

/// The value and what stands beside it.
fn values(probe: &Probe, measured: &Measured, value: Message) -> [Cell; 5] {
    let (unit, estimate, disturbed_count) = (probe.unit(), &measured.estimate, measured.noise.disturbed);
    let taken = measured.taken();
    let interval = low_high(estimate, unit).or_else(|| agreement(estimate));
    let interval = interval.unwrap_or_else(|| words::NO_INTERVAL.into());
    let half = Some(plus_minus(estimate)).filter(|half| !half.is_empty()).unwrap_or_else(|| "–".to_owned());
    let disturbed =
        Message::plain(if disturbed_count > 0 { format!("{disturbed_count}/{taken}") } else { "0".to_owned() });
    // So many that the value may be theirs.
    let disturbed = match disturbed_count > 0 && disturbed_count as f64 >= DISTURBED_SHARE * taken as f64 {
        true => Cell { text: disturbed, style: Style::Warning, sign: "!", ..Cell::default() },
        false => disturbed.into(),
    };
    [
        value.into(),
        interval.into(),
        Message::plain(half).into(),
        Message::plain(rounds_and_samples(estimate)).into(),
        disturbed,
    ]
}

/// Reason for no value, and whether something went wrong.
fn instead(record: Option<&CaseRecord>) -> Option<(Message, bool)> {
    match record.map(|record| &record.outcome) {
        Some(Outcome::Measured(_)) => None,
        Some(Outcome::Skipped { reason }) => Some((reasons::because(words::SKIPPED, reason), false)),
        Some(Outcome::Failed { reason }) => Some((reasons::because(words::FAILED, reason), true)),
        None => Some((term!("not in this run's plan").into(), false)),
    }
}

/// Notes that all measured cases share, which are said once.
fn common_notes<'a>(probe: &Probe<'a>) -> Vec<(&'a String, &'a String)> {
    let records = probe.cases.iter().flat_map(|case| case.records.iter().copied().flatten());
    let mut all = records.filter_map(CaseRecord::measured);
    let mut common: Vec<(&String, &String)> = all.next().map(|first| first.notes.iter().collect()).unwrap_or_default();
    for measured in all {
        common.retain(|(key, note)| measured.notes.get(*key) == Some(*note));
    }
    common
}

/// Flags, and what the probe says of how it measured.
fn remarks(runs: &Runs, run: usize, case: &CaseRecord, common: &[(&String, &String)]) -> Vec<Remark> {
    let Some(measured) = case.measured() else { return Vec::new() };
    let mut all = Vec::new();
    for flag in &measured.flags {
        // What most cases have is said once, at the top.
        if runs.common[run].contains(&flag.kind) && flag.kind != FlagKind::Implausible {
            continue;
        }
        let text = [Message::from(words::flag(flag.kind)), words::in_both(flag.sentence())];
        all.push(Remark::new(Message::joined(text, COLON), Style::Warning));
    }
    for said in [short_arrays(measured), (runs.split_huge_pages[run])(case)].into_iter().flatten() {
        all.push(Remark::new(said, Style::Warning));
    }
    all.extend(soon_enough_for_etcd(case).map(|soon| Remark::new(soon, Style::Plain)));
    // What a column says is not said again.
    let is_parameter = |(key, note): (&String, &String)| case.params.get(key) == Some(note.as_str());
    let own = measured.notes.iter().filter(|note| !common.contains(note) && !is_parameter(*note));
    let notes: Vec<String> = own.map(|(key, note)| format!("{key}={}", runs.all[run].typed_text(note))).collect();
    if !notes.is_empty() {
        // Names and values are no language's: written once.
        all.push(Remark::new(Message::plain(notes.join(", ")), Style::Plain));
    }
    all
}
