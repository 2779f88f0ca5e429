//! The page as data: what the template lays out.

use std::collections::HashMap;

use hostmark_model::{Lang, Run};
use serde::Serialize;

use super::bilingual::Words;
use super::facts::{Block, Head, heads, tables};
use super::figures::{Figure, MOST_SAMPLES, figures, of_probe, of_samples};
use super::gather::{Probe, Runs};
use super::table::{Table, anchor, table};
use crate::RenderOptions;
use crate::findings::findings_and_kept;

/// Samples of all charts together at most: beyond, only default cases of the first probes would be shown.
const MOST_STRIPS: usize = 160;

#[derive(Debug, Serialize)]
pub(super) struct Page {
    lang: &'static str,
    title: String,
    version: &'static str,
    many: bool,
    heads: Vec<Head>,
    facts: Vec<Block>,
    findings: Vec<Found>,
    figures: Vec<Picture>,
    sections: Vec<Section>,
    cases: usize,
    most_samples: usize,
}

/// A finding of one run.
#[derive(Debug, Serialize)]
struct Found {
    run: String,
    text: Words,
    cure: Option<Words>,
    cases: Vec<Link>,
}

/// A case that a finding stands on.
#[derive(Debug, Serialize)]
struct Link {
    id: String,
    /// The row that shows it; empty where none does.
    anchor: String,
}

#[derive(Debug, Serialize)]
struct Picture {
    id: String,
    title: Words,
    note: Option<Words>,
    svg: String,
    legend: Vec<Sign>,
}

#[derive(Debug, Serialize)]
struct Sign {
    sign: String,
    label: Words,
}

/// A section of the report with its probes.
#[derive(Debug, Serialize)]
struct Section {
    id: String,
    title: Words,
    probes: Vec<Shown>,
}

#[derive(Debug, Serialize)]
struct Shown {
    table: Table,
    figures: Vec<Picture>,
    samples: Vec<Picture>,
}

/// What the page of these runs says.
pub(super) fn page(all: &[Run], options: &RenderOptions) -> Page {
    let runs = Runs::new(all, options);
    let (first, shown) = figures(&runs);
    let mut numbers = 0..;
    let mut picture = |figure: Figure| Picture {
        id: format!("f{}", numbers.next().unwrap_or(0)),
        title: figure.title,
        note: figure.note,
        svg: figure.chart.svg,
        legend: figure.chart.legend.into_iter().map(|entry| Sign { sign: entry.sign, label: entry.label }).collect(),
    };
    let first: Vec<Picture> = first.into_iter().map(&mut picture).collect();
    let mut strips = 0;
    let mut sections: Vec<Section> = Vec::new();
    for probe in &runs.probes {
        let figures = of_probe(&runs, probe, shown.contains(probe.id)).into_iter().map(&mut picture).collect();
        let mut samples = of_samples(&runs, probe);
        samples.truncate(MOST_STRIPS.saturating_sub(strips));
        strips += samples.len();
        let samples = samples.into_iter().map(&mut picture).collect();
        let shown = Shown { table: table(&runs, probe), figures, samples };
        let title = probe.section();
        match sections.iter_mut().find(|section| section.title == title) {
            Some(section) => section.probes.push(shown),
            None => sections.push(Section { id: format!("s{}", sections.len()), title, probes: vec![shown] }),
        }
    }
    Page {
        lang: if options.lang == Lang::Zh { "zh-CN" } else { "en" },
        title: title(all),
        version: env!("CARGO_PKG_VERSION"),
        many: runs.are_many(),
        heads: heads(&runs),
        facts: tables(&runs),
        findings: found(&runs),
        figures: first,
        cases: runs.probes.iter().map(|probe| probe.cases.len()).sum(),
        sections,
        most_samples: MOST_SAMPLES,
    }
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
        Link { anchor, id }
    };
    let mut all = Vec::new();
    for (index, run) in runs.all.iter().enumerate() {
        for finding in findings_and_kept(run) {
            all.push(Found {
                run: if runs.are_many() { Runs::letter(index) } else { String::new() },
                text: finding.text,
                cure: finding.cure,
                cases: finding.cases.into_iter().map(link).collect(),
            });
        }
    }
    all
}
