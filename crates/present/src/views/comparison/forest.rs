//! The forest plot of a comparison: the changes with their intervals.

use hostmark_analysis::compare::{Against, CaseComparison, Verdict};
use hostmark_model::Message;
use hostmark_say::say;

use super::{sign, words};
use crate::chart::scale::{ScaleKind, change};
use crate::chart::{Rows, ValueRow};
use crate::document::{Chart, Drawing};

/// Rows of a forest plot: so many changes at most, and so many rows at least where there are cases without a change.
const MOST_CHANGES: usize = 40;
const LEAST_ROWS: usize = 12;

/// Size of a change: equal for a half and for twice.
fn size(case: &CaseComparison) -> f64 {
    case.effect.as_ref().map_or(0.0, |effect| effect.ratio.ln().abs())
}

/// Colour and shape of a verdict in the plot; they are named below it in this order.
fn style(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Slower => 1,
        Verdict::Faster => 2,
        Verdict::Changed | Verdict::ChangedShape => 3,
        Verdict::Inconclusive => 4,
        Verdict::Same | Verdict::NotComparable => 0,
    }
}

/// The changes of all cases with an interval, the greatest first; none where there is no such case.
pub(super) fn forest(against: &Against) -> Option<Chart> {
    let known = |case: &&CaseComparison| case.effect.as_ref().is_some_and(|effect| effect.test.is_some());
    let mut cases: Vec<&CaseComparison> = against.cases.iter().filter(known).collect();
    cases.sort_by(|a, b| {
        let is_equal = |case: &CaseComparison| !words::is_change(case.verdict);
        is_equal(a).cmp(&is_equal(b)).then(size(b).total_cmp(&size(a)))
    });
    let changed = cases.iter().filter(|case| words::is_change(case.verdict)).count();
    let (all, shown) = (cases.len(), changed.clamp(LEAST_ROWS, MOST_CHANGES).min(cases.len()));
    cases.truncate(shown);
    let row = |case: &&CaseComparison| {
        let effect = case.effect.as_ref()?;
        let test = effect.test.as_ref()?;
        let verdict = words::verdict_word(case.verdict);
        let sign = sign(case.verdict);
        let shown = change(effect.ratio);
        let interval = format!("{} … {}", change(test.low), change(test.high));
        Some(ValueRow {
            label: words::label(case),
            remark: Message::joined([Message::plain(format!("{shown} {sign}")), verdict.into()], " "),
            value: effect.ratio,
            interval: Some((test.low, test.high)),
            style: style(case.verdict),
            reading: Message::joined([Message::plain(format!("{shown} [95 %: {interval}]")), verdict.into()], " "),
        })
    };
    let styles = [Verdict::Same, Verdict::Slower, Verdict::Faster, Verdict::Changed, Verdict::Inconclusive];
    let chart = Rows {
        x_title: term!("new against base, %").into(),
        x: ScaleKind::Change,
        rows: cases.iter().filter_map(row).collect(),
        styles: styles.into_iter().map(|verdict| words::verdict_word(verdict).into()).collect(),
    };
    let note = (shown < all)
        .then(|| say!("{shown} of {all} cases, the greatest changes first; all stand in the table below."));
    let title = term!("Changes with their intervals").into();
    (shown > 0).then_some(Chart { title, note, drawing: Drawing::Rows(chart) })
}
