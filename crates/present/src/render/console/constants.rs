//! Key figures: those beside similar servers a row each, and of the others two in a row.

use hostmark_analysis::constants::{ConstantValue, NOT_KNOWN};
use hostmark_analysis::references::{NONE_LEFT, NearestReference, Tone};
use hostmark_analysis::typography::typeset;
use hostmark_model::Text;

use super::page::{Page, Piece, Style, gap};
use super::view::View;

/// Columns between two cells, as the width allows; between two figures of a row is one more.
const GAPS: [usize; 2] = [2, 1];
const APART: usize = 1;
/// Cells of the first figure of a row.
const FIRST: usize = 3;
/// Figures that have a row of their own for being much slower than on the one machine beside, at most.
const MOST_SLOW: usize = 2;

type Cells = Vec<Piece>;

fn style(tone: Tone) -> Style {
    match tone {
        Tone::Good => Style::Good,
        Tone::Plain => Style::Dim,
        Tone::Doubtful => Style::Warning,
        Tone::Bad => Style::Bad,
    }
}

/// Verdict on a figure, in words.
pub(super) fn verdict(figure: &ConstantValue, beside: Option<&NearestReference>, view: &View) -> Option<Piece> {
    if let Some(verdict) = beside.and_then(|beside| beside.verdict(figure)) {
        return Some(Piece::new(typeset(verdict.words.get(view.lang), view.lang), style(verdict.tone)));
    }
    figure.is_as_memory.then(|| Piece::new(view.say(NONE_LEFT), Style::Warning))
}

/// Name of a figure, its value here and the range of a repeat.
fn cells(figure: &ConstantValue, view: &View) -> Cells {
    let style = if figure.estimate.is_unsteady() { Style::Warning } else { Style::Dim };
    vec![
        Piece::new(view.say(figure.row), Style::Dim),
        Piece::plain(view.tell(&figure.here())),
        Piece::new(view.tell(&figure.repeat()), style),
    ]
}

/// Width of the widest cell of a column.
fn widest(rows: &[Cells], column: usize) -> usize {
    rows.iter().filter_map(|row| row.get(column)).map(Piece::width).max().unwrap_or(0)
}

/// Writes the rows; false, and nothing written, where they are wider than the page.
pub(super) fn write<'a>(
    figures: impl Iterator<Item = &'a ConstantValue<'a>>,
    beside: Option<&NearestReference>,
    is_loose: bool,
    view: &View,
    page: &mut Page,
) -> bool {
    let is_usual = beside.is_some_and(NearestReference::is_usual);
    let figures: Vec<&ConstantValue> = figures.collect();
    // Beside one machine those have a verdict that similar servers have, and the slowest of the others.
    let much_slower = |figure: &&ConstantValue| {
        let verdict = beside?.verdict(figure).filter(|verdict| verdict.tone == Tone::Bad && !figure.is_of_machine())?;
        Some((verdict.better, figure.row))
    };
    let mut slow: Vec<(f64, Text)> = figures.iter().filter_map(much_slower).collect();
    slow.sort_by(|one, other| one.0.total_cmp(&other.0));
    slow.truncate(MOST_SLOW);
    let is_slow = |figure: &ConstantValue| slow.iter().any(|(_, row)| *row == figure.row);
    let (mut judged, mut others): (Vec<Cells>, Vec<Cells>) = Default::default();
    for figure in figures {
        let mut row = cells(figure, view);
        match verdict(figure, beside, view).filter(|_| is_usual || figure.is_of_machine() || is_slow(figure)) {
            Some(verdict) => {
                let range = beside.and_then(|beside| beside.range_beside(figure)).unwrap_or_else(|| NOT_KNOWN.into());
                row.extend(is_usual.then(|| Piece::new(view.tell(&range), Style::Dim)));
                row.push(verdict);
                judged.push(row);
            }
            None => others.push(row),
        }
    }
    let mut right = others.split_off(others.len().div_ceil(2)).into_iter();
    others.iter_mut().for_each(|row| row.extend(right.next().into_iter().flatten()));
    let mut head: Cells = vec![gap(0)];
    head.extend([term!("here"), term!("a repeat")].map(|head| Piece::new(page.say(head), Style::Dim)));
    let has_judged = !judged.is_empty();
    if has_judged {
        head.extend(beside.map(|beside| Piece::new(view.tell(&beside.column()), Style::Dim)));
        judged.insert(0, head);
    } else {
        let is_double = others.first().is_some_and(|row| row.len() > FIRST);
        others.insert(0, if is_double { [head.clone(), head].concat() } else { head });
    }
    // The first figure of each row stands under those of the others; a heading may reach over what has none.
    let shared: Vec<usize> = (0..FIRST).map(|column| widest(&judged, column).max(widest(&others, column))).collect();
    let starts = |rows: &[Cells], heads: usize, between: usize| {
        let mut at = 0;
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let start = |column: usize| {
            let start = at + if column >= FIRST { APART } else { 0 };
            at += shared.get(column).copied().unwrap_or_else(|| widest(&rows[heads..], column)) + between;
            start
        };
        (0..columns).map(start).collect::<Vec<usize>>()
    };
    let is_within = |rows: &[Cells], starts: &[usize]| {
        rows.iter().flat_map(|row| row.iter().zip(starts)).all(|(cell, at)| at + cell.width() <= page.width)
    };
    let layouts = GAPS.map(|between| [starts(&judged, 1, between), starts(&others, 0, between)]);
    let fits = |[first, second]: &[Vec<usize>; 2]| is_within(&judged, first) && is_within(&others, second);
    let Some([first, second]) = layouts.into_iter().find(fits) else { return false };
    let is_parted = is_loose && has_judged && !others.is_empty();
    let count = judged.len();
    let all = judged.into_iter().map(|row| (row, &first)).chain(others.into_iter().map(|row| (row, &second)));
    for (index, (row, starts)) in all.enumerate() {
        if is_parted && index == count {
            page.blank();
        }
        let (mut pieces, mut used) = (Vec::new(), 0);
        for (cell, at) in row.into_iter().zip(starts) {
            pieces.push(gap(at - used));
            used = at + cell.width();
            pieces.push(cell);
        }
        page.line(&pieces);
    }
    true
}
