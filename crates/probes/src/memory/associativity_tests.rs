//! Ways found on caches that are made up.

use super::*;

/// A cache that hits in 1.3 ns while no set has more lines than ways, and misses always or in part beyond.
fn cache(ways: usize, way_bytes: usize, missing: f64) -> impl FnMut(usize, usize) -> Result<f64> {
    move |lines, stride| {
        let sets_used = (way_bytes / stride).max(1);
        Ok(if lines <= ways * sets_used { 1.3 } else { 1.3 + 3.2 * missing })
    }
}

#[test]
fn the_ways_are_found_whatever_the_size_of_a_way() {
    for (ways_made, way_bytes) in [(8, 4096), (12, 4096), (4, 16384), (8, 16384), (2, 32768), (16, 4096)] {
        for missing in [0.1, 0.4, 1.0] {
            assert_eq!(ways(&mut cache(ways_made, way_bytes, missing)), Ok(Some(ways_made)), "{way_bytes} {missing}");
        }
    }
}

#[test]
fn one_slow_time_is_no_step() {
    let mut made = cache(8, 4096, 1.0);
    let mut spike = |lines, stride| Ok(made(lines, stride)? * if lines == 4 { 3.0 } else { 1.0 });
    assert_eq!(ways(&mut spike), Ok(Some(8)));
}

#[test]
fn a_number_of_ways_that_no_cache_has_is_none() {
    let built: Vec<usize> = (1..=32).filter(|&ways| is_built(ways)).collect();
    assert_eq!(built, [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]);
}

#[test]
fn without_a_step_there_are_no_ways() {
    assert_eq!(ways(&mut |_, _| Ok(1.3)), Ok(None));
    // A step that moves with every stride is no set's.
    assert_eq!(ways(&mut cache(2, 1 << 20, 1.0)), Ok(None));
}
