//! The table of `hostmark compare`.

use hostmark_analysis::compare::{Against, CaseComparison, Comparison, Group, Side, Verdict};
use hostmark_model::{Lang, Text};
use unicode_width::UnicodeWidthStr;

use super::grid::{Align, Grid, GridRow};
use super::page::{Page, Piece, Style};
use crate::render::RenderOptions;
use crate::render::comparison as words;

/// Columns that a difference's values may take, unless everything is asked for: the flags of a CPU fill a page.
const LONGEST_VALUE: usize = 160;
/// Cases named behind a reason, and disturbances of a side, unless everything is asked for.
const FEW_NAMES: usize = 3;

/// The whole table; it ends with a line break and holds nothing that steers a terminal but its own colours.
pub(in crate::render) fn table(comparison: &Comparison, options: &RenderOptions) -> String {
    let mut page = Page::new(options);
    for against in &comparison.new {
        page.blank();
        let base = page.say(words::BASE);
        side(&mut page, base, &comparison.base);
        let new = page.say(words::NEW);
        side(&mut page, new, &against.side);
        differs(&mut page, against);
        words::together(against).for_each(|part| groups(&mut page, against, part));
        cases(&mut page, against);
        not_comparable(&mut page, against);
        page.blank();
        let summary = words::summary(against, options.lang);
        page.paragraph("", &summary, Style::Heading);
        for sentence in words::method(against, options.lang) {
            page.paragraph("  ", &sentence, Style::Dim);
        }
    }
    page.into_text()
}

fn side(page: &mut Page, role: &str, side: &Side) {
    let lang = page.options.lang;
    let mut facts = vec![Piece::new(format!("{role} {}", side.name), Style::Heading)];
    facts.extend(words::of_side(side, lang).into_iter().map(Piece::plain));
    page.flow(0, &facts);
    let most = if page.options.verbose { side.disturbances.len() } else { FEW_NAMES };
    for disturbance in side.disturbances.iter().take(most) {
        page.paragraph("! ", disturbance.get(lang), Style::Warning);
    }
    if side.disturbances.len() > most {
        page.paragraph("! ", "…", Style::Warning);
    }
}

/// What differs, a line each: on two hosts that is much, and each line is read by itself.
fn differs(page: &mut Page, against: &Against) {
    let lang = page.options.lang;
    let (count, same) = (against.differs.len(), against.same);
    let remark = match (lang, count) {
        (Lang::En, 0) => format!("nothing of {same} facts"),
        (Lang::Zh, 0) => format!("无，{same} 项事实均相同"),
        (Lang::En, _) => format!("same: {same} other facts"),
        (Lang::Zh, _) => format!("相同：其余 {same} 项"),
    };
    let title = page.say(words::DIFFERS);
    page.heading(title, &remark);
    let width = against.differs.iter().map(|one| one.label.get(lang).width()).max().unwrap_or(0).min(32);
    for one in &against.differs {
        let label = hostmark_analysis::escape::visible(one.label.get(lang));
        let pad = " ".repeat(width.saturating_sub(label.width()));
        let unknown = page.say(words::UNKNOWN);
        let known = |value: &Option<String>| value.clone().unwrap_or_else(|| unknown.to_owned());
        let mut text = format!("{} → {}", known(&one.base), known(&one.new));
        if !page.options.verbose {
            text = super::page::cut(&hostmark_analysis::escape::visible(&text), LONGEST_VALUE);
        }
        let lead = format!("  {label}{pad}  ");
        if lead.width() > page.width / 2 {
            page.paragraph("  ", &label, Style::Plain);
            page.paragraph("      ", &text, Style::Plain);
        } else {
            page.paragraph(&lead, &text, Style::Plain);
        }
    }
    for warning in &against.warnings {
        page.paragraph("! ", warning.get(lang), Style::Warning);
    }
}

/// What the cases of each group come to together, or those of each table.
fn groups(page: &mut Page, against: &Against, (heading, groups): (Text, &[Group])) {
    let lang = page.options.lang;
    let cells: Vec<[String; 3]> = groups.iter().map(|group| words::group_cells(group, lang)).collect();
    let widest = cells.iter().map(|[.., verdict]| verdict.width()).max().unwrap_or(0);
    let pad = |text: &str| format!("{text}{}", " ".repeat(widest.saturating_sub(text.width())));
    let mut grid = Grid::new();
    grid.column(page.say(words::CASES), Align::Right);
    grid.column(page.say(words::COST), Align::Right);
    grid.column(page.say(words::INTERVAL), Align::Ellipsis);
    grid.column(&pad(page.say(words::VERDICT)), Align::Right);
    page.blank();
    grid.row(GridRow::Heading(Piece::new(page.say(heading), Style::Heading)));
    for (group, [change, interval, verdict]) in groups.iter().zip(&cells) {
        let style = match group.verdict {
            Verdict::Slower => Style::Bad,
            Verdict::Faster => Style::Warning,
            _ => Style::Plain,
        };
        let plain = [group.title.get(lang), &group.cases.to_string(), change, interval].map(Piece::plain);
        let cells = plain.into_iter().chain([Piece::new(pad(verdict), style)]).collect();
        let remarks = words::group_remarks(group, against, lang);
        let notes = remarks.into_iter().map(|remark| Piece::new(format!("! {remark}"), Style::Warning)).collect();
        grid.row(GridRow::Cells(cells, notes));
    }
    grid.write(page);
}

fn cases(page: &mut Page, against: &Against) {
    let lang = page.options.lang;
    let (shown, left_out) = words::shown(against, page.options.verbose);
    if shown.is_empty() {
        if left_out > 0 {
            page.blank();
            not_shown(page, left_out);
        }
        return;
    }
    let word = |case: &CaseComparison| words::verdict_text(case, lang);
    let widest = shown.iter().map(|case| word(case).width()).max().unwrap_or(0);
    let pad = |text: &str| format!("{text}{}", " ".repeat(widest.saturating_sub(text.width())));
    let mut grid = Grid::new();
    grid.column(page.say(words::BASE), Align::Point);
    grid.column(page.say(words::NEW), Align::Point);
    grid.column(page.say(words::CHANGE), Align::Right);
    grid.column(page.say(words::INTERVAL), Align::Ellipsis);
    grid.column(&pad(page.say(words::VERDICT)), Align::Right);
    page.blank();
    grid.row(GridRow::Heading(Piece::new(page.say(words::CASES), Style::Heading)));
    for case in &shown {
        let [base, new] = words::values(case, lang);
        let [change, interval] = words::change(case);
        let style = match case.verdict {
            Verdict::Slower => Style::Bad,
            Verdict::Faster | Verdict::Changed | Verdict::ChangedShape => Style::Warning,
            _ => Style::Plain,
        };
        let verdict = Piece::new(pad(&word(case)), style);
        let plain = [&words::label(case, lang), &base, &new, &change, &interval].map(Piece::plain);
        let cells = plain.into_iter().chain([verdict]).collect();
        let remarks = case.remarks.iter().map(|remark| Piece::new(format!("! {}", remark.get(lang)), Style::Warning));
        let others = words::others(case, lang).map(|text| Piece::new(text, Style::Dim));
        let mut notes: Vec<Piece> = others.into_iter().chain(remarks).collect();
        if page.options.verbose {
            notes.extend(words::grounds(case, lang).map(|text| Piece::new(text, Style::Dim)));
            notes.push(Piece::new(case.typed(), Style::Dim));
        }
        grid.row(GridRow::Cells(cells, notes));
    }
    grid.write(page);
    if left_out > 0 {
        not_shown(page, left_out);
    }
}

fn not_shown(page: &mut Page, count: usize) {
    let text = match page.options.lang {
        Lang::En => format!("{count} without a change are not shown; --verbose shows them"),
        Lang::Zh => format!("另有 {count} 个未见变化的用例未列出；--verbose 可列出"),
    };
    page.paragraph("  ", &text, Style::Dim);
}

/// Cases without a verdict, by their reason; those of which both sides have a value with their ratio.
fn not_comparable(page: &mut Page, against: &Against) {
    let lang = page.options.lang;
    let groups = words::reasons(against, lang);
    if groups.is_empty() {
        return;
    }
    let title = page.say(words::NOT_COMPARABLE);
    page.heading(title, &against.counts.not_comparable.to_string());
    for (reason, cases) in groups {
        page.paragraph(&format!("{:>5}  ", cases.len()), reason, Style::Plain);
        let is_all = page.options.verbose || words::is_open(&cases);
        let most = if is_all { cases.len() } else { FEW_NAMES };
        let one = |case: &&CaseComparison| {
            let name = if page.options.verbose { case.typed().to_owned() } else { words::label(case, lang) };
            match case.change() {
                None => name,
                Some(_) => {
                    let ([base, new], [change, _]) = (words::values(case, lang), words::change(case));
                    let others = words::others(case, lang).map_or(String::new(), |others| format!("  {others}"));
                    format!("{name}  {base} → {new}  {change}{others}")
                }
            }
        };
        let mut names: Vec<Piece> = cases.iter().take(most).map(|case| Piece::new(one(case), Style::Dim)).collect();
        if cases.len() > most {
            names.push(Piece::new("…", Style::Dim));
        }
        page.flow_hanging(7, 7, &names);
    }
}
