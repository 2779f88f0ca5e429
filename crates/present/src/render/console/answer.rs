//! The answer: what machine it is, how far its values can be trusted, the constants that people ask for, and what costs most. No more
//! than a screen.

use hostmark_analysis::constants::{self, ConstantGroup, ConstantValue, LEAST_CONSTANTS, MOST_FINDINGS};
use hostmark_analysis::findings::{first_thing_to_do, leading};
use hostmark_analysis::references::{NearestReference, beside};
use hostmark_analysis::{Spoken, spoken};
use hostmark_model::{Finding, Run, Text};
use hostmark_say::say;
use unicode_width::UnicodeWidthStr;

use super::page::{Page, Piece, Style};
use super::view::View;
use super::{header, table};
use crate::RenderOptions;
use crate::words;

/// Lines of it at most: with the two that tell where the rest is, and the prompt, it fills a screen of 24.
const MOST_LINES: usize = 21;
/// Least width at which names of kinds have a column of their own.
const WIDE: usize = 72;

/// Size of each part of the answer.
#[derive(Debug, Clone, Copy)]
struct AnswerShape {
    /// Largest number of reasons for the grade.
    reasons: usize,
    /// True where it names the reference's source.
    source: bool,
    form: Form,
    findings: FindingText,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// In columns, two figures in a row where neither has a verdict.
    Rows,
    /// One behind the other, with what they come to beside a reference or without.
    Flow { beside: bool },
}

const fn shape(reasons: usize, source: bool, form: Form, findings: FindingText) -> AnswerShape {
    AnswerShape { reasons, source, form, findings }
}

/// Shapes from the whole answer to the least: a remedy before the second reason, which the full report has.
const WAYS: &[AnswerShape] = &[
    shape(usize::MAX, true, Form::Rows, FindingText::Cure),
    shape(usize::MAX, true, Form::Rows, FindingText::ToDo(3)),
    shape(usize::MAX, false, Form::Rows, FindingText::ToDo(1)),
    shape(2, false, Form::Rows, FindingText::ToDo(1)),
    shape(1, false, Form::Rows, FindingText::ToDo(1)),
    shape(2, false, Form::Rows, FindingText::ToDo(0)),
    shape(1, false, Form::Rows, FindingText::ToDo(0)),
    shape(1, false, Form::Flow { beside: true }, FindingText::ToDo(0)),
    LEAST,
];
const LEAST: AnswerShape = shape(1, false, Form::Flow { beside: false }, FindingText::ToDo(0));

/// The answer of a run; of one that was made of few cases its table.
pub fn answer(run: &Run, options: &RenderOptions) -> String {
    let lines = constants::of_run(run);
    if options.verbose || !are_enough(&lines) {
        return table(run, options);
    }
    let view = View::new(run, options);
    let beside = beside(run);
    let all = leading(run);
    let written = |way: &AnswerShape, is_loose: bool, findings: &[Finding]| {
        let mut page = Page::new(options);
        header::write_short(&view, &mut page, way.reasons);
        if is_loose {
            page.blank();
        }
        let fits = match way.form {
            Form::Rows => {
                let figures = lines.iter().flat_map(|(_, figures)| figures);
                let fits = super::constants::write(figures, beside.as_ref(), is_loose, &view, &mut page);
                if is_loose {
                    page.blank();
                }
                fits
            }
            Form::Flow { beside: is_beside } => {
                flow(&view, &lines, beside.as_ref().filter(|_| is_beside), &mut page);
                true
            }
        };
        below(&view, beside.as_ref().filter(|_| way.source), &mut page);
        if is_loose && !findings.is_empty() {
            page.blank();
        }
        some_findings(findings, all.len() - findings.len(), way.findings, &mut page);
        // A line more says how a run that was stopped goes on.
        (fits && page.lines() + usize::from(run.interrupted.is_some()) <= MOST_LINES, page)
    };
    // Rows rather than a third finding; three findings however short, rather than fewer at length; and no empty line, rather than less.
    let counts = || (0..=all.len().min(MOST_FINDINGS)).rev();
    for (is_flow, count) in [false, true].into_iter().flat_map(|is_flow| counts().map(move |count| (is_flow, count))) {
        let findings = &all[..count];
        let ways = WAYS.iter().filter(|way| matches!(way.form, Form::Flow { .. }) == is_flow);
        let pages = ways.flat_map(|way| [true, false].map(|is_loose| written(way, is_loose, findings)));
        if let Some((_, page)) = { pages }.find(|(fits, _)| *fits) {
            return page.into_text();
        }
    }
    written(&LEAST, false, &all[..all.len().min(1)]).1.into_text()
}

/// Tells whether a run has an answer: one of few cases has its table alone.
pub fn is_answered(run: &Run) -> bool {
    are_enough(&constants::of_run(run))
}

fn are_enough(lines: &[(&ConstantGroup, Vec<ConstantValue>)]) -> bool {
    lines.iter().map(|(_, constants)| constants.len()).sum::<usize>() >= LEAST_CONSTANTS
}

/// A line for each kind.
fn flow(
    view: &View,
    lines: &[(&'static ConstantGroup, Vec<ConstantValue>)],
    beside: Option<&NearestReference>,
    page: &mut Page,
) {
    let widest = lines.iter().map(|(line, _)| line.name.get(view.lang).width()).max().unwrap_or(0);
    let column = if page.width < WIDE { None } else { Some(widest) };
    for (line, constants) in lines {
        let name = line.name.get(view.lang);
        let fill = column.map_or(0, |width| width.saturating_sub(name.width()));
        let label = Piece::new(format!("{name}{}", " ".repeat(fill)), Style::Dim);
        let facts = constants.iter().map(|constant| {
            let verdict = super::constants::verdict(constant, beside, view);
            let words = verdict.as_ref().map_or(String::new(), |verdict| format!(" {}", verdict.text));
            let style = verdict.map(|verdict| verdict.style).filter(|style| *style != Style::Dim);
            let name = constant.name.get(view.lang);
            let fact = format!("{name} {}{words}", constant.in_line().get(view.lang));
            Piece::new(fact, style.unwrap_or(Style::Plain))
        });
        let all: Vec<Piece> = std::iter::once(label).chain(facts).collect();
        page.flow_hanging(0, column.map_or(HANG, |width| width + 3), &all);
    }
}

/// Lines below the constants: the missing ones, and the reference of the others.
fn below(view: &View, beside: Option<&NearestReference>, page: &mut Page) {
    for sentence in constants::not_measured(view.run) {
        page.paragraph("", &view.tell(&sentence), Style::Warning);
    }
    if let Some(beside) = beside {
        page.paragraph("", &view.tell(&beside.legend()), Style::Dim);
    }
}

/// Indentation at which a narrow page continues the constants of a kind.
const HANG: usize = 4;

/// Lines below the short text of each finding in the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FindingText {
    Cure,
    /// The first thing to do, of so many findings.
    ToDo(usize),
}

/// Greatest costs with their remedies, and how many more there are.
fn some_findings(findings: &[Finding], left: usize, part: FindingText, page: &mut Page) {
    let lang = page.options.lang;
    let next = page.say(NEXT);
    let indent = " ".repeat(next.width());
    for (index, finding) in findings.iter().enumerate() {
        let lead = format!("{}  {}  ", if index == 0 { next } else { &indent }, index + 1);
        let below = " ".repeat(lead.width());
        let text = finding.short.get(lang);
        // A setting to try is something to do; what only shows it again is not.
        let tried = finding.command.as_ref().filter(|command| command.starts_with("hostmark try "));
        let command = tried.map_or_else(String::new, |command| format!("  {}", words::shows(command, lang)));
        let fits = lead.width() + text.width() + command.width() <= page.width;
        page.paragraph(&lead, &format!("{text}{}", if fits { command } else { String::new() }), Style::Plain);
        let cure = finding.cure.as_ref().map_or("", |cure| cure.get(lang));
        match part {
            FindingText::Cure if !cure.is_empty() => page.paragraph(&below, cure, Style::Dim),
            FindingText::ToDo(count) if index < count && !cure.is_empty() => {
                page.paragraph(&below, first_thing_to_do(cure), Style::Dim);
            }
            _ => {}
        }
    }
    if left > 0 {
        page.paragraph("", &spoken(&say!("{left:more finding}: --full"), lang), Style::Dim);
    }
}

/// Word before the findings.
const NEXT: Text = term!("NEXT");
