//! Numbers for people: a value in its base unit becomes three significant digits with the unit that suits it.

mod interval;
mod scale;

pub use interval::{QUIET, TYPICAL, WIDEST, are_apart, called, estimator, other, percent_number, plus_minus_of};
pub use interval::{UNSTEADY, agreement, between, both, interval_target, low_high, other_value, percent, plus_minus};
pub(crate) use interval::{in_short, likely_ends};
pub use scale::{Scale, amount, in_scale, number, scale_for, unit_name, value};

use hostmark_model::Estimate;

/// Share of disturbed samples from which they are mentioned: a few are everyday, and left out already.
pub const DISTURBED_SHARE: f64 = 0.05;

/// Number of significant digits of a value; an interval's ends get one more where they would look alike.
pub const DIGITS: usize = 3;

/// `3×40`: the rounds, and the samples of one round.
pub fn rounds_and_samples(estimate: &Estimate) -> String {
    let rounds = u64::from(estimate.rounds);
    match rounds {
        0 => format!("0×{}", estimate.n),
        // Rounds may differ by a few samples; what is shown is the nearest whole number.
        _ => format!("{rounds}×{}", (estimate.n.saturating_add(rounds / 2)) / rounds),
    }
}
