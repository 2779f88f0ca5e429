//! Comparison of values with themselves: how far two halves of them lie apart by chance alone.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// Largest number of values for which every way to split them is looked at; of more only some are.
const ALL_WAYS: usize = 10;
const SOME_WAYS: usize = 200;
/// Share of the ways to halve, those that lie farthest apart, that is left out. No unit.
const LEFT_OUT: f64 = 0.05;

/// Returns how far `of` one half of the values lies from that of the other, as a distance of logarithms, over the ways to split
/// them into two halves of the same size; of an odd number one stays out. Nineteen ways of twenty lie no farther apart; of fewer
/// than twenty ways, all. `None` for fewer than two values, or where `of` a half is not above zero.
pub fn apart(values: &[f64], of: impl Fn(&[f64]) -> Option<f64>) -> Option<f64> {
    let half = values.len() / 2;
    if half == 0 {
        return None;
    }
    let pick = |indices: &[usize]| -> Vec<f64> { indices.iter().map(|&index| values[index]).collect() };
    let distance = |way: [Vec<usize>; 2]| {
        let [one, other] = way.map(|indices| of(&pick(&indices)));
        let distance = (one? / other?).ln().abs();
        distance.is_finite().then_some(distance)
    };
    let ways = if values.len() <= ALL_WAYS { all_ways(values.len(), half) } else { some_ways(values.len(), half) };
    let mut distances: Vec<f64> = ways.into_iter().map(distance).collect::<Option<_>>()?;
    distances.sort_by(f64::total_cmp);
    let left_out = (distances.len() as f64 * LEFT_OUT) as usize;
    distances.get(distances.len() - 1 - left_out).copied()
}

/// Every way to take two halves of `half` out of so many, each once.
fn all_ways(count: usize, half: usize) -> Vec<[Vec<usize>; 2]> {
    let indices = |mask: u32| -> Vec<usize> { (0..count).filter(|index| mask & (1 << index) != 0).collect() };
    let halves: Vec<u32> = (0..1_u32 << count).filter(|mask| mask.count_ones() as usize == half).collect();
    let pairs = halves.iter().flat_map(|one| halves.iter().map(move |other| (*one, *other)));
    pairs.filter(|(one, other)| one < other && one & other == 0).map(|(one, other)| [one, other].map(indices)).collect()
}

/// Returns some ways, the same ones every time.
fn some_ways(count: usize, half: usize) -> Vec<[Vec<usize>; 2]> {
    let mut random = Pcg64Mcg::seed_from_u64(0);
    let mut order: Vec<usize> = (0..count).collect();
    let mut way = || {
        order.shuffle(&mut random);
        [order[..half].to_vec(), order[half..2 * half].to_vec()]
    };
    (0..SOME_WAYS).map(|_| way()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptive::{max, median};
    use crate::made_up::normal;

    #[test]
    fn the_farthest_of_few_ways_counts() {
        // Both in each of the three ways: 1 and 2, 1 and 4, 2 and 4.
        assert_eq!(apart(&[1.0, 2.0, 4.0], median), Some(4_f64.ln()));
        assert_eq!(apart(&[3.0, 3.3], max).map(f64::exp).map(|times| (times * 1e6).round()), Some(1.1e6));
        assert_eq!(apart(&[1.0, 1.0, 2.0, 2.0], max), Some(2_f64.ln()));
        for none in [&[][..], &[1.0], &[1.0, 0.0], &[1.0, -1.0]] {
            assert_eq!(apart(none, median), None);
        }
    }

    #[test]
    fn every_way_is_looked_at_once_and_halves_share_nothing() {
        let ways: Vec<usize> = (2..=10).map(|count| all_ways(count, count / 2).len()).collect();
        assert_eq!(ways, [1, 3, 3, 15, 10, 70, 35, 315, 126]);
        for [one, other] in some_ways(13, 6).iter().chain(&all_ways(9, 4)) {
            assert!(one.len() == other.len() && one.iter().all(|index| !other.contains(index)));
        }
        let mut firsts: Vec<Vec<usize>> = some_ways(12, 6)
            .into_iter()
            .map(|[mut one, _]| {
                one.sort_unstable();
                one
            })
            .collect();
        firsts.sort();
        firsts.dedup();
        assert!(firsts.len() > 150, "{}", firsts.len());
    }

    #[test]
    fn the_more_values_there_are_the_seldomer_another_side_lies_farther_apart() {
        let mut random = Pcg64Mcg::seed_from_u64(4);
        let mut farther = |count: usize| {
            let trial = |_| {
                let mut side = || -> Vec<f64> { (0..count).map(|_| (0.02 * normal(&mut random)).exp()).collect() };
                let (base, new) = (side(), side());
                let distance = (median(&new).unwrap() / median(&base).unwrap()).ln().abs();
                distance > apart(&base, median).unwrap()
            };
            (0..400).map(trial).filter(|is_farther| *is_farther).count()
        };
        // Few values tell too little of themselves to be a test of others: one in five lies farther.
        let all = [2, 6, 10, 14].map(&mut farther);
        assert!(all.is_sorted_by(|one, other| one > other) && all[1] <= 90 && all[3] <= 40, "{all:?}");
    }
}
