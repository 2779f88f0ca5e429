//! Check of memory latency: chains of loads below and above the size of the first-level cache.

use std::time::Duration;

use hostmark_analysis::words;
use hostmark_model::size_text;
use hostmark_probes::CATALOGUE;
use hostmark_say::say;

use super::bench::{Bench, BenchRound, least};
use super::check::{Attempt, Check, Line};
use super::durations::{no_frequency, without_cycles};

/// Rounds of a look, below and above.
const ROUNDS: (u32, u32) = (8, 3);
/// A load that hits the first-level cache takes a whole number of cycles, 3 to 6 on the cores of today; how far off it may be.
const HIT: (f64, f64, f64) = (3.0, 6.0, 0.03);
/// A load that misses it takes so many times longer, at least: the nearest second level takes over twice as long.
const MISS: f64 = 1.5;

/// Whether a load of so many cycles is a hit.
pub fn is_hit(cycles: f64) -> bool {
    let whole = cycles.round();
    (HIT.0..=HIT.1).contains(&whole) && (cycles / whole - 1.0).abs() < HIT.2
}

/// `size` is what the machine says of the cache, bytes.
pub fn l1_cache(bench: &mut Bench, size: Option<u64>) -> Line {
    let size_bytes = size.unwrap_or(0);
    let [below, above] = [size_bytes / 2, size_bytes * 4].map(|bytes| bytes.max(64));
    let [cache, small, large] = [size_bytes, below, above].map(size_text);
    let put_in = words(say!("dependent loads in {small} and {large}, with an L1 of {cache}"));
    let bound = words(say!("{first} to {last} whole cycles, and {MISS}x that or more", first = HIT.0, last = HIT.1));
    let check = Check { id: "l1_cache", put_in, bound, limit: Duration::from_secs(8), puts_others_in: false };
    let no_size = || term!("the size of the cache is unknown here").to_owned_text();
    if let Some(reason) = size.is_none().then(no_size).or_else(|| without_cycles(bench)) {
        return check.impossible(reason);
    }
    // Who shares the core evicts lines and delays loads, and may stay for long; a frequency that reads too low takes away:
    // a twentieth of all rounds gives the latency, once it is among them.
    let mut hits = Vec::new();
    check.judge(bench, |bench| {
        let case = |bytes: u64| format!("memory.latency@size={bytes},pattern=random,page=pmd,copies=1");
        hits.extend(bench.rounds(CATALOGUE, &case(below), ROUNDS.0)?.iter().map(BenchRound::cycles));
        hits.sort_by(f64::total_cmp);
        let hit = hits[hits.len() / 20];
        let miss = least(&bench.rounds(CATALOGUE, &case(above), ROUNDS.1)?, BenchRound::cycles);
        if !(hit + miss).is_finite() {
            return Err(no_frequency().into());
        }
        let back = words(say!("{hit:.2} and {miss:.1} cycles"));
        Ok(Attempt { back, is_within: Ok(is_hit(hit) && miss >= MISS * hit) })
    })
}
