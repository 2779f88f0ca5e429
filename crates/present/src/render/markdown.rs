//! A run as markdown: the answer first (machine, grade, constants, what costs most), then a table for each section with intervals and
//! remarks, and all other findings.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use hostmark_analysis::constants::{self, MOST_FINDINGS};
use hostmark_analysis::escape::markdown as safe;
use hostmark_analysis::findings::{findings_and_kept, leading, parted};
use hostmark_analysis::format::{agreement, low_high, rounds_and_samples, value};
use hostmark_analysis::groups::grouped;
use hostmark_analysis::references::beside;
use hostmark_analysis::typography::{COMMA, typeset};
use hostmark_analysis::{Spoken, guest, reasons, trust};
use hostmark_model::{
    AxisKind, CaseRecord, Finding, Lang, Measured, Message, Outcome, ProbeInfo, Run, Text, Unit, size_text,
};

use super::RenderOptions;
use crate::print::markdown::write as write_document;
use crate::runs::{Estimators, in_first_unit, other_estimator};
use crate::views::network::network;
use crate::views::run::{self, Reasons};
use crate::views::{data_path, scaling};
use crate::words::shows;

const INTERVAL: Text = term!("95 % interval");
const SAMPLES: Text = term!("rounds × samples");
const REMARKS: Text = term!("also, remarks");
const EVERYWHERE: Text = term!("What the defaults of Linux cost on every machine");
const OTHER: Text = term!("Other");
const SKIPPED: Text = term!("skipped: ");
const FAILED: Text = term!("**FAILED**: ");
const MOST_IN_LINE: usize = 5;

/// The whole document; it ends with a line break, and nothing of the run's own texts is taken for markup.
pub fn markdown(run: &Run, options: &RenderOptions) -> String {
    let lang = options.lang;
    let mut out = format!("# {}\n\n", safe(&run.name));
    head(run, lang, &mut out);
    let all = findings_and_kept(run);
    for text in run::contradictions(run) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "> ! {}\n", safe(&text.get(lang)));
    }
    if let Some((grade, reasons)) = run.trust.as_ref().map(trust::lines).as_deref().and_then(<[_]>::split_first) {
        let _ = writeln!(out, "> ! {}", safe(grade.get(lang)));
        if !reasons.is_empty() {
            out.push_str(">\n");
        }
        reasons.iter().for_each(|reason| out += &format!("> - {}\n", safe(reason.get(lang))));
        out.push('\n');
    }
    constants(run, lang, &mut out);
    let (here, everywhere) = parted(&all);
    findings(term!("Main findings"), 1, here.iter().take(MOST_FINDINGS), lang, &mut out);
    virtual_machine(run, options, &mut out);
    for text in run::ended(run, Reasons::Below).into_iter().chain(run::disturbed(run)) {
        let _ = writeln!(out, "\n> ! {}", safe(&text.get(lang)));
    }
    if let Some(document) = network(run, &all, 1, "") {
        let _ = write!(out, "\n{}", write_document(&[document], 1, options));
    }
    let document = data_path(run, options.verbose);
    if !document.is_empty() {
        let _ = write!(out, "\n{}", write_document(&[document], 1, options));
    }
    if run.cases.is_empty() {
        let _ = writeln!(out, "{}", term!("No case was measured.").say(lang));
    }
    let probe = |case: &CaseRecord| run.probes.iter().find(|probe| probe.id == case.probe);
    let section = |case: &CaseRecord| probe(case).map_or(OTHER.say(lang), |probe| probe.section.get(lang));
    let (estimators, varied) = (Estimators::of(run), varied(run));
    for (name, cases) in grouped(run.cases.iter().map(|case| (section(case), case))) {
        let _ = writeln!(out, "\n## {}\n", safe(name));
        let heads = [term!("case"), term!("value"), INTERVAL, SAMPLES, REMARKS].map(|head| head.say(lang));
        let _ = writeln!(out, "| {} |\n|---|--:|---|--:|---|", heads.join(" | "));
        for case in cases {
            row((&estimators, &varied), probe(case), case, options, &mut out);
        }
    }
    let laws = scaling(run, options.verbose);
    if !laws.is_empty() {
        let _ = write!(out, "\n{}", write_document(&[laws], 1, options));
    }
    findings(term!("Further findings"), MOST_FINDINGS + 1, here.iter().skip(MOST_FINDINGS), lang, &mut out);
    findings(EVERYWHERE, here.len() + 1, everywhere.iter(), lang, &mut out);
    typeset(&out, lang).into_owned()
}

/// Description of the machine, in a line, without its name.
pub fn machine(run: &Run, lang: Lang) -> String {
    run::title(run).iter().map(|part| part.get(lang)).collect::<Vec<_>>().join(" · ")
}

/// A line for a chat: the machine without its name, a constant of each kind, and the grade.
pub fn line(run: &Run, lang: Lang) -> String {
    let value =
        |constant: &constants::ConstantValue| format!("{} {}", constant.row.get(lang), constant.here().get(lang));
    let last = |constants: &[constants::ConstantValue]| constants.last().map(value);
    let facts: Vec<String> = constants::of_run(run).iter().filter_map(|(_, of)| last(of)).take(MOST_IN_LINE).collect();
    let mut parts = vec![machine(run, lang), facts.join(COMMA.say(lang))];
    parts.extend(run.trust.as_ref().map(|known| trust::line(known).get(lang).to_owned()));
    parts.push(run::tool(run));
    parts.retain(|part| !part.is_empty());
    typeset(&parts.join(term!(". ").say(lang)), lang).into_owned()
}

/// A few lines for an issue: the machine without its name, the grade, the constants, and what costs most.
pub fn short(run: &Run, options: &RenderOptions) -> String {
    let lang = options.lang;
    let mut out = format!("**{}**\n\n", safe(&machine(run, lang)));
    for text in run::contradictions(run) {
        let _ = writeln!(out, "! {}\n", safe(&text.get(lang)));
    }
    if let Some(trust) = &run.trust {
        let _ = writeln!(out, "{}\n", safe(trust::line(trust).get(lang)));
    }
    constants(run, lang, &mut out);
    for (index, finding) in leading(run).iter().take(MOST_FINDINGS).enumerate() {
        let gap = if index == 0 { "\n" } else { "" };
        let _ = writeln!(out, "{gap}{}. {}", index + 1, safe(finding.short.get(lang)));
    }
    let day = run.started.split('T').next().unwrap_or_default();
    let _ = writeln!(out, "\n{} · {}", safe(&run::tool(run)), safe(day));
    typeset(&out, lang).into_owned()
}

/// The constants that people ask for, a row for each kind.
fn constants(run: &Run, lang: Lang, out: &mut String) {
    let lines = constants::of_run(run);
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out, "| | |\n|---|---|");
    let beside = beside(run);
    let mut is_judged = false;
    for (line, constants) in lines {
        let fact = |constant: &constants::ConstantValue| {
            let verdict = beside.as_ref().and_then(|beside| Some(beside.verdict(constant)?.words.get(lang).to_owned()));
            let shown = verdict.as_ref().map(|words| format!(", {words}")).unwrap_or_default();
            is_judged |= verdict.is_some();
            let value = constant.in_line().get(lang);
            safe(&format!("{} {value}{shown}", constant.name.get(lang)))
        };
        let facts: Vec<String> = constants.iter().map(fact).collect();
        let _ = writeln!(out, "| {} | {} |", safe(line.name.get(lang)), facts.join(" · "));
    }
    for sentence in constants::not_measured(run) {
        let _ = writeln!(out, "\n{}", safe(&sentence.get(lang)));
    }
    if let Some(beside) = beside.filter(|_| is_judged) {
        let _ = writeln!(out, "\n{}", safe(&beside.legend().get(lang)));
    }
}

fn head(run: &Run, lang: Lang, out: &mut String) {
    let names = [run::tool(run), run.host.hostname.clone()];
    let facts = names.into_iter().map(Message::plain).chain(run::machine(run)).chain([Message::plain(&run.started)]);
    let facts = facts.chain(run::place(run)).chain(run.note.as_ref().map(Message::plain));
    let facts: Vec<String> = facts.map(|fact| safe(&fact.get(lang))).filter(|fact| !fact.is_empty()).collect();
    let _ = writeln!(out, "{}\n", facts.join(" · "));
}

/// The virtual machine that it was measured in.
fn virtual_machine(run: &Run, options: &RenderOptions, out: &mut String) {
    let Some(guest) = &run.guest else { return };
    let lang = options.lang;
    for (label, says) in guest::facts(guest, options.verbose) {
        let _ = writeln!(out, "- {}: {}", safe(label.get(lang)), safe(&says.get(lang)));
    }
    out.push('\n');
}

/// Findings, numbered from `number` on.
fn findings<'a>(title: Text, number: usize, findings: impl Iterator<Item = &'a Finding>, lang: Lang, out: &mut String) {
    for (index, finding) in findings.enumerate() {
        if index == 0 {
            let _ = writeln!(out, "\n## {}\n", title.say(lang));
        }
        let _ = writeln!(out, "{}. {}", number + index, safe(finding.text.get(lang)));
        if let Some(cure) = &finding.cure {
            let _ = writeln!(out, "   *{}*", safe(cure.get(lang)));
        }
        if let Some(command) = &finding.command {
            let _ = writeln!(out, "   {}", safe(&shows(command, lang)));
        }
    }
}

/// The axes, by probe, along which the cases of a run differ.
type Varied<'a> = HashSet<(&'a str, &'a str)>;

fn varied(run: &Run) -> Varied<'_> {
    let mut first: HashMap<(&str, &str), &str> = HashMap::new();
    let mut varied = HashSet::new();
    for case in &run.cases {
        for (axis, value) in &case.params.0 {
            let place = (case.probe.as_str(), axis.as_str());
            if *first.entry(place).or_insert(value) != value.as_str() {
                varied.insert(place);
            }
        }
    }
    varied
}

fn row(
    (estimators, varied): (&Estimators, &Varied),
    probe: Option<&ProbeInfo>,
    case: &CaseRecord,
    options: &RenderOptions,
    out: &mut String,
) {
    let lang = options.lang;
    let label = safe(&label(varied, probe, case, lang));
    let measured = match &case.outcome {
        Outcome::Measured(measured) => measured,
        Outcome::Skipped { reason } | Outcome::Failed { reason } => {
            let is_failed = matches!(case.outcome, Outcome::Failed { .. });
            let (word, why) = (if is_failed { FAILED } else { SKIPPED }, safe(&reasons::localized(reason, lang)));
            let _ = writeln!(out, "| {label} | {}{why} | | | |", word.say(lang));
            return;
        }
    };
    let own = probe.map_or(Unit::Ratio, |probe| probe.unit);
    let (estimate, unit) = in_first_unit(measured, own);
    let estimate = &*estimate;
    let interval = low_high(estimate, unit).or_else(|| agreement(estimate)).map(|text| text.get(lang));
    let interval = interval.unwrap_or_else(|| term!("none").say(lang).to_owned());
    let mut remarks: Vec<String> =
        other_estimator(estimators, case, estimate, unit).map(|other| other.get(lang)).into_iter().collect();
    for also in probe.into_iter().flat_map(|probe| &probe.also) {
        if also.name == Measured::CYCLES && unit == Unit::CoreCycles {
            remarks.insert(0, value(measured.estimate.value(), own, lang));
        } else if let Some(known) = measured.companion(&also.name) {
            let shown = value(known.value(), also.unit, lang);
            remarks.push(safe(&format!("{} {shown}", also.title.get(lang))));
        }
    }
    remarks.extend(measured.flags.iter().map(|flag| format!("! {}", safe(&reasons::localized(flag.sentence(), lang)))));
    if options.verbose {
        remarks.extend(measured.notes.iter().map(|(key, note)| safe(&format!("{key}: {note}"))));
    }
    let (shown, samples) = (value(estimate.value(), unit, lang), rounds_and_samples(estimate));
    let _ = writeln!(out, "| {label} | {shown} | {interval} | {samples} | {} |", remarks.join("; "));
}

/// The probe's title, and where the case stands on axes along which the run's cases differ.
fn label(varied: &Varied, probe: Option<&ProbeInfo>, case: &CaseRecord, lang: Lang) -> String {
    let title = probe.map_or(case.probe.as_str(), |probe| probe.title.get(lang));
    let kind = |axis: &str| probe?.axes.iter().find(|known| known.name == axis).map(|axis| axis.kind);
    let mut label = title.to_owned();
    for (axis, value) in case.params.0.iter().filter(|(axis, _)| varied.contains(&(case.probe.as_str(), axis.as_str())))
    {
        let shown = match value.parse() {
            Ok(bytes) if kind(axis) == Some(AxisKind::Size) => size_text(bytes),
            _ => value.clone(),
        };
        label += &format!("{}{axis} {shown}", COMMA.say(lang));
    }
    label
}
