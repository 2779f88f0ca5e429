//! The constants as rows: what was measured here, what is usual for the kind of machine, and what that comes to in words.

use hostmark_analysis::Spoken;
use hostmark_analysis::constants::{ConstantGroup, ConstantValue, Scarcity};
use hostmark_analysis::format::UNSTEADY;
use hostmark_analysis::references::{NearestReference, Tone};
use hostmark_analysis::typography::typeset;
use hostmark_model::Text;
use hostmark_say::say;
use unicode_width::UnicodeWidthStr;

use super::page::{Page, Piece, Style, gap};
use super::view::View;

/// Columns between two columns.
const BETWEEN: usize = 2;
const HERE: Text = term!("here");
/// Separator of the parts of a row.
const AND: &str = " · ";

/// A row: one constant, or two that belong together.
#[derive(Clone)]
struct ConstantRow {
    label: String,
    here: String,
    usual: String,
    verdict: Vec<Piece>,
}

impl ConstantRow {
    /// Columns up to the end of what stands before the verdict.
    fn before(&self, labels: usize) -> usize {
        let usual = if self.usual.is_empty() { 0 } else { BETWEEN + self.usual.width() };
        labels + self.here.width() + usual
    }

    fn of_verdict(&self) -> usize {
        self.verdict.iter().map(Piece::width).sum()
    }
}

pub(super) fn style(tone: Tone) -> Style {
    match tone {
        Tone::Good => Style::Good,
        Tone::Plain => Style::Dim,
        Tone::Doubtful => Style::Warning,
        Tone::Bad => Style::Bad,
    }
}

/// Verdict on a constant, in words.
pub(super) fn verdict(constant: &ConstantValue, beside: Option<&NearestReference>, view: &View) -> Option<Piece> {
    if let Some(verdict) = beside.and_then(|beside| beside.verdict(constant)) {
        return Some(Piece::new(verdict.words.get(view.lang), style(verdict.tone)));
    }
    constant.estimate.is_unsteady().then(|| Piece::new(UNSTEADY.get(view.lang), Style::Warning))
}

/// Additions to a value in a row.
#[derive(Debug, Clone, Copy)]
struct Extras {
    /// The cycles of what the core does by itself.
    cycles: bool,
    /// Value of the other estimator.
    other: bool,
}

/// Additions from all to none: where there is no room for them, they are left to the table.
const EXTRAS: [Extras; 3] = [
    Extras { cycles: true, other: true },
    Extras { cycles: false, other: true },
    Extras { cycles: false, other: false },
];

fn row(
    label: Text,
    constants: &[&ConstantValue],
    with: Extras,
    beside: Option<&NearestReference>,
    view: &View,
) -> ConstantRow {
    let here = |constant: &&ConstantValue| {
        let value = constant.in_row(view.run, with.other).get(view.lang);
        let text = match constant.cycles().map(|cycles| cycles.get(view.lang)).filter(|_| with.cycles) {
            Some(cycles) => view.tell(&say!("{value} ({cycles})")),
            None => value,
        };
        typeset(&text, view.lang).into_owned()
    };
    let here: Vec<String> = constants.iter().map(here).collect();
    let verdicts: Vec<Option<Piece>> = constants.iter().map(|constant| verdict(constant, beside, view)).collect();
    let label = label.get(view.lang);
    // Of one of two alone its name is said, where the label has one.
    let is_of_one = constants.len() > 1 && verdicts.iter().flatten().count() == 1 && label.contains(AND);
    let named = |(part, piece): (&str, Option<Piece>)| {
        let Piece { text, style } = piece?;
        let gap = if part.ends_with(|c: char| c.is_ascii()) { " " } else { "" };
        Some(Piece::new(if is_of_one { format!("{part}{gap}{text}") } else { text }, style))
    };
    let names = label.split(AND).chain(std::iter::repeat(label));
    let mut pieces: Vec<Piece> = Vec::new();
    for piece in names.zip(verdicts).filter_map(named) {
        match pieces.last() {
            // What both come to stands there once.
            Some(first) if first.text == piece.text => {}
            Some(_) => pieces.extend([Piece::new(AND, Style::Dim), piece]),
            None => pieces.push(piece),
        }
    }
    // Of one of two alone its unit tells which it is of.
    let mut ranges = constants.iter().filter_map(|one| Some(beside?.range(one)?.get(view.lang)));
    let usual = ranges.next().filter(|_| ranges.next().is_none()).unwrap_or_default();
    ConstantRow { label: label.to_owned(), here: here.join(AND), usual, verdict: pieces }
}

/// The rows of all constants, with two in a row where lines are so scarce and the width allows it.
fn rows(
    lines: &[(&'static ConstantGroup, Vec<ConstantValue>)],
    beside: Option<&NearestReference>,
    scarcity: Scarcity,
    (labels, width): (usize, usize),
    view: &View,
) -> Vec<ConstantRow> {
    let fits = |row: &ConstantRow| row.before(labels) + BETWEEN + row.of_verdict() <= width;
    let mut rows = Vec::new();
    for (line, constants) in lines {
        let pairs: &[Text] = if scarcity >= line.paired_from { line.pairs } else { &[] };
        let pair_of = |value: &ConstantValue| {
            let at = line.constants.iter().position(|constant| constant.row == value.row)? / 2;
            Some((at, pairs.get(at)?))
        };
        let mut rest = constants.iter().peekable();
        while let Some(one) = rest.next() {
            let pair = pair_of(one);
            let both = rest.peek().filter(|other| pair.is_some() && pair_of(other) == pair).zip(pair);
            let written = |label: Text, constants: &[&ConstantValue]| {
                // Two in a row lose nothing that each would have in its own, as long as lines allow that.
                let most = if constants.len() > 1 && scarcity < Scarcity::Great { 2 } else { EXTRAS.len() };
                let with_and_without_range = |with| {
                    let row = row(label, constants, with, beside, view);
                    let bare = (constants.len() > 1).then(|| ConstantRow { usual: String::new(), ..row.clone() });
                    std::iter::once(row).chain(bare)
                };
                EXTRAS[..most].iter().copied().flat_map(with_and_without_range).find(&fits)
            };
            if let Some(row) = both.and_then(|(other, (_, label))| written(*label, &[one, other])) {
                rest.next();
                rows.push(row);
            } else {
                rows.push(written(one.row, &[one]).unwrap_or_else(|| row(one.row, &[one], EXTRAS[2], beside, view)));
            }
        }
    }
    rows
}

/// Writes the rows, each in one line; whether that was possible.
pub(super) fn write(
    lines: &[(&'static ConstantGroup, Vec<ConstantValue>)],
    beside: Option<&NearestReference>,
    scarcity: Scarcity,
    view: &View,
    page: &mut Page,
) -> bool {
    let names = lines.iter().flat_map(|(line, _)| line.pairs.iter().chain(line.constants.iter().map(|one| &one.row)));
    let labels = names.map(|name| name.get(view.lang).width()).max().unwrap_or(0) + BETWEEN;
    let rows = rows(lines, beside, scarcity, (labels, page.width), view);
    let most = |of: &dyn Fn(&ConstantRow) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let here = most(&|row: &ConstantRow| if row.usual.is_empty() { 0 } else { row.here.width() + BETWEEN });
    let [usual, verdict] = [most(&|row: &ConstantRow| row.usual.width()), most(&ConstantRow::of_verdict)];
    let end = |row: &ConstantRow| match (row.verdict.is_empty(), row.usual.is_empty()) {
        (true, _) => 0,
        (false, true) => row.before(labels),
        (false, false) => labels + here + usual,
    };
    // One verdict that is long, as of two constants, does not push the others to the right.
    let verdict_at = (most(&end) + BETWEEN).min(page.width.saturating_sub(verdict));
    let usual_at = (labels + here).min(verdict_at.saturating_sub(BETWEEN + usual));
    head(labels, if here > 0 { usual_at } else { verdict_at }, beside, page);
    let mut all_fit = true;
    for row in rows {
        let mut pieces =
            vec![Piece::new(&row.label, Style::Dim), gap(labels - row.label.width()), Piece::plain(&row.here)];
        let mut used = labels + row.here.width();
        if !row.usual.is_empty() {
            let at = usual_at.max(used + BETWEEN);
            pieces.extend([gap(at - used), Piece::new(&row.usual, Style::Dim)]);
            used = at + row.usual.width();
        }
        if !row.verdict.is_empty() {
            let at = verdict_at.max(used + BETWEEN);
            pieces.push(gap(at - used));
            used = at + row.of_verdict();
            pieces.extend(row.verdict);
        }
        all_fit &= used <= page.width;
        page.line(&pieces);
    }
    all_fit
}

fn head(here_at: usize, at: usize, beside: Option<&NearestReference>, page: &mut Page) {
    let here = page.say(HERE);
    let mut pieces = vec![gap(here_at), Piece::new(here, Style::Dim)];
    if let Some(beside) = beside {
        let column = page.say(beside.column());
        let at = at.min(page.width.saturating_sub(column.width()));
        pieces.extend([gap(at.saturating_sub(here_at + here.width()).max(1)), Piece::new(column, Style::Dim)]);
    }
    page.line(&pieces);
}
