//! A document as a part of a page: both languages at once, charts drawn, rows that nobody looks for folded.

use hostmark_analysis::bilingual::{SEMICOLON, Words, joined};
use hostmark_model::Text;

use crate::chart::{self, Chart};
use crate::document::{Align, Block, Column, Drawing, Judged, Kind, Layout, Named, Row, Style, Table, Tally};
use crate::markup::{escaped, markup};

const REMARKS: Text = Text { en: "remarks", zh: "备注" };

/// Rows of a table and lines of a list, and lines of a cell: whoever wants more takes a form for programs.
pub(crate) const MOST_ROWS: usize = 2000;
const MOST_LINES: usize = 6;

/// The blocks as markup, their titles headings of this level; `number` hands out the numbers of the page's figures.
pub(crate) fn write(blocks: &[Block], level: usize, number: &dyn Fn() -> usize) -> String {
    blocks.iter().map(|block| write_block(block, level, number)).collect()
}

fn write_block(block: &Block, level: usize, number: &dyn Fn() -> usize) -> String {
    let part = level + 1;
    match block {
        Block::Title(text) => format!("<h{level}>{}</h{level}>\n", markup(text)),
        Block::Part(text) => format!("<h{part}>{}</h{part}>\n", markup(text)),
        Block::Remarks(all) => all.iter().map(|one| format!("<p class=\"note\">{}</p>\n", markup(&one.text))).collect(),
        Block::List(one) => format!("<h{part}>{}</h{part}>\n{}", markup(&one.title), list("<ul>", &one.lines)),
        Block::Conclusion(text) => format!("<p class=\"summary\">{}</p>\n", markup(text)),
        Block::Method(all) => list("<ul class=\"note\">", all),
        Block::Heading(title, remark) if remark.en.is_empty() => format!("<h{part}>{}</h{part}>\n", markup(title)),
        Block::Heading(title, remark) => {
            format!("<h{part}>{} <small>{}</small></h{part}>\n", markup(title), markup(remark))
        }
        Block::Sentence(text, Style::Heading) => format!("<p><b>{}</b></p>\n", markup(text)),
        Block::Sentence(text, _) => format!("<p>{}</p>\n", markup(text)),
        Block::Warnings(all) => format!("<div class=\"warning\" role=\"note\">{}</div>\n", list("<ul>", all)),
        Block::Named(all) => {
            format!("<dl class=\"sides\">\n{}</dl>\n", all.iter().map(named).collect::<String>())
        }
        Block::Table(table) => write_table(table),
        Block::Tally(tally) => write_tally(tally),
        Block::Charts(all) => {
            let figures = all
                .iter()
                .filter_map(|chart| Some(figure(&chart.title, chart.note.as_ref(), &drawn(&chart.drawing)?, number())));
            let figures = figures.collect::<String>();
            if all.len() > 1 { format!("<div class=\"figures\">\n{figures}</div>\n") } else { figures }
        }
        Block::Judged(title, all) => {
            let one =
                |one: &Judged| format!("<li><b>{} {}</b> {}</li>\n", one.sign, markup(&one.verdict), markup(&one.text));
            let all = all.iter().map(one).collect::<String>();
            format!("<h{part}>{}</h{part}>\n<ul>\n{all}</ul>\n", markup(title))
        }
    }
}

fn drawn(drawing: &Drawing) -> Option<Chart> {
    match drawing {
        Drawing::Rows(rows) => rows.draw(),
        Drawing::Bars(bars) => chart::bars::draw(bars),
    }
}

/// A chart with what stands around it.
pub(crate) fn figure(title: &Words, note: Option<&Words>, chart: &Chart, number: usize) -> String {
    let entries = chart.legend.iter().map(|entry| format!("<li>{}{}</li>\n", entry.sign, markup(&entry.label)));
    let legend = match chart.legend.is_empty() {
        true => String::new(),
        false => format!("<ul class=\"legend\">\n{}</ul>\n", entries.collect::<String>()),
    };
    let note = note.map(|note| format!("<p class=\"note\">{}</p>\n", markup(note))).unwrap_or_default();
    let title = markup(title);
    format!("<figure>\n<figcaption id=\"f{number}\">{title}</figcaption>\n{}\n{legend}{note}</figure>\n", chart.svg)
}

fn list(open: &str, all: &[Words]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let left_out = all.len().saturating_sub(MOST_ROWS);
    let more = (left_out > 0).then(|| Words { en: format!("{left_out} more"), zh: format!("另有 {left_out} 项") });
    let lines = all.iter().take(MOST_ROWS).chain(&more).map(|text| format!("<li>{}</li>\n", markup(text)));
    format!("{open}\n{}</ul>\n", lines.collect::<String>())
}

fn named(one: &Named) -> String {
    let facts: String = one.facts.iter().map(|fact| format!(" · {}", markup(fact))).collect();
    let warnings = one.warnings.iter().map(|text| format!("<br><span class=\"w\">! {}</span>", markup(text)));
    let (role, name) = (markup(&one.role), escaped(&one.name));
    format!("<dt>{role}</dt><dd><b>{name}</b>{facts}{}</dd>\n", warnings.collect::<String>())
}

/// The table, with its rest folded behind it.
fn write_table(table: &Table) -> String {
    let has_remarks = table.rows.iter().any(|row| !row.remarks.is_empty());
    let (rest, rows): (Vec<&Row>, Vec<&Row>) =
        table.rows.iter().take(MOST_ROWS).partition(|row| row.is_rest && table.rest.is_some());
    let mut text = String::new();
    if !rows.is_empty() {
        let rows: String = rows.iter().map(|row| write_row(row, &table.columns, has_remarks)).collect();
        let class = match table.layout {
            Layout::Cards(_) => "values cards",
            Layout::Plain => "values layers",
            _ => "values",
        };
        let caption = if table.caption.en.is_empty() { &table.title } else { &table.caption };
        text = scroll(caption, (class, caption), &table.columns, has_remarks, &rows);
    }
    if let Some(words) = table.rest.as_ref().filter(|_| !rest.is_empty()) {
        let mut sections: Vec<(&Words, String)> = Vec::new();
        for row in &rest {
            let markup = write_row(row, &table.columns, has_remarks);
            match sections.iter_mut().find(|(section, _)| **section == row.section) {
                Some((_, rows)) => *rows += &markup,
                None => sections.push((&row.section, markup)),
            }
        }
        let width = table.columns.len() + usize::from(has_remarks);
        let rows = sections.iter().map(|(title, rows)| section(title, width) + rows).collect::<String>();
        let inside = scroll(&words.title, ("values", &Words::default()), &table.columns, has_remarks, &rows);
        text += &folded(&words.title, rest.len(), &inside);
    }
    text + &table.notes.iter().map(|note| format!("<p class=\"note\">{}</p>\n", markup(note))).collect::<String>()
}

fn write_tally(tally: &Tally) -> String {
    let count = tally.reasons.iter().map(|reason| reason.rows.len()).sum();
    let width = tally.columns.len() + 1;
    let reasons = tally.reasons.iter().map(|reason| {
        section(&reason.text, width)
            + &reason.rows.iter().map(|row| write_row(row, &tally.columns, true)).collect::<String>()
    });
    let rows = reasons.collect::<String>();
    folded(&tally.title, count, &scroll(&tally.title, ("values", &Words::default()), &tally.columns, true, &rows))
}

fn folded(title: &Words, count: usize, inside: &str) -> String {
    let title = markup(title);
    format!(
        "<details class=\"group\">\n<summary><h4>{title}</h4> <small>{count}</small></summary>\n{inside}</details>\n"
    )
}

fn section(title: &Words, width: usize) -> String {
    format!("<tr class=\"section\"><th scope=\"rowgroup\" colspan=\"{width}\">{}</th></tr>\n", markup(title))
}

/// A table that can be scrolled sideways, by a keyboard as well.
fn scroll(name: &Words, (class, caption): (&str, &Words), columns: &[Column], has_remarks: bool, rows: &str) -> String {
    let caption = match caption.en.is_empty() {
        true => String::new(),
        false => format!("<caption>{}</caption>\n", markup(caption)),
    };
    let remarks = has_remarks.then(|| head(&REMARKS.to_owned_text(), ""));
    let heads = columns
        .iter()
        .map(|column| head(&column.head, if is_number(column) { " class=\"n\"" } else { "" }))
        .chain(remarks)
        .collect::<String>();
    let name = escaped(&name.en);
    let heads = match columns.iter().all(|column| column.head.en.is_empty()) {
        true => String::new(),
        false => format!("<thead><tr>{heads}</tr></thead>\n"),
    };
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\"><table class=\"{class}\">\n{caption}{heads}<tbody>\n{rows}</tbody></table></div>\n"
    )
}

fn head(text: &Words, class: &str) -> String {
    if text.en.is_empty() {
        return "<td></td>".to_owned();
    }
    format!("<th scope=\"col\"{class}>{}</th>", markup(text))
}

fn is_number(column: &Column) -> bool {
    column.align != Align::Left
}

fn write_row(row: &Row, columns: &[Column], has_remarks: bool) -> String {
    if row.is_head() {
        return section(&row.cells[0].text, columns.len() + usize::from(has_remarks));
    }
    let class = match row.kind {
        Kind::None => "",
        Kind::Worse => " class=\"slower\"",
        Kind::Better => " class=\"faster\"",
        Kind::Changed => " class=\"changed\"",
        Kind::Equal => " class=\"equal\"",
    };
    let cells = row.cells.iter().zip(columns).enumerate().map(|(index, (cell, column))| {
        let text = match cell.link.as_str() {
            "" => markup(&cell.text),
            link => format!("<a href=\"#{link}\">{}</a>", markup(&cell.text)),
        };
        let (class, most) = if cell.style == Style::Dim { (" class=\"dim\"", column.few) } else { ("", MOST_LINES) };
        let lines = cell.lines.iter().take(most).map(|line| format!("<div{class}>{}</div>", markup(line)));
        let text = text + &lines.collect::<String>();
        if index == 0 {
            let title = if row.id.is_empty() { String::new() } else { format!(" title=\"{}\"", escaped(&row.id)) };
            return format!("<th scope=\"row\"{title}>{text}</th>");
        }
        let class = match (is_number(column), column.is_value) {
            (true, true) => " class=\"n v\"",
            (true, false) => " class=\"n\"",
            // The verdict stands on one line; other texts may be long.
            (false, _) if cell.sign.is_empty() => " class=\"r\"",
            (false, _) => "",
        };
        let key = cell.key.map(|key| format!(" data-v=\"{key:.3}\"")).unwrap_or_default();
        let gap = if cell.sign.is_empty() { "" } else { " " };
        format!("<td{class}{key}>{}{gap}{text}</td>", cell.sign)
    });
    // What is for those who ask for everything would make the rest longer than all that is looked for.
    let shown = row.remarks.iter().filter(|remark| !(remark.is_detail && row.is_rest));
    let remarks: Vec<Words> = shown.map(|remark| remark.text.clone()).collect();
    let remarks = match has_remarks {
        true => format!("<td class=\"r\">{}</td>", markup(&joined(&remarks, SEMICOLON))),
        false => String::new(),
    };
    format!("<tr{class}>{}{remarks}</tr>\n", cells.collect::<String>())
}
