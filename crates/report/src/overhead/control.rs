//! The first environment held against itself: its runs split in two by turn. What differs between the halves is chance, and
//! no percentage that is smaller says anything.

use hostmark_model::{Run, Text};

use super::value::Value;
use super::{Environment, cell_of, over};
use crate::bilingual::{Words, same};
use crate::joined::Joined;

/// The halves of the first environment's runs: the first, third, … in the order in which they started, and the others.
#[derive(Debug)]
pub(super) struct Control<'a> {
    /// None where there are fewer than two runs.
    pub(super) halves: Option<[Environment<'a>; 2]>,
}

impl<'a> Control<'a> {
    pub(super) fn of(first: &Environment<'a>) -> Control<'a> {
        let mut runs: Vec<&Run> = first.runs.clone();
        runs.sort_by(|one, other| one.started.cmp(&other.started));
        let half =
            |odd: usize| Environment { name: first.name, runs: runs.iter().copied().skip(odd).step_by(2).collect() };
        Control { halves: (runs.len() >= 2).then(|| [half(0), half(1)]) }
    }

    /// Whether there are halves.
    pub(super) fn is_there(&self) -> bool {
        self.halves.is_some()
    }

    /// By what fraction a case lies higher in one half than in the other; none where a half has no value of it.
    pub(super) fn difference(&self, id: &str, is_time: bool) -> Option<f64> {
        let value =
            |half: &Environment| Value::of(half, id).ok().map(|value| if is_time { value.time() } else { value });
        let [one, other] = self.halves.as_ref()?;
        Some(value(other)?.over(&value(one)?).ok()?.value)
    }

    /// The cell of a percentage: beside a control that is as large, or of values whose runs may be those of one
    /// machine, it is no difference.
    pub(super) fn beside(&self, (fraction, may_equal): (Joined, bool), difference: Option<f64>, all: bool) -> Words {
        let shown = cell_of(&fraction, all);
        if !self.is_there() || !(may_equal || is_none(&fraction, difference)) {
            return shown;
        }
        Text { en: format!("{} (no difference)", shown.en), zh: format!("{}（无差异）", shown.zh) }
    }
}

/// How far a ratio lies from one, whichever way: a fifth is −80 % and five times +400 %, which is equally far.
pub(super) fn distance(ratio: f64) -> f64 {
    ratio.ln().abs()
}

/// Whether a fraction says nothing: it is no larger than what one half lies over the other, or may as well be zero.
pub(super) fn is_none(fraction: &Joined, difference: Option<f64>) -> bool {
    let is_within = difference.is_some_and(|difference| distance(1.0 + fraction.value) <= distance(1.0 + difference));
    is_within || fraction.interval.is_some_and(|(low, high)| low <= 0.0 && high >= 0.0)
}

/// The cell of a control.
pub(super) fn cell(difference: Option<f64>) -> Words {
    same(difference.map_or_else(|| "–".to_owned(), over))
}

/// The head of the column, or a row's, in which the controls stand.
pub(super) const TITLE: Text = Text { en: "A/A", zh: "A/A" };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_chance_may_have_made_is_no_difference() {
        let is_none = |value, interval, difference| is_none(&Joined { value, interval }, difference);
        let apart = Some((0.005, 0.015));
        assert!(is_none(0.01, apart, Some(0.02)) && is_none(-0.01, None, Some(-0.02)));
        assert!(!is_none(0.01, apart, Some(0.005)) && !is_none(0.01, apart, None));
        // A control that happens to be small proves nothing where the interval reaches over zero.
        assert!(is_none(0.01, Some((-0.01, 0.03)), Some(0.001)) && is_none(0.01, Some((-0.01, 0.03)), None));
        assert!(!is_none(0.01, None, None));
    }

    #[test]
    fn a_control_reaches_as_many_times_down_as_up() {
        let is_none = |value, difference| is_none(&Joined { value, interval: None }, Some(difference));
        // 5.4 times lower against 1.97 times higher, and the other way round.
        assert!(!is_none(-0.8141, 0.9695) && !is_none(0.9695, -0.3) && !is_none(-1.0, 9.0));
        assert!(is_none(0.9695, -0.8141) && is_none(-0.45, 0.9695) && is_none(0.9695, -0.5));
    }
}
