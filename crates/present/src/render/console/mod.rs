//! The table of `hostmark run` and `hostmark report`, made from a run alone.

mod answer;
mod constants;
mod header;
mod hierarchy;
mod matrix;
mod memory;
mod remarks;
mod sections;
mod sweep;
pub(crate) mod view;

use hostmark_analysis::findings::{findings_and_kept, parted};
use hostmark_analysis::format::{percent, value};
use hostmark_model::{CaseRecord, Finding, Run, Unit};
use hostmark_say::say;
use hostmark_stats::descriptive;

pub use self::answer::{answer, is_answered};
use self::page::{Mark, Page, Piece, Style};
use self::view::{Shown, View};
use crate::RenderOptions;
pub(in crate::render) use crate::print::console as page;
use crate::print::console::append;
use crate::print::console::grid;
use crate::views::network::network;
use crate::views::scaling;
use crate::words;

/// The whole table; it ends with a line break and holds nothing that steers a terminal but its own colours.
pub fn table(run: &Run, options: &RenderOptions) -> String {
    let view = View::new(run, options);
    let mut page = Page::new(options);
    let mut shown = Shown::new();
    header::write(&view, &mut page);
    if run.cases.is_empty() {
        page.blank();
        let nothing = page.say(words::NO_CASES);
        page.paragraph("", nothing, Style::Plain);
        return page.into_text();
    }
    hierarchy::write(&view, &mut page, &mut shown);
    memory::write(&view, &mut page, &mut shown);
    memory::write_nodes(&view, &mut page, &mut shown);
    if let Some(document) = network(run, &findings_and_kept(run), 1, "") {
        append(&mut page, &document);
    }
    sections::write(&view, &mut page, &mut shown);
    let laws = scaling(run, options.verbose);
    if !laws.is_empty() {
        append(&mut page, &laws);
    }
    findings(run, &mut page);
    legend(&view, &mut page);
    page.into_text()
}

fn findings(run: &Run, page: &mut Page) {
    let findings = findings_and_kept(run);
    let (here, everywhere) = parted(&findings);
    let title = page.say(words::FINDINGS);
    let is_measured = run.cases.iter().any(|case| case.measured().is_some());
    let order = match here.iter().any(|finding| finding.cost > 0.0) {
        _ if !is_measured => page.say(words::NOT_SOUGHT),
        _ if here.is_empty() => page.say(words::ALL_WELL),
        true => page.say(words::order(here)),
        false => "",
    };
    page.heading(title, order);
    list(here, 1, page);
    if !everywhere.is_empty() {
        let (title, says) = (page.say(words::EVERYWHERE), page.say(words::OF_DEFAULTS));
        page.heading(title, says);
        list(everywhere, here.len() + 1, page);
    }
}

/// Findings in full, numbered from `number` on.
fn list(findings: &[Finding], number: usize, page: &mut Page) {
    let lang = page.options.lang;
    for (index, finding) in findings.iter().enumerate() {
        page.paragraph(&format!("{:>3}  ", number + index), finding.text.get(lang), Style::Plain);
        if let Some(cure) = &finding.cure {
            page.paragraph("     ", cure.get(lang), Style::Dim);
        }
        if let Some(command) = &finding.command {
            page.paragraph("     ", &words::shows(command, lang), Style::Dim);
        }
    }
}

/// Meaning of the marks on this page.
fn legend(view: &View, page: &mut Page) {
    let target = percent(view.target);
    let target = target.replace(".0", "");
    let mut facts = Vec::new();
    if !view.verbose && view.measured > 0 {
        let shown = |case: &CaseRecord| Some(case.measured()?.estimate.repetition?.runs);
        let runs = view.run.cases.iter().filter_map(shown).max();
        facts.push(view.tell(&match runs {
            None => say!("±: 95 % interval of this run, left out under {target}"),
            Some(0) => say!(
                "±: a repeat should fall inside (95 %), left out under {target}; spread assumed until 3 runs are stored"
            ),
            Some(_) => say!("±: a repeat should fall inside (95 %), left out under {target}"),
        }));
        let quiet = view.run.cases.iter().filter_map(|case| case.measured()?.estimate.leading_quiet()?.at_hz);
        if let Some(hz) = descriptive::median(&quiet.collect::<Vec<f64>>()) {
            let clock = value(hz, Unit::Hertz, view.lang);
            let quiet = say!("core-bound values: undisturbed, at {clock}");
            facts.push(view.tell(&quiet));
        }
    }
    let marks = [(Mark::About, words::ABOUT_LEGEND), (Mark::NotPlanned, words::NOT_PLANNED_LEGEND)];
    let used = marks.into_iter().filter(|(mark, _)| page.marks.contains(mark));
    facts.extend(used.map(|(_, text)| view.say(text).to_owned()));
    if !facts.is_empty() {
        page.blank();
        let pieces: Vec<Piece> = facts.iter().map(|fact| Piece::new(fact, Style::Dim)).collect();
        page.flow_hanging(0, 0, &pieces);
    }
}
