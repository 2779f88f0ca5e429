//! Reaches found on TLBs that are made up.

use super::*;

/// Misses a load over pages that spread evenly over sets of so many ways, the oldest entry going first.
fn misses(pages: usize, sets: usize, ways: usize) -> f64 {
    let over = (0..sets).map(|set| pages / sets + usize::from(set < pages % sets)).filter(|&in_set| in_set > ways);
    over.sum::<usize>() as f64 / pages as f64
}

/// Times of a load with two levels of TLB, the caches' share in both.
fn machine(first: (usize, usize), second: (usize, usize)) -> impl FnMut(usize, usize) -> Result<(f64, f64)> {
    move |pages, _| {
        let cache = if pages > 512 { 4.5 } else { 1.3 };
        let translation = 2.9 * misses(pages, first.0, first.1) + 15.5 * misses(pages, second.0, second.1);
        Ok((cache + translation, cache))
    }
}

fn pages(level: usize, most: usize, first: (usize, usize), second: (usize, usize)) -> f64 {
    reach(&Curve { level, most }, &mut machine(first, second)).unwrap().unwrap().pages
}

#[test]
fn each_level_ends_at_its_capacity() {
    for (first, second) in [((16, 4), (128, 12)), ((1, 64), (1, 2048)), ((16, 6), (256, 8)), ((1, 48), (256, 5))] {
        let (one, two) = (first.0 * first.1, second.0 * second.1);
        let found = pages(1, 512, first, second);
        assert!((found / one as f64 - 1.0).abs() < 0.03, "{found} of {one}");
        let found = pages(2, 8192, first, second);
        assert!((found / two as f64 - 1.0).abs() < 0.03, "{found} of {two}");
    }
}

#[test]
fn a_miss_costs_what_it_adds_to_a_hit_of_the_first_level() {
    let found = |level, most| reach(&Curve { level, most }, &mut machine((16, 4), (128, 12))).unwrap().unwrap();
    assert!((found(1, 512).miss_ns - 2.9).abs() < 0.1);
    assert!((found(2, 8192).miss_ns - 18.4).abs() < 0.4);
}

#[test]
fn without_a_step_there_is_no_reach() {
    assert_eq!(reach(&Curve { level: 1, most: 512 }, &mut |_, _| Ok((1.3, 1.3))), Ok(None));
    assert_eq!(reach(&Curve { level: 2, most: 512 }, &mut machine((16, 4), (1, 100_000))), Ok(None));
}

#[test]
fn a_reach_is_the_number_of_entries_that_a_tlb_has_or_none() {
    for (pages, entries) in [(95.0, 96.0), (97.0, 96.0), (64.0, 64.0), (73.0, 72.0), (1510.0, 1536.0), (2101.0, 2048.0)]
    {
        assert_eq!(built(pages), Some(entries), "{pages}");
    }
    for pages in [89.0, 110.0, 1700.0, 0.0] {
        assert_eq!(built(pages), None, "{pages}");
    }
}
