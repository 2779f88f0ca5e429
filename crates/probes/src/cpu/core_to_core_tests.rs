//! Which pairs are measured.

use super::*;

fn host(cpus: usize) -> HostFacts {
    let cpu = |id| CpuFact { id, online: true, allowed: true, ..CpuFact::default() };
    HostFacts { cpus: (0..cpus).map(cpu).collect(), ..HostFacts::default() }
}

fn pairs(cpus: usize, profile: Profile) -> Vec<String> {
    places(&host(cpus), profile).into_iter().filter(|place| place.contains('-')).collect()
}

#[test]
fn a_small_hosts_matrix_is_whole_from_the_standard_profile_on() {
    assert_eq!(pairs(4, Profile::Quick), Vec::<String>::new());
    assert_eq!(pairs(4, Profile::Standard), ["0-1", "0-2", "0-3", "1-2", "1-3", "2-3"]);
    assert_eq!(pairs(64, Profile::Thorough).len(), 64 * 63 / 2);
    assert!(pairs(1, Profile::Thorough).is_empty());
}

#[test]
fn a_large_hosts_pairs_are_a_sample_that_is_always_the_same_and_over_all_cpus() {
    let (standard, thorough) = (pairs(512, Profile::Standard), pairs(512, Profile::Thorough));
    assert_eq!((standard.len(), thorough.len()), (64, 2016));
    assert_eq!(standard, pairs(512, Profile::Standard));
    assert!(standard.iter().all(|pair| thorough.contains(pair)));
    let first = |pair: &String| pair.split('-').next().unwrap().parse::<usize>().unwrap();
    let low = thorough.iter().filter(|pair| first(pair) < 128).count();
    // Of the pairs of 512 CPUs, 44 % have their first in the first quarter.
    assert!((800..980).contains(&low), "{low}");
}
