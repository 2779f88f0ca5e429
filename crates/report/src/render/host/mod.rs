//! The page of `hostmark host`: five blocks of facts, then what would disturb a measurement, worst first.

mod hardware;
mod system;

use hostmark_model::{HostFinding, HostReport, HostWeight, Lang, Text};
use unicode_width::UnicodeWidthStr;

use super::RenderOptions;
use super::console::page::{Page, Piece, Style, gap};
use super::wrap::wrap;
use crate::escape::visible;

/// Columns of the labels, their indent and the gap behind them included.
const LABEL_COLUMNS: usize = 16;

const DISTURBS: Text = Text { en: "WHAT WOULD DISTURB A MEASUREMENT", zh: "会干扰测量的因素" };
const WORST_FIRST: Text = Text { en: "worst first", zh: "最严重者在前" };
const NOTHING: Text = Text { en: "nothing that can be seen from here", zh: "从本机看不到任何干扰因素" };
const SHIFTS: Text = Text { en: "WORTH KNOWING", zh: "值得了解" };
const NO_NOISE: Text = Text { en: "no noise: the same every time", zh: "不是噪声：每次影响相同" };

/// The whole page; it ends with a line break and holds nothing that steers a terminal but its own colours.
pub fn host(report: &HostReport, options: &RenderOptions) -> String {
    let mut page = Page::new(options);
    hardware::cpu(report, &mut Block::new(&mut page));
    hardware::memory(report, &mut Block::new(&mut page));
    system::kernel(report, &mut Block::new(&mut page));
    system::limits(report, &mut Block::new(&mut page));
    hardware::devices(report, &mut Block::new(&mut page));
    let (disturbing, others): (Vec<&HostFinding>, Vec<&HostFinding>) =
        report.findings.iter().partition(|finding| finding.weight == HostWeight::Disturbs);
    let title = page.say(DISTURBS);
    let remark = page.say(if disturbing.is_empty() { NOTHING } else { WORST_FIRST });
    page.heading(title, remark);
    for (index, finding) in disturbing.iter().enumerate() {
        findings(&mut page, &format!("{:>2} ", index + 1), finding, Style::Warning);
    }
    if !others.is_empty() {
        let (title, remark) = (page.say(SHIFTS), page.say(NO_NOISE));
        page.heading(title, remark);
        others.iter().for_each(|finding| findings(&mut page, " · ", finding, Style::Plain));
    }
    page.into_text()
}

fn findings(page: &mut Page, first: &str, finding: &HostFinding, style: Style) {
    let lang = page.options.lang;
    page.paragraph(first, finding.effect.get(lang), style);
    page.paragraph("   → ", finding.cure.get(lang), Style::Dim);
}

/// A block of facts: a heading, then a label and its facts a row. What nobody tells has no row.
struct Block<'a> {
    page: &'a mut Page,
    lang: Lang,
}

impl<'a> Block<'a> {
    fn new(page: &'a mut Page) -> Block<'a> {
        let lang = page.options.lang;
        Block { page, lang }
    }

    fn title(&mut self, en: &'static str, zh: &'static str, remark: &str) {
        let title = self.page.say(Text { en, zh });
        self.page.heading(title, remark);
    }

    /// One of two words.
    fn say<'t>(&self, en: &'t str, zh: &'t str) -> &'t str {
        if self.lang == Lang::Zh { zh } else { en }
    }

    /// A label and its facts, three spaces apart, on as many lines as they need.
    fn row(&mut self, en: &str, zh: &str, facts: &[String]) {
        let label = self.say(en, zh).to_owned();
        let room = self.page.width.saturating_sub(LABEL_COLUMNS);
        let mut lines: Vec<String> = Vec::new();
        for fact in facts.iter().map(|fact| visible(fact)).filter(|fact| !fact.is_empty()) {
            match lines.last_mut() {
                Some(line) if line.width() + 3 + fact.width() <= room => *line += &format!("   {fact}"),
                _ => lines.extend(wrap(&fact, room)),
            }
        }
        for (index, line) in lines.into_iter().enumerate() {
            let lead = Piece::new(if index == 0 { format!("  {label}") } else { String::new() }, Style::Dim);
            let pad = gap(LABEL_COLUMNS.saturating_sub(lead.width()));
            self.page.line(&[lead, pad, Piece { text: line, style: Style::Plain }]);
        }
    }
}

/// A list of ids as the kernel writes it: `0-3,8`.
fn id_list(ids: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for id in ids {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *id => *last = *id,
            _ => parts.push((*id, *id)),
        }
    }
    let part =
        |(first, last): &(usize, usize)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_as_the_kernel_writes_them() {
        assert_eq!(id_list(&[0, 1, 2, 4, 6, 7]), "0-2,4,6-7");
        assert_eq!(id_list(&[]), "");
    }
}
