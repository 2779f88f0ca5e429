//! The answer at the top of the page: the constants that people ask for, a column for each run, and what costs most.

use serde::Serialize;

use super::bilingual::{Words, each, fixed, same};
use super::gather::Runs;
use crate::constants::{Constant, LINES, Line, Told};

/// The constants of one kind.
#[derive(Debug, Serialize)]
pub(super) struct Kind {
    name: Words,
    constants: Vec<Shown>,
}

/// A constant, and what each run has of it.
#[derive(Debug, Serialize)]
struct Shown {
    name: Words,
    cells: Vec<Cell>,
}

/// A value, and how sure it is where that is worth a word; a dash for what a run does not have.
#[derive(Debug, Serialize)]
struct Cell {
    value: Words,
    sure: Words,
}

/// The kinds of which any run has something.
pub(super) fn kinds(runs: &Runs) -> Vec<Kind> {
    let shown = |constant: &'static Constant| {
        let told: Vec<Option<Told>> = runs.all.iter().map(|run| constant.told(run)).collect();
        let name = told.iter().flatten().map(|told| told.name).next()?;
        // Where one run has a constant by another percentile, its value says which.
        let value = |told: &Told, lang| match told.name == name {
            true => told.value(lang),
            false => format!("{} {}", told.name.get(lang), told.value(lang)),
        };
        let cell = |(run, told): (&_, Option<Told>)| Cell {
            value: told.as_ref().map_or_else(|| same("–"), |told| each(|lang| value(told, lang))),
            sure: each(|lang| told.as_ref().and_then(|told| told.how_sure(run, lang)).unwrap_or_default()),
        };
        Some(Shown { name: fixed(name), cells: runs.all.iter().zip(told).map(cell).collect() })
    };
    let kind = |line: &'static Line| {
        let constants: Vec<Shown> = line.constants.iter().filter_map(shown).collect();
        (!constants.is_empty()).then(|| Kind { name: fixed(line.name), constants })
    };
    LINES.iter().filter_map(kind).collect()
}
