//! Trend of values in their order, and its size: Mann's test with Kendall's statistic, and the slope of Theil and Sen.

use crate::descriptive::median;

/// Values in their order, and what they come to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Probability of an order that rises or falls no less, were it one of chance.
    pub p: f64,
    /// Change from the first value to the last, by the median slope of all pairs (Theil 1950; Sen, JASA 1968).
    pub change: f64,
}

/// The trend of values: the p value is exact where no two are equal (Mann, "Nonparametric tests against trend", Econometrica 1945). `None`
/// below four values, of which no order is unlikely enough.
pub fn trend(values: &[f64]) -> Option<Trend> {
    let count = values.len();
    if count < 4 {
        return None;
    }
    let (mut statistic, mut slopes) = (0_i64, Vec::with_capacity(count * (count - 1) / 2));
    for (later, value) in values.iter().enumerate() {
        for (earlier, before) in values[..later].iter().enumerate() {
            statistic += i64::from(value > before) - i64::from(value < before);
            slopes.push((value - before) / (later - earlier) as f64);
        }
    }
    Some(Trend { p: p_of(statistic.unsigned_abs() as usize, count), change: median(&slopes)? * (count - 1) as f64 })
}

/// The share of all orders whose statistic is no nearer to zero.
fn p_of(statistic: usize, count: usize) -> f64 {
    if statistic == 0 {
        return 1.0;
    }
    // How many of the orders have so many pairs the wrong way round, as a share: one value more adds 0 to as many as there were.
    let mut shares = vec![1.0];
    for size in 2..=count {
        let mut next = vec![0.0; shares.len() + size - 1];
        for (wrong, share) in shares.iter().enumerate() {
            for more in 0..size {
                next[wrong + more] += share / size as f64;
            }
        }
        shares = next;
    }
    let pairs = count * (count - 1) / 2;
    let most_wrong = (pairs - statistic.min(pairs)) / 2;
    (2.0 * shares[..=most_wrong].iter().sum::<f64>()).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_those_of_all_orders() {
        // One of 24 orders rises throughout, one falls.
        assert!((trend(&[1.0, 2.0, 3.0, 4.0]).unwrap().p - 2.0 / 24.0).abs() < 1e-12);
        // One pair is the wrong way round: 1 + 3 orders to each side.
        assert!((trend(&[1.0, 3.0, 2.0, 4.0]).unwrap().p - 8.0 / 24.0).abs() < 1e-12);
        assert!((trend(&[6.0, 5.0, 4.0, 3.0, 2.0, 1.0]).unwrap().p - 2.0 / 720.0).abs() < 1e-12);
        assert_eq!(trend(&[1.0, 1.0, 1.0, 1.0, 1.0]).unwrap(), Trend { p: 1.0, change: 0.0 });
        assert_eq!(trend(&[1.0, 2.0, 3.0]), None);
    }

    #[test]
    fn one_far_value_does_not_make_a_change() {
        let steady = trend(&[1.0, 1.1, 0.9, 50.0, 1.0, 1.1, 0.9, 1.0]).unwrap();
        assert!(steady.p > 0.3 && steady.change.abs() < 0.2, "{steady:?}");
        let rising: Vec<f64> = (0..8).map(|index| 0.01 * f64::from(index)).collect();
        assert!((trend(&rising).unwrap().change - 0.07).abs() < 1e-12);
    }
}
