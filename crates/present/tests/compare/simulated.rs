//! How often comparisons are wrong, and what they find, over runs that are made up.

use hostmark_analysis::compare::{Comparison, GroupChange, History, SAME, Verdict};
use hostmark_model::*;

use super::made::{Random, Scatter, Shape, rounds, scattered};
use super::{compared, pool};

/// The shares of cases that are called different, over pairs of runs without a difference: each by itself, and groups.
fn called_different(scatter: Scatter, pairs: u64, history: usize) -> (f64, f64) {
    let (mut called, mut all, mut groups) = (0, 0, 0);
    for pair in 0..pairs {
        let mut random = Random(pair * 1000 + 17);
        let mut made = |id: &str| scattered(id, &mut random, 100, scatter, 0);
        let (base, new) = (made("a"), made("b"));
        let mut known = History::default();
        (0..history).for_each(|index| known.add(&made(&format!("h{index}"))));
        let comparison = Comparison::of(pool("a", &[base]), &[pool("b", &[new])], &known, SAME);
        let counts = comparison.new[0].counts;
        assert_eq!(counts.not_comparable, 0);
        called += counts.slower + counts.faster;
        all += comparison.new[0].cases.len();
        let is_called = |group: &&GroupChange| matches!(group.verdict, Verdict::Slower | Verdict::Faster);
        groups += comparison.new[0].groups.iter().filter(is_called).count();
    }
    (called as f64 / all as f64, groups as f64 / pairs as f64)
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn of_runs_without_a_difference_few_cases_are_called_different() {
    for rounds in [3, 5, 10] {
        for shape in [Shape::Normal, Shape::Skewed, Shape::Bimodal] {
            // Runs that differ by nothing beyond their rounds, and up to three times as much as rounds do.
            for factor in [0.0, 1.0, 1.5, 3.0] {
                for history in [0, 4] {
                    let scatter = Scatter { rounds, round: 0.01, run: 0.01 * factor, shape };
                    let (share, groups) = called_different(scatter, PAIRS, history);
                    let counts = format!("{rounds} rounds, {shape:?}, runs {factor} times, {history} earlier runs");
                    assert!(share <= 0.05, "{counts}: {share}");
                    assert!(groups <= 0.3, "{counts}: groups {groups}");
                }
            }
        }
    }
}

/// Pairs of runs of which the shares are taken.
const PAIRS: u64 = 10;

/// What becomes of cases that are slower by so much: the shares that are found, that are called the same, and that cannot be told;
/// and of the others the share that is called different. `runs` a side.
fn found(slowed: f64, scatter: Scatter, history: usize, runs: usize) -> [f64; 4] {
    let (cases, changed) = (100, 20);
    let mut counts = [0; 4];
    for pair in 0..PAIRS {
        let mut random = Random(pair * 7919 + 5);
        let mut side = |name: &str, slowed: Option<f64>| -> Vec<Run> {
            let slowed = slowed.map_or(0, |_| changed);
            (0..runs).map(|index| scattered(&format!("{name}{index}"), &mut random, cases, scatter, slowed)).collect()
        };
        let (base, mut new) = (side("a", None), side("b", None));
        new.iter_mut().for_each(|run| slow(run, changed, slowed));
        let mut known = History::default();
        side("h", None).into_iter().take(history).for_each(|run| known.add(&run));
        (runs..history).for_each(|index| known.add(&scattered(&format!("k{index}"), &mut random, cases, scatter, 0)));
        let comparison = Comparison::of(pool("a", &base), &[pool("b", &new)], &known, SAME);
        for (index, case) in comparison.new[0].cases.iter().enumerate() {
            match (index < changed, case.verdict) {
                (true, Verdict::Slower) => counts[0] += 1,
                (true, Verdict::Same) => counts[1] += 1,
                (true, _) => counts[2] += 1,
                (false, Verdict::Slower | Verdict::Faster) => counts[3] += 1,
                (false, _) => {}
            }
        }
    }
    let changed_cases = PAIRS as f64 * changed as f64;
    let others = PAIRS as f64 * (cases - changed) as f64;
    [
        counts[0] as f64 / changed_cases,
        counts[1] as f64 / changed_cases,
        counts[2] as f64 / changed_cases,
        counts[3] as f64 / others,
    ]
}

/// Makes the first cases of a run slower.
fn slow(run: &mut Run, cases: usize, by: f64) {
    for case in run.cases.iter_mut().take(cases) {
        let medians: Vec<f64> = case.measured().unwrap().rounds.iter().map(|round| round.median * (1.0 + by)).collect();
        *case = rounds(&case.id, &medians);
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn what_can_be_seen_is_found_and_what_cannot_is_not_called_the_same() {
    let scatter = Scatter { rounds: 5, round: 0.005, run: 0.005, shape: Shape::Normal };
    // A half more is found by one run a side without history, and a tenth with.
    assert!(found(0.5, scatter, 0, 1)[0] >= 0.99);
    assert!(found(0.1, scatter, 10, 1)[0] >= 0.9);
    // A twentieth by five runs a side.
    assert!(found(0.05, scatter, 10, 5)[0] >= 0.9);
    for (slowed, history, runs) in [(0.05, 0, 1), (0.05, 4, 1), (0.1, 0, 1), (0.05, 0, 3)] {
        let [_, same, _, wrong] = found(slowed, scatter, history, runs);
        assert!(same <= 0.05 && wrong <= 0.05, "{slowed}, {history} earlier runs, {runs} a side: {same} {wrong}");
    }
}

/// What one run a side without history would have seen is found about four times of five.
#[test]
fn the_change_that_would_have_been_seen_is_one_that_is_found() {
    let scatter = Scatter { rounds: 5, round: 0.005, run: 0.01, shape: Shape::Normal };
    let mut random = Random(3);
    let mut made = |id: &str| scattered(id, &mut random, 100, scatter, 0);
    let comparison = compared(&[made("a")], &[made("b")]);
    let counts = comparison.new[0].counts;
    assert!(counts.inconclusive > 50 && counts.same + counts.inconclusive >= 95, "{counts:?}");
    let visible = counts.visible.unwrap();
    let [counts, ..] = found(visible, scatter, 0, 1);
    assert!(counts >= 0.7, "{visible}: {counts}");
}
