//! Passes over memory until two take as long: what the caches hold of it then is what every later pass meets.
//!
//! A large shared cache fills by what others evict, and takes some eight passes to hold what it will hold. Samples that begin before
//! tell how many passes came before them.

use crate::clock::Clock;
use crate::round_error::Result;

/// Two passes take as long where they differ by no more than this share.
const AS_LONG: f64 = 0.03;
/// Passes at most, and how long they may take, ns: noise on a busy machine must not keep them going.
pub(crate) const MOST_PASSES: usize = 16;
const MOST_NS: f64 = 30e6;
/// Passes that turn back so often, slower after faster or faster after slower, tell of noise: a cache that fills, or is emptied, goes one
/// way.
const TURNS_OF_NOISE: usize = 2;
/// A pass that takes so long, ns, meets what it has left itself: what was there before is gone in its first part.
pub(crate) const LONG_NS: f64 = 20e6;

/// What goes over memory before it is measured.
#[derive(Debug, Clone)]
pub struct Steady {
    clock: Clock,
    most_passes: usize,
}

impl Default for Steady {
    fn default() -> Steady {
        Steady::new(Clock::MonotonicRaw)
    }
}

impl Steady {
    pub(crate) fn new(clock: Clock) -> Steady {
        Steady { clock, most_passes: MOST_PASSES }
    }

    /// Over memory that no cache holds one pass is enough: nothing of it will be held, and what was there before is gone.
    pub(crate) fn outside_caches(clock: Clock) -> Steady {
        Steady { clock, most_passes: 1 }
    }

    /// What some work takes, ns.
    pub fn ns(&self, work: impl FnOnce()) -> f64 {
        self.clock.time(work)
    }

    /// Whether a pass that takes so long, ns, is worth another one before it is measured.
    pub fn is_short(pass_ns: f64) -> bool {
        pass_ns < LONG_NS
    }

    /// Does `pass` until it takes as long as the one before, and tells how long, ns. Whoever wants to know what came of it keeps that.
    pub fn after<R>(&self, mut pass: impl FnMut() -> R) -> f64 {
        // Nothing in it fails.
        until_steady(self.most_passes, || Ok(self.clock.time(|| drop(std::hint::black_box(pass()))))).unwrap_or(0.0)
    }
}

/// The time of a pass that takes as long as the one before, ns; where none does, the shorter of the last two that noise parts, or the last.
pub(crate) fn until_steady(most_passes: usize, mut pass_ns: impl FnMut() -> Result<f64>) -> Result<f64> {
    let (mut before_ns, mut spent_ns) = (f64::INFINITY, 0.0);
    let (mut was_faster, mut turns) = (None, 0);
    for pass in 0..most_passes {
        let ns = pass_ns()?;
        spent_ns += ns;
        if pass > 0 {
            let is_faster = ns < before_ns;
            turns += usize::from(was_faster.replace(is_faster).is_some_and(|was_faster| was_faster != is_faster));
        }
        let is_settled = (ns - before_ns).abs() <= AS_LONG * ns || turns >= TURNS_OF_NOISE;
        before_ns = if is_settled { ns.min(before_ns) } else { ns };
        if is_settled || ns >= LONG_NS || spent_ns >= MOST_NS {
            break;
        }
    }
    Ok(before_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of these passes were made, and what came of them.
    fn of(passes_ns: &[f64]) -> (usize, f64) {
        let mut made = 0;
        let ns = until_steady(MOST_PASSES, || {
            made += 1;
            Ok(passes_ns[(made - 1).min(passes_ns.len() - 1)])
        });
        (made, ns.unwrap())
    }

    #[test]
    fn passes_go_on_while_a_cache_fills_and_end_soon_where_none_does() {
        assert_eq!(of(&[5e6, 4.2e6, 3.7e6, 3.3e6, 3.1e6, 3.05e6]), (6, 3.05e6));
        assert_eq!(of(&[5e6, 5e6]), (2, 5e6));
        assert_eq!(of(&[3e6, 25e6]), (2, 25e6), "what takes long needs no pass before it");
        let restless: Vec<f64> = (0..20).map(|pass| [1e5, 2e5][pass % 2]).collect();
        assert_eq!(of(&restless), (4, 1e5), "what goes to and fro comes to no rest");
        let falling: Vec<f64> = (0..20).map(|pass| 15e6 * 0.9_f64.powi(pass)).collect();
        assert_eq!(of(&falling).0, 3, "no longer than the time for it");
        let endless: Vec<f64> = falling.iter().map(|ns| ns / 1e3).collect();
        assert_eq!(of(&endless).0, MOST_PASSES);
        let mut passes = 0;
        Steady::outside_caches(Clock::MonotonicRaw).after(|| passes += 1);
        assert_eq!(passes, 1);
    }
}
