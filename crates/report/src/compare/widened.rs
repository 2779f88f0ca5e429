//! Where what runs differ by is assumed, the cases themselves tell whether that is too little: most of them did not change, and if they lie
//! farther apart than their errors say, the errors are too small (as genomic control does it; Devlin & Roeder, Biometrics 1999).

use hostmark_stats::descriptive;

use super::known::{Claim, Known};

/// Fewer cases tell nothing of how far most lie apart.
const LEAST_CASES: usize = 8;
/// The median absolute deviation of normal values is so much of their standard deviation.
const OF_NORMAL: f64 = 0.6745;

/// Widens the errors of all cases of which it is only assumed what runs differ by, where they are too small for most of them. That all
/// changed alike is no reason to: they are taken about their middle.
pub(super) fn widen(known: &mut [Known], same_within: f64) {
    let assumed = |one: &&mut Known| !one.is_told;
    let (leading, typical) = (times(known, |one| one.leading), times(known, |one| one.typical));
    for one in known.iter_mut().filter(assumed) {
        one.leading = one.leading.map(|claim| claim.widened(leading, same_within));
        one.typical = one.typical.map(|claim| claim.widened(typical, same_within));
        one.own *= leading * leading;
        one.deviation *= leading;
    }
}

/// How many times too small the errors are, 1 at least.
fn times(known: &[Known], claim: impl Fn(&Known) -> Option<Claim>) -> f64 {
    let of = |one: &Known| {
        let difference = claim(one).filter(|_| !one.is_told)?.difference;
        Some(difference.logarithm / difference.error).filter(|distance| distance.is_finite())
    };
    let distances: Vec<f64> = known.iter().filter_map(of).collect();
    if distances.len() < LEAST_CASES {
        return 1.0;
    }
    descriptive::mad(&distances).map_or(1.0, |apart| (apart / OF_NORMAL).max(1.0))
}

impl Claim {
    fn widened(self, times: f64, same_within: f64) -> Claim {
        let mut difference = self.difference;
        difference.error *= times;
        let (changed, same) = (difference.p_changed(), difference.p_within(same_within));
        if times > 1.0 { Claim { difference, changed, same } } else { self }
    }
}
