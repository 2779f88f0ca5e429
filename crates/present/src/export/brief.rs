//! A run in 2 KB for programs and assistants that read: key figures, what limits each, how far to trust them, codes, the next command.

use hostmark_analysis::constants::{self, ConstantValue, MOST_FINDINGS};
use hostmark_analysis::escape::{self, visible};
use hostmark_analysis::findings::leading;
use hostmark_analysis::typography::{COMMA, typeset};
use hostmark_analysis::{Spoken, trust};
use hostmark_model::{Finding, Message, Run};
use hostmark_say::say;
use serde_json::{Value, json};

use super::tracked::symbol;
use super::{ExportFormat, Render};
use crate::RenderOptions;
use crate::render::markdown::machine;

pub(super) const TEXT: ExportFormat = ExportFormat {
    name: "brief",
    description: term!("2 KB of text: key figures, what limits each, how far to trust them, the next command"),
    render: Render::One(text),
};
pub(super) const JSON: ExportFormat = ExportFormat {
    name: "brief-json",
    description: term!("the same as JSON, for scripts and assistants"),
    render: Render::One(|run, options| {
        fitting(run, |all, count| escape::json(&json(run, all, count, options).to_string()))
    }),
};

/// Most bytes of either form.
const MOST_BYTES: usize = 2048;

/// Text with as many findings and doubts as fit, written from all findings and their number.
fn fitting(run: &Run, write: impl Fn(&[Finding], usize) -> String) -> String {
    let all = leading(run);
    let with = |count: usize| write(&all, count) + "\n";
    let most = all.len().min(MOST_FINDINGS);
    (1..=most).rev().map(&with).find(|text| text.len() <= MOST_BYTES).unwrap_or_else(|| with(0))
}

/// Codes of what limits a figure or spoils it: findings that stand on its case, and the case's own flags.
fn limits(all: &[Finding], figure: &ConstantValue) -> Vec<String> {
    let found = all.iter().filter(|finding| finding.cases.contains(&figure.case.id));
    let flags = figure.case.measured().map_or(&[][..], |measured| &measured.flags);
    let flags = flags.iter().filter_map(|flag| serde_json::to_value(flag.kind).ok()?.as_str().map(str::to_owned));
    let mut codes: Vec<String> = found.map(|finding| finding.id.clone()).chain(flags).collect();
    codes.dedup();
    codes
}

/// A number with four digits that count.
fn short(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

fn next(run: &Run, findings: &[Finding]) -> String {
    let command = findings.iter().find_map(|finding| finding.command.clone());
    command.unwrap_or_else(|| format!("hostmark report {} --full", run.name))
}

fn json(run: &Run, all: &[Finding], count: usize, options: &RenderOptions) -> Value {
    let findings = &all[..count];
    let figure = |figure: &ConstantValue| {
        let (estimate, unit) = figure.shown();
        let [low, high] = figure.ends().map_or([None; 2], |(low, high)| [low, high].map(|end| Some(short(end))));
        let limits = limits(all, figure);
        (figure.id(), json!([short(estimate.value()), low, high, symbol(unit), limits]))
    };
    let figures = constants::of_run(run);
    let figures: serde_json::Map<String, Value> = figures.iter().flat_map(|(_, of)| of).map(figure).collect();
    let missing = constants::missing(run).map(|(row, reason)| (row.en.to_owned(), json!(reason.code)));
    let missing: serde_json::Map<String, Value> = missing.collect();
    let trust = run.trust.as_ref();
    let doubts = trust.map(|trust| trust.doubts.iter().take(findings.len()).map(|doubt| doubt.text.get(options.lang)));
    let found = |finding: &Finding| json!({ "code": finding.id, "cost": short(finding.cost), "text": finding.short.get(options.lang) });
    json!({
        "hostmark": run.tool.version,
        "run": run.name,
        "machine": machine(run, options.lang),
        "grade": trust.map(|trust| trust.grade.letter()),
        "repeats_within": trust.map(|trust| json!({ "core": trust.core.map(short), "rest": trust.others.map(short) })),
        "doubts": doubts.map(Iterator::collect::<Vec<_>>),
        "columns": ["value", "low", "high", "unit", "limits"],
        "figures": figures,
        "missing": missing,
        "findings": findings.iter().map(found).collect::<Vec<_>>(),
        "next": next(run, findings),
    })
}

fn text(run: &Run, options: &RenderOptions) -> String {
    let lang = options.lang;
    let written = |all: &[Finding], count: usize| {
        let findings = &all[..count];
        let mut lines = vec![format!("{}   {}", run.name, machine(run, lang))];
        if let Some(trust) = &run.trust {
            lines.push(trust::line(trust).get(lang).to_owned());
            lines.extend(trust::why(trust, findings.len()).map(|why| why.get(lang)));
        }
        for figure in constants::of_run(run).iter().flat_map(|(_, figures)| figures) {
            let codes = Message::joined(limits(all, figure).into_iter().map(Message::plain), COMMA);
            let line = say!("{row}: {value}", row = figure.row, value = figure.in_line()).get(lang);
            lines.push(format!("{line}   {}", codes.get(lang)).trim_end().to_owned());
        }
        lines.extend(constants::not_measured(run).iter().map(|sentence| sentence.get(lang)));
        lines.extend(findings.iter().map(|finding| format!("{}: {}", finding.id, finding.short.get(lang))));
        lines.push(say!("next: {command}", command = next(run, findings)).get(lang));
        let lines: Vec<String> = lines.iter().map(|line| visible(line)).collect();
        typeset(&lines.join("\n"), lang).into_owned()
    };
    fitting(run, written)
}
