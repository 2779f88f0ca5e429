//! The phases of a series: stretches of time in each of which its values stay at one level.
//!
//! The path of levels of least cost is found by dynamic programming over a grid of levels (Viterbi, IEEE Transactions on Information
//! Theory 1967): each value costs its squared distance from its level, in deviations, and no more than [`OUTLIER`], so that an outlier is
//! none of it (Fearnhead & Rigaill, "Changepoint detection in the presence of outliers", JASA 2019); each change of level costs
//! [`CHANGE`].

use crate::descriptive::median;
use crate::scale::qn;

/// Cost of a change of level, in squared deviations. To leave a level and come back costs two: more than one outlier is worth, and
/// less than two values in a row that lie five deviations away.
const CHANGE: f64 = 22.0;
/// The most that a value costs.
const OUTLIER: f64 = 25.0;
/// Levels of the grid at most: finer than a deviation is not worth the time.
const MOST_LEVELS: usize = 400;
const PER_DEVIATION: f64 = 2.0;
/// Differences of neighbours are those of two values.
const OF_DIFFERENCES: f64 = std::f64::consts::SQRT_2;

/// A stretch of values at one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phase {
    /// Index of its first value.
    pub first: usize,
    /// The one behind its last.
    pub end: usize,
    /// The median of its values.
    pub level: f64,
}

impl Phase {
    /// Returns its number of values.
    pub fn values(&self) -> usize {
        self.end - self.first
    }
}

/// The phases of these values, in order, together all of them: levels that differ by less than `least` are one. `least` is also the
/// least deviation of a value that is taken for a distance.
///
/// How far values scatter about their level is taken from the differences of neighbours, which a change of level hardly touches, or from
/// what is left when the levels found by that are taken out, whichever is more: values that follow each other may be alike.
pub fn phases(values: &[f64], least: f64) -> Vec<Phase> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    // Levels a third of what counts apart are no levels.
    let floor = least / 3.0;
    let differences: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let first = (qn(&differences).unwrap_or(0.0) / OF_DIFFERENCES).max(floor);
    let found = joined(values, path(values, first), least);
    let left: Vec<f64> =
        found.iter().flat_map(|phase| values[phase.first..phase.end].iter().map(|value| value - phase.level)).collect();
    let second = qn(&left).unwrap_or(0.0);
    if second <= first { found } else { joined(values, path(values, second), least) }
}

/// The level of each value on the path of least cost.
fn path(values: &[f64], deviation: f64) -> Vec<usize> {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let step = (deviation / PER_DEVIATION).max((high - low) / MOST_LEVELS as f64);
    let count = ((high - low) / step).ceil() as usize + 1;
    let cost = |value: f64, level: usize| ((value - low - step * level as f64) / deviation).powi(2).min(OUTLIER);
    let mut so_far = vec![0.0; count];
    // Of each value and level, the level of the value before.
    let mut from: Vec<Vec<u32>> = Vec::with_capacity(values.len());
    for value in values {
        let best = least_of(&so_far);
        let change = so_far[best] + CHANGE;
        let mut came = Vec::with_capacity(count);
        for (level, cost_so_far) in so_far.iter_mut().enumerate() {
            let stays = *cost_so_far <= change;
            came.push(if stays { level } else { best } as u32);
            *cost_so_far = cost_so_far.min(change) + cost(*value, level);
        }
        from.push(came);
    }
    let mut level = least_of(&so_far);
    let mut levels = vec![0; values.len()];
    for (place, came) in from.iter().enumerate().rev() {
        levels[place] = level;
        level = came[level] as usize;
    }
    levels
}

fn least_of(costs: &[f64]) -> usize {
    (0..costs.len()).min_by(|one, other| costs[*one].total_cmp(&costs[*other])).unwrap_or(0)
}

/// Stretches of one level; neighbours that differ by less than `least` are one.
fn joined(values: &[f64], levels: Vec<usize>, least: f64) -> Vec<Phase> {
    let whole = |first: usize, end: usize| Phase { first, end, level: median(&values[first..end]).unwrap_or(0.0) };
    let mut all: Vec<Phase> = Vec::new();
    let mut first = 0;
    for stretch in levels.chunk_by(|one, other| one == other) {
        all.push(whole(first, first + stretch.len()));
        first += stretch.len();
    }
    // The nearest two first, so that a slow rise does not depend on its direction.
    loop {
        let apart = |index: &usize| (all[index + 1].level - all[*index].level).abs();
        let nearest = (0..all.len().saturating_sub(1)).min_by(|one, other| apart(one).total_cmp(&apart(other)));
        let Some(index) = nearest.filter(|index| apart(index) < least) else { return all };
        let next = all.remove(index + 1);
        all[index] = whole(all[index].first, next.end);
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::made_up::normal;

    fn noise(count: usize, seed: u64) -> Vec<f64> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        (0..count).map(|_| 0.02 * normal(&mut random)).collect()
    }

    #[test]
    fn a_stretch_at_another_level_is_found_with_its_ends() {
        let mut values = noise(300, 1);
        values[100..112].iter_mut().for_each(|value| *value -= 0.3);
        // Two values are enough where they lie far enough away; one is an outlier.
        values[200..202].iter_mut().for_each(|value| *value -= 0.5);
        values[250] -= 2.0;
        let found: Vec<(usize, usize)> = phases(&values, 0.05).iter().map(|phase| (phase.first, phase.end)).collect();
        assert_eq!(found, [(0, 100), (100, 112), (112, 200), (200, 202), (202, 300)]);
    }

    #[test]
    fn noise_has_one_phase() {
        let several = (0..200).filter(|seed| phases(&noise(1000, *seed), 0.05).len() > 1).count();
        assert_eq!(several, 0);
    }

    #[test]
    fn what_is_no_series_has_no_phases_and_a_constant_one_has_one() {
        assert_eq!(phases(&[], 0.05), []);
        assert_eq!(phases(&[1.0, f64::NAN], 0.05), []);
        assert_eq!(phases(&[2.0; 7], 0.05), [Phase { first: 0, end: 7, level: 2.0 }]);
    }
}
