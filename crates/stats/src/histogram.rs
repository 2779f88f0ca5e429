//! Percentiles of values that are counted by value: ascending values, each with how many there are of it.
//!
//! Lists of different lengths are read as far as both reach.

use std::collections::BTreeMap;

/// A percentile is known when at least so many values lie beyond it.
const LEAST_BEYOND: u64 = 10;

/// A percentile as an exact fraction: 999/1000 is p99.9.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percentile {
    /// Numerator.
    pub numerator: u64,
    /// Denominator.
    pub denominator: u64,
}

impl Percentile {
    /// The percentile that a quantity's name says: `p50` is 50/100, `p999` is 999/1000. `None` for any other name.
    pub fn of_name(name: &str) -> Option<Percentile> {
        let digits = name.strip_prefix('p').filter(|digits| digits.len() >= 2)?;
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        let denominator = 10_u64.checked_pow(u32::try_from(digits.len()).ok()?)?;
        let numerator = digits.parse().ok().filter(|&numerator| is_plain && numerator > 0)?;
        Some(Percentile { numerator, denominator })
    }

    /// Returns the share, in 0 .. 1.
    pub fn share(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// Tells whether `count` values resolve it: ten of them at least lie beyond, n(1 − p) ≥ 10.
    pub fn is_resolved_by(self, count: u64) -> bool {
        let beyond = u128::from(count) * u128::from(self.denominator - self.numerator);
        beyond >= u128::from(LEAST_BEYOND) * u128::from(self.denominator)
    }

    /// The least value that at least this share of all values does not exceed (nearest rank).
    ///
    /// `None` without values.
    pub fn of(self, values: &[u64], counts: &[u64]) -> Option<u64> {
        let all: u128 = values.iter().zip(counts).map(|(_, &count)| u128::from(count)).sum();
        let rank = (all * u128::from(self.numerator)).div_ceil(u128::from(self.denominator));
        let mut below = 0;
        values.iter().zip(counts).find_map(|(&value, &count)| {
            below += u128::from(count);
            (below >= rank && below > 0).then_some(value)
        })
    }
}

/// All of several histograms in one: ascending values and their counts.
pub fn merged<'a>(parts: impl IntoIterator<Item = (&'a [u64], &'a [u64])>) -> (Vec<u64>, Vec<u64>) {
    let mut all: BTreeMap<u64, u64> = BTreeMap::new();
    for (values, counts) in parts {
        for (&value, &count) in values.iter().zip(counts) {
            let of_value = all.entry(value).or_default();
            *of_value = of_value.saturating_add(count);
        }
    }
    all.into_iter().unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(name: &str) -> Percentile {
        Percentile::of_name(name).unwrap()
    }

    #[test]
    fn names_say_percentiles_and_nothing_else_does() {
        assert_eq!(p("p50"), Percentile { numerator: 50, denominator: 100 });
        assert_eq!(p("p999"), Percentile { numerator: 999, denominator: 1000 });
        for name in ["p", "p5", "p00", "50", "p9x", "p+9", "size", "pages", "p99999999999999999999999"] {
            assert_eq!(Percentile::of_name(name), None, "{name}");
        }
    }

    #[test]
    fn the_percentiles_of_the_numbers_to_a_thousand_are_those_numbers() {
        let (values, counts): (Vec<u64>, Vec<u64>) = (1..=1000).map(|value| (value, 1)).unzip();
        let found = ["p50", "p90", "p99", "p999"].map(|name| p(name).of(&values, &counts));
        assert_eq!(found, [Some(500), Some(900), Some(990), Some(999)]);
    }

    #[test]
    fn equal_values_count_as_often_as_they_are_there() {
        // 98 fast ones and 2 slow ones: the 98th is fast, the 99th is slow.
        assert_eq!(p("p98").of(&[10, 5000], &[98, 2]), Some(10));
        assert_eq!(p("p99").of(&[10, 5000], &[98, 2]), Some(5000));
        assert_eq!(p("p50").of(&[7], &[1]), Some(7));
        assert_eq!(p("p50").of(&[3, 7], &[0, 1]), Some(7));
        assert_eq!(p("p50").of(&[], &[]), None);
        assert_eq!(p("p50").of(&[3], &[0]), None);
    }

    #[test]
    fn a_percentile_needs_ten_values_beyond_it() {
        for (name, least) in [("p50", 20), ("p90", 100), ("p99", 1000), ("p999", 10_000)] {
            assert!(p(name).is_resolved_by(least) && !p(name).is_resolved_by(least - 1), "{name}");
        }
    }

    #[test]
    fn merged_counts_are_sums() {
        let (values, counts) = merged([([1, 5].as_slice(), [2, 3].as_slice()), (&[0, 5], &[1, u64::MAX])]);
        assert_eq!((values, counts), (vec![0, 1, 5], vec![1, 2, u64::MAX]));
    }
}
