//! A document as a part of a page: both languages at once, charts drawn, rows that nobody looks for folded.

use std::borrow::Cow;

use hostmark_analysis::groups::grouped;
use hostmark_analysis::typography::SEMICOLON;
use hostmark_model::{Message, Text};
use hostmark_say::say;

use crate::chart::{self, Chart};
use crate::document::{
    Align, Block, Cell, Column, Drawing, Judged, NamedParty, Remark, Row, RowKind, Style, Table, TableLayout, Tally,
    TallyReason,
};
use crate::wrap::{escaped, markup};

const STRIPS: Text = term!(
    "; strips: the box is the reference's range, the mark this machine, better to the right, up to 4 times (logarithmic)"
);
/// Largest ratio to the middle of a range that strips show.
const REACH: f64 = 4.0;

/// Rows of a table and lines of a list, and lines of a cell: whoever wants more takes a form for programs.
pub(crate) const MOST_ROWS: usize = 2000;
const MOST_LINES: usize = 6;

/// Hands out the numbers of a page's figures.
pub(crate) type Number<'a> = &'a dyn Fn() -> usize;

/// The blocks as markup, their titles headings of this level.
pub(crate) fn write(blocks: &[Block], level: usize, number: Number) -> String {
    blocks.iter().map(|block| write_block(block, level, number)).collect()
}

fn write_block(block: &Block, level: usize, number: Number) -> String {
    let part = level + 1;
    match block {
        Block::Title(text) => format!("<h{level}>{}</h{level}>\n", markup(text)),
        Block::Part(text) => format!("<h{part}>{}</h{part}>\n", markup(text)),
        Block::Remarks(all) => all.iter().map(|one| format!("<p class=\"note\">{}</p>\n", markup(&one.text))).collect(),
        Block::List(one) => format!("<h{part}>{}</h{part}>\n{}", markup(&one.title), list("<ul>", &one.lines)),
        Block::Conclusion(text) => format!("<p class=\"summary\">{}</p>\n", markup(text)),
        Block::Method(all) => list("<ul class=\"note\">", all),
        Block::Heading(title, remark) if remark.is_empty() => format!("<h{part}>{}</h{part}>\n", markup(title)),
        Block::Heading(title, remark) => {
            format!("<h{part}>{} <small>{}</small></h{part}>\n", markup(title), markup(remark))
        }
        Block::Sentence(text, Style::Heading) => format!("<p><b>{}</b></p>\n", markup(text)),
        Block::Sentence(text, _) => format!("<p>{}</p>\n", markup(text)),
        Block::Warnings(all) => format!("<div class=\"warning\" role=\"note\">{}</div>\n", list("<ul>", all)),
        Block::Named(all) => {
            let class = if all.iter().any(|one| !one.name.is_empty()) { " class=\"sides\"" } else { "" };
            format!("<dl{class}>\n{}</dl>\n", all.iter().map(named).collect::<String>())
        }
        Block::Table(table) => write_table(table, part),
        Block::Tally(tally) => write_tally(tally),
        Block::Charts(all) => {
            let figures = all.iter().filter_map(|chart| {
                Some(figure(&chart.title, chart.note.as_ref(), &*drawn(&chart.drawing)?, number()))
            });
            let figures = figures.collect::<String>();
            // What was drawn for a page has the width of its columns.
            match all.as_slice() {
                [] => figures,
                [one] if !matches!(one.drawing, Drawing::Picture(_)) => figures,
                _ => format!("<div class=\"figures\">\n{figures}</div>\n"),
            }
        }
        Block::Drawn(all) => format!("<pre>{}</pre>\n", all.iter().map(markup).collect::<Vec<_>>().join("\n")),
        Block::Judged(title, all) => {
            let (begin, end) = match all.iter().any(|one| !one.verdict.is_empty()) {
                true => ("<ul>", "</ul>"),
                false => ("<ol class=\"findings\">", "</ol>"),
            };
            let all = all.iter().map(judged).collect::<String>();
            let title =
                if title.is_empty() { String::new() } else { format!("<h{part}>{}</h{part}>\n", markup(title)) };
            format!("{title}{begin}\n{all}{end}\n")
        }
        Block::Folded(title, blocks) => {
            let inside = write(blocks, level, number);
            format!("<details><summary>{}</summary>\n{inside}</details>\n", markup(title))
        }
    }
}

fn judged(one: &Judged) -> String {
    let gap = if one.sign.is_empty() { "" } else { " " };
    let verdict = match one.verdict.is_empty() {
        true => String::new(),
        false => format!("<b>{}{gap}{}</b> ", one.sign, markup(&one.verdict)),
    };
    let (letter, text) = (letter(&one.run), markup(&one.text));
    let cure = one.cure.iter().map(|cure| format!("<br><span class=\"cure\">→ {}</span>", markup(cure)));
    let command = one.command.iter().map(|command| {
        let code = format!("<code class=\"command\">{}</code>", escaped(command));
        format!("<br>{}", link(&one.anchor, &code))
    });
    let more: String = cure.chain(command).collect();
    let cases: String = one.cases.iter().map(|(id, anchor)| link(anchor, &escaped(id)) + " ").collect();
    let cases = if cases.is_empty() { cases } else { format!("\n<br><small>{cases}</small>\n") };
    format!("<li>{letter}{verdict}{text}{more}{cases}</li>\n")
}

/// The letter of a run before what is said of it; nothing where there is only one.
pub(crate) fn letter(of: &str) -> String {
    if of.is_empty() { String::new() } else { format!("<b class=\"run\">{}</b> ", escaped(of)) }
}

/// Markup that leads to an anchor; as it is where there is none.
fn link(anchor: &str, inside: &str) -> String {
    if anchor.is_empty() { inside.to_owned() } else { format!("<a href=\"#{}\">{inside}</a>", escaped(anchor)) }
}

fn drawn(drawing: &Drawing) -> Option<Cow<'_, Chart>> {
    match drawing {
        Drawing::Rows(rows) => rows.draw().map(Cow::Owned),
        Drawing::Bars(bars) => chart::draw_bars(bars).map(Cow::Owned),
        Drawing::Picture(chart) => Some(Cow::Borrowed(chart)),
    }
}

/// A chart with what stands around it.
fn figure(title: &Message, note: Option<&Message>, chart: &Chart, number: usize) -> String {
    let entries = chart.legend.iter().map(|entry| format!("<li>{}{}</li>\n", entry.sign, markup(&entry.label)));
    let legend = match chart.legend.is_empty() {
        true => String::new(),
        false => format!("<ul class=\"legend\">\n{}</ul>\n", entries.collect::<String>()),
    };
    let note = note.map(|note| format!("<p class=\"note\">{}</p>\n", markup(note))).unwrap_or_default();
    let title = markup(title);
    let svg = chart.svg.replacen(" role=\"img\"", &format!(" role=\"img\" aria-labelledby=\"f{number}\""), 1);
    format!("<figure>\n<figcaption id=\"f{number}\">{title}</figcaption>\n{svg}\n{legend}{note}</figure>\n")
}

pub(crate) fn list(open: &str, all: &[Message]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let left_out = all.len().saturating_sub(MOST_ROWS);
    let more = (left_out > 0).then(|| say!("{left_out} more"));
    let lines = all.iter().take(MOST_ROWS).chain(&more).map(|text| format!("<li>{}</li>\n", markup(text)));
    format!("{open}\n{}</ul>\n", lines.collect::<String>())
}

fn named(one: &NamedParty) -> String {
    let facts: Vec<String> = one.facts.iter().map(markup).collect();
    let warnings = one.warnings.iter().map(|text| format!("<br><span class=\"w\">! {}</span>", markup(text)));
    let name = if one.name.is_empty() { None } else { Some(format!("<b>{}</b>", escaped(&one.name))) };
    let facts = name.into_iter().chain(facts).collect::<Vec<_>>().join(" · ");
    format!("<dt>{}</dt><dd>{facts}{}</dd>\n", markup(&one.role), warnings.collect::<String>())
}

/// The table, with its rest folded behind it.
fn write_table(table: &Table, part: usize) -> String {
    let are_cases = matches!(table.layout, TableLayout::Cases(_));
    // Those of cases keep the room of remarks, so that values stand as close together as in the other tables.
    let has_remarks = are_cases || table.rows.iter().any(|row| !row.remarks.is_empty());
    let sheet = Sheet { columns: &table.columns, layout: table.layout, has_remarks };
    let most = if are_cases { usize::MAX } else { MOST_ROWS };
    let (rest, rows): (Vec<&Row>, Vec<&Row>) =
        table.rows.iter().take(most).partition(|row| row.is_rest && table.rest.is_some());
    let caption = if table.caption.is_empty() { &table.title } else { &table.caption };
    let name = if table.title.is_empty() { &table.caption } else { &table.title };
    let mut text = String::new();
    if table.layout == TableLayout::Constants {
        text = constants(&rows, &table.columns);
    } else if table.layout == TableLayout::Runs && !table.title.is_empty() {
        text = format!(
            "<h{part}>{}</h{part}>\n{}",
            markup(name),
            sheet.scroll(name, &Message::default(), &sheet.rows(&rows))
        );
    } else if !rows.is_empty() {
        text = sheet.scroll(name, caption, &sheet.rows(&rows));
    }
    if let Some(words) = table.rest.as_ref().filter(|_| !rest.is_empty()) {
        let sheet = Sheet { layout: TableLayout::Grid, ..sheet };
        let sections = grouped(rest.iter().map(|row| (&row.section, *row)));
        let sections = sections.into_iter().map(|(title, rows)| sheet.section(title) + &sheet.rows(&rows));
        let inside = sheet.scroll(&words.title, &Message::default(), &sections.collect::<String>());
        text += &folded(&words.title, rest.len(), &inside);
    }
    let mut notes: Vec<String> = table.notes.iter().map(markup).collect();
    let has_strips = table.layout == TableLayout::Constants && rows.iter().any(|row| row.cells[4].strip.is_some());
    // The last says what the verdicts are beside.
    notes.last_mut().filter(|_| has_strips).into_iter().for_each(|last| *last += &markup(&STRIPS.into()));
    text + &notes.iter().map(|note| format!("<p class=\"note\">{note}</p>\n")).collect::<String>()
}

/// Key figures: each with its range, that of similar servers, and its verdict over a strip; without columns that are empty.
fn constants(rows: &[&Row], columns: &[Column]) -> String {
    let is_used = |at: &usize| *at == 0 || rows.iter().any(|row| !row.cells[*at].text.is_empty());
    let used: Vec<usize> = (0..columns.len()).filter(is_used).collect();
    let head = |at: &usize| format!("<th scope=\"col\">{}</th>", markup(&columns[*at].head));
    let (heads, rows): (String, String) =
        (used.iter().map(head).collect(), rows.iter().map(|row| constant(row, &used)).collect());
    format!("<table class=\"constants\">\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n")
}

/// A key figure, its value, and its place beside similar servers.
fn constant(row: &Row, used: &[usize]) -> String {
    let cell = |at: &usize| {
        let (cell, text) = (&row.cells[*at], markup(&row.cells[*at].text));
        match at {
            0 => format!("<th scope=\"row\">{text}</th>"),
            1 => format!("<td><b>{text}</b></td>"),
            3 => format!("<td class=\"usual\">{text}</td>"),
            4 => {
                let tone = match cell.style {
                    Style::Bad => " bad",
                    Style::Good => " good",
                    _ => "",
                };
                format!(
                    "<td class=\"said{tone}\">{text}{}</td>",
                    cell.strip.map(|one| strip(one, tone)).unwrap_or_default()
                )
            }
            _ => format!("<td>{text}</td>"),
        }
    };
    format!("<tr>{}</tr>\n", used.iter().map(cell).collect::<String>())
}

/// A box for the range of similar servers and a mark for this machine, in one scale for all rows.
fn strip(rates: [f64; 3], tone: &str) -> String {
    let [from, to, here] = rates.map(|rate| 50.0 + (rate.ln() / REACH.ln()).clamp(-1.0, 1.0) * 50.0);
    if [from, to, here].iter().any(|at| !at.is_finite()) {
        return String::new();
    }
    let (range, mark) = (format!("left:{from:.1}%;width:{:.1}%", to - from), format!("left:{here:.1}%"));
    format!("<span class=\"strip{tone}\" aria-hidden=\"true\"><i style=\"{range}\"></i><b style=\"{mark}\"></b></span>")
}

/// Small print behind a value.
fn small(cell: &Cell) -> String {
    cell.lines.iter().map(|line| format!(" <small>{}</small>", markup(line))).collect()
}

fn write_tally(tally: &Tally) -> String {
    let count = tally.reasons.iter().map(|reason| reason.rows.len()).sum();
    let sheet = Sheet { columns: &tally.columns, layout: TableLayout::Grid, has_remarks: true };
    let reason =
        |reason: &TallyReason| sheet.section(&reason.text) + &sheet.rows(&reason.rows.iter().collect::<Vec<_>>());
    let rows = tally.reasons.iter().map(reason).collect::<String>();
    folded(&tally.title, count, &sheet.scroll(&tally.title, &Message::default(), &rows))
}

fn folded(title: &Message, count: usize, inside: &str) -> String {
    let title = markup(title);
    format!(
        "<details class=\"group\">\n<summary><h4>{title} <small>{count}</small></h4></summary>\n{inside}</details>\n"
    )
}

/// Options for the rows of a table.
struct Sheet<'a> {
    columns: &'a [Column],
    layout: TableLayout,
    has_remarks: bool,
}

impl Sheet<'_> {
    fn width(&self) -> usize {
        self.columns.len() + usize::from(self.has_remarks)
    }

    fn section(&self, title: &Message) -> String {
        let (width, title) = (self.width(), markup(title));
        format!("<tr class=\"section\"><th scope=\"rowgroup\" colspan=\"{width}\">{title}</th></tr>\n")
    }

    /// A table that can be scrolled sideways, by a keyboard as well.
    fn scroll(&self, name: &Message, caption: &Message, rows: &str) -> String {
        let class = match self.layout {
            TableLayout::Cards(_) => " class=\"values cards\"",
            TableLayout::Plain => " class=\"values layers\"",
            TableLayout::Cases(_) => " class=\"values cells\"",
            TableLayout::Runs => "",
            _ => " class=\"values\"",
        };
        let caption = match caption.is_empty() {
            true => String::new(),
            false => format!("<caption>{}</caption>\n", markup(caption)),
        };
        let remarks = self.has_remarks.then(|| Column::new(term!("remarks"), Align::Left));
        let heads = self.columns.iter().chain(&remarks).map(head).collect::<String>();
        let heads = match self.columns.iter().all(|column| column.head.is_empty()) {
            true => String::new(),
            false => format!("<thead><tr>{heads}</tr></thead>\n"),
        };
        let name = escaped(&name.to_string());
        format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\"><table{class}>\n{caption}{heads}<tbody>\n{rows}</tbody></table></div>\n"
        )
    }

    fn rows(&self, rows: &[&Row]) -> String {
        let span = |index: usize| 1 + rows[index + 1..].iter().take_while(|row| row.is_further).count();
        rows.iter().enumerate().map(|(index, row)| self.row(row, span(index))).collect()
    }

    /// A row, whose labels so many rows share.
    fn row(&self, row: &Row, span: usize) -> String {
        if row.is_head() {
            return self.section(&row.cells[0].text);
        }
        let class = match row.kind {
            RowKind::None => "",
            RowKind::Worse => " class=\"slower\"",
            RowKind::Better => " class=\"faster\"",
            RowKind::Changed => " class=\"changed\"",
            RowKind::Equal => " class=\"equal\"",
            RowKind::Failed => " class=\"failed\"",
        };
        let id = if row.anchor.is_empty() { String::new() } else { format!(" id=\"{}\"", escaped(&row.anchor)) };
        // Cases are many: what says the same of all of them is the style sheet's.
        let (labels, scope) = match self.layout {
            TableLayout::Cases(labels) => (labels, ""),
            _ => (1, " scope=\"row\""),
        };
        let span = if span > 1 { format!(" rowspan=\"{span}\"") } else { String::new() };
        let title = if row.id.is_empty() { String::new() } else { format!(" title=\"{}\"", escaped(&row.id)) };
        let cells = row.cells.iter().zip(self.columns).enumerate().map(|(index, (cell, column))| {
            let gap = if cell.sign.is_empty() { "" } else { " " };
            let text = format!("{}{gap}{}", cell.sign, self.text(cell, column));
            match index < labels {
                true if row.is_further => String::new(),
                true => format!("<th{scope}{span}{title}>{text}</th>"),
                false => {
                    let key = cell.key.map(|key| format!(" data-v=\"{key:.3}\"")).unwrap_or_default();
                    format!("<td{}{key}>{text}</td>", self.class(cell, column))
                }
            }
        });
        let cells = cells.collect::<String>();
        let end = match &row.instead {
            Some(why) => {
                let sign = if row.kind == RowKind::Failed { "✗ " } else { "" };
                let width = self.width() - row.cells.len();
                format!("<td class=\"instead\" colspan=\"{width}\">{sign}{}</td>", markup(why))
            }
            None if self.has_remarks => format!("<td class=\"r\">{}</td>", self.remarks(row)),
            None => String::new(),
        };
        format!("<tr{id}{class}>{cells}{end}</tr>\n")
    }

    fn text(&self, cell: &Cell, column: &Column) -> String {
        if cell.style == Style::Run {
            return letter(&cell.text.to_string()).trim_end().to_owned();
        }
        let text = link(&cell.link, &markup(&cell.text));
        if self.layout == TableLayout::Runs {
            return text + &small(cell);
        }
        let (class, most) = if cell.style == Style::Dim { (" class=\"dim\"", column.few) } else { ("", MOST_LINES) };
        let lines = cell.lines.iter().take(most).map(|line| format!("<div{class}>{}</div>", markup(line)));
        text + &lines.collect::<String>()
    }

    fn class(&self, cell: &Cell, column: &Column) -> &'static str {
        match (self.layout, is_number(column), column.is_value) {
            (TableLayout::Cases(_), _, true) => " class=\"v\"",
            (TableLayout::Cases(_), ..) if cell.style == Style::Warning => " class=\"w\"",
            (TableLayout::Cases(_), ..) => "",
            (_, true, true) => " class=\"n v\"",
            (_, true, false) => " class=\"n\"",
            // The verdict stands on one line; other texts may be long.
            (layout, false, _) if cell.sign.is_empty() && layout != TableLayout::Runs => " class=\"r\"",
            (_, false, _) => "",
        }
    }

    fn remarks(&self, row: &Row) -> String {
        let is_warning = |remark: &Remark| remark.style == Style::Warning;
        if matches!(self.layout, TableLayout::Cases(_)) && row.remarks.iter().any(is_warning) {
            let span = |remark: &Remark| match is_warning(remark) {
                true => format!("<span class=\"w\">! {}</span>", markup(&remark.text)),
                false => format!("<span>{}</span>", markup(&remark.text)),
            };
            return row.remarks.iter().map(span).collect();
        }
        // What is for those who ask for everything would make the rest longer than all that is looked for.
        let shown = row.remarks.iter().filter(|remark| !(remark.is_detail && row.is_rest));
        let remarks: Vec<Message> = shown.map(|remark| remark.text.clone()).collect();
        markup(&Message::joined(remarks, SEMICOLON))
    }
}

fn head(column: &Column) -> String {
    let text = match column.style {
        Style::Run => letter(&column.head.to_string()).trim_end().to_owned(),
        _ => markup(&column.head),
    };
    let class = if is_number(column) { " class=\"n\"" } else { "" };
    if text.is_empty() { "<td></td>".to_owned() } else { format!("<th scope=\"col\"{class}>{text}</th>") }
}

fn is_number(column: &Column) -> bool {
    column.align != Align::Left
}
