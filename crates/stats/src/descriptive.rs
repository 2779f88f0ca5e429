//! Describes one list of values: median, quantiles, MAD, mean, standard deviation, extremes.
//!
//! Every function takes finite values in any order and answers `None` when there are too few of them. The unit of
//! the answer is the unit of the values. Order statistics are selected, not sorted: O(n) for a million samples.

/// The median: the middle value, or the mean of the two middle values.
///
/// `None` for an empty list.
pub fn median(values: &[f64]) -> Option<f64> {
    median_in_place(&mut values.to_vec())
}

/// Returns the [`median`] without a copy: reorders `values`.
///
/// `None` for an empty list.
pub fn median_in_place(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let upper_index = values.len() / 2;
    let odd = values.len() % 2 == 1;
    let (below, upper, _) = values.select_nth_unstable_by(upper_index, f64::total_cmp);
    let upper = *upper;
    if odd {
        return Some(upper);
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(midpoint(lower, upper))
}

/// The quantile at `p` in 0 ..= 1 by linear interpolation of the order statistics, type 7 of Hyndman & Fan,
/// "Sample quantiles in statistical packages" (The American Statistician, 1996): NumPy's and R's default.
///
/// `None` for an empty list, or a `p` outside 0 ..= 1.
pub fn quantile(values: &[f64], p: f64) -> Option<f64> {
    if values.is_empty() || !(0.0..=1.0).contains(&p) {
        return None;
    }
    let mut values = values.to_vec();
    let position = (values.len() - 1) as f64 * p;
    let index = position.floor() as usize;
    let (_, lower, above) = values.select_nth_unstable_by(index, f64::total_cmp);
    let lower = *lower;
    // The next order statistic is the least of what lies above; at p = 1 nothing does.
    let upper = above.iter().copied().reduce(f64::min).unwrap_or(lower);
    Some(lower + (upper - lower) * (position - index as f64))
}

/// The quantile at `p` of values that are sorted already, in O(1); else as [`quantile`].
///
/// `None` for an empty list, or a `p` outside 0 ..= 1.
pub fn quantile_sorted(sorted: &[f64], p: f64) -> Option<f64> {
    if sorted.is_empty() || !(0.0..=1.0).contains(&p) {
        return None;
    }
    let position = (sorted.len() - 1) as f64 * p;
    let index = position.floor() as usize;
    let lower = sorted[index];
    let upper = sorted.get(index + 1).copied().unwrap_or(lower);
    Some(lower + (upper - lower) * (position - index as f64))
}

/// The median absolute deviation from the median, unscaled: 1.4826 times it estimates a normal standard deviation
/// (Hampel, "The influence curve and its role in robust estimation", JASA 1974).
///
/// `None` for an empty list.
pub fn mad(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    let centre = median_in_place(&mut values)?;
    for value in &mut values {
        *value = (*value - centre).abs();
    }
    median_in_place(&mut values)
}

/// The standard deviation that normal values of this [`mad`] have: an estimate that some far values do not change.
///
/// `None` for an empty list.
pub fn robust_stddev(values: &[f64]) -> Option<f64> {
    mad(values).map(|apart| apart / MAD_OF_NORMAL)
}

/// The median absolute deviation of normal values is so much of their standard deviation.
const MAD_OF_NORMAL: f64 = 0.6745;

/// The arithmetic mean.
///
/// `None` for an empty list.
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// The sample standard deviation (divisor n − 1), in two passes, so that a large mean costs no digits.
///
/// `None` below two values.
pub fn stddev(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// The least value.
///
/// `None` for an empty list.
pub fn min(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::min)
}

/// The greatest value.
///
/// `None` for an empty list.
pub fn max(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

/// The median of each round that has samples: the round medians, in the order of the rounds.
pub fn round_medians<Round: AsRef<[f64]>>(rounds: &[Round]) -> Vec<f64> {
    rounds.iter().filter_map(|round| median(round.as_ref())).collect()
}

/// Half way, without the overflow that the sum of two large values could bring.
fn midpoint(low: f64, high: f64) -> f64 {
    if low == high { low } else { 0.5 * low + 0.5 * high }
}

/// The value that occurs most often; none where there is none, or where two values do so equally often.
pub fn mode(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut counts: Vec<(usize, f64)> =
        sorted.chunk_by(|one, other| one == other).map(|run| (run.len(), run[0])).collect();
    counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    match counts.as_slice() {
        [] => None,
        [first, second, ..] if first.0 == second.0 => None,
        [first, ..] => Some(first.1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_list_has_no_statistics() {
        for answer in [median(&[]), quantile(&[], 0.5), mad(&[]), mean(&[]), stddev(&[]), min(&[]), max(&[])] {
            assert_eq!(answer, None);
        }
        assert_eq!(stddev(&[1.0]), None);
        assert_eq!(quantile(&[1.0], 1.5), None);
        assert_eq!(quantile_sorted(&[], 0.5), None);
        assert!(round_medians::<Vec<f64>>(&[vec![]]).is_empty());
    }

    #[test]
    fn one_value_is_every_order_statistic() {
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(quantile(&[7.0], 1.0), Some(7.0));
        assert_eq!(mad(&[7.0]), Some(0.0));
    }

    proptest! {
        #[test]
        fn selection_agrees_with_sorting(values in prop::collection::vec(-1e6..1e6f64, 1..200), p in 0.0..=1.0f64) {
            let mut sorted = values.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            prop_assert_eq!(quantile(&values, p), quantile_sorted(&sorted, p));
            let middle = median(&values).unwrap();
            prop_assert!((middle - quantile(&values, 0.5).unwrap()).abs() <= 1e-9 * (1.0 + middle.abs()));
        }

        #[test]
        fn quantiles_rise_and_stay_inside(values in prop::collection::vec(-1e6..1e6f64, 1..100), p in 0.0..=1.0f64,
                                          q in 0.0..=1.0f64) {
            let (low, high) = (quantile(&values, p.min(q)).unwrap(), quantile(&values, p.max(q)).unwrap());
            prop_assert!(low <= high);
            prop_assert!(min(&values).unwrap() <= low && high <= max(&values).unwrap());
        }
    }
}
