//! The first environment held against itself: its runs split in two. What differs between the halves is chance, and no percentage that is
//! smaller says anything.

use hostmark_model::{Message, Text};
use hostmark_say::say;
use hostmark_stats::{descriptive, halves};

use super::value::ComparableValue;
use super::{Environment, cell_of};
use crate::propagated::Propagated;

/// Tells whether the first environment can be compared with itself: it has runs for two halves.
pub(super) fn is_there(first: &Environment) -> bool {
    first.runs.len() > 1
}

/// Distance of the medians of two halves of a value's runs, on logarithms; none where fewer than two runs have it.
pub(super) fn distance(of_first: &ComparableValue) -> Option<f64> {
    halves::apart(&of_first.runs, descriptive::median)
}

/// The cell of a percentage: within the control, or of values whose runs may be those of one machine, it is no difference.
pub(super) fn beside(fraction: &Propagated, may_equal: bool, distance: Option<f64>, all: bool) -> Message {
    let shown = cell_of(fraction, all);
    if may_equal || is_within(1.0 + fraction.value, distance) { no_difference(&shown) } else { shown }
}

/// Marks a value as no difference.
pub(super) fn no_difference(shown: &Message) -> Message {
    say!("{shown} (no difference)")
}

/// Tells whether a ratio is no farther from one than halves of the first environment's runs are, on logarithms: a fifth is −80 % and five
/// times +400 %, which is equally far.
pub(super) fn is_within(ratio: f64, distance: Option<f64>) -> bool {
    distance.is_some_and(|distance| ratio.ln().abs() <= distance)
}

/// The cell of a control: how much more one half comes to than the other.
pub(super) fn cell(distance: Option<f64>) -> Message {
    Message::plain(distance.map_or_else(|| "–".to_owned(), |distance| format!("±{:.2} %", distance.exp_m1() * 100.0)))
}

/// The head of the column, or a row's, in which the controls stand.
pub(super) const TITLE: Text = Text { en: "A/A", zh: "A/A" };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_chance_may_have_made_is_no_difference() {
        let shown = |value, may_equal, distance: Option<f64>| {
            let fraction = Propagated { value, interval: Some((value - 0.001, value + 0.001)) };
            beside(&fraction, may_equal, distance.map(f64::ln_1p), false).to_string()
        };
        assert_eq!(shown(0.01, false, Some(0.02)), "+1.00 % (no difference)");
        assert_eq!((shown(0.01, false, Some(0.005)), shown(0.01, false, None)), ("+1.00 %".into(), "+1.00 %".into()));
        // A control that happens to be small proves nothing where the runs of both may be those of one machine.
        assert_eq!(shown(0.01, true, Some(0.001)), "+1.00 % (no difference)");
        assert_eq!([cell(Some(0.02_f64.ln_1p())), cell(None)].map(|cell| cell.to_string()), ["±2.00 %", "–"]);
    }

    #[test]
    fn a_control_reaches_as_many_times_down_as_up() {
        let is_within = |value: f64, other: f64| is_within(1.0 + value, Some(other.ln_1p()));
        // 5.4 times lower against 1.97 times higher, and the other way round.
        assert!(!is_within(-0.8141, 0.9695) && !is_within(0.9695, 0.43) && !is_within(-1.0, 9.0));
        assert!(is_within(0.9695, 4.4) && is_within(-0.45, 0.9695) && is_within(0.9695, 1.0));
    }
}
