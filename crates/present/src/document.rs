//! What a view says, in blocks, before a medium lays it out: texts are in both languages, and none is markup.

use hostmark_analysis::Spoken;
use hostmark_analysis::bars::Bars;
use hostmark_model::{Lang, Message, Text};

use crate::chart::{Chart as Picture, Rows};

/// A view in blocks, in the order in which paper shows them.
pub(crate) type Document = Vec<Block>;

pub(crate) enum Block {
    /// What it is about; a terminal leaves it out, as the command stands above.
    Title(Message),
    /// What it comes to: first on paper; in a terminal last, where the eye is, above the method.
    Conclusion(Message),
    /// What the verdicts stand on.
    Method(Vec<Message>),
    /// A part, and a remark in its line.
    Heading(Message, Message),
    /// The same, where the title is a sentence.
    Part(Message),
    Sentence(Message, Style),
    /// What else is known of what stands above.
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
    /// What few readers look for, under a title.
    Folded(Message, Document),
}

/// How a text stands out where a medium can show it; nothing depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Style {
    #[default]
    Plain,
    Heading,
    /// What may be skipped by the eye.
    Dim,
    Warning,
    Bad,
    /// What is better than usual.
    Good,
    Run,
}

pub(crate) struct List {
    pub(crate) title: Message,
    pub(crate) lines: Vec<Message>,
    /// How many a terminal shows, unless everything is asked for.
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
    /// Where a page shows what the command does; empty where it does not.
    pub(crate) anchor: String,
    /// What a person types for the cases that it stands on, and where a page has them.
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

/// How a table is laid out where a medium can; a grid where it cannot.
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
    /// By sections: a name and its value, what that comes to beside what is usual, and this.
    Constants,
}

#[derive(Default)]
pub(crate) struct Column {
    pub(crate) head: Message,
    pub(crate) style: Style,
    pub(crate) align: Align,
    /// Whether it has the value that a reader looks for.
    pub(crate) is_value: bool,
    /// Whether a terminal has no room for it.
    pub(crate) is_extra: bool,
    /// Lines of a cell that a terminal shows, unless everything is asked for.
    pub(crate) few: usize,
    /// Columns of a line that it shows then, where that is said.
    pub(crate) longest: Option<usize>,
}

/// How the cells of a column stand under each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Align {
    #[default]
    Left,
    Right,
    /// At their decimal point, the units and the `±` under each other too.
    Point,
    /// At their `…`.
    Ellipsis,
}

#[derive(Default)]
pub(crate) struct Row {
    pub(crate) kind: RowKind,
    /// What a person types for it.
    pub(crate) id: String,
    /// Where others find it on a page.
    pub(crate) anchor: String,
    /// The part of the table that it belongs to.
    pub(crate) section: Message,
    pub(crate) cells: Vec<Cell>,
    /// In the place of the values: why there are none.
    pub(crate) instead: Option<Message>,
    pub(crate) remarks: Vec<Remark>,
    /// Whether its labels are those of the row above.
    pub(crate) is_further: bool,
    /// Whether it is one of the table's rest.
    pub(crate) is_rest: bool,
}

/// What a row says, as a reader looks for it.
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
    /// In the place of the text: a line each.
    pub(crate) lines: Vec<Message>,
    pub(crate) style: Style,
    /// By what its row is sorted; of a verdict, how many times better it is.
    pub(crate) key: Option<f64>,
    /// What tells the row's kind without colour, in the cell that says it.
    pub(crate) sign: &'static str,
    /// Where a page has more of it.
    pub(crate) link: String,
}

pub(crate) struct Remark {
    pub(crate) text: Message,
    pub(crate) style: Style,
    /// Whether it is for readers who ask for everything.
    pub(crate) is_detail: bool,
}

/// Rows that a reader does not look for: folded or left out where there are more than a few rows.
pub(crate) struct FoldedRows {
    pub(crate) title: Message,
    /// How many are left out, without the mark at a sentence's end.
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
    /// Whether each row is named, however many there are.
    pub(crate) is_open: bool,
    pub(crate) rows: Vec<Row>,
}

pub(crate) struct Chart {
    pub(crate) title: Message,
    pub(crate) note: Option<Message>,
    pub(crate) drawing: Drawing,
}

pub(crate) enum Drawing {
    /// Only where lines can be drawn.
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
    /// Whether all rows are shown, and not those alone that a reader looks for.
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
    /// Whether it is the head of the rows below it.
    pub(crate) fn is_head(&self) -> bool {
        self.cells.len() == 1 && self.instead.is_none()
    }

    /// Whether both sides have a value.
    pub(crate) fn has_values(&self) -> bool {
        self.cells.last().is_some_and(|change| change.text.as_plain() != Some("–"))
    }

    /// Its name, or what to type for it, and its values where it has both.
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
