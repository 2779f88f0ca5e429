//! Two threads that hand a word to and fro, spinning without a pause while it is the other's turn.

use std::sync::atomic::{AtomicU64, Ordering};

use super::atomic::AtomicMethod;

/// A way to hand over a word that tells by its value whose turn it is.
pub trait HandOver: Sync {
    /// Waits for `mine` and makes it `yours`.
    fn hand_over(&self, word: &AtomicU64, mine: u64, yours: u64);
}

/// Waits by trying to swap: the line moves to who waits, and with it the turn.
pub struct BySwap(pub &'static AtomicMethod);

/// Waits by reading, answers by a plain store: the line is shared first, then taken.
pub struct ByStore;

impl HandOver for BySwap {
    #[inline(always)]
    fn hand_over(&self, word: &AtomicU64, mine: u64, yours: u64) {
        self.0.swap_when(word, mine, yours);
    }
}

impl HandOver for ByStore {
    #[inline(always)]
    fn hand_over(&self, word: &AtomicU64, mine: u64, yours: u64) {
        while word.load(Ordering::Acquire) != mine {}
        word.store(yours, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(way: &impl HandOver) {
        let (word, seen) = (AtomicU64::new(0), AtomicU64::new(0));
        // Each turn leaves its number: out of turn, it would not find that of the turn before.
        let turn = |turn: u64| {
            way.hand_over(&word, 2 * turn, 2 * turn + 1);
            assert_eq!(seen.swap(turn + 1, Ordering::Relaxed), turn);
            word.store(2 * turn + 2, Ordering::Release);
        };
        std::thread::scope(|scope| {
            scope.spawn(|| (0..300).step_by(2).for_each(turn));
            (1..300).step_by(2).for_each(turn);
        });
        assert_eq!(seen.into_inner(), 300);
    }

    #[test]
    fn the_word_is_handed_over_in_turns() {
        check(&ByStore);
        check(&BySwap(super::super::atomic::method("best").unwrap()));
    }
}
