//! A table of texts, as views print them: a label and cells in each row, reasons that are too long for a cell below it.

use hostmark_model::Text;
use hostmark_say::say;

use crate::bilingual::{COMMA, Words, joined, same};
use crate::words;

/// A table of the view: a label and cells in each row, all of them text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    pub title: Text<String>,
    pub columns: Vec<Text<String>>,
    pub rows: Vec<Row>,
    /// Why cells have no value, where that takes more than a few words; cells refer to them by number.
    pub notes: Vec<Text<String>>,
    /// What is said of rows, which it names, instead of in their labels and cells.
    pub remarks: Vec<RowsRemark>,
}

/// Something to know of some rows of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct RowsRemark {
    what: Words,
    /// Their labels.
    rows: Vec<Words>,
}

impl RowsRemark {
    /// As it stands below the table.
    pub fn text(&self) -> Words {
        let rows = joined(&self.rows[..self.rows.len().min(MOST_NAMED)], term!(", ", "list"));
        let rows = match self.rows.len().saturating_sub(MOST_NAMED) {
            0 => rows,
            more => words(say!("{rows}, {more} more")),
        };
        words(say!("{what} ({rows})", what = self.what))
    }
}

/// Reasons of up to so many characters stand in their cells.
const LONGEST_IN_CELL: usize = 30;

/// A remark names so many of its rows; in the others the cells themselves say what became of them.
const MOST_NAMED: usize = 12;

impl Table {
    /// The cell of something that has no value, for this reason.
    pub(crate) fn without(&mut self, why: Text<String>) -> Text<String> {
        if why.en.chars().count() <= LONGEST_IN_CELL {
            return why;
        }
        let known = self.notes.iter().position(|note| *note == why);
        let index = known.unwrap_or_else(|| {
            self.notes.push(why);
            self.notes.len() - 1
        });
        same(format!("–({})", index + 1))
    }

    /// Says `what` of a row below the table.
    pub(crate) fn remark(&mut self, what: Words, row: &Words) {
        match self.remarks.iter_mut().find(|known| known.what == what) {
            Some(known) if known.rows.contains(row) => {}
            Some(known) => known.rows.push(row.clone()),
            None => self.remarks.push(RowsRemark { what, rows: vec![row.clone()] }),
        }
    }

    /// The cell of something of `whom` in a row that has no value: what became of it, as `skipped`; the rest of the reason
    /// is said below the table.
    pub(crate) fn lacking(&mut self, why: Words, whom: &str, row: &Words) -> Words {
        let (Some((en, _)), Some((zh, _))) = (why.en.split_once(": "), why.zh.split_once('：')) else {
            return self.without(why);
        };
        let cell = Text { en: en.to_owned(), zh: zh.to_owned() };
        self.remark(joined(&[same(whom), why], COMMA), row);
        cell
    }
}

/// A row of a table; none of its cells is blank. One without cells is the head of those below it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    pub label: Text<String>,
    pub cells: Vec<Text<String>>,
}

impl Row {
    /// Whether it is the head of the rows below it.
    pub fn is_head(&self) -> bool {
        self.cells.is_empty()
    }
}
