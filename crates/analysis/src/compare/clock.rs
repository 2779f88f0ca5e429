//! The clock of the cores, as one row: cases that the core alone decides are compared in its cycles, so that they do not differ by it.

use hostmark_model::{Better, Params, Run, Text, Unit};
use hostmark_stats::compare::Difference;
use hostmark_stats::{descriptive, interval};

use super::in_turn::{self, InTurn};
use super::known::{Claim, KnownChange};
use super::side::{RunCase, freedom_of_rounds};
use super::{CaseComparison, Effect, SideValue, Verdict};
use crate::{difference, repetition};

/// Name in place of a case's id.
const ID: &str = "clock";
/// Known no better than to this part, as the undisturbed values of a core.
const LEAST_DEVIATION: f64 = 0.004;

/// The clock of one run, beside the cases that are compared in its cycles.
struct OfRun<'a> {
    run: &'a Run,
    hz: f64,
    /// Rounds of the case that has most.
    rounds: usize,
}

/// The clocks of both sides and their change; none where no case is compared in cycles.
/// `looks`: where the runs were made in turn, after how many pairs they were looked at.
pub(super) fn clock(
    cases: &[Vec<RunCase>; 2],
    (base, new): (&[Run], &[Run]),
    looks: Option<&[usize]>,
    same_within: f64,
) -> Option<(CaseComparison, KnownChange)> {
    let sides = [(base, &cases[0]), (new, &cases[1])].map(|(runs, cases)| of_side(runs, cases));
    let logarithms = sides.each_ref().map(|side| side.iter().map(|one| one.hz.ln()).collect::<Vec<f64>>());
    let of_pairs = || {
        let of = |side: &[OfRun], run: &Run| side.iter().find(|one| std::ptr::eq(one.run, run)).map(|one| one.hz);
        let ratio = |(before, after)| Some((of(&sides[1], after)? / of(&sides[0], before)?).ln());
        base.iter().zip(new).filter_map(ratio).collect::<Vec<f64>>()
    };
    let (claim, deviation, runs) = match looks {
        Some(looks) => {
            let InTurn { difference, changed, same, pairs, .. } = in_turn::of_ratios(&of_pairs(), looks, same_within)?;
            let deviation = difference.error / (2.0 / pairs as f64).sqrt();
            (Claim::of_looks(difference, changed, same), deviation, 2 * pairs)
        }
        None => {
            let (difference, deviation) = apart(&sides, &logarithms)?;
            (Claim::of(difference, 0.0, same_within, false), deviation, 0)
        }
    };
    let known = KnownChange { leading: Some(claim), ..KnownChange::default() };
    let [base, new] = logarithms.map(|side| value(&side));
    Some((row(base, new, &claim, deviation, runs), known))
}

/// The clocks of a side's runs.
fn of_side<'a>(runs: &'a [Run], cases: &[RunCase]) -> Vec<OfRun<'a>> {
    let of = |run: &'a Run| {
        let own = || cases.iter().filter(|found| std::ptr::eq(found.run, run)).filter_map(RunCase::measured);
        let clocks = own().filter_map(|measured| measured.estimate.leading_quiet()?.at_hz);
        let hz = descriptive::median(&clocks.collect::<Vec<f64>>())?;
        Some(OfRun { run, hz, rounds: own().map(|measured| measured.rounds.len()).max()? })
    };
    runs.iter().filter_map(of).collect()
}

/// The difference of clocks of runs made apart, and by how much runs differ: as a run's own clock does from round to round, since what
/// moves a clock lasts longer than a round.
fn apart(sides: &[Vec<OfRun>; 2], [before, after]: &[Vec<f64>; 2]) -> Option<(Difference, f64)> {
    let all = || sides.iter().flatten();
    let squares: Vec<f64> = all().map(|one| repetition::clock_deviation(one.run).powi(2)).collect();
    let deviation = descriptive::mean(&squares)?.sqrt().hypot(LEAST_DEVIATION);
    let rounds = descriptive::mean(&all().map(|one| one.rounds as f64).collect::<Vec<f64>>())?;
    let difference = difference::between(before, after, deviation * deviation, freedom_of_rounds(rounds))?;
    Some((difference, deviation))
}

fn value(logarithms: &[f64]) -> Option<SideValue> {
    let clocks: Vec<f64> = logarithms.iter().map(|one| one.exp()).collect();
    let (low, high) = interval::log_t(&clocks, 0.0).unzip();
    let value = descriptive::mean(logarithms)?.exp();
    Some(SideValue {
        value,
        low,
        high,
        runs: clocks.len(),
        rounds: 0,
        samples: 0,
        disturbed: 0,
        flags: Default::default(),
    })
}

/// The row, before the other cases are known.
fn row(base: Option<SideValue>, new: Option<SideValue>, claim: &Claim, deviation: f64, runs: usize) -> CaseComparison {
    let test = claim.test(deviation, runs);
    CaseComparison {
        id: ID.to_owned(),
        typed: ID.to_owned(),
        probe: ID.to_owned(),
        params: Params::default(),
        label: term!("Clock of core-bound cases").to_owned_text(),
        figure: None,
        section: Text::default(),
        unit: Some(Unit::Hertz),
        better: Some(Better::Higher),
        estimator: None,
        beside: None,
        base,
        new,
        effect: Some(Effect { ratio: test.ratio, test: Some(test), others: Vec::new() }),
        verdict: Verdict::Inconclusive,
        reason: None,
        failed_runs: 0,
        remarks: Vec::new(),
    }
}
