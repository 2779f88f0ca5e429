//! Rows and columns: numbers stand under each other by their point, remarks behind them or, when long, below.

use hostmark_analysis::typography::typeset;
use unicode_width::UnicodeWidthStr;

use crate::print::console::{Page, Piece, Style, gap};
use crate::wrap::{cut, wrap};

pub(crate) use crate::document::Align;

/// Columns between two columns, where the width allows it, and where not.
const GAPS: [usize; 2] = [3, 2];

/// A header may be this wide; it names a point of an axis, whose names are short in every catalogue.
pub(crate) const WIDEST_HEADER: usize = 20;

/// The width of a usual fraction with its point: three digits, one of them before it.
const USUAL_FRACTION: usize = 3;

/// The share of the width that the first column may take before its texts wrap.
const LABEL_SHARE: f64 = 0.45;
/// Labels wrap down to this width before a column has to go, and all before the columns are parted.
const LEAST_LABEL: usize = 18;

pub(crate) enum GridRow {
    /// A cell for each column, and what is remarkable about them.
    Cells(Vec<Piece>, Vec<Piece>),
    /// A label, and what stands in the place of all other cells.
    Instead(Piece, Piece),
    /// A heading that begins a new part under the same columns.
    Heading(Piece),
    /// Lines that were made elsewhere.
    Lines(String),
}

pub(crate) struct Grid {
    columns: Vec<(Piece, Align)>,
    rows: Vec<GridRow>,
    /// Columns from this one on may go where the width is too small for all.
    needed: Option<usize>,
}

/// Layout of a grid's columns within the width.
struct GridLayout {
    label: usize,
    gap: usize,
    widths: Vec<usize>,
    headers: Vec<Piece>,
}

impl Grid {
    pub(crate) fn new() -> Grid {
        Grid { columns: Vec::new(), rows: Vec::new(), needed: None }
    }

    /// Adds a column behind the labels.
    pub(crate) fn column(&mut self, header: &str, align: Align) {
        let mut header = Piece::new(header, Style::Dim);
        header.text = cut(&header.text, WIDEST_HEADER);
        self.columns.push((header, align));
    }

    /// Columns that follow may go where the width is too small for all.
    pub(crate) fn rest_may_go(&mut self) {
        self.needed = Some(self.columns.len());
    }

    /// Takes what is said again and again out of the rows, which refer to it by number; the texts, for below the grid.
    pub(crate) fn take_repeated(&mut self) -> Vec<String> {
        let mut counts: Vec<(String, usize)> = Vec::new();
        let mut count = |text: &str| match counts.iter_mut().find(|(known, _)| known == text) {
            Some((_, count)) => *count += 1,
            None => counts.push((text.to_owned(), 1)),
        };
        for row in &self.rows {
            match row {
                GridRow::Cells(_, notes) => notes.iter().for_each(|note| count(&note.text)),
                GridRow::Instead(_, text) => count(&text.text),
                GridRow::Heading(_) | GridRow::Lines(_) => {}
            }
        }
        let is_repeated = |(text, count): &(String, usize)| *count >= REPEATED && text.as_str().width() > LONG_NOTE;
        let repeated: Vec<String> = counts.into_iter().filter(is_repeated).map(|(text, _)| text).collect();
        let number = |text: &str| repeated.iter().position(|known| known == text).map(|at| at + 1);
        for row in &mut self.rows {
            match row {
                GridRow::Cells(_, notes) => {
                    for note in notes {
                        if let Some(number) = number(&note.text) {
                            let mark = if note.text.starts_with("! ") { "! " } else { "" };
                            note.text = format!("{mark}[{number}]");
                        }
                    }
                }
                GridRow::Instead(_, text) => {
                    if let Some(number) = number(&text.text) {
                        text.text = format!("{} [{number}]", what_became(&text.text).0);
                    }
                }
                GridRow::Heading(_) | GridRow::Lines(_) => {}
            }
        }
        let shown = |text: String| what_became(text.trim_start_matches("! ")).1.to_owned();
        repeated.into_iter().map(shown).collect()
    }

    /// Adds a row; its first cell is the label.
    pub(crate) fn row(&mut self, row: GridRow) {
        self.rows.push(row);
    }

    /// Writes the grid, in several parts when its columns need more than the width.
    pub(crate) fn write(mut self, page: &mut Page) {
        // Before widths are taken.
        let lang = page.options.lang;
        let set = |piece: &mut Piece| piece.text = typeset(&piece.text, lang).into_owned();
        self.columns.iter_mut().for_each(|(header, _)| set(header));
        for row in &mut self.rows {
            match row {
                GridRow::Cells(cells, notes) => cells.iter_mut().chain(notes).for_each(set),
                GridRow::Instead(label, text) => [label, text].into_iter().for_each(set),
                GridRow::Heading(_) | GridRow::Lines(_) => {}
            }
        }
        let (widths, headers): (Vec<usize>, Vec<Piece>) = (0..self.columns.len()).map(|c| self.align(c)).unzip();
        let label_of = |row: &GridRow| match row {
            GridRow::Cells(cells, _) => cells.first().map_or(0, Piece::width),
            GridRow::Instead(label, _) => label.width(),
            GridRow::Heading(_) | GridRow::Lines(_) => 0,
        };
        let natural = self.rows.iter().map(label_of).max().unwrap_or(0);
        let wanted = natural.min((page.width as f64 * LABEL_SHARE) as usize);
        let room = |gap: usize, columns: usize| {
            page.width.checked_sub(2 + widths[..columns].iter().map(|width| width + gap).sum::<usize>())
        };
        let (all, narrow) = (widths.len(), GAPS[GAPS.len() - 1]);
        let fits = |gap: usize, columns: usize, label: usize| room(gap, columns).is_some_and(|room| room >= label);
        let fewest = self.needed.unwrap_or(all);
        let least = (fewest..=all).rev().find(|columns| fits(narrow, *columns, wanted.min(LEAST_LABEL)));
        let columns = least.unwrap_or(all);
        let gap = *GAPS.iter().find(|gap| fits(**gap, columns, wanted)).unwrap_or(&narrow);
        // The labels wrap before the columns are parted.
        let label = least.and_then(|columns| room(gap, columns)).map_or(wanted, |room| wanted.min(room));
        let (widths, headers) = (widths[..columns].to_vec(), headers[..columns].to_vec());
        let layout = GridLayout { label, gap, widths, headers };
        let mut from = 0;
        loop {
            let mut used = 2 + layout.label;
            let mut to = from;
            while to < layout.widths.len() && (to == from || used + layout.gap + layout.widths[to] <= page.width) {
                used += layout.gap + layout.widths[to];
                to += 1;
            }
            let is_last = to == layout.widths.len();
            for row in &self.rows {
                layout.write_row(page, row, from..to, is_last);
            }
            if is_last {
                return;
            }
            from = to;
        }
    }

    /// Pads the cells of a column to one width; tells it, and the padded header.
    fn align(&mut self, column: usize) -> (usize, Piece) {
        let (mut header, align) = (self.columns[column].0.clone(), self.columns[column].1);
        if align == Align::Left {
            let widest = self.rows.iter().filter_map(|row| cell(row, column)).map(Piece::width).max().unwrap_or(0);
            let fill = |piece: &mut Piece| piece.text += &" ".repeat(widest.saturating_sub(piece.width()));
            let cells = self.rows.iter_mut().filter_map(|row| match row {
                GridRow::Cells(cells, _) => cells.get_mut(column + 1),
                _ => None,
            });
            cells.chain([&mut header]).for_each(fill);
        }
        // What has no two ends says something in their place, over the whole column.
        let is_whole = |text: &str| align == Align::Ellipsis && !text.contains(" …");
        let cells = || self.rows.iter().filter_map(|row| cell(row, column)).map(|cell| cell.text.as_str());
        let whole = cells().filter(|text| is_whole(text)).map(UnicodeWidthStr::width).max().unwrap_or(0);
        let parts: Vec<[String; 4]> = cells().filter(|text| !is_whole(text)).map(|text| split(text, align)).collect();
        let widest = |part: usize| parts.iter().map(|parts| parts[part].width()).max().unwrap_or(0);
        let (first, fourth) = (widest(0), widest(3));
        // A rare long fraction may push its own unit on, rather than part all others from theirs.
        let second = match align {
            Align::Point => widest(1).min(USUAL_FRACTION),
            _ => widest(1),
        };
        let behind = parts.iter().map(|[_, b, c, _]| b.width().max(second) + c.width()).max().unwrap_or(0);
        let core = (first + behind).max(whole);
        let width = core.max(header.width()) + fourth;
        let pad = |text: &str, to: usize| " ".repeat(to.saturating_sub(text.width()));
        let mut parts = parts.into_iter();
        for row in &mut self.rows {
            let GridRow::Cells(cells, _) = row else { continue };
            let Some(cell) = cells.get_mut(column + 1) else { continue };
            if is_whole(&cell.text) {
                cell.text = pad(&cell.text, width) + &cell.text;
                continue;
            }
            let Some([a, b, c, d]) = parts.next() else { continue };
            let lead = " ".repeat(width - fourth - first - behind) + &pad(&a, first);
            let number = format!("{b}{}{c}", pad(&b, second));
            cell.text = format!("{lead}{a}{number}{}{d}{}", pad(&number, behind), pad(&d, fourth));
        }
        // The header stands over the numbers, not over their intervals.
        let text = format!("{}{}{}", pad(&header.text, width - fourth), header.text, " ".repeat(fourth));
        (width, Piece { text, style: header.style })
    }
}

/// Number of rows with the same remark from which on they refer to it …
const REPEATED: usize = 3;
/// … where it is wider than this.
const LONG_NOTE: usize = 36;

/// Splits the fate of a case and its reason: `skipped`, `needs root`. A remark has the reason alone.
fn what_became(text: &str) -> (&str, &str) {
    let is_word = |word: &str| !word.is_empty() && word.split(' ').count() == 1;
    text.split_once(": ").or_else(|| text.split_once('：')).filter(|(word, _)| is_word(word)).unwrap_or(("", text))
}

/// The cell of a row in a column behind the labels.
fn cell(row: &GridRow, column: usize) -> Option<&Piece> {
    match row {
        GridRow::Cells(cells, _) => cells.get(column + 1),
        _ => None,
    }
}

/// A cell's parts that stand under each other.
fn split(text: &str, align: Align) -> [String; 4] {
    let nothing = String::new;
    match align {
        Align::Left | Align::Right => [text.to_owned(), nothing(), nothing(), nothing()],
        Align::Ellipsis => {
            let (before, after) = text.split_at(text.find(" …").unwrap_or(text.len()));
            [before.to_owned(), after.to_owned(), nothing(), nothing()]
        }
        Align::Point => {
            let (value, interval) = text.split_at(text.find(" ±").or_else(|| text.find(" (")).unwrap_or(text.len()));
            let (number, unit) = value.split_at(value.find(' ').unwrap_or(value.len()));
            let (whole, fraction) = number.split_at(number.find('.').unwrap_or(number.len()));
            [whole, fraction, unit, interval].map(str::to_owned)
        }
    }
}

impl GridLayout {
    fn write_row(&self, page: &mut Page, row: &GridRow, columns: std::ops::Range<usize>, is_last: bool) {
        match row {
            GridRow::Heading(title) => self.write_heading(page, title, columns),
            GridRow::Cells(cells, notes) => {
                let label = cells.first().cloned().unwrap_or_else(|| Piece::plain(""));
                let (mut line, indent) = self.write_label(page, &label);
                for cell in cells.iter().skip(1 + columns.start).take(columns.len()) {
                    line.extend([gap(self.gap), cell.clone()]);
                }
                let used: usize = line.iter().map(Piece::width).sum();
                let notes: &[Piece] = if is_last { notes } else { &[] };
                let is_fitting = used + notes.iter().map(|note| note.width() + 3).sum::<usize>() <= page.width;
                if is_fitting {
                    notes.iter().for_each(|note| line.extend([gap(3), note.clone()]));
                }
                page.line(&line);
                if !is_fitting {
                    page.flow(indent + 6, notes);
                }
            }
            GridRow::Instead(label, text) if columns.start == 0 => {
                let (mut line, indent) = self.write_label(page, label);
                let used = line.iter().map(Piece::width).sum::<usize>() + self.gap;
                let room = page.width.saturating_sub(used);
                // Beside a long label there may be too little room for a sentence.
                if room < 24 && text.width() > room {
                    page.line(&line);
                    page.paragraph(&" ".repeat(indent + 6), &text.text, text.style);
                    return;
                }
                let mut parts = wrap(&text.text, room).into_iter();
                line.extend([gap(self.gap), Piece { text: parts.next().unwrap_or_default(), style: text.style }]);
                page.line(&line);
                parts.for_each(|part| page.line(&[gap(used), Piece { text: part, style: text.style }]));
            }
            GridRow::Lines(text) if is_last => page.append(text),
            GridRow::Instead(..) | GridRow::Lines(_) => {}
        }
    }

    /// A heading with the columns' headers in its line.
    fn write_heading(&self, page: &mut Page, title: &Piece, columns: std::ops::Range<usize>) {
        if !title.text.is_empty() {
            page.blank();
        }
        let mut line = vec![title.clone()];
        let label_end = 2 + self.label;
        if title.width() > label_end {
            page.line(&line);
            line = vec![gap(label_end)];
        } else {
            line.push(gap(label_end - title.width()));
        }
        for header in &self.headers[columns] {
            line.extend([gap(self.gap), header.clone()]);
        }
        if line.iter().any(|piece| !piece.text.trim().is_empty()) {
            page.line(&line);
        }
    }

    /// Writes a label but for its last line, which it returns padded, with the label's own indent.
    fn write_label(&self, page: &mut Page, label: &Piece) -> (Vec<Piece>, usize) {
        let text = label.text.trim_start();
        let indent = label.text.len() - text.len();
        let mut parts = wrap(text, self.label.saturating_sub(indent));
        let last = Piece { text: parts.pop().unwrap_or_default(), style: label.style };
        for text in parts {
            page.line(&[gap(2 + indent), Piece { text, style: label.style }]);
        }
        let pad = self.label.saturating_sub(indent + last.width());
        (vec![gap(2 + indent), last, gap(pad)], indent)
    }
}
