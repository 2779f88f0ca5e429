//! Steps of several series of values over the same runs, up or down for good.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// Least number of values on each side of a step.
pub const LEAST_SIDE: usize = 3;
/// Steps of all series together that are looked for, at most.
const MOST_STEPS: usize = 64;
/// Relative spread below which values are all the same, and nothing steps.
const SAME: f64 = 1e-9;

/// A step of one of the series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Index of the series.
    pub series: usize,
    /// The first of its values behind the step, by its place in the series.
    pub at: usize,
    /// Probability of so clear a step in any of the series, were the order of the runs one of chance.
    pub p: f64,
}

/// The steps of these series, each a list of runs, rising, and their values: a step has a p value of at most `level`.
///
/// A series is split where the two-sample t statistic is largest. It is held against the largest of all series when the runs are put
/// into another order: one order for all series, as what disturbs a run disturbs many of its values (Westfall & Young, "Resampling-based
/// multiple testing", Wiley 1993). Whatever the values are distributed like, of histories in which nothing steps `level` have one; that
/// holds where the order of runs is one of chance, not where values drift. Further steps are looked for in what is left of a series when
/// the steps found are taken out of it, as in binary segmentation (Vostrikova, Soviet Mathematics Doklady 1981).
pub fn steps(series: &[Vec<(usize, f64)>], permutations: usize, level: f64, seed: u64) -> Vec<Step> {
    let mut left: Vec<Vec<(usize, f64)>> = series.to_vec();
    let runs = series.iter().flatten().map(|(run, _)| run + 1).max().unwrap_or(0);
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut found: Vec<Step> = Vec::new();
    let mut order: Vec<usize> = (0..runs).collect();
    while found.len() < MOST_STEPS {
        let splits: Vec<Option<Split>> = left.iter().map(|one| split(&values(one))).collect();
        let mut at_least = vec![1_usize; left.len()];
        for _ in 0..permutations {
            order.shuffle(&mut random);
            let largest = left.iter().filter_map(|one| split(&reordered(one, &order))).map(|split| split.t);
            let largest = largest.fold(0.0, f64::max);
            for (count, split) in at_least.iter_mut().zip(&splits) {
                *count += usize::from(split.as_ref().is_none_or(|split| largest >= split.t));
            }
        }
        let mut is_any = false;
        for (index, split) in splits.into_iter().enumerate() {
            let p = at_least[index] as f64 / (permutations + 1) as f64;
            let Some(Split { at, .. }) = split.filter(|_| p <= level) else { continue };
            let is_near = |known: &&Step| known.series == index && known.at.abs_diff(at) < LEAST_SIDE;
            if found.iter().any(|known| is_near(&known)) {
                continue;
            }
            found.push(Step { series: index, at, p });
            is_any = true;
            flatten(&mut left[index], &series[index], &found, index);
        }
        if !is_any {
            break;
        }
    }
    found.sort_by_key(|step| (step.series, step.at));
    found
}

/// Best split of a series, and how clear it is.
#[derive(Debug, Clone, Copy)]
struct Split {
    at: usize,
    t: f64,
}

fn values(series: &[(usize, f64)]) -> Vec<f64> {
    series.iter().map(|(_, value)| *value).collect()
}

/// The values when the runs come in another order.
fn reordered(series: &[(usize, f64)], order: &[usize]) -> Vec<f64> {
    let mut placed: Vec<(usize, f64)> = series.iter().map(|(run, value)| (order[*run], *value)).collect();
    placed.sort_unstable_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, value)| value).collect()
}

/// The split with the largest t statistic; none of fewer values than two sides have, and of values that are all the same.
fn split(values: &[f64]) -> Option<Split> {
    let count = values.len();
    let mean = values.iter().sum::<f64>() / count.max(1) as f64;
    let total: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if count < 2 * LEAST_SIDE || total <= (SAME * mean.abs()).powi(2) * count as f64 || !total.is_finite() {
        return None;
    }
    let mut best: Option<Split> = None;
    let mut sum = 0.0;
    for (index, value) in values.iter().enumerate().take(count - LEAST_SIDE) {
        sum += value - mean;
        let before = (index + 1) as f64;
        if index + 1 < LEAST_SIDE {
            continue;
        }
        let after = count as f64 - before;
        let between = sum * sum * count as f64 / (before * after);
        // What is left of values that a step explains wholly is no more than rounding.
        let within = (total - between).max(1e-12 * total) / (count - 2) as f64;
        let t = (between / within).sqrt();
        if best.is_none_or(|best| t > best.t) {
            best = Some(Split { at: index + 1, t });
        }
    }
    best
}

/// Takes the steps that were found out of a series: each part is brought to a mean of 0.
fn flatten(left: &mut [(usize, f64)], series: &[(usize, f64)], found: &[Step], index: usize) {
    let mut ends: Vec<usize> = found.iter().filter(|step| step.series == index).map(|step| step.at).collect();
    ends.extend([0, series.len()]);
    ends.sort_unstable();
    for pair in ends.windows(2) {
        let part = pair[0]..pair[1];
        let mean = series[part.clone()].iter().map(|(_, value)| value).sum::<f64>() / part.len().max(1) as f64;
        for (to, from) in left[part.clone()].iter_mut().zip(&series[part]) {
            to.1 = from.1 - mean;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::normal;

    const PERMUTATIONS: usize = 199;

    /// Returns so many series over so many runs, of normal noise; in every tenth run all are disturbed together.
    fn noise(series: usize, runs: usize, sd: f64, random: &mut Pcg64Mcg) -> Vec<Vec<(usize, f64)>> {
        let together: Vec<f64> =
            (0..runs).map(|run| if run % 10 == 7 { 4.0 * sd * normal(random).abs() } else { 0.0 }).collect();
        (0..series).map(|_| (0..runs).map(|run| (run, sd * normal(random) + together[run])).collect()).collect()
    }

    #[test]
    fn of_a_hundred_histories_without_a_step_about_one_in_twenty_names_one() {
        let mut random = Pcg64Mcg::seed_from_u64(11);
        let named = (0..100).filter(|seed| {
            let series = noise(20, 24, 0.02, &mut random);
            !steps(&series, PERMUTATIONS, 0.05, *seed).is_empty()
        });
        // Ten of a hundred are over what a level of 5 % gives in 99 of 100.
        assert!(named.count() <= 10);
    }

    #[test]
    fn a_step_of_a_tenth_in_one_of_many_series_is_found_where_it_is() {
        let mut random = Pcg64Mcg::seed_from_u64(5);
        let (mut found, mut wrong) = (0, 0);
        for seed in 0..40 {
            let mut series = noise(40, 24, 0.02, &mut random);
            series[17].iter_mut().filter(|(run, _)| *run >= 12).for_each(|(_, value)| *value += 1.1_f64.ln());
            let all = steps(&series, PERMUTATIONS, 0.05, seed);
            found += usize::from(all.iter().any(|step| step.series == 17 && step.at.abs_diff(12) <= 1));
            wrong += all.iter().filter(|step| step.series != 17).count();
        }
        assert!(found >= 33 && wrong <= 6, "{found} of 40, {wrong} wrong");
    }

    #[test]
    fn two_steps_of_a_series_are_both_found_and_missing_runs_move_none() {
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let mut series = noise(5, 45, 0.01, &mut random);
        for (run, value) in &mut series[2] {
            *value += match *run {
                ..15 => 0.0,
                15..30 => 0.2,
                _ => 0.05,
            };
        }
        // Every third run lacks the case.
        series[2].retain(|(run, _)| run % 3 != 1);
        let found: Vec<usize> =
            steps(&series, PERMUTATIONS, 0.05, 1).iter().filter(|step| step.series == 2).map(|step| step.at).collect();
        assert_eq!(found, [10, 20]);
    }

    #[test]
    fn few_and_equal_values_have_no_step() {
        let of = |values: &[f64]| vec![values.iter().copied().enumerate().collect::<Vec<_>>()];
        assert!(steps(&of(&[1.0, 1.0, 1.0, 2.0, 2.0]), PERMUTATIONS, 0.05, 1).is_empty());
        assert!(steps(&of(&[1.0; 40]), PERMUTATIONS, 0.05, 1).is_empty());
        assert!(steps(&of(&[f64::NAN; 40]), PERMUTATIONS, 0.05, 1).is_empty());
        assert!(steps(&[], PERMUTATIONS, 0.05, 1).is_empty());
        let clear: Vec<f64> = (0..12).map(|run| f64::from(u8::from(run >= 6))).collect();
        assert_eq!(steps(&of(&clear), PERMUTATIONS, 0.05, 1)[0].at, 6);
    }
}
