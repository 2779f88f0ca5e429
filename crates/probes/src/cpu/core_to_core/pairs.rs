//! Which pairs of CPUs are measured.

use hostmark_engine::prelude::*;

use crate::kernels::random::Random;

/// Pairs of CPUs in the standard profile at most, and in the thorough one: the matrix of 64 CPUs.
const STANDARD_PAIRS: usize = 64;
const THOROUGH_PAIRS: usize = 64 * 63 / 2;

/// One pair a placement; from the standard profile on pairs of CPUs, all of them or a sample that is always the same.
pub fn places(host: &HostFacts, profile: Profile) -> Vec<String> {
    let classes = ["smt_sibling", "same_cache", "other_cache", "other_node"].map(str::to_owned);
    let most = match profile {
        Profile::Quick => 0,
        Profile::Standard => STANDARD_PAIRS,
        Profile::Thorough => THOROUGH_PAIRS,
    };
    let cpus = host.usable_cpus();
    let mut pairs: Vec<(u64, usize, usize)> = Vec::new();
    if most > 0 {
        let of = |(index, &one): (usize, &usize)| cpus[index + 1..].iter().map(move |&other| (one, other)).collect();
        let all = cpus.iter().enumerate().flat_map(|one| -> Vec<(usize, usize)> { of(one) });
        pairs.extend(all.map(|(one, other)| (Random::new((one as u64) << 32 | other as u64).next(), one, other)));
    }
    // A smaller sample is part of every larger one.
    pairs.sort_unstable();
    pairs.truncate(most);
    pairs.sort_unstable_by_key(|&(_, one, other)| (one, other));
    classes.into_iter().chain(pairs.into_iter().map(|(_, one, other)| format!("{one}-{other}"))).collect()
}
