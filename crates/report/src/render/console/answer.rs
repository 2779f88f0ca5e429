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
use crate::references::{Beside, beside};

/// Lines of it at most, the one that tells where the rest is not counted.
const MOST_LINES: usize = 24;
/// So many reasons for a grade, at most.
const REASONS: [usize; 4] = [usize::MAX, 2, 1, 0];
/// A run with fewer constants was not made to answer for a machine: its table is the answer.
const LEAST_CONSTANTS: usize = 8;

/// The answer of a run; of one that was made of few cases its table.
pub fn answer(run: &Run, options: &RenderOptions) -> String {
    let lines = constants::told(run);
    if options.verbose || !are_enough(&lines) {
        return table(run, options);
    }
    let view = View::new(run, options);
    let beside = beside(run);
    let with = |reasons: usize, beside: Option<&Beside>| {
        let mut page = Page::new(options);
        header::write_short(&view, &mut page, reasons);
        page.blank();
        constants(&view, &lines, beside, &mut page);
        page
    };
    let all: Vec<Finding> = findings_and_kept(run).into_iter().filter(|finding| finding.cost > 0.0).collect();
    let wanted = all.len().min(MOST_FINDINGS);
    // Findings before ratios, and ratios before the lesser reasons for a grade: of these the whole report tells.
    let ways = [beside.as_ref(), None].into_iter().flat_map(|beside| REASONS.map(|reasons| (reasons, beside)));
    let mut best: Option<(Page, String, usize)> = None;
    for (reasons, beside) in ways {
        let page = with(reasons, beside);
        let (below, count) = findings(&all, &page, MOST_LINES.saturating_sub(page.lines()));
        let is_better = best
            .as_ref()
            .is_none_or(|(known, _, had)| count > *had || (known.lines() > MOST_LINES && page.lines() < known.lines()));
        if is_better {
            best = Some((page, below, count));
        }
        if count == wanted && best.as_ref().is_some_and(|(page, ..)| page.lines() <= MOST_LINES) {
            break;
        }
    }
    best.map_or_else(String::new, |(mut page, below, _)| {
        page.append(&below);
        page.into_text()
    })
}

/// Whether a run has an answer: one of few cases has its table alone.
pub fn is_answered(run: &Run) -> bool {
    are_enough(&constants::told(run))
}

fn are_enough(lines: &[(&Line, Vec<Told>)]) -> bool {
    lines.iter().map(|(_, told)| told.len()).sum::<usize>() >= LEAST_CONSTANTS
}

/// A line for each kind, and beside which machine the ratios stand.
fn constants(view: &View, lines: &[(&'static Line, Vec<Told>)], beside: Option<&Beside>, page: &mut Page) {
    let mut ratios = Vec::new();
    let width = lines.iter().map(|(line, _)| line.name.get(view.lang).width()).max().unwrap_or(0);
    for (line, told) in lines {
        let name = line.name.get(view.lang);
        let label = Piece::new(format!("{name}{}", " ".repeat(width - name.width())), Style::Dim);
        let facts = told.iter().map(|told| {
            let ratio = beside.and_then(|beside| beside.ratio(told));
            let style =
                if ratio.as_ref().is_some_and(|ratio| ratio.ends_with('!')) { Style::Warning } else { Style::Plain };
            let shown = ratio.as_ref().map_or_else(String::new, |ratio| format!(" {ratio}"));
            ratios.extend(ratio);
            Piece::new(format!("{}{shown}", fact(view, told)), style)
        });
        let all: Vec<Piece> = std::iter::once(label).chain(facts).collect();
        page.flow_hanging(0, width + 3, &all);
    }
    if let Some(beside) = beside.filter(|_| !ratios.is_empty()) {
        page.paragraph("", &beside.legend(&ratios, view.lang), Style::Dim);
    }
}

/// `L1d 1.67 ns`, with how sure it is where that is worth a word.
fn fact(view: &View, told: &Told) -> String {
    let shown = format!("{} {}", told.name.get(view.lang), told.value(view.lang));
    let how_sure = told.how_sure(view.run, view.lang);
    how_sure.map_or(shown.clone(), |how_sure| format!("{shown} {how_sure}"))
}

/// How much of each finding stands in the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// All of it, and what to do.
    Whole,
    /// Its first sentence, and the first of what to do.
    Short,
    /// Its first sentence.
    First,
    /// What was found, without the cause.
    Clause,
}

/// What costs most, in so many lines: three findings however short, rather than fewer at length. And how many they are.
fn findings(all: &[Finding], page: &Page, room: usize) -> (String, usize) {
    for count in (1..=MOST_FINDINGS).rev() {
        for part in [Part::Whole, Part::Short, Part::First, Part::Clause] {
            let these = &all[..all.len().min(count)];
            let text = some_findings(these, part, page);
            if text.lines().count() <= room {
                return (text, these.len());
            }
        }
    }
    (String::new(), 0)
}

fn some_findings(findings: &[Finding], part: Part, page: &Page) -> String {
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
    let told = |text: &'_ str| match part {
        Part::Whole => text.to_owned(),
        Part::Short | Part::First => first_sentence(text).to_owned(),
        Part::Clause => first_clause(first_sentence(text)),
    };
    for (index, finding) in findings.iter().enumerate() {
        let command = finding.command.as_ref().map_or_else(String::new, |command| words::shows(command, lang));
        let text = format!("{} {command}", told(finding.text.get(lang)));
        sheet.paragraph(&format!("{:>3}  ", index + 1), text.trim_end(), Style::Plain);
        if let Some(cure) = finding.cure.as_ref().filter(|_| matches!(part, Part::Whole | Part::Short)) {
            sheet.paragraph("     ", &told(cure.get(lang)), Style::Dim);
        }
    }
    format!("\n{}", sheet.into_text())
}

/// A text up to the end of its first sentence. A point within a name, a number or brackets ends none.
fn first_sentence(text: &str) -> &str {
    let mut depth = 0_i32;
    for (at, c) in text.char_indices() {
        let rest = &text[at + c.len_utf8()..];
        match c {
            '(' | '（' => depth += 1,
            ')' | '）' => depth -= 1,
            '。' if depth <= 0 => return &text[..at + c.len_utf8()],
            '.' if depth <= 0 && rest.trim_start() != rest => return &text[..at + 1],
            _ => {}
        }
    }
    text
}

/// A sentence up to its colon, with a point in its place.
fn first_clause(sentence: &str) -> String {
    let end = sentence.find(": ").map(|at| (at, ".")).or_else(|| sentence.find('：').map(|at| (at, "。")));
    end.map_or_else(|| sentence.to_owned(), |(at, point)| format!("{}{point}", &sentence[..at]))
}

#[cfg(test)]
mod tests {
    use super::{first_clause, first_sentence};

    #[test]
    fn a_clause_ends_at_the_colon() {
        assert_eq!(first_clause("It takes 5 µs, twice as long: the CPU idles."), "It takes 5 µs, twice as long.");
        assert_eq!(first_clause("需要 5 µs：CPU 空闲。"), "需要 5 µs。");
        assert_eq!(first_clause("At 10:30 nothing."), "At 10:30 nothing.");
    }

    #[test]
    fn a_sentence_ends_at_a_point_before_a_space() {
        assert_eq!(
            first_sentence("It takes 1.5 ns (p99. more) in net.ipv4. The rest."),
            "It takes 1.5 ns (p99. more) in net.ipv4."
        );
        assert_eq!(first_sentence("需要 1.5 ns（见 a。b）。其余。"), "需要 1.5 ns（见 a。b）。");
        assert_eq!(first_sentence("no end"), "no end");
    }
}
