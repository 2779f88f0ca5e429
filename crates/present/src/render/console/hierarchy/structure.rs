//! Measurements beside the levels, in one line: TLB reach, cache line, ways.

use hostmark_analysis::format::{agreement, value};
use hostmark_analysis::levels::{LEVELS, Level};
use hostmark_model::{Estimate, Unit};
use hostmark_say::say;

use crate::render::console::page::{Page, Piece};
use crate::render::console::view::View;
use crate::words;

/// Writes the line when the run has any of it.
pub(super) fn write(view: &View, page: &mut Page) {
    let facts: Vec<Piece> = facts(view).into_iter().map(Piece::plain).collect();
    if !facts.is_empty() {
        page.flow(2, &facts);
    }
}

/// A number that rounds voted on, with their share where some disagree.
fn counted(view: &View, estimate: &Estimate, unit: Unit) -> String {
    let shown = value(estimate.value(), unit, view.lang);
    let is_split = estimate.agreement.is_some_and(|share| share < 1.0);
    match agreement(estimate).filter(|_| is_split) {
        Some(share) => format!("{shown} [{share}]"),
        None => shown,
    }
}

fn facts(view: &View) -> Vec<String> {
    let of = |level: &Level, name: &str| level.also(view.run, name);
    let mut facts = Vec::new();
    for level in LEVELS {
        let Some(reach) = of(level, "tlb") else { continue };
        let pages = counted(view, reach, Unit::Count);
        let miss = of(level, "tlb_miss").map(|miss| value(miss.value(), Unit::Nanoseconds, view.lang));
        let name = level.name;
        facts.push(view.tell(&match miss {
            Some(miss) => say!("{name} TLB {pages} pages, miss +{miss}"),
            None => say!("{name} TLB {pages} pages"),
        }));
    }
    for level in LEVELS {
        let line = of(level, "line").map(|line| counted(view, line, Unit::Bytes));
        facts.extend(line.map(|line| format!("{} {line}", view.say(words::CACHE_LINE))));
        let ways = |ways: &Estimate| {
            let (ways, name) = (counted(view, ways, Unit::Count), level.name);
            view.tell(&say!("{ways} ways ({name})"))
        };
        facts.extend(of(level, "ways").map(ways));
    }
    facts
}
