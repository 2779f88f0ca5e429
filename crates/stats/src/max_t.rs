//! Association of many properties with a label: a permutation test that counts all of them at once.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A member's label, and the stratum within which labels may be exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Labelled {
    /// True where it has the label.
    pub is_chosen: bool,
    /// Number of its stratum.
    pub stratum: usize,
}

/// Returns, for each property, of which every member says whether it has it, the p value that it goes with the label, adjusted for all
/// properties by the largest statistic of each permutation of the labels within their strata (Westfall & Young, "Resampling-based
/// multiple testing", Wiley 1993), one step. Properties that go together cost no more than one.
///
/// The statistic is how many members with the label have the property beyond what its stratum lets expect, over the
/// hypergeometric deviation (Mantel & Haenszel, JNCI 1959). The p value is never below 1 over one more than `permutations`.
pub fn adjusted(members: &[Labelled], properties: &[Vec<bool>], permutations: usize, seed: u64) -> Vec<f64> {
    let mut strata = strata(members);
    let laws: Vec<Law> = properties.iter().map(|has| Law::of(members, has, &strata)).collect();
    let statistics = |chosen: &[usize]| -> Vec<f64> {
        properties.iter().zip(&laws).map(|(has, law)| law.statistic(chosen, has)).collect()
    };
    let observed: Vec<usize> = (0..members.len()).filter(|member| members[*member].is_chosen).collect();
    let observed = statistics(&observed);
    let chosen_of = |stratum: &Vec<usize>| stratum.iter().filter(|member| members[**member].is_chosen).count();
    let counts: Vec<usize> = strata.iter().map(chosen_of).collect();
    let mut at_least = vec![1_usize; properties.len()];
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    for _ in 0..permutations {
        let mut chosen = Vec::new();
        for (stratum, count) in strata.iter_mut().zip(&counts) {
            // The first so many of a shuffle are a draw, in whatever order the others stand.
            for index in 0..*count {
                let other = random.random_range(index..stratum.len());
                stratum.swap(index, other);
            }
            chosen.extend(&stratum[..*count]);
        }
        let most = statistics(&chosen).into_iter().fold(f64::NEG_INFINITY, f64::max);
        for (count, own) in at_least.iter_mut().zip(&observed) {
            *count += usize::from(most >= own - 1e-9);
        }
    }
    at_least.into_iter().map(|count| count as f64 / (permutations + 1) as f64).collect()
}

/// The members of each stratum.
fn strata(members: &[Labelled]) -> Vec<Vec<usize>> {
    let mut numbers: Vec<usize> = members.iter().map(|member| member.stratum).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let of = |number: &usize| (0..members.len()).filter(|index| members[*index].stratum == *number).collect();
    numbers.iter().map(of).collect()
}

/// Expected number of members with label and property.
struct Law {
    mean: f64,
    deviation: f64,
}

impl Law {
    fn of(members: &[Labelled], has: &[bool], strata: &[Vec<usize>]) -> Law {
        let (mut mean, mut variance) = (0.0, 0.0);
        for stratum in strata {
            let all = stratum.len() as f64;
            let chosen = stratum.iter().filter(|member| members[**member].is_chosen).count() as f64;
            let having = stratum.iter().filter(|member| has[**member]).count() as f64;
            mean += chosen * having / all;
            if all > 1.0 {
                variance += chosen * (all - chosen) * having * (all - having) / (all * all * (all - 1.0));
            }
        }
        Law { mean, deviation: variance.sqrt() }
    }

    fn statistic(&self, chosen: &[usize], has: &[bool]) -> f64 {
        let both = chosen.iter().filter(|member| has[**member]).count() as f64;
        // What all have, or none, goes with nothing.
        if self.deviation > 0.0 { (both - self.mean) / self.deviation } else { f64::NEG_INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(chosen: usize, all: usize) -> Vec<Labelled> {
        (0..all).map(|index| Labelled { is_chosen: index < chosen, stratum: index % 2 }).collect()
    }

    #[test]
    fn what_all_chosen_have_alone_is_found_and_what_all_have_is_not() {
        let members = members(6, 60);
        let cause: Vec<bool> = (0..60).map(|index| index < 6).collect();
        let found = adjusted(&members, &[cause, vec![true; 60], vec![false; 60]], 999, 1);
        assert_eq!(found, [0.001, 1.0, 1.0]);
    }

    #[test]
    fn one_member_proves_nothing() {
        // One of ten, and a property that it alone has: one permutation of ten has it too.
        let members: Vec<Labelled> = (0..10).map(|index| Labelled { is_chosen: index == 0, stratum: 0 }).collect();
        let property = vec![(0..10).map(|index| index == 0).collect()];
        let p = adjusted(&members, &property, 4999, 2)[0];
        assert!((p - 0.1).abs() < 0.02, "{p}");
    }

    #[test]
    fn chance_finds_a_property_in_no_more_than_the_level() {
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let mut found = 0;
        for seed in 0..200 {
            let members = members(6, 40);
            let mut properties: Vec<Vec<bool>> =
                (0..20).map(|_| (0..40).map(|_| random.random::<f64>() < 0.3).collect()).collect();
            properties.push(properties[0].clone());
            found += usize::from(adjusted(&members, &properties, 199, seed).into_iter().any(|p| p <= 0.05));
        }
        // 10 of 200 are expected at most.
        assert!(found <= 17, "{found} of 200");
    }
}
