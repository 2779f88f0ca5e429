//! Check of comparisons: two copies measured in turn, one of them slower in one operation.

use std::sync::atomic::Ordering;
use std::time::Duration;

use hostmark_analysis::bilingual::same;
use hostmark_analysis::compare::{CaseComparison, Comparison, Pool, Verdict};
use hostmark_analysis::words;
use hostmark_engine::estimate::outcomes;
use hostmark_engine::plan::{Plan, PlannedCase, Request, plan};
use hostmark_engine::{CaseRounds, Record, Round, RoundResult};
use hostmark_model::{Profile, Run};
use hostmark_say::say;

use super::bench::Bench;
use super::check::{Attempt, Check, Known, Line};
use super::known::{CHANGE_NS, COPIES, STRETCH, UNCHANGED_NS};
use super::unseen::Unseen;
use crate::command::measure::ready;

/// Rounds of a case in a run.
const ROUNDS: u32 = 2;
/// Runs of each copy.
const PAIRS: u32 = 5;
/// Where a change of so much would not have been seen, a look tells nothing.
const WIDEST: f64 = 0.04;
/// How far the change that is found may be off.
const OFF: f64 = 0.02;
/// One case in twenty without a change may have a verdict, and has drifted by a fraction of a per cent then.
const DRIFT: f64 = 0.01;

/// By how much the second copy is slower.
pub const SLOWER: f64 = 0.05;

pub fn copies(bench: &mut Bench, slower: &Known<f64>) -> Line {
    let percent = slower.expected * 100.0;
    let put_in = words(say!("a copy whose second of three operations is {percent:.0} % slower"));
    let bound = words(say!("±{points:.0} points, no change elsewhere", points = OFF * 100.0));
    let check = Check { id: "compare", put_in, bound, limit: Duration::from_secs(10), puts_others_in: false };
    check.judge(bench, |bench| {
        let [base, new] = measure(bench, slower.put)?;
        let [base, new] = [("base", &base), ("new", &new)].map(|(name, runs)| Pool { name, runs });
        let comparison = Comparison::in_turn(base, new, &[PAIRS as usize], 0.03);
        Ok(judged(&comparison.new[0].cases, slower.expected))
    })
}

/// What a comparison found of the three operations.
pub fn judged(cases: &[CaseComparison], expected: f64) -> Attempt {
    let is_changed = |case: &&CaseComparison| case.probe == "known.changed";
    let change = |case: &CaseComparison| case.change().unwrap_or(f64::NAN);
    let is_seen = |case: &CaseComparison| case.decisive_test().is_some_and(|test| test.visible < WIDEST);
    let is_same = |case: &CaseComparison| {
        !matches!(case.verdict, Verdict::Slower | Verdict::Faster) || change(case).abs() < DRIFT
    };
    let found = cases.iter().find(is_changed);
    let is_found = found.is_some_and(|case| case.verdict == Verdict::Slower && (change(case) - expected).abs() <= OFF);
    let found = found.map_or(f64::NAN, change);
    let others = cases.iter().filter(|case| !is_changed(case));
    let drift = others.clone().map(|case| change(case).abs()).fold(0.0, f64::max);
    let [found, drift] = [found, drift].map(|change| 100.0 * change);
    let back = words(say!("{found:+.1} % there, up to {drift:.1} % elsewhere"));
    let unseen = || words(say!("only changes over {percent:.0} % show here; rerun later", percent = WIDEST * 100.0));
    let is_within = cases.iter().all(is_seen).then(|| is_found && others.clone().all(is_same)).ok_or_else(unseen);
    Attempt { back, is_within }
}

/// Runs of both copies, measured in turn.
fn measure(bench: &mut Bench, change: f64) -> Result<[Vec<Run>; 2], Unseen> {
    let (filters, set, inputs) = (Vec::new(), Vec::new(), Default::default());
    let request = Request { filters, profile: Profile::Quick, seed: 1, set, inputs };
    let plan = plan(COPIES, &bench.host, request).map_err(|error| same(crate::language::spoken(&error.message())))?;
    let change_ns = (UNCHANGED_NS as f64 * change).round() as u64;
    STRETCH.store(bench.stretch, Ordering::Relaxed);
    let mut copies: [Vec<Run>; 2] = Default::default();
    for pair in 0..PAIRS {
        for copy in if pair.is_multiple_of(2) { [0, 1] } else { [1, 0] } {
            CHANGE_NS.store([0, change_ns][copy], Ordering::Relaxed);
            copies[copy].push(run(bench, &plan, pair * ROUNDS)?);
        }
    }
    Ok(copies)
}

/// A run of all three operations, whose rounds have numbers from `first` on.
fn run(bench: &mut Bench, plan: &Plan, first: u32) -> Result<Run, Unseen> {
    let mut case = |case: &PlannedCase| {
        let id = case.id.to_string();
        let mut round = |number: u32| {
            let events = bench.events(COPIES, &id, first + number)?;
            Ok(Round::of(RoundResult { round: number, cpus: vec![bench.cpu], events, others: None }))
        };
        let rounds = (0..ROUNDS).map(&mut round).collect::<Result<Vec<Round>, Unseen>>()?;
        Ok(CaseRounds { entry: case.entry, id: case.id.clone(), rounds, skip: None })
    };
    let cases = plan.cases.iter().map(&mut case).collect::<Result<Vec<CaseRounds>, Unseen>>()?;
    let (host, selected) = (bench.host.clone(), plan.selected.clone());
    let record = Record { seed: 1, planned: ROUNDS, host: host.clone(), peers: Vec::new(), selected, cases };
    let mut run = ready::begin(plan, host, &bench.calibration, uuid::Uuid::now_v7());
    run.cases = outcomes::of(&record).cases;
    Ok(run)
}
