//! Values along an axis with the points down and the series across: many kinds of value for each point.

use hostmark_analysis::format::{percent_number, plus_minus_of};

use unicode_width::UnicodeWidthStr;

use super::grid::{Align, Grid, GridRow};
use super::page::{Page, Piece, Style};
use super::sweep::{Sweep, even_banks};
use super::view::View;
use crate::words;

/// Columns before the names of the levels.
const INDENT: usize = 2;
/// Columns between two columns where room is scarce.
const GAP: usize = 2;

/// A column: what stands over it, how its cells stand under each other, and the cells.
struct MatrixColumn {
    header: String,
    /// The same behind a column of its kind.
    short: String,
    align: Align,
    cells: Vec<Piece>,
}

impl MatrixColumn {
    /// Width, by the widest cell; a cell aligned at its point may take more than its text.
    fn width(&self, is_first: bool) -> usize {
        let point = |text: &str| {
            let number = text.split(' ').next().unwrap_or(text);
            number.find('.').map_or(number.width(), |point| number[..point].width())
        };
        let texts = || self.cells.iter().map(|cell| cell.text.as_str());
        let cells = match self.align {
            Align::Point => {
                let before = texts().map(point).max().unwrap_or(0);
                before + texts().map(|text| text.width() - point(text)).max().unwrap_or(0).max(3)
            }
            _ => texts().map(UnicodeWidthStr::width).max().unwrap_or(0),
        };
        let header = if is_first { &self.header } else { &self.short };
        cells.max(header.as_str().width())
    }
}

impl Sweep<'_> {
    /// Writes the sweep with its points down and its series across: each value with its interval where the width has room
    /// for all of them, else the values alone, with the widest interval of a row behind them.
    pub(super) fn write_down(&self, view: &View, page: &mut Page) {
        let fits = |columns: &[MatrixColumn]| {
            let widths = columns.iter().enumerate().map(|(index, column)| GAP + column.width(index == 0));
            self.label_columns() + widths.sum::<usize>() <= page.width
        };
        let mut marks = page.sheet();
        let with_intervals = self.columns(view, &mut marks, Align::Point, true);
        let columns = if view.verbose || fits(&with_intervals) {
            with_intervals
        } else {
            let at_their_point = self.columns(view, &mut marks, Align::Point, false);
            match fits(&at_their_point) {
                true => at_their_point,
                false => self.columns(view, &mut marks, Align::Right, false),
            }
        };
        page.marks.append(&mut marks.marks);
        for bank in even_banks(page.width, columns.len(), |width, from| {
            let (mut to, mut used) = (from, self.label_columns());
            while let Some(column) = columns.get(to) {
                used += GAP + column.width(to == from);
                if used > width && to > from {
                    break;
                }
                to += 1;
            }
            to
        }) {
            self.write_columns(page, &columns[bank]);
        }
        self.write_others(view, page);
        self.write_remarks(view, page);
    }

    /// Width of the names of levels and points.
    fn label_columns(&self) -> usize {
        let groups = self.points.iter().filter_map(|point| point.group).map(UnicodeWidthStr::width).max();
        let points = self.points.iter().map(|point| point.label.as_str()).chain([self.title.as_str()]);
        INDENT + groups.unwrap_or(0) + GAP + points.map(UnicodeWidthStr::width).max().unwrap_or(0)
    }

    fn columns(&self, view: &View, page: &mut Page, align: Align, with_intervals: bool) -> Vec<MatrixColumn> {
        let scale = self.scale();
        let mut columns: Vec<MatrixColumn> = Vec::new();
        let mut before: Option<&str> = None;
        for series in &self.series {
            let cell = |case: &Option<_>| {
                let mut piece = self.text(view, page, scale, *case);
                let shown = case.filter(|case| with_intervals && self.shows_interval(view, case));
                if let Some(half) = self.half_width(shown) {
                    piece.text.push_str(&format!(" {}", plus_minus_of(half)));
                }
                piece
            };
            let header = series.label.clone();
            let short = shortened(&header, before).to_owned();
            before = Some(&series.label);
            columns.push(MatrixColumn { header, short, align, cells: series.cells.iter().map(cell).collect() });
            if let Some(lines) = &series.lines {
                let header = view.say(words::LINES).to_owned();
                let cells = lines.iter().map(|text| Piece::new(text, Style::Dim)).collect();
                columns.push(MatrixColumn { short: header.clone(), header, align: Align::Right, cells });
            }
        }
        let is_wide = |case| self.shows_interval(view, case);
        if !with_intervals && self.series.iter().any(|series| series.cells.iter().flatten().any(|case| is_wide(case))) {
            let widest = (0..self.points.len()).map(|index| self.widest(index).map_or("–".to_owned(), percent_number));
            let cells = widest.map(|text| Piece::new(text, Style::Dim)).collect();
            let header = view.say(words::PLUS_MINUS_MOST).to_owned();
            columns.push(MatrixColumn { short: header.clone(), header, align: Align::Right, cells });
        }
        columns
    }

    fn write_columns(&self, page: &mut Page, columns: &[MatrixColumn]) {
        let mut grid = Grid::new();
        grid.column(&self.title, Align::Right);
        for (index, column) in columns.iter().enumerate() {
            grid.column(if index == 0 { &column.header } else { &column.short }, column.align);
        }
        grid.row(GridRow::Heading(Piece::plain("")));
        for (index, point) in self.points.iter().enumerate() {
            let group = point.group.filter(|_| self.begins_group(index, 0)).unwrap_or("");
            let mut cells = vec![Piece::new(group, Style::Dim), Piece::new(&point.label, Style::Dim)];
            cells.extend(columns.iter().map(|column| column.cells[index].clone()));
            grid.row(GridRow::Cells(cells, Vec::new()));
        }
        grid.write(page);
    }
}

/// A header behind another with the same word and another number says the number alone: `stride 64`, `128`, `256`.
fn shortened<'a>(header: &'a str, before: Option<&str>) -> &'a str {
    let parts = |text: &str| text.split_once(' ').map(|(word, rest)| (word.to_owned(), rest.to_owned()));
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains(' ');
    match (parts(header), before.and_then(parts)) {
        (Some((word, rest)), Some((same, other))) if word == same && is_number(&rest) && is_number(&other) => {
            &header[word.len() + 1..]
        }
        _ => header,
    }
}
