//! Selection of the pairs to measure.

use std::collections::BTreeSet;

use super::*;

/// A host that tells nothing of its caches.
fn host(cpus: usize) -> HostFacts {
    let cpu = |id| CpuFact { id, online: true, allowed: true, ..CpuFact::default() };
    HostFacts { cpus: (0..cpus).map(cpu).collect(), ..HostFacts::default() }
}

/// Two packages of `nodes` nodes with two threads to a core, `cores` cores to a last-level cache and three caches to a node.
fn server(nodes: usize, cores: usize) -> HostFacts {
    let (caches, all) = (2 * nodes * 3, 2 * nodes * 3 * cores);
    let cpu = |id: usize| CpuFact {
        id,
        online: true,
        allowed: true,
        package: Some(id % all / (nodes * 3 * cores)),
        node: Some(id % all / (3 * cores)),
        siblings: vec![id % all, id % all + all],
        ..CpuFact::default()
    };
    let cache = |nth: usize| CacheFact {
        level: 3,
        size_bytes: 32 << 20,
        shared_cpus: (0..2 * all).filter(|id| id % all / cores == nth).collect(),
        ..CacheFact::default()
    };
    HostFacts {
        cpus: (0..2 * all).map(cpu).collect(),
        caches: (0..caches).map(cache).collect(),
        ..HostFacts::default()
    }
}

fn pairs_of(host: &HostFacts, profile: Profile) -> Vec<(usize, usize)> {
    let pair = |place: String| {
        let (one, other) = place.split_once('-')?;
        Some((one.parse().ok()?, other.parse().ok()?))
    };
    places(host, profile).into_iter().filter_map(pair).collect()
}

#[test]
fn a_small_hosts_matrix_is_whole_from_the_standard_profile_on() {
    assert!(pairs_of(&host(4), Profile::Quick).is_empty());
    assert_eq!(pairs_of(&host(4), Profile::Standard), [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
    assert_eq!(pairs_of(&host(32), Profile::Thorough).len(), 32 * 31 / 2);
    assert!(pairs_of(&host(1), Profile::Thorough).is_empty());
}

#[test]
fn pairs_of_a_large_host_that_hides_its_caches_are_a_sample_over_all_cpus() {
    let host = host(512);
    let (standard, thorough) = (pairs_of(&host, Profile::Standard), pairs_of(&host, Profile::Thorough));
    assert_eq!((standard.len(), thorough.len()), (64, 496));
    assert_eq!(standard, pairs_of(&host, Profile::Standard));
    assert!(standard.iter().all(|pair| thorough.contains(pair)));
    let low = thorough.iter().filter(|pair| pair.0 < 128).count();
    // Of the pairs of 512 CPUs, 44 % have their first in the first quarter.
    assert!((180..260).contains(&low), "{low}");
}

#[test]
fn pairs_of_a_large_host_are_drawn_by_what_they_share() {
    let host = server(4, 8);
    let all = host.cpus.len() / 2;
    let cache = |cpu: usize| cpu % all / 8;
    let place = |cpu: usize| (host.cpus[cpu].package, host.cpus[cpu].node);
    for (profile, least) in [(Profile::Standard, 8), (Profile::Thorough, 24)] {
        let pairs = pairs_of(&host, profile);
        let count = |of: &dyn Fn(usize, usize) -> bool| pairs.iter().filter(|pair| of(pair.0, pair.1)).count();
        let is_sibling = |one: usize, other: usize| one % all == other % all;
        let within = count(&|one, other| cache(one) == cache(other) && !is_sibling(one, other));
        assert!(count(&is_sibling) >= least, "{profile:?}");
        assert!(within >= 24, "{profile:?}: {within} within a cache");
        let same_node = count(&|one, other| cache(one) != cache(other) && place(one) == place(other));
        let same_package = count(&|one, other| place(one).0 == place(other).0 && place(one).1 != place(other).1);
        let other_package = count(&|one, other| place(one).0 != place(other).0);
        assert!(same_node.min(same_package).min(other_package) >= 10, "{same_node} {same_package} {other_package}");
        assert!(pairs.len() <= 700, "{}", pairs.len());
    }
    let thorough = pairs_of(&host, Profile::Thorough);
    assert!(pairs_of(&host, Profile::Standard).iter().all(|pair| thorough.contains(pair)));
    // Every pair of the 24 caches, and all of one.
    let caches: BTreeSet<(usize, usize)> =
        thorough.iter().map(|pair| (cache(pair.0), cache(pair.1))).filter(|pair| pair.0 != pair.1).collect();
    assert_eq!(
        caches.into_iter().map(|(one, other)| (one.min(other), one.max(other))).collect::<BTreeSet<_>>().len(),
        276
    );
    assert_eq!(thorough.iter().filter(|pair| cache(pair.0) == 0 && pair.1 < 8).count(), 8 * 7 / 2);
}
