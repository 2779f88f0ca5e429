//! Spread of values, whatever some far ones do: the scale estimator Qn.

/// The standard deviation that normal values of this Qn have: the first quartile, roughly, of the distances of all pairs
/// (Rousseeuw & Croux, "Alternatives to the median absolute deviation", JASA 1993), with the corrections for few values of Croux &
/// Rousseeuw, "Time-efficient algorithms for two highly robust estimators of scale" (COMPSTAT 1992). Half of the values may lie
/// anywhere; of normal values it is known as well as a standard deviation of four fifths as many, where the MAD has a third.
///
/// `sorted` rises. `None` below two values. In O(n) for each digit of the answer: pairs are counted, not listed.
pub fn qn_sorted(sorted: &[f64]) -> Option<f64> {
    let count = sorted.len();
    if count < 2 {
        return None;
    }
    let half = count / 2 + 1;
    let rank = half * (half - 1) / 2;
    let (mut low, mut high) = (0.0, sorted[count - 1] - sorted[0]);
    if pairs_within(sorted, low) >= rank {
        return Some(0.0);
    }
    while high - low > DIGITS * high {
        let middle = 0.5 * (low + high);
        if pairs_within(sorted, middle) >= rank { high = middle } else { low = middle }
    }
    Some(high * OF_NORMAL * correction(count))
}

/// The same of values in any order.
pub fn qn(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    qn_sorted(&sorted)
}

/// 1 over √2 times the normal quantile of 5/8: what makes it a standard deviation.
const OF_NORMAL: f64 = 2.2219;
/// Relative precision of the answer.
const DIGITS: f64 = 1e-7;

/// Pairs that lie no further apart than `most`.
fn pairs_within(sorted: &[f64], most: f64) -> usize {
    let (mut first, mut pairs) = (0, 0);
    for (index, value) in sorted.iter().enumerate() {
        while value - sorted[first] > most {
            first += 1;
        }
        pairs += index - first;
    }
    pairs
}

/// Returns the factor that makes the estimate unbiased for few normal values.
fn correction(count: usize) -> f64 {
    const FEW: [f64; 8] = [0.399, 0.994, 0.512, 0.844, 0.611, 0.857, 0.669, 0.872];
    let n = count as f64;
    match count {
        2..=9 => FEW[count - 2],
        _ if count % 2 == 1 => n / (n + 1.4),
        _ => n / (n + 3.8),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::made_up::normal;

    #[test]
    fn it_is_the_distance_of_a_pair() {
        // Of 1 2 4 7 11 the third of ten distances in order is 3: 1, 2, 3, 3, 4 …
        let found = qn(&[7.0, 1.0, 11.0, 2.0, 4.0]).unwrap();
        let expected = 3.0 * OF_NORMAL * 0.844;
        assert!((found - expected).abs() <= 2.0 * DIGITS * expected, "{found}");
        assert_eq!((qn(&[]), qn(&[1.0])), (None, None));
        assert_eq!(qn(&[5.0, 5.0, 5.0, 9.0]), Some(0.0));
    }

    #[test]
    fn of_normal_values_it_is_their_standard_deviation_and_far_ones_do_not_change_it() {
        let mut random = Pcg64Mcg::seed_from_u64(7);
        for count in [5, 6, 9, 12, 25, 400] {
            let mean = (0..2000).map(|_| {
                let values: Vec<f64> = (0..count).map(|_| normal(&mut random)).collect();
                qn(&values).unwrap()
            });
            let mean = mean.sum::<f64>() / 2000.0;
            assert!((mean - 1.0).abs() < 0.04, "{count}: {mean}");
        }
        let mut values: Vec<f64> = (0..400).map(|_| normal(&mut random)).collect();
        let clean = qn(&values).unwrap();
        values.iter_mut().take(40).for_each(|value| *value += 1e6);
        assert!(qn(&values).unwrap() < 1.3 * clean);
    }

    proptest! {
        #[test]
        fn counting_agrees_with_listing(values in prop::collection::vec(-1e3..1e3f64, 2..60)) {
            let mut distances = Vec::new();
            for (index, one) in values.iter().enumerate() {
                distances.extend(values[..index].iter().map(|other| (one - other).abs()));
            }
            distances.sort_unstable_by(f64::total_cmp);
            let half = values.len() / 2 + 1;
            let listed = distances[half * (half - 1) / 2 - 1] * OF_NORMAL * correction(values.len());
            prop_assert!((qn(&values).unwrap() - listed).abs() <= 1e-6 * (1.0 + listed));
        }
    }
}
