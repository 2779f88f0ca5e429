//! Lines found on curves that are made up, and pairs that do not meet.

use super::*;

fn curve(costs: [f64; 7]) -> Vec<(usize, f64)> {
    DISTANCES.into_iter().zip(costs).collect()
}

#[test]
fn the_line_ends_where_the_second_word_misses_too() {
    assert_eq!(first_apart(&curve([5.6, 5.5, 5.7, 9.8, 10.1, 10.0, 10.2])), Some(64));
    assert_eq!(first_apart(&curve([5.6, 5.6, 5.7, 5.6, 9.8, 10.0, 10.2])), Some(128));
    // A neighbour brought along makes its line cheaper, but no hit.
    assert_eq!(first_apart(&curve([5.6, 5.6, 5.7, 8.2, 10.0, 10.0, 10.2])), Some(64));
}

#[test]
fn what_is_larger_than_the_reported_line_is_no_line() {
    let prefetched = curve([5.6, 5.5, 5.7, 5.6, 5.6, 10.0, 10.2]);
    assert_eq!((first_apart(&prefetched), line(&prefetched, 64)), (Some(256), None));
    assert_eq!(line(&prefetched, 256), Some(256));
    assert_eq!(line(&curve([5.6, 5.5, 5.7, 9.8, 10.1, 10.0, 10.2]), 128), Some(64));
}

#[test]
fn a_curve_without_one_step_reports_no_line() {
    assert_eq!(first_apart(&curve([5.6; 7])), None);
    assert_eq!(first_apart(&curve([5.6, 9.9, 5.6, 9.8, 10.0, 10.0, 10.2])), None);
    assert_eq!(first_apart(&curve([10.0, 9.9, 9.9, 5.0, 5.0, 5.0, 5.0])), None);
    assert_eq!(first_apart(&[]), None);
}

#[test]
fn two_cpus_are_alone_from_the_first_distance_without_contention() {
    assert_eq!(first_alone(&curve([80.0, 95.0, 70.0, 6.1, 6.0, 6.2, 6.0])), Some(64));
    assert_eq!(first_alone(&curve([80.0, 95.0, 70.0, 60.1, 6.0, 6.2, 6.0])), Some(128));
    assert_eq!(first_alone(&curve([6.0, 6.1, 6.0, 6.1, 6.0, 6.2, 6.0])), None);
    assert_eq!(first_alone(&curve([80.0, 6.0, 70.0, 6.1, 6.0, 6.2, 6.0])), None);
}

#[test]
fn no_two_pairs_share_a_line_of_the_largest_size() {
    for distance in DISTANCES {
        let all: Vec<usize> = (0..64).flat_map(|pair| words(pair, distance)).collect();
        let lines = |pair: &[usize]| [pair[0] / 256, pair[1] / 256];
        for (nth, pair) in all.chunks(2).enumerate() {
            assert_eq!(pair[0] - pair[1], distance);
            let others = all.chunks(2).enumerate().filter(|(other, _)| *other != nth).flat_map(|(_, pair)| lines(pair));
            assert!(others.into_iter().all(|line| !lines(pair).contains(&line)));
        }
    }
}

/// The most and the fewest of these words' lines that fall on a set of a cache, of those on which any fall.
fn in_sets(words: impl Iterator<Item = usize>, sets: usize) -> (usize, usize) {
    let mut lines: Vec<usize> = words.map(|word| word / 64).collect();
    lines.sort_unstable();
    lines.dedup();
    let mut of_set = vec![0; sets];
    lines.iter().for_each(|line| of_set[line % sets] += 1);
    let used = || of_set.iter().copied().filter(|&lines| lines > 0);
    (used().max().unwrap(), used().min().unwrap())
}

#[test]
fn a_pair_misses_the_first_cache_by_either_word_and_the_second_holds_both() {
    // Bytes and ways of L1d, sets and ways of the second cache: Zen 3; Skylake of clients and of servers; Emerald Rapids.
    for ((bytes, ways), (second_sets, second_ways)) in
        [((32, 8), (1024, 8)), ((32, 8), (1024, 4)), ((32, 8), (1024, 16)), ((48, 12), (2048, 16))]
    {
        let (bytes, sets) = (bytes << 10, (bytes << 10) / 64 / ways);
        for distance in DISTANCES {
            let pairs = pairs(bytes, 64);
            for word in [0, 1] {
                let (_, fewest) = in_sets((0..pairs).map(|pair| words(pair, distance)[word]), sets);
                assert!(fewest >= 2 * ways, "{bytes}, {distance}: {fewest} lines in a set of {ways} ways");
            }
            let (most, _) = in_sets((0..pairs).flat_map(|pair| words(pair, distance)), second_sets);
            assert!(most <= second_ways, "{second_sets} sets, {distance}: {most} lines in one of {second_ways} ways");
        }
    }
}
