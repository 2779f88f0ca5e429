//! A probe: what it measures, its charts, and a row for each case and run with its value, interval and remarks, or why there is none.

use hostmark_analysis::bilingual::{COLON, COMMA, Words, each, fixed, joined, same};
use hostmark_analysis::format::{DISTURBED_SHARE, agreement, low_high, number, rounds_and_samples, unit_name, value};
use hostmark_analysis::labels::{axis_name, run_letter};
use hostmark_analysis::reasons;
use hostmark_analysis::short_arrays::short_arrays;
use hostmark_analysis::split_huge_pages::split_huge_pages;
use hostmark_model::{CaseRecord, FlagKind, Lang, Measured, Outcome, ProbeInfo, QuantityInfo, Text, Unit};
use hostmark_stats::histogram::Percentile;

use crate::document::{
    Align, Block, Cell, Chart, Column, Document, NamedParty, Remark, Row, RowKind, Style, Table, TableLayout,
};
use crate::estimators;
use crate::runs::{Case, Probe, Runs, plus_minus};
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
        blocks.push(Block::Warnings(vec![fixed(DIFFER)]));
    }
    blocks.extend(probe.info.map(|info| Block::Folded(fixed(EXPLAINED), vec![Block::Named(explained(info))])));
    blocks.extend([Block::Charts(charts), Block::Table(table(runs, probe))]);
    if !samples.is_empty() {
        blocks.push(Block::Folded(fixed(SAMPLES), vec![Block::Charts(samples)]));
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
        let mut cells: Vec<Cell> = axes.iter().map(|axis| point(probe, case, axis).into()).collect();
        if runs.are_many() {
            cells.push(Cell { text: same(run_letter(run)), style: Style::Run, ..Cell::default() });
        }
        if let Some((record, measured)) = record.and_then(|record| Some((record, record.measured()?))) {
            let value = each(|lang| estimators::both(&runs.all[run], record, &measured.estimate, probe.unit(), lang));
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
    let mut caption = vec![each(|lang| format!("{}{}", STORED.get(lang), unit_name(probe.unit(), lang)))];
    let mut fixed_parts: Vec<Words> =
        probe.cases.first().map(|case| probe.all_named(case.params, &common)).into_iter().collect();
    fixed_parts.extend(notes.iter().map(|(key, note)| same(format!("{key}={note}"))));
    caption.push(joined(&fixed_parts, COMMA));
    let left = |head: Words| Column::new(head, Align::Left);
    let right = |head: Words| Column::new(head, Align::Right);
    let mut columns: Vec<Column> = axes.iter().map(|axis| left(axis_name(axis))).collect();
    columns.extend(runs.are_many().then(|| left(fixed(RUN))));
    columns.push(Column { is_value: true, ..right(fixed(words::VALUE)) });
    columns.extend([fixed(words::INTERVAL), same("±"), fixed(words::SAMPLES), fixed(DISTURBED)].map(right));
    columns.extend(quantities.iter().map(|also| right(quantity_title(also))));
    let rows = probe.cases.iter().flat_map(|case| (0..runs.all.len()).map(move |run| (case, run)));
    Table {
        title: same(probe.id),
        caption: joined(&caption, BETWEEN),
        columns,
        rows: rows.map(|(case, run)| row(case, run)).collect(),
        layout: TableLayout::Cases(axes.len()),
        ..Table::default()
    }
}

/// Where the page shows a probe.
pub(crate) fn anchor(probe: &str) -> String {
    format!("p-{probe}")
}

fn quantity_title(also: &QuantityInfo) -> Words {
    match Percentile::of_name(&also.name) {
        Some(percentile) => same(format!("p{}", percentile.numerator as f64 / percentile.denominator as f64 * 100.0)),
        None => also.title.clone(),
    }
}

fn companion(measured: &Measured, quantity: &QuantityInfo) -> Words {
    let Some(estimate) = measured.companion(&quantity.name) else { return same("–") };
    each(|lang| {
        let led = estimate.value();
        // Cycles stand in the column's head: the unit's name, which differs by language, is not said in each row.
        let shown = match quantity.unit {
            Unit::CoreCycles | Unit::ReferenceCycles => number(led),
            unit => value(led, unit, lang),
        };
        format!("{shown} {}", plus_minus(&estimate)).trim_end().to_owned()
    })
}

/// What is told of a probe, under the question that it answers.
fn explained(info: &ProbeInfo) -> Vec<NamedParty> {
    let explain = &info.explain;
    let shown = [
        (term!("What is executed", "page"), explain.what.clone()),
        (term!("Why it matters", "page"), explain.why.clone()),
        (term!("How to read it", "page"), explain.reading.clone()),
        (term!("Typical figures"), explain.typical.clone()),
        (term!("Usual causes of a bad value"), explain.causes.clone()),
        (term!("Takes the place of lmbench's"), same(info.replaces.join(", "))),
    ];
    let shown = shown.into_iter().filter(|(_, text)| !text.en.is_empty());
    let named =
        |(role, text)| NamedParty { role: fixed(role), name: String::new(), facts: vec![text], warnings: Vec::new() };
    shown.map(named).collect()
}

fn point(probe: &Probe, case: &Case, axis: &str) -> Words {
    case.params.get(axis).map_or_else(|| same("–"), |at| probe.labels.value(axis, at))
}

/// The value and what stands beside it.
fn values(probe: &Probe, measured: &Measured, value: Words) -> [Cell; 5] {
    let (unit, estimate, disturbed_count) = (probe.unit(), &measured.estimate, measured.noise.disturbed);
    let taken = measured.taken();
    let interval = match (low_high(estimate, unit, Lang::En), estimate.agreement) {
        (Some(_), _) => each(|lang| low_high(estimate, unit, lang).unwrap_or_default()),
        (None, Some(_)) => each(|lang| agreement(estimate, lang).unwrap_or_default()),
        (None, None) => fixed(words::NO_INTERVAL),
    };
    let half = Some(plus_minus(estimate)).filter(|half| !half.is_empty()).unwrap_or_else(|| "–".to_owned());
    let disturbed = same(if disturbed_count > 0 { format!("{disturbed_count}/{taken}") } else { "0".to_owned() });
    // So many that the value may be theirs.
    let disturbed = match disturbed_count > 0 && disturbed_count as f64 >= DISTURBED_SHARE * taken as f64 {
        true => Cell { text: disturbed, style: Style::Warning, sign: "!", ..Cell::default() },
        false => disturbed.into(),
    };
    [value.into(), interval.into(), same(half).into(), same(rounds_and_samples(estimate)).into(), disturbed]
}

/// Why there is no value, and whether something went wrong.
fn instead(record: Option<&CaseRecord>) -> Option<(Words, bool)> {
    match record.map(|record| &record.outcome) {
        Some(Outcome::Measured(_)) => None,
        Some(Outcome::Skipped { reason }) => Some((reasons::because(words::SKIPPED, reason), false)),
        Some(Outcome::Failed { reason }) => Some((reasons::because(words::FAILED, reason), true)),
        None => Some((fixed(term!("not in this run's plan")), false)),
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
        let text = each(|lang| match reasons::localized(flag.sentence(), lang) {
            detail if detail.is_empty() => words::flag(flag.kind).get(lang).to_owned(),
            detail => format!("{}{}{detail}", words::flag(flag.kind).get(lang), COLON.get(lang)),
        });
        all.push(Remark::new(text, Style::Warning));
    }
    for said in [short_arrays(measured), split_huge_pages(&runs.all[run], case)].into_iter().flatten() {
        all.push(Remark::new(each(|lang| said.get(lang).to_owned()), Style::Warning));
    }
    // What a column says is not said again.
    let is_parameter = |(key, note): (&String, &String)| case.params.get(key) == Some(note.as_str());
    let own = measured.notes.iter().filter(|note| !common.contains(note) && !is_parameter(*note));
    let notes: Vec<String> = own.map(|(key, note)| format!("{key}={}", runs.all[run].typed_text(note))).collect();
    if !notes.is_empty() {
        // Names and values are no language's: written once.
        all.push(Remark::new(same(notes.join(", ")), Style::Plain));
    }
    all
}
