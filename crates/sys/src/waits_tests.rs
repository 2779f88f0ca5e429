//! The waits of every sort, in every interleaving of two parties.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use loom::thread;

use super::model::{ModelWord, every_interleaving};
use super::*;
use crate::process::in_a_child;

/// Turns that two parties take.
const TURNS: u32 = 3;

#[test]
fn a_token_comes_back_in_every_interleaving() {
    every_interleaving(3, || {
        let words = Arc::new([ModelWord::default(), ModelWord::default()]);
        let other = words.clone();
        let far = thread::spawn(move || {
            for _ in 0..TURNS {
                take(&other[0]).unwrap();
                give(&other[1]).unwrap();
            }
        });
        for _ in 0..TURNS {
            give(&words[0]).unwrap();
            take(&words[1]).unwrap();
        }
        far.join().unwrap();
    });
}

#[test]
#[ignore = "takes long"]
fn every_call_has_its_answer_in_every_interleaving() {
    every_interleaving(3, || {
        let words = Arc::new([ModelWord::default(), ModelWord::default()]);
        let other = words.clone();
        let far = thread::spawn(move || {
            for answered in 0..TURNS {
                sleep_past(&other[0], answered).unwrap();
                count_to(&other[1], answered + 1).unwrap();
            }
        });
        for called in 0..TURNS {
            count_to(&words[0], called + 1).unwrap();
            sleep_past(&words[1], called).unwrap();
        }
        far.join().unwrap();
    });
}

/// Two parties that count on in turn, each sleeping until the other has; `sleep(mark, other's count, until)` and
/// `wake(mark, own count)` are how.
fn in_turns(
    sleep: fn(&ModelWord, &ModelWord, u32),
    wake: fn(&ModelWord, &ModelWord),
) -> impl Fn() + Sync + Send + 'static {
    move || {
        // Counts, and the marks of those who wait for them.
        let words = Arc::new([(); 4].map(|()| ModelWord::default()));
        let other = words.clone();
        let far = thread::spawn(move || {
            for turn in 1..=TURNS {
                sleep(&other[2], &other[0], turn);
                other[1].store(turn, Ordering::Release);
                wake(&other[3], &other[1]);
            }
        });
        for turn in 1..=TURNS {
            words[0].store(turn, Ordering::Release);
            wake(&words[2], &words[0]);
            sleep(&words[3], &words[1], turn);
        }
        far.join().unwrap();
    }
}

#[test]
#[ignore = "takes long"]
fn who_is_marked_is_woken_in_every_interleaving() {
    let sleep = |mark: &ModelWord, count: &ModelWord, turn: u32| {
        sleep_marked(mark, || count.load(Ordering::Acquire) >= turn).unwrap();
    };
    every_interleaving(3, in_turns(sleep, |mark, _| wake_marked(mark).unwrap()));
}

/// The model is worth something: it finds the fault of sleeping on the count. A mark that is cleared late is then that of the
/// next sleep, which goes on without it.
#[test]
#[should_panic(expected = "deadlock")]
fn a_sleep_on_the_count_is_lost_in_some_interleaving() {
    let sleep = |mark: &ModelWord, count: &ModelWord, turn: u32| {
        loop {
            mark.store(1, Ordering::Relaxed);
            ModelWord::fence();
            let seen = count.load(Ordering::Acquire);
            if seen >= turn {
                mark.store(0, Ordering::Relaxed);
                return;
            }
            count.sleep_while(seen).unwrap();
        }
    };
    let wake = |mark: &ModelWord, count: &ModelWord| {
        ModelWord::fence();
        if mark.load(Ordering::Relaxed) == 1 {
            mark.store(0, Ordering::Relaxed);
            count.wake().unwrap();
        }
    };
    every_interleaving(3, in_turns(sleep, wake));
}

#[test]
fn with_nobody_there_none_is_woken_and_another_value_is_not_waited_on() {
    let word = AtomicU32::new(1);
    assert_eq!(futex_wake(&word, true).unwrap(), 0);
    assert!(!futex_wait(&word, 2, true).unwrap());
}

#[test]
fn one_who_waits_is_woken() {
    for is_private in [true, false] {
        let word = AtomicU32::new(0);
        std::thread::scope(|scope| {
            let waiter =
                scope.spawn(|| while word.load(Ordering::Acquire) == 0 && futex_wait(&word, 0, is_private).is_ok() {});
            word.store(1, Ordering::Release);
            while !waiter.is_finished() {
                futex_wake(&word, is_private).unwrap();
            }
        });
    }
}

#[test]
fn what_a_child_writes_is_seen_here() {
    let word = Shared::new(AtomicU32::new(1)).unwrap();
    in_a_child(|| {
        word.store(7, Ordering::Release);
        Ok(())
    });
    assert_eq!(word.load(Ordering::Acquire), 7);
}
