//! Check of assumed deviations against the cases themselves: most of them did not change, and if they lie farther apart than their errors
//! say, the errors are too small (as genomic control does it; Devlin & Roeder, Biometrics 1999).

use hostmark_model::Better;
use hostmark_stats::compare::Difference;
use hostmark_stats::descriptive;

use super::CaseComparison;
use super::known::{Claim, KnownChange};

/// Fewer cases tell nothing of how far most lie apart.
const LEAST_CASES: usize = 8;

/// Widens the errors of all cases of which it is only assumed what runs differ by, where they are too small for most of them. That all
/// changed alike is no reason to: they are taken about the change of most.
pub(super) fn widen(cases: &[CaseComparison], known: &mut [KnownChange], same_within: f64) {
    let all = || cases.iter().zip(known.iter()).map(|(case, known)| (case.better, known));
    let leading = times(all().filter_map(|(better, one)| Some((better, one.leading?))));
    let others = times(all().flat_map(|(better, one)| one.others.iter().map(move |claim| (better, *claim))));
    for one in known {
        if one.leading.is_some_and(|claim| !claim.is_from_runs) {
            one.own *= leading * leading;
            one.in_common *= leading;
        }
        let assumed = one
            .others
            .iter_mut()
            .map(|claim| (claim, others))
            .chain(one.leading.as_mut().map(|claim| (claim, leading)));
        for (claim, times) in assumed.filter(|(claim, _)| !claim.is_from_runs) {
            *claim = claim.widened(times, same_within);
        }
    }
}

/// Factor by which the errors are too small, 1 at least.
fn times(claims: impl Iterator<Item = (Option<Better>, Claim)>) -> f64 {
    let assumed = claims.filter(|(_, claim)| !claim.is_from_runs);
    // A rate that fell and a time that grew cost alike.
    let costs = assumed.map(|(better, Claim { difference, .. })| match better {
        Some(Better::Higher) => Difference { logarithm: -difference.logarithm, ..difference },
        _ => difference,
    });
    let costs: Vec<Difference> = costs.filter(|one| (one.logarithm / one.error).is_finite()).collect();
    if costs.len() < LEAST_CASES {
        return 1.0;
    }
    let middle = change_of_most(&costs);
    let distances: Vec<f64> = costs.iter().map(|one| (one.logarithm - middle) / one.error).collect();
    descriptive::robust_stddev(&distances).map_or(1.0, |apart| apart.max(1.0))
}

/// The change from which all lie least far, in errors: the median, weighted by what is known of each.
fn change_of_most(costs: &[Difference]) -> f64 {
    let mut sorted: Vec<&Difference> = costs.iter().collect();
    sorted.sort_by(|one, other| one.logarithm.total_cmp(&other.logarithm));
    let half = sorted.iter().map(|one| one.error.recip()).sum::<f64>() / 2.0;
    let mut below = 0.0;
    let is_middle = |one: &&&Difference| {
        below += one.error.recip();
        below >= half
    };
    sorted.iter().find(is_middle).map_or(0.0, |one| one.logarithm)
}
