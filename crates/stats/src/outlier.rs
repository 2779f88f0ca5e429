//! Outliers among many alike members: robust distances, how likely each is, and what several say together.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::descriptive::{quantile_sorted, robust_stddev};
use crate::scale::qn_sorted;

/// Largest number of members of which each is compared with the others without itself; of more, one no longer moves the reference.
const LEFT_OUT: usize = 30;
/// The variance of a median of normal values, in those of their mean.
const OF_MEDIAN: f64 = std::f64::consts::FRAC_PI_2;

/// Prior for the variance of one list of values, by many lists, and how many of its own values that is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// The variance.
    pub variance: f64,
    /// Degrees of freedom.
    pub freedom: f64,
}

/// Knowledge about the values beside themselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct Variances<'a> {
    /// The variance that each value has beyond what all have, as that of a member which was measured less often; none where empty.
    pub own: &'a [f64],
    /// No standard deviation is taken for less.
    pub floor: f64,
    /// Prior from other lists.
    pub prior: Option<Prior>,
}

/// Distance of a value from the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Apart {
    /// Difference from their median.
    pub by: f64,
    /// The standard deviation of that: their scatter, and what is not known of their median.
    pub scale: f64,
}

impl Apart {
    /// Returns the distance in standard deviations; where nothing scatters at all and nothing is taken for the least, equal is equal.
    pub fn distance(&self) -> f64 {
        if self.scale > 0.0 { self.by / self.scale } else { 0.0 }
    }
}

/// Returns the distance of each value from the others' median, with their robust standard deviation (Qn).
///
/// `None` in the place of a value is `None` in the answer. `None` throughout for fewer than three values.
pub fn distances(values: &[Option<f64>], beside: &Variances) -> Vec<Option<Apart>> {
    let mut sorted: Vec<f64> = values.iter().flatten().copied().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = sorted.len();
    if count < 3 {
        return vec![None; values.len()];
    }
    let of = |others: &[f64]| {
        let variance = moderated(qn_sorted(others)?.powi(2), freedom(others.len() + 1), beside.prior);
        Some((quantile_sorted(others, 0.5)?, variance.max(beside.floor.powi(2)), others.len() as f64))
    };
    let of_all = if count > LEFT_OUT { of(&sorted) } else { None };
    let mut others = Vec::with_capacity(count);
    let distance = |(value, own): (&Option<f64>, f64)| {
        let value = (*value)?;
        let (centre, variance, known) = match of_all {
            Some(all) => all,
            None => {
                let at = sorted.partition_point(|other| other.total_cmp(&value).is_lt());
                others.clear();
                others.extend_from_slice(&sorted[..at]);
                others.extend_from_slice(&sorted[at + 1..]);
                of(&others)?
            }
        };
        Some(Apart { by: value - centre, scale: (variance * (1.0 + OF_MEDIAN / known) + own.max(0.0)).sqrt() })
    };
    let own = beside.own.iter().copied().chain(std::iter::repeat(0.0));
    values.iter().zip(own).map(distance).collect()
}

/// A variance drawn towards what others tell, as far as that weighs (Smyth 2004).
fn moderated(variance: f64, freedom: f64, prior: Option<Prior>) -> f64 {
    match prior {
        Some(prior) => (prior.freedom * prior.variance + freedom * variance) / (prior.freedom + freedom),
        None => variance,
    }
}

/// The degrees of freedom that the [`distances`] of so many normal values have: fewer than a standard deviation's, as Qn knows less,
/// and of an even number, of which each is held against an odd one, no more than of one less.
pub fn freedom(count: usize) -> f64 {
    let odd = if count.is_multiple_of(2) { count.saturating_sub(1) } else { count };
    (0.7 * odd as f64 - 1.5).max(1.0)
}

/// The law of distances in which nothing is odd: Student's, stretched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tails {
    /// Degrees of freedom: few where values far out are common.
    pub freedom: f64,
    /// Factor of its values.
    pub scale: f64,
}

impl Tails {
    /// The law whose quantiles `inner` and `outer`, in size, lie as far apart as those of these distances, and which reaches as far out
    /// as they do: what lies beyond `outer`, odd members for example, does not change it. At most `most` degrees of freedom, and
    /// never narrower than the law of a standard deviation.
    pub fn of(distances: &[f64], (inner, outer): (f64, f64), most: f64) -> Tails {
        let mut sizes: Vec<f64> = distances.iter().map(|distance| distance.abs()).collect();
        sizes.sort_unstable_by(f64::total_cmp);
        let (Some(near), Some(far)) = (quantile_sorted(&sizes, inner), quantile_sorted(&sizes, outer)) else {
            return Tails { freedom: 1.0, scale: 1.0 };
        };
        let quantile = |freedom: f64, share: f64| {
            StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |law| law.inverse_cdf(0.5 + share / 2.0))
        };
        let is_wider = |freedom: f64| near * quantile(freedom, outer) > far * quantile(freedom, inner);
        let (mut low, mut high) = (1.0_f64, most.max(1.0));
        if near > 0.0 && !is_wider(high) {
            for _ in 0..30 {
                let between = (low * high).sqrt();
                if is_wider(between) { low = between } else { high = between }
            }
            high = low;
        }
        Tails { freedom: high, scale: (far / quantile(high, outer)).max(1.0) }
    }

    /// Returns the probability of a distance that is no less, to either side.
    pub fn p(&self, distance: f64) -> f64 {
        p_of(distance / self.scale, self.freedom)
    }
}

/// Returns the probability of a distance that is no less, to either side, where nothing is odd.
pub fn p_of(distance: f64, freedom: f64) -> f64 {
    let law = StudentsT::new(0.0, 1.0, freedom.max(1.0));
    law.map_or(1.0, |law| (2.0 * law.cdf(-distance.abs())).clamp(f64::MIN_POSITIVE, 1.0))
}

/// Returns one p value of several with weights, which may depend on each other in any way: the Cauchy combination (Liu & Xie,
/// "Cauchy combination test: a powerful test with analytic p-value calculation under arbitrary dependency structures", JASA 2020).
/// `None` of nothing.
pub fn combined(p_values: &[(f64, f64)]) -> Option<f64> {
    let total: f64 = p_values.iter().map(|(_, weight)| weight).sum();
    if total <= 0.0 {
        return None;
    }
    let term = |(p, weight): &(f64, f64)| {
        // One that is as good as 1 would outweigh all others; for a small one the tangent has no digits left.
        let p = p.clamp(f64::MIN_POSITIVE, MOST_P);
        weight / total
            * if p < 1e-8 { 1.0 / (p * std::f64::consts::PI) } else { (std::f64::consts::PI * (0.5 - p)).tan() }
    };
    let statistic: f64 = p_values.iter().map(term).sum();
    let p = match statistic > 1e8 {
        true => 1.0 / (statistic * std::f64::consts::PI),
        false => 0.5 - statistic.atan() / std::f64::consts::PI,
    };
    Some(p.clamp(f64::MIN_POSITIVE, 1.0))
}

/// No p value counts for more.
const MOST_P: f64 = 0.99;

/// The part of a scatter that lies between members, once what one member's own values scatter by is taken off, `within`, which stands
/// for a member's value: a two-level model of the variances, by robust estimates of both.
pub fn between(scatter: f64, within: f64) -> f64 {
    (scatter * scatter - within * within).max(0.0).sqrt()
}

/// The standard deviation of the values of one member, from several members with two values or more, each about its own mean;
/// some far values do not change it. `None` where no member has two.
pub fn within<Group: AsRef<[f64]>>(groups: &[Group]) -> Option<f64> {
    let mut residuals = Vec::new();
    for group in groups.iter().map(AsRef::as_ref).filter(|group| group.len() > 1) {
        let count = group.len() as f64;
        let mean = group.iter().sum::<f64>() / count;
        residuals.extend(group.iter().map(|value| (value - mean) * (count / (count - 1.0)).sqrt()));
    }
    robust_stddev(&residuals)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::made_up::normal;

    fn far(values: &[Option<f64>], beside: &Variances) -> Vec<Option<f64>> {
        distances(values, beside).into_iter().map(|apart| apart.map(|apart| apart.distance())).collect()
    }

    #[test]
    #[ignore = "takes long"]
    fn p_values_of_normal_members_hold_their_level_whatever_their_number() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        for count in [5, 6, 8, 12, 20, 30, 60, 200] {
            let (trials, mut at_5, mut at_1_in_1000) = (30_000 / count * 10, 0, 0);
            for _ in 0..trials {
                let values: Vec<Option<f64>> = (0..count).map(|_| Some(normal(&mut random))).collect();
                for distance in far(&values, &Variances::default()).into_iter().flatten() {
                    let p = p_of(distance, freedom(count));
                    at_5 += usize::from(p <= 0.05);
                    at_1_in_1000 += usize::from(p <= 0.001);
                }
            }
            let all = (trials * count) as f64;
            let shares = (at_5 as f64 / all, at_1_in_1000 as f64 / all);
            assert!((0.025..0.062).contains(&shares.0), "{count}: {shares:?}");
            assert!((0.0002..0.00135).contains(&shares.1), "{count}: {shares:?}");
        }
    }

    #[test]
    fn a_far_member_moves_neither_the_others_nor_what_it_is_held_against() {
        let mut values: Vec<Option<f64>> = [1.0, 1.01, 0.99, 1.02, 0.98, 1.005].map(Some).to_vec();
        let before = far(&values, &Variances::default());
        values.extend([Some(9.0), None]);
        let after = far(&values, &Variances::default());
        assert!(after[6].unwrap() > 100.0 && after[7].is_none());
        for (one, other) in before.iter().zip(&after) {
            assert!((one.unwrap() - other.unwrap()).abs() < 1.5, "{before:?} {after:?}");
        }
    }

    #[test]
    fn what_never_varies_has_a_floor_and_what_is_measured_less_often_weighs_less() {
        let values = [Some(0.0), Some(0.0), Some(0.0), Some(0.0), Some(0.004)];
        let at = |beside: &Variances| far(&values, beside)[4].unwrap();
        assert!(at(&Variances { floor: 0.005, ..Variances::default() }) < 1.0);
        assert_eq!(far(&[Some(3.0); 6], &Variances::default()), [Some(0.0); 6]);
        let own = [0.0, 0.0, 0.0, 0.0, 1e-4];
        assert!(
            at(&Variances { floor: 0.001, own: &own, prior: None })
                < at(&Variances { floor: 0.001, ..Variances::default() })
        );
        let prior = Some(Prior { variance: 1e-4, freedom: 4.0 });
        assert!(
            at(&Variances { floor: 0.001, own: &[], prior }) < at(&Variances { floor: 0.001, ..Variances::default() })
        );
        assert_eq!(far(&[Some(1.0), Some(2.0)], &Variances::default()), [None, None]);
    }

    #[test]
    fn tails_are_recognized_by_what_lies_far_out_and_not_by_the_farthest() {
        let mut random = Pcg64Mcg::seed_from_u64(2);
        let normals: Vec<f64> = (0..4000).map(|_| normal(&mut random)).collect();
        let of = |values: &[f64]| Tails::of(values, (0.5, 0.9), 200.0);
        assert!(of(&normals).freedom > 20.0 && of(&normals).scale < 1.1, "{:?}", of(&normals));
        let heavy: Vec<f64> = normals
            .chunks_exact(4)
            .map(|four| four[0] / ((four[1].powi(2) + four[2].powi(2) + four[3].powi(2)) / 3.0).sqrt())
            .collect();
        assert!((2.2..4.5).contains(&of(&heavy).freedom), "{:?}", of(&heavy));
        let mut odd = normals.clone();
        odd.iter_mut().take(40).for_each(|value| *value += 100.0);
        assert!(of(&odd).freedom > 12.0, "{:?}", of(&odd));
        assert_eq!(of(&[]).freedom, 1.0);
        assert_eq!(Tails::of(&[0.0; 5], (0.5, 0.9), 9.0), Tails { freedom: 9.0, scale: 1.0 });
    }

    #[test]
    fn what_is_usual_within_and_heavy_without_is_reported_far_out() {
        // Nine in ten are normal, one in ten scatters by three times as much.
        let mut random = Pcg64Mcg::seed_from_u64(5);
        let mut value = || (if normal(&mut random) > 1.2816 { 3.0 } else { 1.0 }) * normal(&mut random);
        let known: Vec<f64> = (0..8000).map(|_| value()).collect();
        let tails = Tails::of(&known, (0.9, 0.99), 200.0);
        let beyond = (0..200_000).filter(|_| tails.p(value()) <= 1e-4).count();
        assert!(beyond <= 30, "{beyond} {tails:?}");
    }

    #[test]
    fn p_values_that_depend_on_each_other_combine_to_one_that_holds_its_level() {
        let mut random = Pcg64Mcg::seed_from_u64(3);
        for shared in [0.0, 0.5, 0.95_f64] {
            let mut found = 0;
            for _ in 0..40_000 {
                let common = normal(&mut random);
                let p: Vec<(f64, f64)> = (0..10)
                    .map(|_| shared.sqrt() * common + (1.0 - shared).sqrt() * normal(&mut random))
                    .map(|z| (p_of(z, 1e6), 1.0))
                    .collect();
                found += usize::from(combined(&p).unwrap() <= 0.005);
            }
            assert!((120..260).contains(&found), "{shared}: {found} of 40000");
        }
        assert_eq!(combined(&[]), None);
        assert!((combined(&[(0.03, 2.0)]).unwrap() - 0.03).abs() < 1e-12);
        // One that is next to nothing is divided by its share of the weights, and is not lost behind one that is next to 1.
        let one_of_ten: Vec<(f64, f64)> = (0..10).map(|index| (if index == 0 { 1e-12 } else { 1.0 }, 1.0)).collect();
        assert!((combined(&one_of_ten).unwrap() / 1e-11 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_scatter_between_members_is_what_their_own_does_not_explain() {
        let mut random = Pcg64Mcg::seed_from_u64(4);
        let members: Vec<Vec<f64>> = (0..400)
            .map(|_| {
                let own = 0.03 * normal(&mut random);
                (0..3).map(|_| own + 0.04 * normal(&mut random)).collect()
            })
            .collect();
        let means: Vec<f64> = members.iter().map(|member| member.iter().sum::<f64>() / 3.0).collect();
        let inside = within(&members).unwrap();
        assert!((inside / 0.04 - 1.0).abs() < 0.08, "{inside}");
        let found = between(crate::scale::qn(&means).unwrap(), inside / 3.0_f64.sqrt());
        assert!((found / 0.03 - 1.0).abs() < 0.15, "{found}");
        assert_eq!((between(0.01, 0.02), within(&[[1.0], [2.0]])), (0.0, None));
    }
}
