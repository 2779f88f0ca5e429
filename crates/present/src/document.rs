//! Document of a view, in blocks, before a medium lays it out: texts are in both languages, and none is markup.

use hostmark_analysis::Spoken;
use hostmark_analysis::bars::Bars;
use hostmark_model::{Lang, Message, Text};

use crate::chart::{Chart as Picture, Rows};

/// A view in blocks, in the order in which paper shows them.
pub(crate) type Document = Vec<Block>;

pub(crate) enum Block {
    /// Title; a terminal leaves it out, as the command stands above.
    Title(Message),
    /// Conclusion: first on paper; in a terminal last, where the eye is, above the method.
    Conclusion(Message),
    /// Method behind the verdicts.
    Method(Vec<Message>),
    /// A part, and a remark in its line.
    Heading(Message, Message),
    /// The same, where the title is a sentence.
    Part(Message),
    Sentence(Message, Style),
    /// Further remarks on the blocks above.
    Remarks(Vec<Remark>),
    List(List),
    Warnings(Vec<Message>),
    Named(Vec<NamedParty>),
    Table(Table),
    Tally(Tally),
    Charts(Vec<Chart>),
    /// Lines whose columns stand under each other.
    Drawn(Vec<Message>),
    /// Claims under a title, and what became of them; in their order where nothing is said of that.
    Judged(Message, Vec<Judged>),
    /// Details for few readers, under a title.
    Folded(Message, Document),
}

/// Emphasis of a text where a medium can show it; nothing depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Style {
    #[default]
    Plain,
    Heading,
    /// Text that the eye may skip.
    Dim,
    Warning,
    Bad,
    Good,
    Run,
}

pub(crate) struct List {
    pub(crate) title: Message,
    pub(crate) lines: Vec<Message>,
    /// Number of items that a terminal shows, unless everything is asked for.
    pub(crate) few: usize,
}

/// A claim with its verdict, and a sign that tells it without words.
#[derive(Default)]
pub(crate) struct Judged {
    pub(crate) sign: &'static str,
    pub(crate) verdict: Message,
    pub(crate) text: Message,
    /// The letter of the run that it is of, where there are several.
    pub(crate) run: String,
    pub(crate) cure: Option<Message>,
    pub(crate) command: Option<String>,
    /// Anchor of the page's result of the command; empty where there is none.
    pub(crate) anchor: String,
    /// Arguments to type for the cases that it rests on, and their anchors on a page.
    pub(crate) cases: Vec<(String, String)>,
}

/// Somebody or something, and what is known of it.
#[derive(Default)]
pub(crate) struct NamedParty {
    pub(crate) role: Message,
    pub(crate) name: String,
    pub(crate) facts: Vec<Message>,
    pub(crate) warnings: Vec<Message>,
}

/// Rows under columns, of which the first has the labels where the layout does not say otherwise.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) title: Message,
    pub(crate) caption: Message,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    pub(crate) rest: Option<FoldedRows>,
    pub(crate) notes: Vec<Message>,
    pub(crate) layout: TableLayout,
}

/// Layout of a table where a medium has one; a grid where it has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TableLayout {
    #[default]
    Grid,
    /// A line for each row, and more where it needs them, with this between its cells.
    Lines(&'static str),
    /// A block for each row, so many of them unless everything is asked for: its texts of one line first, then the others.
    Cards(usize),
    /// A label in front of lines, under the table's caption.
    Facts,
    /// The same with a heading above, of which the caption is the remark, and the facts apart.
    Labels,
    /// A grid whose first head says what its two sides are.
    Matrix,
    /// Text without marks, whose cells may be sentences. A row of a label alone is the head of those below it.
    Plain,
    /// The values of a probe's cases, so many columns of which say which case it is.
    Cases(usize),
    Runs,
    /// Sections: a name and its value, its verdict beside what is usual, and the usual range.
    Constants,
}

#[derive(Default)]
pub(crate) struct Column {
    pub(crate) head: Message,
    pub(crate) style: Style,
    pub(crate) align: Align,
    /// True where it has the main value.
    pub(crate) is_value: bool,
    /// True where a terminal has no room for it.
    pub(crate) is_extra: bool,
    /// Lines of a cell that a terminal shows, unless everything is asked for.
    pub(crate) few: usize,
    /// Columns of a line that it shows then, where that is said.
    pub(crate) longest: Option<usize>,
}

/// Alignment of the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Align {
    #[default]
    Left,
    Right,
    /// Alignment at the decimal point, the units and the `±` under each other too.
    Point,
    /// Alignment at the `…`.
    Ellipsis,
}

#[derive(Default)]
pub(crate) struct Row {
    pub(crate) kind: RowKind,
    pub(crate) id: String,
    pub(crate) anchor: String,
    /// The part of the table that it belongs to.
    pub(crate) section: Message,
    pub(crate) cells: Vec<Cell>,
    /// Reason in place of the values.
    pub(crate) instead: Option<Message>,
    pub(crate) remarks: Vec<Remark>,
    /// True where its labels are those of the row above.
    pub(crate) is_further: bool,
    /// True where it is one of the table's rest.
    pub(crate) is_rest: bool,
}

/// Kind of a row, as readers search for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum RowKind {
    #[default]
    None,
    Worse,
    Better,
    Changed,
    Equal,
    Failed,
}

#[derive(Default)]
pub(crate) struct Cell {
    pub(crate) text: Message,
    /// Lines in place of the text.
    pub(crate) lines: Vec<Message>,
    pub(crate) style: Style,
    /// Sort key of its row.
    pub(crate) key: Option<f64>,
    /// Of a verdict, the worst and the best of similar servers and this one, as rates over their middle.
    pub(crate) strip: Option<[f64; 3]>,
    /// Sign of the row's kind without colour, in the cell that says it.
    pub(crate) sign: &'static str,
    /// Link to details on a page.
    pub(crate) link: String,
}

pub(crate) struct Remark {
    pub(crate) text: Message,
    pub(crate) style: Style,
    /// True where it is for readers who ask for everything.
    pub(crate) is_detail: bool,
}

/// Rows that a reader does not look for: folded or left out where there are more than a few rows.
pub(crate) struct FoldedRows {
    pub(crate) title: Message,
    /// Number of rows left out, without the mark at a sentence's end.
    pub(crate) left_out: Message,
    pub(crate) few: usize,
}

/// Rows by what they have in common, with their number.
pub(crate) struct Tally {
    pub(crate) title: Message,
    pub(crate) columns: Vec<Column>,
    pub(crate) reasons: Vec<TallyReason>,
}

pub(crate) struct TallyReason {
    pub(crate) text: Message,
    /// True where each row is named, however many there are.
    pub(crate) is_open: bool,
    pub(crate) rows: Vec<Row>,
}

pub(crate) struct Chart {
    pub(crate) title: Message,
    pub(crate) note: Option<Message>,
    pub(crate) drawing: Drawing,
}

pub(crate) enum Drawing {
    /// Rows that show only where lines can be drawn.
    Rows(Rows),
    Bars(Bars),
    Picture(Picture),
}

impl Column {
    pub(crate) fn new(head: impl Into<Message>, align: Align) -> Column {
        Column { head: head.into(), align, ..Column::default() }
    }
}

impl Table {
    /// Tells whether all rows are shown, not the important ones alone.
    pub(crate) fn is_whole(&self, verbose: bool) -> bool {
        verbose || self.rest.as_ref().is_none_or(|rest| self.rows.len() <= rest.few)
    }
}

impl From<&Text<String>> for Cell {
    fn from(text: &Text<String>) -> Cell {
        Message::from(text).into()
    }
}

impl From<Message> for Cell {
    fn from(text: Message) -> Cell {
        Cell { text, ..Cell::default() }
    }
}

impl Remark {
    pub(crate) fn new(text: impl Into<Message>, style: Style) -> Remark {
        Remark { text: text.into(), style, is_detail: false }
    }
}

impl NamedParty {
    pub(crate) fn in_a_line(&self, lang: Lang) -> String {
        let facts = self.facts.iter().map(|fact| format!(" · {}", fact.get(lang)));
        format!("{} {}{}", self.role.get(lang), self.name, facts.collect::<String>())
    }
}

impl Row {
    /// Tells whether it is the heading of the rows below it.
    pub(crate) fn is_head(&self) -> bool {
        self.cells.len() == 1 && self.instead.is_none()
    }

    pub(crate) fn has_values(&self) -> bool {
        self.cells.last().is_some_and(|change| change.text.as_plain() != Some("–"))
    }

    /// Name, or the argument to type, and its values where it has both.
    pub(crate) fn in_a_line(&self, is_typed: bool, lang: Lang) -> String {
        let mut texts = self.cells.iter().map(|cell| cell.text.get(lang));
        let label = texts.next().unwrap_or_default();
        let name = if is_typed { &self.id } else { &label };
        let remarks = self.remarks.iter().map(|remark| format!("  {}", remark.text.get(lang)));
        match texts.collect::<Vec<_>>().as_slice() {
            [base, new, change] if self.has_values() => {
                format!("{name}  {base} → {new}  {change}{}", remarks.collect::<String>())
            }
            _ => name.to_owned(),
        }
    }
}
