//! The answer at the top of the page: the constants that people ask for, a column for each run, and what costs most.

use hostmark_analysis::constants::{self, Constant, ConstantValue, LINES, Line};
use hostmark_analysis::references::NearestReference;
use hostmark_model::{Lang, Run};
use serde::Serialize;

use super::bilingual::{Words, each, fixed, same};
use super::gather::Runs;

/// The constants, what is absent from them, and what stands beside them.
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

/// A value, and how sure it is where that is worth a word; a dash for what a run does not have. Of a run alone also what it comes to beside
/// the nearest kind of machine, and what is usual there.
#[derive(Debug, Serialize)]
struct Cell {
    value: Words,
    sure: Words,
    verdict: Option<Words>,
    usual: Option<Words>,
    tone: &'static str,
    bar: Option<Bar>,
}

/// A verdict as a bar from the middle of its room, where what is as usual ends: to the right what is better, by its logarithm. In percent of
/// the room.
#[derive(Debug, Serialize)]
struct Bar {
    left: String,
    width: String,
}

/// How far the bars reach: a quarter and four times.
const REACH: f64 = 4.0;

impl Bar {
    fn of(better: f64) -> Option<Bar> {
        let at = (better.ln() / REACH.ln()).clamp(-1.0, 1.0) * 50.0;
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
    let mut words: Vec<Words> = Vec::new();
    let mut kinds = Vec::new();
    for line in LINES {
        let Line { name, constants, .. } = line;
        let mut shown = |constant: &'static Constant| {
            let beside = constant.beside(runs.all)?;
            let cell = |(run, told): (&Run, &Option<ConstantValue>)| {
                let both = reference.zip(told.as_ref());
                let verdict = both.and_then(|(reference, told)| reference.verdict(told));
                let range = |lang| both.and_then(|(reference, told)| reference.range(told, lang));
                Cell {
                    value: told.as_ref().map_or_else(|| same("–"), |told| each(|lang| beside.value(told, lang))),
                    sure: each(|lang| told.as_ref().and_then(|told| told.how_sure(run, lang)).unwrap_or_default()),
                    usual: range(Lang::En).is_some().then(|| each(|lang| range(lang).unwrap_or_default())),
                    tone: verdict.as_ref().map_or("", |verdict| verdict.tone.name()),
                    bar: verdict.as_ref().and_then(|verdict| Bar::of(verdict.better)),
                    verdict: verdict.map(|verdict| verdict.words),
                }
            };
            let cells: Vec<Cell> = runs.all.iter().zip(&beside.told).map(cell).collect();
            words.extend(cells.iter().filter_map(|cell| cell.verdict.clone()));
            Some(Shown { name: fixed(beside.name), cells })
        };
        let constants: Vec<Shown> = constants.iter().filter_map(&mut shown).collect();
        if !constants.is_empty() {
            kinds.push(Kind { name: fixed(*name), constants });
        }
    }
    let legend = |beside: NearestReference| {
        each(|lang| {
            let words: Vec<String> = words.iter().map(|words| words.get(lang).to_owned()).collect();
            beside.legend(&words, lang)
        })
    };
    let legend = reference.filter(|_| !words.is_empty()).map(legend);
    Answer { kinds, absent: alone.map(constants::untold).unwrap_or_default(), legend }
}
