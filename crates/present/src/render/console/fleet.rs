//! The table of `hostmark fleet report`: who is odd, in what and why; then how far hosts of each kind scatter.

use hostmark_analysis::fleet::{Fleet, HostResult, KindOfHosts};
use hostmark_analysis::format::percent;
use hostmark_model::{Lang, Text};

use super::grid::{Align, Grid, GridRow};
use super::page::{Page, Piece, Style};
use crate::render::RenderOptions;
use crate::render::fleet as words;

/// Odd hosts, cases of one of them, reasons, and files that are listed, unless everything is asked for.
const FEW_HOSTS: usize = 30;
const FEW_CASES: usize = 3;
const FEW_REASONS: usize = 4;
const FEW_FILES: usize = 10;

/// The whole table; it ends with a line break and holds nothing that steers a terminal but its own colours.
pub(in crate::render) fn table(fleet: &Fleet, options: &RenderOptions) -> String {
    let mut page = Page::new(options);
    let lang = options.lang;
    page.paragraph("", &words::summary(fleet, lang), Style::Heading);
    let odd: Vec<(&KindOfHosts, &HostResult)> = fleet.odd().collect();
    if !odd.is_empty() {
        title(&mut page, words::ODD);
        let most = if options.verbose { odd.len() } else { FEW_HOSTS };
        for (kind, host) in odd.iter().take(most) {
            of_host(&mut page, kind, host);
        }
        rest(&mut page, odd.len().saturating_sub(most));
    }
    let causes: Vec<String> = fleet.causes.iter().map(|cause| words::cause(cause, lang)).collect();
    list(&mut page, words::CAUSES, &causes);
    let drifts: Vec<String> = fleet.drifts.iter().map(|drift| words::drift(drift, lang)).collect();
    list(&mut page, words::DRIFTS, &drifts);
    list(&mut page, words::BETWEEN_HOSTS, &words::pairs(fleet, lang));
    for kind in &fleet.kinds {
        page.blank();
        page.paragraph("", &words::kind(kind, lang), Style::Heading);
        if !kind.is_judged {
            page.paragraph("  ", &words::no_verdict(kind, lang), Style::Warning);
            let names: Vec<&str> = kind.hosts.iter().map(|host| host.name.as_str()).collect();
            page.paragraph("  ", &names.join(", "), Style::Plain);
            continue;
        }
        spread(&mut page, kind);
    }
    if !fleet.unread.is_empty() {
        title(&mut page, words::UNREAD);
        let most = if options.verbose { fleet.unread.len() } else { FEW_FILES };
        for unread in fleet.unread.iter().take(most) {
            page.paragraph("  ", &format!("{} {}", unread.file, unread.reason.get(lang)), Style::Plain);
        }
        rest(&mut page, fleet.unread.len().saturating_sub(most));
    }
    if fleet.judged > 0 {
        page.blank();
        let method = page.say(words::METHOD);
        page.paragraph("", method, Style::Dim);
    }
    page.into_text()
}

fn title(page: &mut Page, text: Text) {
    page.blank();
    let text = page.say(text);
    page.paragraph("", text, Style::Heading);
}

fn list(page: &mut Page, head: Text, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    title(page, head);
    let most = if page.options.verbose { lines.len() } else { FEW_HOSTS };
    for line in lines.iter().take(most) {
        page.paragraph("  ", line, Style::Plain);
    }
    rest(page, lines.len().saturating_sub(most));
}

/// How many are not shown.
fn rest(page: &mut Page, count: usize) {
    if count > 0 {
        let text = match page.options.lang {
            Lang::En => format!("{count} more; show them by --verbose"),
            Lang::Zh => format!("另有 {count} 项；用 --verbose 显示"),
        };
        page.paragraph("  ", &text, Style::Dim);
    }
}

fn of_host(page: &mut Page, kind: &KindOfHosts, host: &HostResult) {
    let lang = page.options.lang;
    let mut head = vec![Piece::new(&host.name, Style::Bad), Piece::plain(words::stands_out(kind, host, lang))];
    head.extend(host.q.map(|q| Piece::new(words::odds(q), Style::Dim)));
    if host.shares_name {
        head.push(Piece::new(page.say(words::SAME_NAME), Style::Warning));
    }
    page.flow(2, &head);
    let most = if page.options.verbose { host.reasons.len() } else { FEW_REASONS };
    for reason in host.reasons.iter().take(most) {
        page.paragraph("    ", &words::reason(reason, lang), Style::Plain);
    }
    if host.reasons.is_empty() {
        let none = page.say(words::NO_FACTS);
        page.paragraph("    ", none, Style::Dim);
    }
    let most = if page.options.verbose { host.odd_cases.len() } else { FEW_CASES };
    let cases: Vec<Piece> =
        host.odd_cases.iter().take(most).map(|case| Piece::new(words::odd_case(case, lang), Style::Dim)).collect();
    if !cases.is_empty() {
        page.flow(4, &cases);
    }
}

fn spread(page: &mut Page, kind: &KindOfHosts) {
    let mut grid = Grid::new();
    for column in [words::CASES, words::BETWEEN, words::WITHIN] {
        let header = page.say(column);
        grid.column(header, Align::Right);
    }
    grid.row(GridRow::Heading(Piece::new(page.say(words::SPREAD), Style::Plain)));
    let share = |share: Option<f64>| Piece::plain(share.map_or("–".to_owned(), percent));
    for group in &kind.groups {
        let cells = vec![
            Piece::plain(&group.name),
            Piece::plain(group.cases.to_string()),
            share(group.between),
            share(group.within),
        ];
        grid.row(GridRow::Cells(cells, Vec::new()));
    }
    grid.write(page);
    if let Some(remark) = words::within_by_rounds(kind) {
        let remark = page.say(remark);
        page.paragraph("  ", remark, Style::Dim);
    }
}
