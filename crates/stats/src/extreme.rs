//! The best of several runs of one side over that of another: how far it may be off.

use crate::compare::Difference;
use crate::descriptive;
use crate::interval::CONFIDENCE;
use crate::repetition::Deviation;

/// The standard deviation of the greatest of so many normal values, in that of one: of one, of two … (Tippett, "On the extreme
/// individuals and the range of samples taken from a normal population", Biometrika 1925).
const OF_GREATEST: [f64; 10] = [1.0, 0.826, 0.748, 0.701, 0.669, 0.645, 0.626, 0.611, 0.598, 0.587];

/// The greatest of `new` over the greatest of `base`, and its 95 % interval: what both come to when runs are drawn again from those of
/// their side (Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics 1979; for the greatest of few values
/// every outcome's probability is known, so that nothing has to be drawn), and never narrower than what runs differ by has it, as the
/// greatest of values drawn again is never greater than the greatest. `None` where a side has no value, or one that is not above zero.
pub fn ratio_of_greatest(base: &[f64], new: &[f64], deviation: &Deviation) -> Option<(f64, (f64, f64))> {
    if base.iter().chain(new).any(|value| !value.is_finite() || *value <= 0.0) {
        return None;
    }
    let ratio = descriptive::max(new)? / descriptive::max(base)?;
    let mut outcomes: Vec<(f64, f64)> = Vec::new();
    for (below, base_share) in drawn_again(base) {
        outcomes.extend(drawn_again(new).into_iter().map(|(above, share)| (above / below, share * base_share)));
    }
    outcomes.sort_by(|one, other| one.0.total_cmp(&other.0));
    let at = |share: f64| {
        let mut before = 0.0;
        let found = outcomes.iter().find(|(_, own)| {
            before += own;
            before >= share
        });
        found.or(outcomes.last()).map(|(ratio, _)| *ratio)
    };
    let outside = (1.0 - CONFIDENCE) / 2.0;
    let (low, high) = (at(outside)?, at(1.0 - outside)?);
    let of = |count: usize| OF_GREATEST[count.clamp(1, OF_GREATEST.len()) - 1];
    // Few runs that scatter by more than is assumed are believed.
    let seen = Deviation::drawn(&[base, new], Deviation::NONE).map_or(0.0, |known| known.sd);
    let error = deviation.sd.max(seen) * of(base.len()).hypot(of(new.len()));
    // Of what is only assumed the deviation stands as it is.
    let freedom = if deviation.runs > 0 { deviation.freedom } else { f64::INFINITY };
    let known = Difference { logarithm: ratio.ln(), error, freedom }.interval();
    Some((ratio, (low.min(known.0), high.max(known.1))))
}

/// The greatest of as many values as there are, drawn from them with replacement: what it may be, and how often.
fn drawn_again(values: &[f64]) -> Vec<(f64, f64)> {
    let count = values.len();
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let no_greater = |rank: usize| (rank as f64 / count as f64).powi(count as i32);
    sorted.into_iter().enumerate().map(|(at, value)| (value, no_greater(at + 1) - no_greater(at))).collect()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::made_up::normal;

    fn deviation(base: &[f64], new: &[f64]) -> Deviation {
        Deviation::drawn(&[base, new], Deviation::assumed(0.02)).unwrap_or(Deviation::assumed(0.02))
    }

    #[test]
    fn what_is_drawn_again_adds_up() {
        let outcomes = drawn_again(&[3.0, 1.0, 2.0]);
        assert_eq!(outcomes.iter().map(|(value, _)| *value).collect::<Vec<f64>>(), [1.0, 2.0, 3.0]);
        let shares: Vec<f64> = outcomes.iter().map(|(_, share)| share * 27.0).collect();
        assert!(shares.iter().zip([1.0, 7.0, 19.0]).all(|(one, other)| (one - other).abs() < 1e-9));
    }

    #[test]
    fn a_great_difference_is_outside_and_what_cannot_be_reported_has_none() {
        let (base, new) = ([1.0, 1.01, 0.99], [0.8, 0.81, 0.79]);
        let (ratio, (low, high)) = ratio_of_greatest(&base, &new, &deviation(&base, &new)).unwrap();
        assert!((ratio - 0.81 / 1.01).abs() < 1e-12 && low < ratio && ratio < high && high < 0.9);
        // One run a side: by what is assumed alone.
        let (_, (low, high)) = ratio_of_greatest(&[1.0], &[1.0], &Deviation::assumed(0.02)).unwrap();
        assert!((high - (1.96 * 0.02 * 2_f64.sqrt()).exp()).abs() < 1e-3 && (low * high - 1.0).abs() < 1e-9);
        for (base, new) in [(&[][..], &[1.0][..]), (&[1.0], &[]), (&[0.0], &[1.0]), (&[1.0], &[f64::NAN])] {
            assert_eq!(ratio_of_greatest(base, new, &Deviation::assumed(0.02)), None);
        }
    }

    #[test]
    fn equal_sides_are_inside_in_ninety_five_of_a_hundred() {
        let mut random = Pcg64Mcg::seed_from_u64(8);
        for count in [2, 3, 5, 10] {
            for (sd, down, up) in
                [(0.005, 1.0, 1.0), (0.02, 1.0, 1.0), (0.05, 1.0, 1.0), (0.02, 3.0, 1.0), (0.02, 1.0, 2.0)]
            {
                let mut missed = 0;
                for _ in 0..1000 {
                    let mut run = || {
                        let away = sd * normal(&mut random);
                        // A tail to one side, as of runs that were disturbed now and then, or favoured.
                        (away * if away < 0.0 { down } else { up }).exp()
                    };
                    let base: Vec<f64> = (0..count).map(|_| run()).collect();
                    let new: Vec<f64> = (0..count).map(|_| run()).collect();
                    let (_, (low, high)) = ratio_of_greatest(&base, &new, &deviation(&base, &new)).unwrap();
                    missed += usize::from(low > 1.0 || high < 1.0);
                }
                // What is seldom far better is not seen in every side of few runs.
                let most = if up > 1.0 { 75 } else { 60 };
                assert!(missed <= most, "{count} runs, sd {sd}, tails {down} and {up}: {missed} of 1000");
            }
        }
    }
}
