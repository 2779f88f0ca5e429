//! The page of `hostmark host`: five tables of facts, then what would disturb a measurement, worst first.

use hostmark_model::{HostFinding, HostReport, HostWeight, Text};

use super::RenderOptions;
use super::console::page::{Page, Style};
use crate::document::Block;
use crate::print::console::append;
use crate::views::host::facts;

const UNSEEN: Text = term!("WHAT CANNOT BE SEEN");
const MAY_DISTURB: Text = term!("it may disturb a measurement");
const SHIFTS: Text = term!("WORTH KNOWING");
const NO_NOISE: Text = term!("constant costs, not noise");

/// The whole page; it ends with a line break and holds nothing that steers a terminal but its own colours.
pub fn host(report: &HostReport, options: &RenderOptions) -> String {
    let mut page = Page::new(options);
    append(&mut page, &facts(report).into_iter().map(Block::Table).collect());
    let of = |weights: &[HostWeight]| -> Vec<&HostFinding> {
        report.findings.iter().filter(|finding| weights.contains(&finding.weight)).collect()
    };
    let (disturbing, unseen) = (of(&[HostWeight::Disturbs]), of(&[HostWeight::Unknown]));
    let title = page.say(term!("WHAT WOULD DISTURB A MEASUREMENT"));
    let remark = match (disturbing.is_empty(), unseen.is_empty()) {
        (false, _) => term!("worst first"),
        (true, false) => term!("nothing is seen, but not all can be seen"),
        (true, true) => term!("nothing that can be seen from here"),
    };
    let remark = page.say(remark);
    page.heading(title, remark);
    for (index, finding) in disturbing.iter().enumerate() {
        findings(&mut page, &format!("{:>2} ", index + 1), finding, Style::Warning);
    }
    let others = of(&[HostWeight::Shifts, HostWeight::Note]);
    let rest = [(unseen, UNSEEN, MAY_DISTURB, Style::Warning), (others, SHIFTS, NO_NOISE, Style::Plain)];
    for (found, title, remark, style) in rest.into_iter().filter(|(found, ..)| !found.is_empty()) {
        let (title, remark) = (page.say(title), page.say(remark));
        page.heading(title, remark);
        found.iter().for_each(|finding| findings(&mut page, " · ", finding, style));
    }
    page.into_text()
}

fn findings(page: &mut Page, first: &str, finding: &HostFinding, style: Style) {
    let lang = page.options.lang;
    page.paragraph(first, finding.effect.get(lang), style);
    page.paragraph("   → ", finding.cure.get(lang), Style::Dim);
}
