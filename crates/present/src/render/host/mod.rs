//! The page of `hostmark host`: five blocks of facts, then what would disturb a measurement, worst first.

mod hardware;
mod system;

use hostmark_analysis::escape::visible;
use hostmark_model::{HostFinding, HostReport, HostWeight, Lang, Text};
use unicode_width::UnicodeWidthStr;

use super::RenderOptions;
use super::console::page::{Page, Piece, Style, gap};
use crate::wrap::wrap;

/// Columns of the labels, their indent and the gap behind them included.
const LABEL_COLUMNS: usize = 16;

const DISTURBS: Text = Text { en: "WHAT WOULD DISTURB A MEASUREMENT", zh: "会干扰测量的因素" };
const WORST_FIRST: Text = Text { en: "worst first", zh: "最严重者在前" };
const NOTHING: Text = Text { en: "nothing that can be seen from here", zh: "从本机看不到任何干扰因素" };
const NOTHING_SEEN: Text =
    Text { en: "nothing is seen, but not all can be seen", zh: "未见干扰因素，但并非全部可见" };
const UNSEEN: Text = Text { en: "WHAT CANNOT BE SEEN", zh: "无法看到的因素" };
const MAY_DISTURB: Text = Text { en: "it may disturb a measurement", zh: "可能干扰测量" };
const SHIFTS: Text = Text { en: "WORTH KNOWING", zh: "值得了解" };
const NO_NOISE: Text = Text { en: "constant costs, not noise", zh: "固定开销（不是噪声）" };

/// The whole page; it ends with a line break and holds nothing that steers a terminal but its own colours.
pub fn host(report: &HostReport, options: &RenderOptions) -> String {
    let mut page = Page::new(options);
    blocks(report, options.lang).iter().for_each(|block| block.write(&mut page));
    let of = |weights: &[HostWeight]| -> Vec<&HostFinding> {
        report.findings.iter().filter(|finding| weights.contains(&finding.weight)).collect()
    };
    let (disturbing, unseen) = (of(&[HostWeight::Disturbs]), of(&[HostWeight::Unknown]));
    let title = page.say(DISTURBS);
    let remark = match (disturbing.is_empty(), unseen.is_empty()) {
        (false, _) => WORST_FIRST,
        (true, false) => NOTHING_SEEN,
        (true, true) => NOTHING,
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

/// The facts of a host, block by block.
pub(crate) fn blocks(report: &HostReport, lang: Lang) -> Vec<Block> {
    let parts = [hardware::cpu, hardware::memory, system::kernel, system::limits, hardware::devices];
    let block = |fill: fn(&HostReport, &mut Block)| {
        let mut block = Block { lang, title: "", remark: String::new(), rows: Vec::new() };
        fill(report, &mut block);
        block
    };
    parts.into_iter().map(block).collect()
}

/// A block of facts: a heading, then a label and its facts a row. What nobody tells has no facts.
pub(crate) struct Block {
    lang: Lang,
    /// Its heading.
    pub(crate) title: &'static str,
    remark: String,
    /// Labels with their facts, all of which may be empty; the text is as the host says it.
    pub(crate) rows: Vec<(Text, Vec<String>)>,
}

impl Block {
    fn title(&mut self, en: &'static str, zh: &'static str, remark: &str) {
        self.title = self.say(en, zh);
        remark.clone_into(&mut self.remark);
    }

    /// One of two words.
    fn say<'t>(&self, en: &'t str, zh: &'t str) -> &'t str {
        if self.lang == Lang::Zh { zh } else { en }
    }

    fn row(&mut self, en: &'static str, zh: &'static str, facts: &[String]) {
        self.rows.push((Text { en, zh }, facts.to_vec()));
    }

    /// The heading, then a label and its facts, three spaces apart, on as many lines as they need.
    fn write(&self, page: &mut Page) {
        page.heading(self.title, &self.remark);
        for (label, facts) in &self.rows {
            self.write_row(page, label.get(self.lang), facts);
        }
    }

    fn write_row(&self, page: &mut Page, label: &str, facts: &[String]) {
        let room = page.width.saturating_sub(LABEL_COLUMNS);
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
            page.line(&[lead, pad, Piece { text: line, style: Style::Plain }]);
        }
    }
}

/// A list of ids as the kernel writes it: `0-3,8`.
fn id_list(ids: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for id in ids {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*id) => *last = *id,
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
        assert_eq!(id_list(&[usize::MAX, usize::MAX]), format!("{0},{0}", usize::MAX));
        assert_eq!(id_list(&[]), "");
    }
}
