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

/// Lines of it at most: with the two that tell where the rest is, it fills a screen of 25.
const MOST_LINES: usize = 23;
/// A run with fewer constants was not made to answer for a machine: its table is the answer.
const LEAST_CONSTANTS: usize = 8;
/// From this width on, the constants stand in a column behind the names of their kinds.
const WIDE: usize = 80;

/// How much of each part stands in the answer.
#[derive(Debug, Clone, Copy)]
struct Way {
    /// So many reasons for the grade, at most.
    reasons: usize,
    /// Whether the constants stand beside those of a reference.
    beside: bool,
    findings: Part,
}

/// From all of it to the least. Findings before ratios, ratios before the lesser reasons: of these the whole report tells.
const WAYS: [Way; 11] = [
    Way { reasons: usize::MAX, beside: true, findings: Part::Whole },
    Way { reasons: usize::MAX, beside: true, findings: Part::Short },
    Way { reasons: usize::MAX, beside: true, findings: Part::First },
    Way { reasons: usize::MAX, beside: true, findings: Part::Clause },
    Way { reasons: 2, beside: true, findings: Part::First },
    Way { reasons: 2, beside: true, findings: Part::Clause },
    Way { reasons: 1, beside: true, findings: Part::Clause },
    Way { reasons: 0, beside: true, findings: Part::Clause },
    Way { reasons: 1, beside: false, findings: Part::Clause },
    Way { reasons: 0, beside: false, findings: Part::Clause },
    Way { reasons: 0, beside: false, findings: Part::Bare },
];

/// The answer of a run; of one that was made of few cases its table.
pub fn answer(run: &Run, options: &RenderOptions) -> String {
    let lines = constants::told(run);
    if options.verbose || !are_enough(&lines) {
        return table(run, options);
    }
    let view = View::new(run, options);
    let beside = beside(run);
    let all: Vec<Finding> = findings_and_kept(run).into_iter().filter(|finding| finding.cost > 0.0).collect();
    let written = |way: Way, is_loose: bool, findings: &[Finding]| {
        let mut page = Page::new(options);
        header::write_short(&view, &mut page, way.reasons);
        if is_loose {
            page.blank();
        }
        constants(&view, &lines, beside.as_ref().filter(|_| way.beside), &mut page);
        if is_loose && !findings.is_empty() {
            page.blank();
        }
        some_findings(findings, way.findings, &mut page);
        page
    };
    // Three findings however short, rather than fewer at length; and no empty line, rather than less.
    for count in (0..=all.len().min(MOST_FINDINGS)).rev() {
        let findings = &all[..count];
        let pages = WAYS.iter().flat_map(|way| [true, false].map(|is_loose| written(*way, is_loose, findings)));
        if let Some(page) = { pages }.find(|page| page.lines() <= MOST_LINES) {
            return page.into_text();
        }
    }
    let [.., least] = WAYS;
    written(least, false, &[]).into_text()
}

/// Whether a run has an answer: one of few cases has its table alone.
pub fn is_answered(run: &Run) -> bool {
    are_enough(&constants::told(run))
}

fn are_enough(lines: &[(&Line, Vec<Told>)]) -> bool {
    lines.iter().map(|(_, told)| told.len()).sum::<usize>() >= LEAST_CONSTANTS
}

/// A line for each kind, beside which machine the ratios stand, and what is absent.
fn constants(view: &View, lines: &[(&'static Line, Vec<Told>)], beside: Option<&Beside>, page: &mut Page) {
    let mut ratios = Vec::new();
    let widest = lines.iter().map(|(line, _)| line.name.get(view.lang).width()).max().unwrap_or(0);
    let column = if page.width < WIDE { None } else { Some(widest) };
    for (line, told) in lines {
        let name = line.name.get(view.lang);
        let fill = column.map_or(0, |width| width.saturating_sub(name.width()));
        let label = Piece::new(format!("{name}{}", " ".repeat(fill)), Style::Dim);
        let facts = told.iter().map(|told| {
            let ratio = beside.and_then(|beside| beside.ratio(told));
            let style =
                if ratio.as_ref().is_some_and(|ratio| ratio.ends_with('!')) { Style::Warning } else { Style::Plain };
            let shown = ratio.as_ref().map_or_else(String::new, |ratio| format!(" {ratio}"));
            ratios.extend(ratio);
            Piece::new(format!("{}{shown}", fact(view, told)), style)
        });
        let all: Vec<Piece> = std::iter::once(label).chain(facts).collect();
        page.flow_hanging(0, column.map_or(HANG, |width| width + 3), &all);
    }
    for sentence in constants::untold(view.run) {
        page.paragraph("", sentence.get(view.lang), Style::Warning);
    }
    if let Some(beside) = beside.filter(|_| !ratios.is_empty()) {
        page.paragraph("", &beside.legend(&ratios, view.lang), Style::Dim);
    }
}

/// Where a narrow page goes on with the constants of a kind.
const HANG: usize = 4;

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
    /// The same, without the command that shows it.
    Bare,
}

/// What costs most.
fn some_findings(findings: &[Finding], part: Part, page: &mut Page) {
    if findings.is_empty() {
        return;
    }
    let lang = page.options.lang;
    page.line(&[
        Piece::new(page.say(words::FINDINGS), Style::Heading),
        gap(3),
        Piece::new(page.say(words::DEAREST_FIRST), Style::Dim),
    ]);
    let told = |text: &'_ str| match part {
        Part::Whole => text.to_owned(),
        Part::Short | Part::First => first_sentence(text).to_owned(),
        Part::Clause | Part::Bare => first_clause(first_sentence(text)),
    };
    for (index, finding) in findings.iter().enumerate() {
        let command = finding.command.as_ref().filter(|_| part != Part::Bare);
        let command = command.map_or_else(String::new, |command| words::shows(command, lang));
        let text = format!("{} {command}", told(finding.text.get(lang)));
        page.paragraph(&format!("{:>3}  ", index + 1), text.trim_end(), Style::Plain);
        if let Some(cure) = finding.cure.as_ref().filter(|_| matches!(part, Part::Whole | Part::Short)) {
            page.paragraph("     ", &told(cure.get(lang)), Style::Dim);
        }
    }
}

/// A text up to the end of its first sentence. A point within a name, a number or brackets ends none.
pub(crate) fn first_sentence(text: &str) -> &str {
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
pub(crate) fn first_clause(sentence: &str) -> String {
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
