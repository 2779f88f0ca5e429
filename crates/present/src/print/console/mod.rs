//! A document in a terminal: what it comes to stands last, where the eye is, and long lists are cut unless everything is asked for.

pub(crate) mod grid;

use std::collections::BTreeSet;

use grid::{Grid, GridRow};
use hostmark_analysis::escape::visible;
use hostmark_analysis::typography::{SEMICOLON, typeset_columns};
use hostmark_analysis::{Spoken, spoken};
use hostmark_model::{Lang, Message, Text};
use hostmark_say::say;
use unicode_width::UnicodeWidthStr;

use super::plain;
use crate::RenderOptions;
use crate::document::{Block, Cell, Document, List, NamedParty, Remark, Row, Table, TableLayout, Tally, TallyReason};
use crate::wrap::{cut, wrap};

pub(crate) use crate::document::Style;

/// Columns that a row's values may take where it has lines of its own: the flags of a CPU fill a page.
const LONGEST_VALUE: usize = 160;
/// Columns of labels before facts that stand apart, at least, their indent and the gap behind them included.
const LABEL_COLUMNS: usize = 16;
/// Rows without a verdict up to which each stands behind its reason.
const FEW_CASES: usize = 12;
/// Rows named behind a reason, and warnings of somebody.
const FEW_NAMES: usize = 3;

/// The documents, one below the other; the text ends with a line break and holds nothing that steers a terminal but its own colours.
pub(crate) fn write(documents: &[Document], options: &RenderOptions) -> String {
    let mut page = Page::new(options);
    documents.iter().for_each(|document| append(&mut page, document));
    page.into_text()
}

/// The document below what stands on the page.
pub(crate) fn append(page: &mut Page, document: &Document) {
    page.blank();
    let RenderOptions { lang, verbose, .. } = page.options;
    let mut printer = Printer { page, lang, verbose };
    document.iter().for_each(|block| printer.block(block, document));
}

struct Printer<'a> {
    page: &'a mut Page,
    lang: Lang,
    verbose: bool,
}

impl Printer<'_> {
    fn block(&mut self, block: &Block, document: &Document) {
        match block {
            Block::Title(_) | Block::Conclusion(_) => {}
            Block::Charts(all) => {
                let drawn = all.iter().filter_map(|chart| plain::drawn(&chart.drawing, &self.page.options));
                drawn.collect::<Vec<_>>().iter().for_each(|text| self.page.append(text));
            }
            Block::Drawn(all) => self.page.append(&plain::columns(all, &self.page.options)),
            Block::Judged(title, all) => {
                self.sentence(title, Style::Heading);
                all.iter().for_each(|one| {
                    self.paragraph(&format!("  {}  ", one.verdict.get(self.lang)), &one.text, Style::Plain)
                });
            }
            Block::Method(sentences) => {
                self.page.blank();
                let conclusions = document.iter().filter_map(|block| match block {
                    Block::Conclusion(text) => Some(text),
                    _ => None,
                });
                conclusions.for_each(|text| self.sentence(text, Style::Heading));
                sentences.iter().for_each(|text| self.paragraph("  ", text, Style::Dim));
            }
            Block::Heading(title, remark) => self.heading(title, &remark.get(self.lang)),
            Block::Sentence(text, style) => {
                self.sentence(text, *style);
                if *style == Style::Heading {
                    self.page.blank();
                }
            }
            Block::Warnings(all) => all.iter().for_each(|text| self.paragraph("! ", text, Style::Warning)),
            Block::Named(all) => all.iter().for_each(|one| self.named(one)),
            Block::Part(title) => self.sentence(title, Style::Heading),
            Block::Remarks(all) => {
                let (few, rest): (Vec<&Remark>, _) = all.iter().partition(|one| self.verbose || !one.is_detail);
                few.iter().for_each(|one| self.paragraph("  ", &one.text, one.style));
                self.more(rest.len());
            }
            Block::List(list) => self.list(list),
            Block::Table(table) => match table.layout {
                TableLayout::Grid
                | TableLayout::Matrix
                | TableLayout::Cases(_)
                | TableLayout::Runs
                | TableLayout::Constants => self.table(table),
                TableLayout::Facts => self.facts(table),
                TableLayout::Labels => self.labels(table),
                TableLayout::Lines(between) => self.lines(table, between),
                TableLayout::Cards(few) => self.cards(table, few),
                TableLayout::Plain => self.page.append(&plain::write_table(table, &self.page.options)),
            },
            Block::Tally(tally) => self.tally(tally),
            Block::Folded(title, blocks) if self.verbose => {
                self.sentence(title, Style::Heading);
                blocks.iter().for_each(|block| self.block(block, document));
            }
            Block::Folded(..) => {}
        }
    }

    fn paragraph(&mut self, first: &str, text: &Message, style: Style) {
        self.page.paragraph(first, &text.get(self.lang), style);
    }

    fn sentence(&mut self, text: &Message, style: Style) {
        self.page.blank();
        self.paragraph("", text, style);
    }

    fn heading(&mut self, title: &Message, remark: &str) {
        self.page.heading(&self.capitals(title), remark);
    }

    /// A title as the terminal sets it off where there may be no colour.
    fn capitals(&self, title: &Message) -> String {
        if self.lang == Lang::En { title.to_string().to_uppercase() } else { title.get(self.lang) }
    }

    fn piece(&self, text: &Message, style: Style) -> Piece {
        Piece::new(text.get(self.lang), style)
    }

    fn named(&mut self, one: &NamedParty) {
        let name = Piece::new(format!("{} {}", one.role.get(self.lang), one.name).trim(), Style::Heading);
        let facts = one.facts.iter().map(|fact| self.piece(fact, Style::Plain));
        let facts: Vec<Piece> = std::iter::once(name).chain(facts).collect();
        self.page.flow(0, &facts);
        let most = self.most(FEW_NAMES);
        one.warnings.iter().take(most).for_each(|text| self.paragraph("! ", text, Style::Warning));
        if one.warnings.len() > most {
            self.page.paragraph("! ", "…", Style::Warning);
        }
    }

    /// A line for each row, and more where it needs them: each is read by itself.
    fn lines(&mut self, table: &Table, between: &str) {
        let parts = |row: &Row| {
            let mut texts = row.cells.iter().map(|cell| visible(&cell.text.get(self.lang)));
            (texts.next().unwrap_or_default(), texts.collect::<Vec<_>>().join(between))
        };
        let rows: Vec<(String, String)> = table.rows.iter().map(parts).collect();
        let widest = rows.iter().map(|(label, _)| label.width()).max().unwrap_or(0).min(32);
        for (label, text) in rows {
            let text = if self.verbose { text } else { cut(&text, LONGEST_VALUE) };
            let lead = format!("  {label}{}  ", " ".repeat(widest.saturating_sub(label.width())));
            if lead.width() > self.page.width / 2 {
                self.page.paragraph("  ", &label, Style::Plain);
                self.page.paragraph("      ", &text, Style::Plain);
            } else {
                self.page.paragraph(&lead, &text, Style::Plain);
            }
        }
    }

    fn list(&mut self, list: &List) {
        self.sentence(&list.title, Style::Heading);
        let most = self.most(list.few);
        list.lines.iter().take(most).for_each(|line| self.paragraph("  ", line, Style::Plain));
        self.more(list.lines.len().saturating_sub(most));
    }

    fn most(&self, few: usize) -> usize {
        if self.verbose { usize::MAX } else { few }
    }

    fn more(&mut self, count: usize) {
        if count > 0 {
            let text = spoken(&say!("{count} more; show them by --verbose"), self.lang);
            self.page.paragraph("  ", &text, Style::Dim);
        }
    }

    /// A block for each row: what stands on one line first, then the rest; what may be skipped has no lines of its own.
    fn cards(&mut self, table: &Table, few: usize) {
        let most = self.most(few);
        for row in table.rows.iter().take(most) {
            let shown = || row.cells.iter().zip(&table.columns).filter(|(_, column)| !column.is_extra);
            let single = shown().filter(|(cell, _)| cell.lines.is_empty());
            let head = single.map(|(cell, _)| self.piece(&cell.text, cell.style));
            let remarks = row.remarks.iter().map(|remark| self.piece(&remark.text, remark.style));
            let head: Vec<Piece> = head.chain(remarks).collect();
            self.page.flow(2, &head);
            for (cell, column) in shown() {
                let lines = cell.lines.iter().take(self.most(column.few));
                if cell.style == Style::Dim {
                    let pieces: Vec<Piece> = lines.map(|line| self.piece(line, cell.style)).collect();
                    self.page.flow(4, &pieces);
                } else {
                    lines.for_each(|line| self.paragraph("    ", line, cell.style));
                }
            }
        }
        self.more(table.rows.len().saturating_sub(most));
    }

    fn facts(&mut self, table: &Table) {
        self.paragraph("  ", &table.caption, Style::Heading);
        let label = |row: &Row| visible(&row.cells[0].text.get(self.lang));
        let widest = table.rows.iter().map(|row| label(row).width()).max().unwrap_or(0);
        for row in &table.rows {
            let label = label(row);
            let lead = format!("    {label}{}   ", " ".repeat(widest - label.width()));
            let facts: Vec<String> = row.cells[1].lines.iter().map(|fact| fact.get(self.lang)).collect();
            self.page.paragraph(&lead, &facts.join(SEMICOLON.say(self.lang)), Style::Plain);
        }
    }

    /// A label and its facts, three spaces apart, on as many lines as they need.
    fn labels(&mut self, table: &Table) {
        self.heading(&table.title, &table.caption.get(self.lang));
        let longest = table.columns.get(1).and_then(|column| column.longest).map_or(usize::MAX, |most| self.most(most));
        let label = |row: &Row| visible(&row.cells[0].text.get(self.lang));
        let widest = table.rows.iter().map(|row| label(row).width()).max().unwrap_or(0);
        let lead = LABEL_COLUMNS.max(2 + widest + 3);
        let room = self.page.width.saturating_sub(lead);
        for row in &table.rows {
            let mut lines: Vec<String> = Vec::new();
            for fact in row.cells[1].lines.iter().map(|fact| cut(&visible(&fact.get(self.lang)), longest)) {
                match lines.last_mut() {
                    Some(line) if line.width() + 3 + fact.width() <= room => *line += &format!("   {fact}"),
                    _ => lines.extend(wrap(&fact, room)),
                }
            }
            for (index, text) in lines.into_iter().enumerate() {
                let label = Piece::new(if index == 0 { label(row) } else { String::new() }, Style::Dim);
                let pad = gap((lead - 2).saturating_sub(label.width()));
                self.page.line(&[gap(2), label, pad, Piece { text, style: Style::Plain }]);
            }
        }
    }

    fn table(&mut self, table: &Table) {
        let is_whole = table.is_whole(self.verbose);
        let rows: Vec<&Row> = table.rows.iter().filter(|row| is_whole || !row.is_rest).collect();
        self.page.blank();
        if !rows.is_empty() {
            let mut grid = Grid::new();
            table.columns.iter().skip(1).for_each(|column| grid.column(&column.head.get(self.lang), column.align));
            let caption = self.piece(&table.caption, Style::Plain);
            grid.row(GridRow::Heading(match table.layout {
                TableLayout::Matrix => {
                    let sides = self.piece(&table.columns[0].head, Style::Dim);
                    self.page.line(&[gap(2), caption, gap(3), sides]);
                    Piece::plain("")
                }
                _ if table.caption.is_empty() => Piece::new(self.capitals(&table.title), Style::Heading),
                _ => caption,
            }));
            for row in rows {
                let cells = row.cells.iter().map(|cell| self.cell(cell)).collect();
                grid.row(GridRow::Cells(cells, self.notes(row)));
            }
            grid.write(self.page);
        }
        if let Some(rest) = table.rest.as_ref().filter(|_| !is_whole && table.rows.iter().any(|row| row.is_rest)) {
            let text = say!("{left_out}; --verbose shows them", left_out = rest.left_out);
            self.page.paragraph("  ", &spoken(&text, self.lang), Style::Dim);
        }
    }

    /// Text and small print of a cell: full-width brackets have their own room.
    fn cell(&self, cell: &Cell) -> Piece {
        let mut text = cell.text.get(self.lang).to_owned();
        for line in cell.lines.iter().map(|line| line.get(self.lang)) {
            let gap = if line.starts_with('（') { "" } else { " " };
            text = text + gap + &line;
        }
        Piece::new(text, cell.style)
    }

    /// Remarks on a row; with everything asked for, the argument to type for it as well.
    fn notes(&self, row: &Row) -> Vec<Piece> {
        let shown = row.remarks.iter().filter(|remark| self.verbose || !remark.is_detail);
        let note = |remark: &Remark| {
            let mark = if remark.style == Style::Warning { "! " } else { "" };
            Piece::new(format!("{mark}{}", remark.text.get(self.lang)), remark.style)
        };
        let id = (self.verbose && !row.id.is_empty()).then(|| Piece::new(&row.id, Style::Dim));
        shown.map(note).chain(id).collect()
    }

    fn tally(&mut self, tally: &Tally) {
        let count: usize = tally.reasons.iter().map(|reason| reason.rows.len()).sum();
        // The summary has a count for each kind of reason.
        if !self.verbose && count > FEW_CASES {
            return self.heading(&tally.title, &spoken(&say!("{count}: --verbose shows them"), self.lang));
        }
        self.heading(&tally.title, &count.to_string());
        for TallyReason { text, is_open, rows } in &tally.reasons {
            self.paragraph(&format!("{:>5}  ", rows.len()), text, Style::Plain);
            let most = if self.verbose || *is_open { rows.len() } else { FEW_NAMES };
            let mut names: Vec<Piece> = rows
                .iter()
                .take(most)
                .map(|row| Piece::new(row.in_a_line(self.verbose, self.lang), Style::Dim))
                .collect();
            if rows.len() > most {
                names.push(Piece::new("…", Style::Dim));
            }
            self.page.flow_hanging(7, 7, &names);
        }
    }
}

/// A piece of a line: every text enters the page through here, and so no control character does.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) style: Style,
}

impl Piece {
    pub(crate) fn new(text: impl AsRef<str>, style: Style) -> Piece {
        Piece { text: visible(text.as_ref()), style }
    }

    pub(crate) fn plain(text: impl AsRef<str>) -> Piece {
        Piece::new(text, Style::Plain)
    }

    pub(crate) fn width(&self) -> usize {
        self.text.width()
    }
}

pub(crate) fn gap(columns: usize) -> Piece {
    Piece { text: " ".repeat(columns), style: Style::Plain }
}

/// Marks whose meaning stands at the end of the page, when they were used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// `≈`.
    About,
    /// `·`.
    NotPlanned,
}

pub(crate) struct Page {
    pub(crate) options: RenderOptions,
    /// Columns that a line may fill.
    pub(crate) width: usize,
    pub(crate) marks: BTreeSet<Mark>,
    out: String,
}

impl Page {
    pub(crate) fn new(options: &RenderOptions) -> Page {
        Page { options: *options, width: options.width.max(40), marks: BTreeSet::new(), out: String::new() }
    }

    /// The text in the page's language.
    pub(crate) fn say(&self, text: Text) -> &'static str {
        text.say(self.options.lang)
    }

    /// One line; what would stand beyond the width is cut, with `…` in its place.
    pub(crate) fn line(&mut self, pieces: &[Piece]) {
        let end = pieces.iter().rposition(|piece| !piece.text.trim_end().is_empty()).map_or(0, |last| last + 1);
        let mut used = 0;
        for (index, piece) in pieces[..end].iter().enumerate() {
            let text = if index + 1 == end { piece.text.trim_end() } else { &piece.text };
            let room = self.width.saturating_sub(used);
            let is_cut = text.width() > room;
            let text = if is_cut { cut(text, room) } else { text.to_owned() };
            used += text.width();
            self.paint(&text, piece.style);
            if is_cut {
                break;
            }
        }
        self.out.push('\n');
    }

    fn paint(&mut self, text: &str, style: Style) {
        let code = match style {
            Style::Heading => "1",
            Style::Dim => "2",
            Style::Warning => "33",
            Style::Bad => "31",
            Style::Good => "32",
            Style::Plain | Style::Run => "",
        };
        if !self.options.color || code.is_empty() || text.trim().is_empty() {
            self.out.push_str(text);
        } else {
            self.out.push_str(&format!("\u{1b}[{code}m{text}\u{1b}[0m"));
        }
    }

    /// An empty line, never two and never the first.
    pub(crate) fn blank(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// A heading with a remark in its line.
    pub(crate) fn heading(&mut self, title: &str, remark: &str) {
        self.blank();
        let (title, remark) = (Piece::new(title, Style::Heading), Piece::new(remark, Style::Dim));
        if title.width() + 3 + remark.width() <= self.width {
            self.line(&[title, gap(3), remark]);
        } else {
            self.line(&[title]);
            self.paragraph("  ", &remark.text, Style::Dim);
        }
    }

    /// A text in as many lines as it needs, behind `first` and then indented by as much.
    pub(crate) fn paragraph(&mut self, first: &str, text: &str, style: Style) {
        let text = visible(text);
        let indent = first.width();
        for (index, part) in wrap(&text, self.width.saturating_sub(indent)).into_iter().enumerate() {
            let lead = if index == 0 { Piece::new(first, style) } else { gap(indent) };
            self.line(&[lead, Piece { text: part, style }]);
        }
    }

    /// Facts one behind the other, three spaces apart, on as many lines as they need.
    pub(crate) fn flow(&mut self, indent: usize, facts: &[Piece]) {
        self.flow_hanging(indent, indent + 2, facts);
    }

    /// Facts one behind the other, with the lines after the first at an indent of their own.
    pub(crate) fn flow_hanging(&mut self, indent: usize, hang: usize, facts: &[Piece]) {
        let mut line: Vec<Piece> = vec![gap(indent)];
        let mut used = indent;
        for fact in facts.iter().filter(|fact| !fact.text.is_empty()) {
            let is_first = line.len() == 1;
            if !is_first && used + 3 + fact.width() > self.width {
                self.line(&line);
                line = vec![gap(hang)];
                used = hang;
            } else if !is_first {
                line.push(gap(3));
                used += 3;
            }
            if used + fact.width() > self.width {
                self.paragraph(&" ".repeat(used), &fact.text, fact.style);
                line = vec![gap(hang)];
                used = hang;
                continue;
            }
            used += fact.width();
            line.push(fact.clone());
        }
        if line.len() > 1 {
            self.line(&line);
        }
    }

    /// Another page of the same width, to be appended later.
    pub(crate) fn sheet(&self) -> Page {
        Page::new(&self.options)
    }

    /// Appends lines that came from a page.
    pub(crate) fn append(&mut self, lines: &str) {
        self.out.push_str(lines);
    }

    pub(crate) fn lines(&self) -> usize {
        self.out.lines().count()
    }

    pub(crate) fn into_text(self) -> String {
        typeset_columns(&self.out, self.options.lang).into_owned()
    }
}
