//! A table of texts, as views print them: a label and cells in each row, reasons that are too long for a cell below it.

use hostmark_model::Message;
use hostmark_say::say;

use crate::typography::COMMA;

/// A table of the view: a label and cells in each row, all of them text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    pub title: Message,
    pub columns: Vec<Message>,
    pub rows: Vec<Row>,
    /// Reasons why cells have no value, where they take more than a few words; cells refer to them by number.
    pub notes: Vec<Message>,
    /// Remarks about rows, below the table instead of in the rows' labels and cells.
    pub remarks: Vec<RowsRemark>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RowsRemark {
    what: Message,
    rows: Vec<Message>,
}

impl RowsRemark {
    pub fn text(&self) -> Message {
        let rows = Message::joined(&self.rows[..self.rows.len().min(MOST_NAMED)], term!(", ", "list"));
        let rows = match self.rows.len().saturating_sub(MOST_NAMED) {
            0 => rows,
            more => say!("{rows}, {more} more"),
        };
        say!("{what} ({rows})", what = self.what)
    }
}

/// Reasons of up to so many characters stand in their cells.
const LONGEST_IN_CELL: usize = 30;

/// A remark names so many of its rows; in the others the cells themselves say what became of them.
const MOST_NAMED: usize = 12;

impl Table {
    /// The cell of something that has no value, for this reason.
    pub(crate) fn without(&mut self, why: Message) -> Message {
        if why.to_string().chars().count() <= LONGEST_IN_CELL {
            return why;
        }
        let known = self.notes.iter().position(|note| *note == why);
        let index = known.unwrap_or_else(|| {
            self.notes.push(why);
            self.notes.len() - 1
        });
        Message::plain(format!("–({})", index + 1))
    }

    /// Says `what` of a row below the table.
    pub(crate) fn remark(&mut self, what: Message, row: &Message) {
        match self.remarks.iter_mut().find(|known| known.what == what) {
            Some(known) if known.rows.contains(row) => {}
            Some(known) => known.rows.push(row.clone()),
            None => self.remarks.push(RowsRemark { what, rows: vec![row.clone()] }),
        }
    }

    /// The cell of `whom` in a row without a value: what became of it, as `skipped`; the reason stands below the table.
    pub(crate) fn lacking(&mut self, why: Message, whom: &str, row: &Message) -> Message {
        let [cell, _] = why.parts() else { return self.without(why) };
        let cell = cell.clone();
        self.remark(Message::joined([whom.into(), why], COMMA), row);
        cell
    }
}

/// A row of a table; none of its cells is blank. One without cells is the head of those below it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    pub label: Message,
    pub cells: Vec<Message>,
}

impl Row {
    /// Tells whether it is the heading of the rows below it.
    pub fn is_head(&self) -> bool {
        self.cells.is_empty()
    }
}
