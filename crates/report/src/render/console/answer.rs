//! The answer: what machine it is, how far its values can be trusted, the constants that people ask for, and what costs most. No more
//! than a screen.

use unicode_width::UnicodeWidthStr;

use hostmark_model::{Finding, Run};

use super::page::{Page, Piece, Style, gap};
use super::view::View;
use super::{header, table, words};
use crate::RenderOptions;
use crate::constants::{self, Line, MOST_FINDINGS, Told};
use crate::findings::findings_and_kept;

/// Lines of it at most, the one that tells where the rest is not counted.
const MOST_LINES: usize = 24;
/// A run with fewer constants was not made to answer for a machine: its table is the answer.
const LEAST_CONSTANTS: usize = 8;

/// The answer of a run; of one that was made of few cases its table.
pub fn answer(run: &Run, options: &RenderOptions) -> String {
    let lines = constants::told(run);
    if options.verbose || lines.iter().map(|(_, told)| told.len()).sum::<usize>() < LEAST_CONSTANTS {
        return table(run, options);
    }
    let view = View::new(run, options);
    let mut page = Page::new(options);
    header::write_short(&view, &mut page);
    page.blank();
    constants(&view, &lines, &mut page);
    let room = MOST_LINES.saturating_sub(page.lines());
    page.append(&findings(run, &page, room));
    page.into_text()
}

/// A line for each kind.
fn constants(view: &View, lines: &[(&'static Line, Vec<Told>)], page: &mut Page) {
    let width = lines.iter().map(|(line, _)| line.name.get(view.lang).width()).max().unwrap_or(0);
    for (line, told) in lines {
        let name = line.name.get(view.lang);
        let label = Piece::new(format!("{name}{}", " ".repeat(width - name.width())), Style::Dim);
        let facts = told.iter().map(|told| Piece::plain(fact(view, told)));
        let all: Vec<Piece> = std::iter::once(label).chain(facts).collect();
        page.flow_hanging(0, width + 3, &all);
    }
}

/// `L1d 1.67 ns`, with how sure it is where that is worth a word.
fn fact(view: &View, told: &Told) -> String {
    let shown = format!("{} {}", told.constant.name.get(view.lang), told.value(view.lang));
    let how_sure = told.how_sure(view.run, view.lang);
    how_sure.map_or(shown.clone(), |how_sure| format!("{shown} {how_sure}"))
}

/// What costs most, in so many lines: fewer of them, or without what to do, where they would be more.
fn findings(run: &Run, page: &Page, room: usize) -> String {
    let all: Vec<Finding> = findings_and_kept(run).into_iter().filter(|finding| finding.cost > 0.0).collect();
    // What to do about one is worth more than a third one without.
    for (count, has_cures) in
        [(MOST_FINDINGS, true), (2, true), (MOST_FINDINGS, false), (1, true), (2, false), (1, false)]
    {
        let text = some_findings(&all[..all.len().min(count)], has_cures, page);
        if text.lines().count() <= room {
            return text;
        }
    }
    String::new()
}

fn some_findings(findings: &[Finding], has_cures: bool, page: &Page) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let mut sheet = page.sheet();
    let lang = page.options.lang;
    sheet.line(&[
        Piece::new(page.say(words::FINDINGS), Style::Heading),
        gap(3),
        Piece::new(page.say(words::DEAREST_FIRST), Style::Dim),
    ]);
    for (index, finding) in findings.iter().enumerate() {
        sheet.paragraph(&format!("{:>3}  ", index + 1), finding.text.get(lang), Style::Plain);
        if let Some(cure) = finding.cure.as_ref().filter(|_| has_cures) {
            sheet.paragraph("     ", cure.get(lang), Style::Dim);
        }
    }
    format!("\n{}", sheet.into_text())
}
