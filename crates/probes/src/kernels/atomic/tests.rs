//! Nothing is lost, however many threads add to one word, and nobody swaps out of turn.

use std::sync::atomic::Ordering;

use super::*;

fn available() -> impl Iterator<Item = &'static AtomicMethod> {
    methods().iter().filter(|method| (method.is_available)())
}

#[test]
fn every_addition_of_every_thread_counts() {
    const N: u64 = 20_000;
    for method in available() {
        for add in [AtomicMethod::fetch_add, AtomicMethod::compare_and_swap] {
            let word = Lonely::default();
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| add(method, &word.0, N));
                }
            });
            assert_eq!(word.0.load(Ordering::SeqCst), 3 * N, "{}", method.name);
            add(method, &word.0, 0);
            assert_eq!(word.0.load(Ordering::SeqCst), 3 * N, "{}", method.name);
        }
    }
}

#[test]
fn two_threads_swap_in_turns() {
    for method in available() {
        let word = Lonely::default();
        std::thread::scope(|scope| {
            scope.spawn(|| (0..500).for_each(|turn| method.swap_when(&word.0, 2 * turn + 1, 2 * turn + 2)));
            (0..500).for_each(|turn| method.swap_when(&word.0, 2 * turn, 2 * turn + 1));
        });
        assert_eq!(word.0.load(Ordering::SeqCst), 1000, "{}", method.name);
    }
}

#[test]
fn a_method_is_found_by_its_name() {
    assert!(available().any(|method| method.name == super::method("best").unwrap().name));
    assert!(method("lock").is_some() || method("ll_sc").is_some());
    assert!(method("none").is_none());
    assert_eq!(align_of::<Lonely>(), 4096);
}
