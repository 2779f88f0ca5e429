//! The answer at the top of the page: the constants that people ask for, a column for each run, and what costs most.

use hostmark_model::Run;
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
        let beside = constant.beside(runs.all)?;
        let cell = |(run, told): (&Run, &Option<Told>)| Cell {
            value: told.as_ref().map_or_else(|| same("–"), |told| each(|lang| beside.value(told, lang))),
            sure: each(|lang| told.as_ref().and_then(|told| told.how_sure(run, lang)).unwrap_or_default()),
        };
        Some(Shown { name: fixed(beside.name), cells: runs.all.iter().zip(&beside.told).map(cell).collect() })
    };
    let kind = |line: &'static Line| {
        let constants: Vec<Shown> = line.constants.iter().filter_map(shown).collect();
        (!constants.is_empty()).then(|| Kind { name: fixed(line.name), constants })
    };
    LINES.iter().filter_map(kind).collect()
}
