//! A document as a part of a page: both languages at once, charts drawn, rows that nobody looks for folded.

use hostmark_analysis::bilingual::{Words, joined};
use hostmark_model::Text;

use crate::chart::Chart;
use crate::document::{self, Align, Block, Column, Document, Drawing, Kind, Named, Row, Style, Table, Tally};
use crate::markup::{escaped, markup};

const SEMICOLON: Text = Text { en: "; ", zh: "；" };
const REMARKS: Text = Text { en: "remarks", zh: "备注" };

/// The document as markup; `number` hands out the numbers of the page's figures.
pub(crate) fn write(document: &Document, number: &dyn Fn() -> usize) -> String {
    document.iter().map(|block| write_block(block, number)).collect()
}

fn write_block(block: &Block, number: &dyn Fn() -> usize) -> String {
    match block {
        Block::Title(text) => format!("<h3>{}</h3>\n", markup(text)),
        Block::Conclusion(text) => format!("<p class=\"summary\">{}</p>\n", markup(text)),
        Block::Method(all) => list("<ul class=\"note\">", all),
        Block::Heading(title, remark) => format!("<h4>{} <small>{}</small></h4>\n", markup(title), markup(remark)),
        Block::Sentence(text, Style::Heading) => format!("<p><b>{}</b></p>\n", markup(text)),
        Block::Sentence(text, _) => format!("<p>{}</p>\n", markup(text)),
        Block::Warnings(all) => format!("<div class=\"warning\" role=\"note\">{}</div>\n", list("<ul>", all)),
        Block::Named(all) => {
            format!("<dl class=\"sides\">\n{}</dl>\n", all.iter().map(named).collect::<String>())
        }
        Block::Table(table) => write_table(table),
        Block::Tally(tally) => write_tally(tally),
        Block::Chart(document::Chart { title, note, drawing }) => {
            let chart = match drawing {
                Drawing::Rows(rows) => rows.draw(),
            };
            chart.map_or_else(String::new, |chart| figure(title, note.as_ref(), &chart, number()))
        }
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
    format!("{open}\n{}</ul>\n", all.iter().map(|text| format!("<li>{}</li>\n", markup(text))).collect::<String>())
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
    let (rest, rows): (Vec<&Row>, Vec<&Row>) = table.rows.iter().partition(|row| row.is_rest && table.rest.is_some());
    let mut text = String::new();
    if !rows.is_empty() {
        let rows: String = rows.iter().map(|row| write_row(row, &table.columns, has_remarks)).collect();
        text = scroll(&table.title, &table.title, &table.columns, has_remarks, &rows);
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
        let inside = scroll(&words.title, &Words::default(), &table.columns, has_remarks, &rows);
        text += &folded(&words.title, rest.len(), &inside);
    }
    text
}

fn write_tally(tally: &Tally) -> String {
    let count = tally.reasons.iter().map(|reason| reason.rows.len()).sum();
    let width = tally.columns.len() + 1;
    let reasons = tally.reasons.iter().map(|reason| {
        section(&reason.text, width)
            + &reason.rows.iter().map(|row| write_row(row, &tally.columns, true)).collect::<String>()
    });
    let rows = reasons.collect::<String>();
    folded(&tally.title, count, &scroll(&tally.title, &Words::default(), &tally.columns, true, &rows))
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
fn scroll(name: &Words, caption: &Words, columns: &[Column], has_remarks: bool, rows: &str) -> String {
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
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\"><table class=\"values\">\n{caption}<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )
}

fn head(text: &Words, class: &str) -> String {
    format!("<th scope=\"col\"{class}>{}</th>", markup(text))
}

fn is_number(column: &Column) -> bool {
    column.align != Align::Left
}

fn write_row(row: &Row, columns: &[Column], has_remarks: bool) -> String {
    let class = match row.kind {
        Kind::None => "",
        Kind::Worse => " class=\"slower\"",
        Kind::Better => " class=\"faster\"",
        Kind::Changed => " class=\"changed\"",
        Kind::Equal => " class=\"equal\"",
    };
    let cells = row.cells.iter().zip(columns).enumerate().map(|(index, (cell, column))| {
        let text = markup(&cell.text);
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
