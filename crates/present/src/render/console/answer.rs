//! The answer: what machine it is, how far its values can be trusted, the constants that people ask for, and what costs most. No more
//! than a screen.

use hostmark_analysis::Spoken;
use hostmark_analysis::constants::{self, ConstantGroup, ConstantValue, MOST_FINDINGS, Scarcity, followed};
use hostmark_analysis::findings::{first_thing_to_do, leading};
use hostmark_analysis::references::{NearestReference, Tone, beside, is_about};
use hostmark_model::{Finding, Message, Run};
use unicode_width::UnicodeWidthStr;

use super::constants::style;
use super::page::{Page, Piece, Style, gap};
use super::view::View;
use super::{header, table};
use crate::RenderOptions;
use crate::words;

/// Lines of it at most: with the two that tell where the rest is, it fills a screen of 24.
const MOST_LINES: usize = 22;
/// A run with fewer constants was not made to answer for a machine: its table is the answer.
const LEAST_CONSTANTS: usize = 8;
/// Least width at which the constants stand in rows.
const WIDE: usize = 72;

/// Size of each part of the answer.
#[derive(Debug, Clone, Copy)]
struct AnswerShape {
    /// Largest number of reasons for the grade.
    reasons: usize,
    form: Form,
    findings: FindingText,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Rows, with two constants in one where lines are so scarce.
    Rows(Scarcity),
    /// One behind the other, with what they come to beside a reference or without.
    Flow { beside: bool },
}

/// Shapes from the whole answer to the least. Findings before rows of their own, remedies before lesser reasons, which the full report has.
const WAYS: &[AnswerShape] = &[
    AnswerShape { reasons: usize::MAX, form: Form::Rows(Scarcity::None), findings: FindingText::Cure },
    AnswerShape { reasons: usize::MAX, form: Form::Rows(Scarcity::Some), findings: FindingText::Cure },
    AnswerShape { reasons: usize::MAX, form: Form::Rows(Scarcity::Some), findings: FindingText::ToDo(3) },
    AnswerShape { reasons: usize::MAX, form: Form::Rows(Scarcity::Great), findings: FindingText::Cure },
    AnswerShape { reasons: usize::MAX, form: Form::Rows(Scarcity::Great), findings: FindingText::ToDo(3) },
    AnswerShape { reasons: 2, form: Form::Rows(Scarcity::Great), findings: FindingText::ToDo(3) },
    AnswerShape { reasons: 1, form: Form::Rows(Scarcity::Great), findings: FindingText::ToDo(3) },
    AnswerShape { reasons: 0, form: Form::Rows(Scarcity::Great), findings: FindingText::ToDo(3) },
    AnswerShape { reasons: 1, form: Form::Rows(Scarcity::Great), findings: FindingText::ToDo(1) },
    AnswerShape { reasons: 0, form: Form::Rows(Scarcity::Great), findings: FindingText::ToDo(2) },
    AnswerShape { reasons: 0, form: Form::Rows(Scarcity::Great), findings: FindingText::ToDo(1) },
    AnswerShape { reasons: 0, form: Form::Rows(Scarcity::Great), findings: FindingText::ToDo(0) },
    AnswerShape { reasons: 1, form: Form::Flow { beside: true }, findings: FindingText::ToDo(1) },
    AnswerShape { reasons: 0, form: Form::Flow { beside: true }, findings: FindingText::ToDo(0) },
    AnswerShape { reasons: 1, form: Form::Flow { beside: false }, findings: FindingText::ToDo(0) },
    LEAST,
];
const LEAST: AnswerShape =
    AnswerShape { reasons: 0, form: Form::Flow { beside: false }, findings: FindingText::ToDo(0) };

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
            Form::Rows(scarcity) => {
                let fits = page.width >= WIDE && rows(&view, &lines, beside.as_ref(), scarcity, &mut page);
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
        if is_loose && !findings.is_empty() {
            page.blank();
        }
        some_findings(findings, way.findings, &mut page);
        (fits && page.lines() <= MOST_LINES, page)
    };
    // Three findings however short, rather than fewer at length; and no empty line, rather than less.
    for count in (0..=all.len().min(MOST_FINDINGS)).rev() {
        let findings = &all[..count];
        let pages = WAYS.iter().flat_map(|way| [true, false].map(|is_loose| written(way, is_loose, findings)));
        if let Some((_, page)) = { pages }.find(|(fits, _)| *fits) {
            return page.into_text();
        }
    }
    written(&LEAST, false, &[]).1.into_text()
}

/// Tells whether a run has an answer: one of few cases has its table alone.
pub fn is_answered(run: &Run) -> bool {
    are_enough(&constants::of_run(run))
}

fn are_enough(lines: &[(&ConstantGroup, Vec<ConstantValue>)]) -> bool {
    lines.iter().map(|(_, constants)| constants.len()).sum::<usize>() >= LEAST_CONSTANTS
}

/// The constants in rows, what is absent, and what is usual; whether no row is too long.
fn rows(
    view: &View,
    lines: &[(&'static ConstantGroup, Vec<ConstantValue>)],
    beside: Option<&NearestReference>,
    scarcity: Scarcity,
    page: &mut Page,
) -> bool {
    let fits = super::constants::write(lines, beside, scarcity, view, page);
    below(view, lines, beside, page);
    fits
}

/// A line for each kind, and what is absent.
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
            let verdict = beside.and_then(|beside| beside.verdict(constant));
            let words = verdict.as_ref().map_or(String::new(), |verdict| format!(" {}", verdict.words.get(view.lang)));
            let style = verdict.map_or(Style::Plain, |verdict| match verdict.tone {
                Tone::Plain => Style::Plain,
                tone => style(tone),
            });
            Piece::new(format!("{}{words}", fact(view, constant)), style)
        });
        let all: Vec<Piece> = std::iter::once(label).chain(facts).collect();
        page.flow_hanging(0, column.map_or(HANG, |width| width + 3), &all);
    }
    below(view, lines, beside, page);
}

/// Lines below the constants: the missing ones, and the reference of the others.
fn below(
    view: &View,
    lines: &[(&'static ConstantGroup, Vec<ConstantValue>)],
    beside: Option<&NearestReference>,
    page: &mut Page,
) {
    for sentence in constants::not_measured(view.run) {
        page.paragraph("", sentence.get(view.lang), Style::Warning);
    }
    let Some(beside) = beside else { return };
    let constants = lines.iter().flat_map(|(_, constants)| constants);
    let words: Vec<String> =
        constants.filter_map(|constant| Some(beside.verdict(constant)?.words.get(view.lang).to_owned())).collect();
    if words.is_empty() {
        return;
    }
    // Where one line does not hold both, the page of the reference is the lesser half: every list of references leads there.
    let [source, legend] = [beside.source(), beside.legend(&words)].map(|text| text.get(view.lang));
    let is_needed = legend.width() <= page.width || words.iter().any(|words| is_about(words));
    let text = if is_needed { legend } else { source };
    page.paragraph("", &text, Style::Dim);
}

/// Indentation at which a narrow page continues the constants of a kind.
const HANG: usize = 4;

/// `L1d 1.67 ns`, with how sure it is where that is worth a word.
fn fact(view: &View, constant: &ConstantValue) -> String {
    let shown = Message::joined([constant.name.into(), constant.value()], " ");
    followed(shown, constant.how_sure(view.run)).get(view.lang)
}

/// Lines below the short text of each finding in the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FindingText {
    Cure,
    /// The first thing to do, of so many findings.
    ToDo(usize),
}

/// Greatest costs, and their remedies.
fn some_findings(findings: &[Finding], part: FindingText, page: &mut Page) {
    if findings.is_empty() {
        return;
    }
    let lang = page.options.lang;
    page.line(&[
        Piece::new(page.say(words::FINDINGS), Style::Heading),
        gap(3),
        Piece::new(page.say(words::order(findings)), Style::Dim),
    ]);
    for (index, finding) in findings.iter().enumerate() {
        let text = finding.short.get(lang);
        // A setting to try is something to do; what only shows it again is not.
        let tried = finding.command.as_ref().filter(|command| command.starts_with("hostmark try "));
        let command = tried.map_or_else(String::new, |command| format!("  {}", words::shows(command, lang)));
        let command = if 5 + text.width() + command.width() <= page.width { command } else { String::new() };
        page.paragraph(&format!("{:>3}  ", index + 1), &format!("{text}{command}"), Style::Plain);
        let cure = finding.cure.as_ref().map_or("", |cure| cure.get(lang));
        match part {
            FindingText::Cure if !cure.is_empty() => page.paragraph("     ", cure, Style::Dim),
            FindingText::ToDo(count) if index < count && !cure.is_empty() => {
                page.paragraph("     ", first_thing_to_do(cure), Style::Dim);
            }
            _ => {}
        }
    }
}
