//! The page that the console's blocks are written on: it keeps the width, the colours and the escaping in one place.

use std::collections::BTreeSet;

use hostmark_analysis::escape::visible;
use hostmark_model::Text;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::RenderOptions;
pub(crate) use crate::document::Style;
use crate::wrap::wrap;
use hostmark_analysis::typography::typeset_columns;

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

/// `text` where it fits in `room` columns, else its beginning with `…` behind it.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used + 1 > room {
            break;
        }
        kept.push(c);
    }
    if room > 0 {
        kept.push('…');
    }
    kept
}
