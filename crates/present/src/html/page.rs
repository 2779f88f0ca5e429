//! The page as data: what the template lays out.

use std::cell::Cell;
use std::collections::HashMap;

use hostmark_analysis::compare::{Comparison, History, Pool, SAME};
use hostmark_analysis::constants::MOST_FINDINGS;
use hostmark_analysis::findings::findings_and_kept;
use hostmark_analysis::labels::run_letter;
use hostmark_analysis::overhead::is_wanted;
use hostmark_model::{Lang, Run};
use serde::Serialize;

use super::answer::{Answer, answer};
use super::bilingual::Words;
use super::facts::{Block, Head, heads, tables};
use super::figures::{Figure, Figures, MOST_SAMPLES, figures, of_probe, of_samples};
use super::gather::{Probe, Runs};
use super::layers::{by_environment, layers};
use super::network::links;
use super::table::{ProbeTable, anchor, table};
use crate::RenderOptions;
use crate::print::html;
use crate::views;

/// Pictures of samples in a page at most, and cases beyond which there are fewer of them: rows need the room. A probe's default case
/// comes first, the case with its widest interval has what room is left.
const MOST_STRIPS: usize = 104;
const MOST_CASES: usize = 2400;

#[derive(Debug, Serialize)]
pub(super) struct Page {
    lang: &'static str,
    title: String,
    version: &'static str,
    many: bool,
    /// Whether the runs themselves are shown, and not a comparison alone.
    has_runs: bool,
    heads: Vec<Head>,
    /// The letters of the runs in each column of the facts.
    columns: Vec<String>,
    facts: Vec<Block>,
    /// The constants that people ask for.
    answer: Answer,
    findings: Vec<Found>,
    layers: Option<String>,
    network: String,
    /// As markup, as all figures.
    comparisons: Vec<String>,
    /// The charts beside the constants.
    leading: Vec<String>,
    figures: Vec<String>,
    sections: Vec<Section>,
    cases: usize,
    most_samples: usize,
    most_strips: usize,
    most_findings: usize,
}

/// A finding of one run.
#[derive(Debug, Serialize)]
struct Found {
    run: String,
    short: Words,
    text: Words,
    cure: Option<Words>,
    command: Option<String>,
    cases: Vec<Link>,
}

/// A case that a finding stands on.
#[derive(Debug, Serialize)]
struct Link {
    id: String,
    /// The row that shows it; empty where none does.
    anchor: String,
}

/// A section of the report with its probes.
#[derive(Debug, Serialize)]
struct Section {
    id: String,
    title: Words,
    cases: usize,
    probes: Vec<Shown>,
}

#[derive(Debug, Serialize)]
struct Shown {
    table: ProbeTable,
    figures: Vec<String>,
    samples: Vec<String>,
}

/// What the page of these runs says.
pub(super) fn page(all: &[Run], options: &RenderOptions) -> Page {
    let sorted = by_environment(all);
    let all = sorted.as_deref().unwrap_or(all);
    let runs = Runs::new(all, options);
    let sides = sides(all);
    let Figures { leading, all: first, shown } = figures(&runs);
    let numbers = Cell::new(0);
    let number = || numbers.replace(numbers.get() + 1);
    let picture = |figure: Figure| html::figure(&figure.title, figure.note.as_ref(), &figure.chart, number());
    let leading: Vec<String> = leading.into_iter().map(&picture).collect();
    let first: Vec<String> = first.into_iter().map(&picture).collect();
    let cases: usize = runs.probes.iter().map(|probe| probe.cases.len()).sum();
    let most_strips = MOST_STRIPS.min(MOST_STRIPS * MOST_CASES / cases.max(1));
    let mut strips = 0;
    let mut sections: Vec<Section> = Vec::new();
    for (index, probe) in runs.probes.iter().enumerate() {
        let figures = of_probe(&runs, probe, shown.contains(probe.id)).into_iter().map(&picture).collect();
        let mut samples = of_samples(&runs, probe);
        let to_come = runs.probes.len().saturating_sub(index + 1) * runs.all.len();
        samples.truncate(most_strips.saturating_sub(strips + to_come).max(runs.all.len()));
        samples.truncate(most_strips.saturating_sub(strips));
        strips += samples.len();
        let samples = samples.into_iter().map(&picture).collect();
        let shown = Shown { table: table(&runs, probe), figures, samples };
        let title = probe.section();
        match sections.iter_mut().find(|section| section.title == title) {
            Some(section) => {
                section.cases += probe.cases.len();
                section.probes.push(shown);
            }
            None => {
                let id = format!("s{}", sections.len());
                sections.push(Section { id, title, cases: probe.cases.len(), probes: vec![shown] });
            }
        }
    }
    Page {
        lang: if options.lang == Lang::Zh { "zh-CN" } else { "en" },
        title: title(all),
        version: env!("CARGO_PKG_VERSION"),
        many: runs.are_many(),
        heads: heads(&runs),
        columns: sides.iter().map(|(letters, _)| letters.clone()).collect(),
        facts: tables(&sides.iter().map(|(_, side)| &side[0]).collect::<Vec<_>>()),
        has_runs: true,
        answer: answer(&runs),
        findings: found(&runs),
        layers: layers(all, &number),
        network: links(&runs),
        comparisons: beside(&sides).iter().flat_map(|comparison| comparisons(comparison, &number)).collect(),
        leading,
        figures: first,
        cases,
        sections,
        most_samples: MOST_SAMPLES,
        most_strips,
        most_findings: MOST_FINDINGS,
    }
}

/// What the page of a comparison alone says.
pub(super) fn of_comparison(comparison: &Comparison, options: &RenderOptions) -> Page {
    let numbers = Cell::new(0);
    let names = std::iter::once(&comparison.base).chain(comparison.new.iter().map(|against| &against.side));
    Page {
        lang: if options.lang == Lang::Zh { "zh-CN" } else { "en" },
        title: names.map(|side| side.name.as_str()).collect::<Vec<_>>().join(" – "),
        version: env!("CARGO_PKG_VERSION"),
        many: true,
        has_runs: false,
        heads: Vec::new(),
        columns: Vec::new(),
        facts: Vec::new(),
        answer: Answer::default(),
        findings: Vec::new(),
        layers: None,
        network: String::new(),
        comparisons: comparisons(comparison, &|| numbers.replace(numbers.get() + 1)),
        leading: Vec::new(),
        figures: Vec::new(),
        cases: comparison.new.iter().map(|against| against.cases.len()).sum(),
        sections: Vec::new(),
        most_samples: MOST_SAMPLES,
        most_strips: MOST_STRIPS,
        most_findings: MOST_FINDINGS,
    }
}

fn comparisons(comparison: &Comparison, number: &dyn Fn() -> usize) -> Vec<String> {
    views::comparison::comparison(comparison).iter().map(|document| html::write(document, 3, number)).collect()
}

/// The runs of each environment, which stand behind each other, with their letters; where the page is not about environments,
/// each run alone.
fn sides(all: &[Run]) -> Vec<(String, &[Run])> {
    let are_environments = is_wanted(all);
    let mut begun = 0;
    let with_letters = |side| {
        let (first, last) = (begun, begun + <[Run]>::len(side) - 1);
        begun = last + 1;
        let to = if last > first { format!("–{}", run_letter(last)) } else { String::new() };
        (format!("{}{to}", run_letter(first)), side)
    };
    all.chunk_by(|one, other| are_environments && one.name == other.name).map(with_letters).collect()
}

/// The first side against each other one, where there are several.
fn beside(sides: &[(String, &[Run])]) -> Option<Comparison> {
    let names: Vec<String> = sides.iter().map(|(letters, side)| format!("{letters} {}", side[0].name)).collect();
    let pool = |index: usize| Pool { name: &names[index], runs: sides[index].1 };
    let new: Vec<Pool> = (1..sides.len()).map(pool).collect();
    (!new.is_empty()).then(|| Comparison::of(pool(0), &new, &History::default(), SAME))
}

fn title(all: &[Run]) -> String {
    let mut hosts: Vec<&str> =
        all.iter().map(|run| run.host.hostname.as_str()).filter(|name| !name.is_empty()).collect();
    hosts.dedup();
    match hosts.as_slice() {
        [] => "hostmark".to_owned(),
        hosts => hosts.join(", "),
    }
}

fn found(runs: &Runs) -> Vec<Found> {
    let cases = runs.probes.iter().flat_map(|probe: &Probe| probe.cases.iter());
    let anchors: HashMap<&str, String> = cases.map(|case| (case.id, case.anchor())).collect();
    let probes: HashMap<&str, String> = runs.probes.iter().map(|probe| (probe.id, anchor(probe.id))).collect();
    let link = |id: String| {
        let anchor = anchors.get(id.as_str()).or_else(|| probes.get(id.as_str())).cloned().unwrap_or_default();
        Link { anchor, id: runs.typed_id(&id) }
    };
    let mut all = Vec::new();
    for (index, run) in runs.all.iter().enumerate() {
        for finding in findings_and_kept(run) {
            all.push(Found {
                run: if runs.are_many() { run_letter(index) } else { String::new() },
                short: finding.short,
                text: finding.text,
                cure: finding.cure,
                command: finding.command,
                cases: finding.cases.into_iter().map(link).collect(),
            });
        }
    }
    all
}
