//! A table of texts, as views print them: a label and cells in each row, reasons that are too long for a cell below it.

use hostmark_model::Text;

use crate::bilingual::same;

/// A table of the view: a label and cells in each row, all of them text.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Table {
    pub(crate) title: Text<String>,
    pub(crate) columns: Vec<Text<String>>,
    pub(crate) rows: Vec<Row>,
    /// Why cells have no value, where that takes more than a few words; cells refer to them by number.
    pub(crate) notes: Vec<Text<String>>,
}

/// Reasons of up to so many characters stand in their cells.
const LONGEST_IN_CELL: usize = 30;

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
}

/// A row of a table; none of its cells is blank.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Row {
    pub(crate) label: Text<String>,
    pub(crate) cells: Vec<Text<String>>,
}
