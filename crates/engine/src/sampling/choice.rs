//! Choice of the fastest of several ways on this host: trials in turn, in which the first stays unless another is clearly ahead.

use hostmark_stats::descriptive as stats;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::round_error::Result;
use crate::sampling::memory_look::{LONG_NS, MOST_PASSES, until_steady};
use crate::sampling::sample::{Interference, is_disturbed};

/// Least time of a pass, ns, which follows another by the same way: what a way does to caches and predictors lasts for a good part of a
/// millisecond. On Zen 5, trials of 40 µs took stores to the second cache for 190 GB/s by a way that reaches 256.
const LEAST_NS: f64 = 0.5e6;
/// Repeats of a pass at most, for ways that take no time.
const MOST_REPEATS: u64 = 1 << 30;
/// Trials of a way; it has fewer where it falls behind.
const TRIALS: usize = 7;
/// Time of trials, ns, after which [`ENOUGH`] of each way do: no more than the samples of the rounds that the choice serves. After
/// [`FAR_TOO_MUCH`] times as long, or where two turns would take that, there are no more: on a host that is so slow, or where each trial
/// waits for its CPU, a choice is worth no further wait, and the round must not be taken for hung.
const MOST_NS: f64 = 30e6;
const ENOUGH: usize = 2;
const FAR_TOO_MUCH: f64 = 40.0;
/// Turns without which nothing is clear, and before which it is looked at whether a choice takes too long.
const LOOKS: usize = 2;
/// Trials of all after which the first stays where none is even [`SLIGHTLY`] ahead: one that is [`CLEARLY`] ahead looks so.
const GLANCES: usize = 3;
const SLIGHTLY: f64 = 1.01;
/// Ratios to the fastest time at which a way is out, after one, two, or more trials: an interruption hardly meets all of them.
const BEHIND: [f64; 3] = [2.0, 1.15, 1.05];
/// The same of one trial where these have taken [`MOST_NS`]: what takes long is interrupted for a smaller part of it.
const FAR_BEHIND: f64 = 1.3;
/// Another way replaces the first where the first takes this many times as long; else near-equal ways would change between runs.
const CLEARLY: f64 = 1.03;

/// Repeats of a pass in which the thread waited or moved: a preemption of some milliseconds is longer than the pass.
const ATTEMPTS: usize = 4;

/// The time of a trial of a way, ns: of a pass as long as the one before it by that way, so that it meets a lasting state.
pub(crate) fn trial_ns(interference: &Interference, mut pass_ns: impl FnMut() -> Result<f64>) -> Result<f64> {
    until_steady(MOST_PASSES, || undisturbed(interference, &mut pass_ns))
}

/// The time of a pass that nothing disturbed, or the shortest of several that were.
fn undisturbed(interference: &Interference, mut pass_ns: impl FnMut() -> Result<f64>) -> Result<f64> {
    let mut least_ns = f64::INFINITY;
    for _ in 0..ATTEMPTS {
        let before = interference.read();
        let ns = pass_ns()?;
        least_ns = least_ns.min(ns);
        if ns >= LONG_NS || !is_disturbed(&before, &interference.read(), ns) {
            break;
        }
    }
    Ok(least_ns)
}

/// Returns how often a way does its stretch in a trial, so that the first way's lasts long enough, and how long that took, ns.
fn repeats(trial_ns: &mut impl FnMut(usize, u64) -> Result<f64>) -> Result<(u64, f64)> {
    let mut repeats = 1_u64;
    loop {
        let ns = trial_ns(0, repeats)?;
        if ns >= LEAST_NS || repeats >= MOST_REPEATS {
            return Ok((repeats, ns));
        }
        // A first guess is a cold one, and too short to go by.
        let times = (LEAST_NS / ns.max(1.0)).ceil().clamp(2.0, 16.0) as u64;
        repeats = repeats.saturating_mul(times).min(MOST_REPEATS);
    }
}

/// The fastest of so many ways, by trials of so many repeats each. `spent_ns`: duration of the trials so far.
pub(crate) fn fastest(
    ways: usize,
    seed: u64,
    spent_ns: impl Fn() -> f64,
    mut trial_ns: impl FnMut(usize, u64) -> Result<f64>,
) -> Result<usize> {
    if ways < 2 {
        return Ok(0);
    }
    let (repeats, ns) = repeats(&mut trial_ns)?;
    let passes = if ns < LONG_NS { 2.0 } else { 1.0 };
    if passes * ns * (LOOKS * ways) as f64 > FAR_TOO_MUCH * MOST_NS {
        return Ok(0);
    }
    among(ways, seed, spent_ns, |way| trial_ns(way, repeats))
}

/// The fastest by trials that are long enough, in an order by the seed, so that disturbances meet all ways alike.
fn among(
    ways: usize,
    seed: u64,
    spent_ns: impl Fn() -> f64,
    mut trial_ns: impl FnMut(usize) -> Result<f64>,
) -> Result<usize> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut times_ns: Vec<Vec<f64>> = vec![Vec::new(); ways];
    let mut running: Vec<usize> = (0..ways).collect();
    for turn in 0..TRIALS {
        if let Some(&behind) = turn.checked_sub(1).and_then(|last| BEHIND.get(last).or(BEHIND.last())) {
            let behind = if spent_ns() >= MOST_NS { behind.min(FAR_BEHIND) } else { behind };
            let best = |way: usize| stats::min(&times_ns[way]).unwrap_or(f64::INFINITY);
            let fastest_ns = running.iter().map(|&way| best(way)).fold(f64::INFINITY, f64::min);
            running.retain(|&way| way == 0 || best(way) <= behind * fastest_ns);
            // In every turn.
            let is_clear = |way: usize| {
                turn >= LOOKS && times_ns[0].iter().zip(&times_ns[way]).all(|(first, ns)| *first > behind * ns)
            };
            if running.len() == 2 && running.iter().any(|&way| way != 0 && is_clear(way)) {
                break;
            }
        }
        let is_behind = || running.iter().all(|&way| way == 0 || lead(&times_ns, way) < SLIGHTLY);
        if running.len() < 2 || (turn >= ENOUGH && spent_ns() >= MOST_NS) || (turn >= GLANCES && is_behind()) {
            break;
        }
        running.shuffle(&mut random);
        for &way in &running {
            times_ns[way].push(trial_ns(way)?);
            if turn < LOOKS && spent_ns() >= FAR_TOO_MUCH * MOST_NS {
                return Ok(0);
            }
        }
    }
    Ok(ahead(&times_ns, &running))
}

/// Returns the first way's time as a multiple of this way's: turn by turn, and by the best trials.
fn lead(times_ns: &[Vec<f64>], way: usize) -> f64 {
    let ratios: Vec<f64> = times_ns[0].iter().zip(&times_ns[way]).map(|(first, ns)| first / ns).collect();
    let best = stats::min(&times_ns[0]).zip(stats::min(&times_ns[way])).map_or(0.0, |(first, ns)| first / ns);
    stats::median(&ratios).unwrap_or(0.0).min(best)
}

/// The way that is most ahead of the first, where it clearly is: turn by turn, as the machine may drift, and by the best
/// trials, to which noise only adds. On a busy machine one of the two may well err, and then the first stays.
fn ahead(times_ns: &[Vec<f64>], running: &[usize]) -> usize {
    let leads = running.iter().filter(|&&way| way != 0).map(|&way| (lead(times_ns, way), way));
    let clear = leads.filter(|(lead, _)| *lead > CLEARLY);
    clear.max_by(|one, other| one.0.total_cmp(&other.0)).map_or(0, |(_, way)| way)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_once() -> f64 {
        0.0
    }

    /// The choice among ways of these speeds, and how many trials each had. `disturbed`: what trial number and way add.
    fn chosen(speeds_ns: &[f64], disturbed: impl Fn(usize, usize) -> f64) -> (usize, Vec<usize>) {
        let (mut trials, mut number) = (vec![0; speeds_ns.len()], 0);
        let spent = std::cell::Cell::new(0.0);
        let way = among(
            speeds_ns.len(),
            7,
            || spent.get(),
            |way| {
                trials[way] += 1;
                number += 1;
                let ns = speeds_ns[way] + disturbed(number, way);
                spent.set(spent.get() + ns);
                Ok(ns)
            },
        );
        (way.unwrap(), trials)
    }

    #[test]
    fn the_fastest_wins_where_it_is_clearly_ahead_and_the_first_stays_where_none_is() {
        assert_eq!(chosen(&[100.0, 90.0, 80.0, 85.0], |_, _| 0.0).0, 2);
        assert_eq!(chosen(&[100.0, 98.0, 97.5], |_, _| 0.0).0, 0, "2 % are no reason to change");
        assert_eq!(chosen(&[100.0, 96.0], |_, _| 0.0).0, 1);
    }

    #[test]
    fn who_falls_behind_has_no_more_trials() {
        let (way, trials) = chosen(&[1000.0, 100.0, 500.0, 101.0, 129.0, 110.0], |_, _| 0.0);
        assert_eq!((way, trials), (1, vec![7, 7, 1, 7, 2, 3]));
        // Where nothing is left beside the first, there is nothing to try; nor where one alone is left, and clearly ahead of it.
        assert_eq!(chosen(&[100.0, 500.0, 500.0], |_, _| 0.0), (0, vec![1, 1, 1]));
        assert_eq!(chosen(&[500.0, 100.0, 500.0], |_, _| 0.0), (1, vec![2, 2, 1]));
        assert_eq!(chosen(&[120.0, 100.0, 150.0], |_, _| 0.0), (1, vec![2, 2, 2]));
    }

    #[test]
    fn interruptions_and_drifts_decide_nothing() {
        // A trial of each way that took ten times as long.
        let interrupted = |number: usize, way: usize| if number == way + 1 { 1000.0 } else { 0.0 };
        assert_eq!(chosen(&[100.0, 99.0, 80.0], interrupted).0, 2);
        assert_eq!(chosen(&[100.0, 99.0, 98.0], interrupted).0, 0);
        // A machine that becomes slower: ways of one turn are compared with each other alone.
        let slower = |number: usize, _: usize| number as f64;
        assert_eq!(chosen(&[100.0, 100.0, 100.0], slower).0, 0);
        assert_eq!(chosen(&[100.0, 100.0, 88.0], slower).0, 2);
    }

    #[test]
    fn among_equals_a_way_hardly_ever_wins_on_a_busy_machine_and_never_by_noise_of_a_few_percent() {
        let wrong = |noise_ns: fn(f64) -> f64| {
            let is_wrong = |seed: &u64| {
                let mut noise = Pcg64Mcg::seed_from_u64(*seed);
                among(6, *seed, at_once, |_| Ok(100.0 + noise_ns(rand::RngExt::random(&mut noise)))) != Ok(0)
            };
            (0..200).filter(is_wrong).count()
        };
        // Half of the trials wait for their CPU, some for as long as they last.
        let busy = wrong(|share| 200.0 * (share - 0.5).max(0.0));
        assert!(busy <= 6, "{busy} of 200");
        assert_eq!(wrong(|share| 4.0 * share), 0);
    }

    #[test]
    fn a_trial_is_repeated_until_it_lasts_and_all_ways_as_often() {
        let tried = |ns: f64| {
            let mut tried = Vec::new();
            let way = fastest(2, 1, at_once, |way, repeats| {
                tried.push((way, repeats));
                Ok(ns * repeats as f64 * [1.0, 0.8][way])
            });
            assert_eq!(way, Ok(1));
            let (_, last) = *tried.last().unwrap();
            assert!(tried.iter().filter(|(way, _)| *way == 1).all(|(_, repeats)| *repeats == last), "{tried:?}");
            last
        };
        assert_eq!(tried(5e6), 1);
        for ns in [1.0, 30.0, 40_000.0, 900_000.0] {
            let repeats = tried(ns);
            assert!((LEAST_NS..=16.0 * LEAST_NS).contains(&(ns * repeats as f64)), "{repeats} of {ns} ns");
        }
        // What takes no time at all is not tried for ever.
        assert_eq!(fastest(2, 1, at_once, |_, _| Ok(0.0)), Ok(0));
    }

    #[test]
    fn long_trials_end_when_each_way_has_had_enough() {
        let (way, trials) = chosen(&[70e6, 64e6], |_, _| 0.0);
        assert_eq!((way, trials), (1, vec![ENOUGH, ENOUGH]));
        // Where each waits for its CPU for long, nothing is chosen and nothing waited for.
        let (way, trials) = chosen(&[2100e6, 2050e6], |_, _| 0.0);
        assert_eq!((way, trials.iter().sum::<usize>()), (0, 1));
        // Nor is anything tried on a host so slow that two turns would take too long.
        let mut tried = 0;
        let way = fastest(17, 1, at_once, |_, _| {
            tried += 1;
            Ok(60e6)
        });
        assert_eq!((way, tried), (Ok(0), 1));
    }

    #[test]
    fn a_way_is_tried_by_what_it_does_when_it_has_gone_on_for_long() {
        // A cache that fills by what is evicted serves the first way faster after each of its passes, and the second way empties it.
        let held = std::cell::Cell::new(0.0);
        let way = fastest(2, 1, at_once, |way, _| {
            trial_ns(&Interference::Blind, || {
                let ns = [5e6 - 2e6 * held.get(), 4e6][way];
                held.set(if way == 0 { 1.0 - (1.0 - held.get()) / 2.0 } else { 0.0 });
                Ok(ns)
            })
        });
        assert_eq!(way, Ok(0));
    }

    #[test]
    fn a_trial_that_fails_ends_them() {
        let error = crate::round_error::RoundError::wrong("broken");
        assert_eq!(fastest(2, 1, at_once, |_, _| Err(error.clone())), Err(error.clone()));
        assert_eq!(among(2, 1, at_once, |_| Err(error.clone())), Err(error));
    }
}
