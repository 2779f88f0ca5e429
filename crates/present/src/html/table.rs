//! A probe's table: a row for each case and run, with its value, interval and remarks, or why there is none.

use hostmark_analysis::format::{DISTURBED_SHARE, agreement, low_high, number, rounds_and_samples, value};
use hostmark_analysis::labels::run_letter;
use hostmark_analysis::reasons;
use hostmark_analysis::short_arrays::short_arrays;
use hostmark_analysis::split_huge_pages::split_huge_pages;
use hostmark_model::{CaseRecord, FlagKind, Lang, Measured, Outcome, ProbeInfo, Unit};
use hostmark_stats::histogram::Percentile;
use serde::Serialize;

use super::bilingual::{COMMA, Words, each, fixed, joined, same};
use super::facts::unit;
use super::gather::{Case, Probe, Runs, plus_minus};
use crate::estimators;
use crate::render::console::words;

/// What the page says of a probe.
#[derive(Debug, Serialize)]
pub(super) struct ProbeTable {
    id: String,
    anchor: String,
    title: Words,
    unit: Words,
    explained: Option<Explained>,
    /// What all of its cases have in common.
    fixed: Words,
    revisions_differ: bool,
    axes: Vec<String>,
    quantities: Vec<Words>,
    /// Columns that hold a value and what stands beside it.
    columns: usize,
    rows: Vec<CaseRow>,
}

#[derive(Debug, Serialize)]
struct Explained {
    what: Words,
    why: Words,
    reading: Words,
    typical: Words,
    causes: Words,
    replaces: String,
}

#[derive(Debug, Serialize)]
struct CaseRow {
    anchor: String,
    /// Where it stands on the axes; empty for the further runs of a case.
    points: Vec<Words>,
    /// Rows that share the points.
    span: usize,
    run: String,
    /// The value and what stands beside it; none where there is none.
    cells: Option<Cells>,
    /// In the place of a value: skipped, failed or not planned, and why.
    instead: Option<Words>,
    failed: bool,
    remarks: Vec<Remark>,
}

#[derive(Debug, Serialize)]
struct Cells {
    value: Words,
    interval: Words,
    half: String,
    samples: String,
    /// Disturbed samples of all that were taken; 0 where none was.
    disturbed: String,
    /// Whether they are so many that the value may be theirs.
    is_disturbed: bool,
    also: Vec<Words>,
}

#[derive(Debug, Serialize)]
struct Remark {
    text: Words,
    warns: bool,
}

pub(super) fn table(runs: &Runs, probe: &Probe) -> ProbeTable {
    let axes = probe.varying();
    let common: Vec<&str> = probe.axes().into_iter().filter(|axis| !axes.contains(axis)).collect();
    let first = probe.cases.first();
    // What nobody measured needs no column.
    let has = |name: &str| {
        let mut all = probe.cases.iter().flat_map(|case| case.records.iter().flatten());
        all.any(|record| record.measured().is_some_and(|measured| measured.also.contains_key(name)))
    };
    let quantities: Vec<_> =
        probe.info.into_iter().flat_map(|info| info.also.iter()).filter(|also| has(&also.name)).collect();
    let notes = common_notes(probe);
    let row = |case: &Case, run: usize| {
        let record = case.record(run);
        let measured = record.and_then(CaseRecord::measured);
        let instead = instead(record);
        let also = |measured: &Measured| {
            let cell = |quantity: &&hostmark_model::QuantityInfo| match measured.companion(&quantity.name) {
                Some(estimate) => each(|lang| {
                    let led = estimate.value();
                    // Cycles stand in the column's head: the unit's name, which differs by language, is not said in each row.
                    let shown = match quantity.unit {
                        Unit::CoreCycles | Unit::ReferenceCycles => number(led),
                        unit => value(led, unit, lang),
                    };
                    format!("{shown} {}", plus_minus(&estimate)).trim_end().to_owned()
                }),
                None => same("–"),
            };
            quantities.iter().map(cell).collect()
        };
        let is_first = run == 0;
        CaseRow {
            anchor: if is_first { case.anchor() } else { String::new() },
            points: match is_first {
                true => axes.iter().map(|axis| point(probe, case, axis)).collect(),
                false => Vec::new(),
            },
            span: if is_first { runs.all.len() } else { 0 },
            run: if runs.are_many() { run_letter(run) } else { String::new() },
            cells: record.zip(measured).map(|(record, measured)| {
                let both =
                    each(|lang| estimators::both(&runs.all[run], record, &measured.estimate, probe.unit(), lang));
                cells(probe, measured, both, also(measured))
            }),
            instead: instead.as_ref().map(|(text, _)| text.clone()),
            failed: instead.is_some_and(|(_, failed)| failed),
            remarks: record.map(|record| remarks(runs, run, record, &notes)).unwrap_or_default(),
        }
    };
    let mut fixed_parts: Vec<Words> = first.map(|case| probe.all_named(case.params, &common)).into_iter().collect();
    fixed_parts.extend(notes.iter().map(|(key, note)| same(format!("{key}={note}"))));
    ProbeTable {
        id: probe.id.to_owned(),
        anchor: anchor(probe.id),
        title: probe.title(),
        unit: unit(probe.unit()),
        explained: probe.info.map(explained),
        fixed: joined(&fixed_parts, COMMA),
        revisions_differ: probe.revisions_differ,
        axes: axes.iter().map(|axis| (*axis).to_owned()).collect(),
        columns: quantities.len() + 6,
        quantities: quantities.iter().map(|also| quantity_title(also)).collect(),
        rows: probe
            .cases
            .iter()
            .flat_map(|case| (0..runs.all.len()).map(move |run| (case, run)))
            .map(|(c, r)| row(c, r))
            .collect(),
    }
}

/// Where the page shows a probe.
pub(super) fn anchor(probe: &str) -> String {
    format!("p-{probe}")
}

fn quantity_title(also: &hostmark_model::QuantityInfo) -> Words {
    match Percentile::of_name(&also.name) {
        Some(percentile) => same(format!("p{}", percentile.numerator as f64 / percentile.denominator as f64 * 100.0)),
        None => also.title.clone(),
    }
}

fn explained(info: &ProbeInfo) -> Explained {
    Explained {
        what: info.explain.what.clone(),
        why: info.explain.why.clone(),
        reading: info.explain.reading.clone(),
        typical: info.explain.typical.clone(),
        causes: info.explain.causes.clone(),
        replaces: info.replaces.join(", "),
    }
}

fn point(probe: &Probe, case: &Case, axis: &str) -> Words {
    case.params.get(axis).map_or_else(|| same("–"), |at| probe.labels.value(axis, at))
}

fn cells(probe: &Probe, measured: &Measured, value: Words, also: Vec<Words>) -> Cells {
    let (unit, estimate, tainted) = (probe.unit(), &measured.estimate, measured.noise.tainted);
    let taken = measured.taken();
    let none = fixed(words::NO_INTERVAL);
    Cells {
        value,
        interval: match (low_high(estimate, unit, Lang::En), estimate.agreement) {
            (Some(_), _) => each(|lang| low_high(estimate, unit, lang).unwrap_or_default()),
            (None, Some(_)) => each(|lang| agreement(estimate, lang).unwrap_or_default()),
            (None, None) => none,
        },
        half: Some(plus_minus(estimate)).filter(|half| !half.is_empty()).unwrap_or_else(|| "–".to_owned()),
        samples: rounds_and_samples(estimate),
        disturbed: if tainted > 0 { format!("{tainted}/{taken}") } else { "0".to_owned() },
        is_disturbed: tainted > 0 && tainted as f64 >= DISTURBED_SHARE * taken as f64,
        also,
    }
}

/// Why there is no value, and whether something went wrong.
fn instead(record: Option<&CaseRecord>) -> Option<(Words, bool)> {
    match record.map(|record| &record.outcome) {
        Some(Outcome::Measured(_)) => None,
        Some(Outcome::Skipped { reason }) => Some((reasons::because(words::SKIPPED, reason), false)),
        Some(Outcome::Failed { reason }) => Some((reasons::because(words::FAILED, reason), true)),
        None => Some((Words { en: "not in this run's plan".to_owned(), zh: "不在该次运行的计划中".to_owned() }, false)),
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
        if runs.views[run][0].common.contains(&flag.kind) && flag.kind != FlagKind::Implausible {
            continue;
        }
        let text = each(|lang| match reasons::told(&flag.detail, lang) {
            detail if detail.is_empty() => words::flag(flag.kind).get(lang).to_owned(),
            detail => format!("{}{}{detail}", words::flag(flag.kind).get(lang), words::COLON.get(lang)),
        });
        all.push(Remark { text, warns: true });
    }
    for said in [short_arrays(measured), split_huge_pages(&runs.all[run], case)].into_iter().flatten() {
        all.push(Remark { text: each(|lang| said.get(lang).to_owned()), warns: true });
    }
    // What a column says is not said again.
    let is_told = |(key, note): (&String, &String)| case.params.get(key) == Some(note.as_str());
    let own = measured.notes.iter().filter(|note| !common.contains(note) && !is_told(*note));
    let notes: Vec<String> = own.map(|(key, note)| format!("{key}={note}")).collect();
    if !notes.is_empty() {
        // Names and values are no language's: written once.
        all.push(Remark { text: same(notes.join(", ")), warns: false });
    }
    all
}
