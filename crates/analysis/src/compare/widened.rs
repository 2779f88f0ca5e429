//! Where what runs differ by is assumed, the cases themselves tell whether that is too little: most of them did not change, and if they lie
//! farther apart than their errors say, the errors are too small (as genomic control does it; Devlin & Roeder, Biometrics 1999).

use hostmark_stats::descriptive;

use super::known::{Claim, KnownChange};

/// Fewer cases tell nothing of how far most lie apart.
const LEAST_CASES: usize = 8;

/// Widens the errors of all cases of which it is only assumed what runs differ by, where they are too small for most of them. That all
/// changed alike is no reason to: they are taken about their middle.
pub(super) fn widen(known: &mut [KnownChange], same_within: f64) {
    let leading = times(known.iter().filter_map(|one| one.leading));
    let others = times(known.iter().flat_map(|one| one.others.iter().copied()));
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

/// How many times too small the errors are, 1 at least.
fn times(claims: impl Iterator<Item = Claim>) -> f64 {
    let distance = |claim: Claim| claim.difference.logarithm / claim.difference.error;
    let distances: Vec<f64> =
        claims.filter(|claim| !claim.is_from_runs).map(distance).filter(|one| one.is_finite()).collect();
    if distances.len() < LEAST_CASES {
        return 1.0;
    }
    descriptive::robust_stddev(&distances).map_or(1.0, |apart| apart.max(1.0))
}
