//! The answer at the top of the page: the constants that people ask for, a column for each run, and what costs most.

use hostmark_analysis::constants::{self, Constant, ConstantValue, LINES, Line};
use hostmark_model::Run;
use serde::Serialize;

use super::bilingual::{Words, each, fixed, same};
use super::gather::Runs;

/// The constants, what is absent from them, and what their ratios mean.
#[derive(Debug, Default, Serialize)]
pub(super) struct Answer {
    kinds: Vec<Kind>,
    absent: Vec<Words>,
    legend: Option<Words>,
}

/// The constants of one kind.
#[derive(Debug, Serialize)]
struct Kind {
    name: Words,
    constants: Vec<Shown>,
}

/// A constant, and what each run has of it.
#[derive(Debug, Serialize)]
struct Shown {
    name: Words,
    cells: Vec<Cell>,
}

/// A value, and how sure it is where that is worth a word; a dash for what a run does not have. Of a run alone also its ratio over
/// the nearest kind of machine, and whether it is worse.
#[derive(Debug, Serialize)]
struct Cell {
    value: Words,
    sure: Words,
    ratio: Option<String>,
    is_worse: bool,
    bar: Option<Bar>,
}

/// A ratio as a bar from the middle of its room, where the two are the same: to the right what is larger, by its
/// logarithm. In percent of the room.
#[derive(Debug, Serialize)]
struct Bar {
    left: String,
    width: String,
}

/// How far the bars reach: a quarter and four times.
const REACH: f64 = 4.0;

impl Bar {
    fn of(ratio: f64) -> Option<Bar> {
        let at = (ratio.ln() / REACH.ln()).clamp(-1.0, 1.0) * 50.0;
        // What is the same is a line in the middle.
        let (from, to) = (50.0 + at.min(0.0), 50.0 + at.max(0.0));
        at.is_finite().then(|| Bar { left: format!("{from:.1}"), width: format!("{:.1}", (to - from).max(0.8)) })
    }
}

/// The answer of runs: the kinds of which any has something.
pub(super) fn answer(runs: &Runs) -> Answer {
    let alone = match runs.all {
        [run] => Some(run),
        _ => None,
    };
    let reference = runs.reference;
    let mut ratios = Vec::new();
    let mut kinds = Vec::new();
    for line in LINES {
        let Line { name, constants } = line;
        let mut shown = |constant: &'static Constant| {
            let beside = constant.beside(runs.all)?;
            let cell = |(run, told): (&Run, &Option<ConstantValue>)| {
                let both = reference.zip(told.as_ref());
                let ratio = both.and_then(|(reference, told)| reference.ratio(told));
                Cell {
                    bar: both.and_then(|(reference, told)| reference.over(told)).and_then(Bar::of),
                    value: told.as_ref().map_or_else(|| same("–"), |told| each(|lang| beside.value(told, lang))),
                    sure: each(|lang| told.as_ref().and_then(|told| told.how_sure(run, lang)).unwrap_or_default()),
                    is_worse: ratio.as_ref().is_some_and(|ratio| ratio.ends_with('!')),
                    ratio,
                }
            };
            let cells: Vec<Cell> = runs.all.iter().zip(&beside.told).map(cell).collect();
            ratios.extend(cells.iter().filter_map(|cell| cell.ratio.clone()));
            Some(Shown { name: fixed(beside.name), cells })
        };
        let constants: Vec<Shown> = constants.iter().filter_map(&mut shown).collect();
        if !constants.is_empty() {
            kinds.push(Kind { name: fixed(*name), constants });
        }
    }
    let legend = reference.filter(|_| !ratios.is_empty()).map(|beside| each(|lang| beside.legend(&ratios, lang)));
    Answer { kinds, absent: alone.map(constants::untold).unwrap_or_default(), legend }
}
