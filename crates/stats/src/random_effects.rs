//! Pooled differences that need not be alike: the mean change of a group of cases, and how far its parts differ from it.

use statrs::function::gamma::digamma;

use crate::compare::Difference;
use crate::descriptive;

/// Case of a group: the difference of its logarithms and the variance of that.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Member {
    /// Number of its cluster: members of one are not independent.
    pub cluster: usize,
    /// The difference of the two sides' logarithms.
    pub logarithm: f64,
    /// Variance of the difference.
    pub variance: f64,
}

/// Pooled difference of a group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pooled {
    /// Difference of the group.
    pub difference: Difference,
    /// The standard deviation between clusters beyond what their errors explain.
    pub heterogeneity: f64,
    /// Independent parts of it.
    pub clusters: usize,
}

/// The mean of the clusters' differences by a random-effects model: the variance between clusters by restricted maximum
/// likelihood (Viechtbauer, "Bias and efficiency of meta-analytic variance estimators in the random-effects model", Journal of
/// Educational and Behavioral Statistics 2005), the error by Hartung and Knapp (Statistics in Medicine 2001), never less than that
/// of the model (Röver, Knapp & Friede, BMC Medical Research Methodology 2015). `shared` is the variance of what all members have in
/// common, which no number of them tells. `None` of nothing.
pub fn pooled(members: &[Member], shared: f64) -> Option<Pooled> {
    let parts = clusters(members);
    let count = parts.len();
    if count == 0 {
        return None;
    }
    let between = between(&parts);
    let (mean, total) = mean(&parts, between);
    let of_model = 1.0 / total;
    let (own, freedom) = match count {
        1 => (of_model, f64::INFINITY),
        _ => {
            let squares: f64 = parts.iter().map(|(y, v)| (y - mean).powi(2) / (v + between)).sum();
            (of_model * (squares / (count - 1) as f64).max(1.0), (count - 1) as f64)
        }
    };
    // Satterthwaite: what is shared is known beforehand.
    let variance = own + shared.max(0.0);
    let freedom = freedom * (variance / own).powi(2);
    let difference = Difference { logarithm: mean, error: variance.sqrt(), freedom };
    Some(Pooled { difference, heterogeneity: between.sqrt(), clusters: count })
}

/// The mean of each cluster and its variance: as if its members were off together, since they are measured alike.
fn clusters(members: &[Member]) -> Vec<(f64, f64)> {
    let mut numbers: Vec<usize> = members.iter().map(|member| member.cluster).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let of = |number: usize| {
        let own: Vec<&Member> = members.iter().filter(|member| member.cluster == number).collect();
        let mean = |of: fn(&Member) -> f64| own.iter().map(|member| of(member)).sum::<f64>() / own.len() as f64;
        // A variance of nothing would weigh without end.
        (mean(|member| member.logarithm), mean(|member| member.variance).max(LEAST_VARIANCE))
    };
    numbers.into_iter().map(of).collect()
}

/// Least variance: nothing is known better than to 0.01 %.
const LEAST_VARIANCE: f64 = 1e-8;
/// The iteration for the variance between clusters ends after so many steps at the latest.
const STEPS: usize = 200;

/// The weighted mean, and the sum of the weights.
fn mean(parts: &[(f64, f64)], between: f64) -> (f64, f64) {
    let total: f64 = parts.iter().map(|(_, v)| 1.0 / (v + between)).sum();
    (parts.iter().map(|(y, v)| y / (v + between)).sum::<f64>() / total, total)
}

/// The variance between clusters.
fn between(parts: &[(f64, f64)]) -> f64 {
    if parts.len() < 2 {
        return 0.0;
    }
    let mut between = descriptive::stddev(&parts.iter().map(|(y, _)| *y).collect::<Vec<f64>>()).unwrap_or(0.0).powi(2);
    for _ in 0..STEPS {
        let (mean, total) = mean(parts, between);
        let weights = parts.iter().map(|(_, v)| 1.0 / (v + between));
        let (mut above, mut below) = (0.0, 0.0);
        for ((y, v), weight) in parts.iter().zip(weights) {
            above += weight * weight * ((y - mean).powi(2) - v);
            below += weight * weight;
        }
        let next = (above / below + 1.0 / total).max(0.0);
        if (next - between).abs() <= 1e-12 + 1e-6 * between {
            return next;
        }
        between = next;
    }
    between
}

/// The variances of some cases of one group, each of so many degrees of freedom, drawn towards what is common to them as far as they
/// are alike: the moderated variance of Smyth, "Linear models and empirical Bayes methods" (Statistical Applications in Genetics and
/// Molecular Biology 2004), with the prior by the moments of their logarithms. Fewer than three stay as they are.
pub fn moderated(variances: &[f64], freedom: f64) -> Vec<f64> {
    match common(variances, freedom) {
        None => variances.to_vec(),
        // They scatter no more than chance would have them.
        Some((variance, common_freedom)) if common_freedom.is_infinite() => vec![variance; variances.len()],
        Some((common, common_freedom)) => {
            let drawn = |own: &f64| (common_freedom * common + freedom * own.max(0.0)) / (common_freedom + freedom);
            variances.iter().map(drawn).collect()
        }
    }
}

/// Returns the common part of several variances of so many degrees of freedom, and its own degrees of freedom: infinite where they
/// scatter no more than chance would have them. `None` of fewer than three.
pub fn common(variances: &[f64], freedom: f64) -> Option<(f64, f64)> {
    let logarithms: Vec<f64> = variances.iter().filter(|variance| **variance > 0.0).map(|one| one.ln()).collect();
    if logarithms.len() < 3 || freedom < 1.0 {
        return None;
    }
    let half = freedom / 2.0;
    let centred: Vec<f64> = logarithms.iter().map(|one| one - digamma(half) + half.ln()).collect();
    let centre = descriptive::mean(&centred).unwrap_or(0.0);
    let beyond = descriptive::stddev(&centred).unwrap_or(0.0).powi(2) - trigamma(half);
    if beyond <= 0.0 {
        return Some((centre.exp(), f64::INFINITY));
    }
    let half_common = inverse_trigamma(beyond);
    Some(((centre + digamma(half_common) - half_common.ln()).exp(), 2.0 * half_common))
}

/// The second derivative of the logarithm of the gamma function (Abramowitz & Stegun 1964, 6.4.6 and 6.4.12).
fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 10.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    sum + 1.0 / x + square / 2.0 + square / x * (1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0))
}

/// Returns the argument at which it has this value: it falls throughout.
fn inverse_trigamma(value: f64) -> f64 {
    let (mut low, mut high) = (1e-6_f64, 1e8_f64);
    for _ in 0..200 {
        let middle = (low * high).sqrt();
        if trigamma(middle) > value { low = middle } else { high = middle }
    }
    (low * high).sqrt()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::made_up::normal;

    #[test]
    fn functions_of_the_tables() {
        assert!((trigamma(1.0) - std::f64::consts::PI.powi(2) / 6.0).abs() < 1e-9);
        assert!((trigamma(0.5) - std::f64::consts::PI.powi(2) / 2.0).abs() < 1e-9);
        for x in [0.3, 1.0, 7.5, 400.0] {
            assert!((inverse_trigamma(trigamma(x)) / x - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn alike_parts_are_known_better_together_and_unlike_ones_are_not() {
        let group = |spread: f64| -> Vec<Member> {
            (0..8)
                .map(|cluster| Member {
                    cluster,
                    logarithm: 0.18 + spread * (f64::from(cluster as u8) - 3.5),
                    variance: 1e-4,
                })
                .collect()
        };
        let (alike, unlike) = (pooled(&group(0.0), 0.0).unwrap(), pooled(&group(0.03), 0.0).unwrap());
        assert!(
            (alike.difference.ratio().ln() - 0.18).abs() < 1e-9 && (unlike.difference.ratio().ln() - 0.18).abs() < 1e-9
        );
        assert!((alike.difference.error - 0.01 / 8_f64.sqrt()).abs() < 1e-6 && alike.heterogeneity == 0.0);
        // Eight values 0.03 apart scatter by 0.0735.
        assert!((unlike.heterogeneity - 0.0728).abs() < 2e-3, "{}", unlike.heterogeneity);
        assert!(unlike.difference.error > 5.0 * alike.difference.error);
        // What all have in common no number of them tells.
        assert!(pooled(&group(0.0), 4e-4).unwrap().difference.error > 0.02);
        assert_eq!(pooled(&[], 0.0), None);
        // Ten cases of one probe are one part.
        let one: Vec<Member> = (0..10).map(|_| Member { cluster: 3, logarithm: 0.1, variance: 1e-4 }).collect();
        let one = pooled(&one, 0.0).unwrap();
        assert_eq!((one.clusters, (one.difference.error * 1e6).round()), (1, 10_000.0));
    }

    #[test]
    fn the_interval_holds_the_mean_of_the_group() {
        let mut random = Pcg64Mcg::seed_from_u64(21);
        for (clusters, between, shared) in
            [(4, 0.0, 0.0), (4, 0.05, 0.0), (12, 0.02, 0.01), (12, 0.0, 0.03), (2, 0.02, 0.02)]
        {
            let mut held = 0;
            for _ in 0..1000 {
                let common = shared * normal(&mut random);
                let mut members = Vec::new();
                for cluster in 0..clusters {
                    let own = 0.1 + common + between * normal(&mut random);
                    // Two cases that are off by as much together, and by as much each.
                    let together = 0.01 * normal(&mut random);
                    for _ in 0..2 {
                        let logarithm = own + together + 0.01 * normal(&mut random);
                        members.push(Member { cluster, logarithm, variance: 2e-4 });
                    }
                }
                let (low, high) = pooled(&members, shared * shared).unwrap().difference.interval();
                held += usize::from(low.ln() <= 0.1 && 0.1 <= high.ln());
            }
            assert!(held >= 930, "{clusters} clusters, {between} between, {shared} shared: {held}");
        }
    }

    #[test]
    fn variances_are_drawn_towards_each_other() {
        let mut random = Pcg64Mcg::seed_from_u64(9);
        // Variances of four degrees of freedom about one and the same are all alike; about many they keep apart.
        let of = |random: &mut Pcg64Mcg, truth: f64| truth * (0..4).map(|_| normal(random).powi(2)).sum::<f64>() / 4.0;
        let same: Vec<f64> = (0..40).map(|_| of(&mut random, 1e-4)).collect();
        let apart: Vec<f64> = (0..40).map(|at| of(&mut random, 1e-6 * 1.4_f64.powi(at))).collect();
        let spread = |all: &[f64]| descriptive::max(all).unwrap() / descriptive::min(all).unwrap();
        assert!(spread(&moderated(&same, 4.0)) < 0.2 * spread(&same));
        assert!(
            spread(&moderated(&apart, 4.0)) > 0.02 * spread(&apart),
            "{} of {}",
            spread(&moderated(&apart, 4.0)),
            spread(&apart)
        );
        assert_eq!(moderated(&[1.0, 2.0], 4.0), [1.0, 2.0]);
    }
}
