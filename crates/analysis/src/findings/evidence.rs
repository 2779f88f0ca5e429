//! Evidence of rules: proven values, flags that spoil a case, and rival causes, which silence a rule and are told elsewhere.

use std::borrow::Cow;

use hostmark_model::{
    CaseRecord, Estimate, FlagKind, Lang, Leading, Measured, Outcome, ReasonCode, Resource, Run, Sight, Text,
};

use super::host::{io_limit, limited_hz, obstacles, yields};
use super::{Conclusion, Rule};
use crate::typography::typeset;

/// The first case of `probe`, both ends on one machine, with these values of its axes; on the others it is at the default.
pub(super) fn case_at<'a>(run: &'a Run, probe: &str, at: &[(&str, &str)]) -> Option<&'a CaseRecord> {
    let is_there = |case: &&CaseRecord| at.iter().all(|(axis, value)| case.params.get(axis) == Some(value));
    run.cases.iter().filter(|case| case.probe == probe && case.peer().is_none()).find(is_there)
}

/// A measurement that nothing speaks against.
pub(super) fn believed(case: &CaseRecord) -> Option<&Measured> {
    let is_doubted =
        |kind: FlagKind| matches!(kind, FlagKind::Implausible | FlagKind::UnderResolution | FlagKind::FromCache);
    case.measured().filter(|measured| measured.flags.iter().all(|flag| !is_doubted(flag.kind)))
}

/// A value above zero with both ends of its interval: without them nothing is proven.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Proven {
    pub(super) low: f64,
    pub(super) value: f64,
    pub(super) high: f64,
}

impl Proven {
    pub(super) fn of(estimate: &Estimate) -> Option<Proven> {
        let stated = estimate.stated();
        let ((low, high), value) = (stated.interval()?, stated.value);
        (low > 0.0 && value >= low && high >= value && high.is_finite()).then_some(Proven { low, value, high })
    }

    pub(super) fn of_case(case: &CaseRecord) -> Option<Proven> {
        Proven::of(&believed(case)?.estimate)
    }

    pub(super) fn also(case: &CaseRecord, name: &str) -> Option<Proven> {
        Proven::of(&*believed(case)?.companion(name)?)
    }

    /// The value of the first case at a point.
    pub(super) fn at(run: &Run, probe: &str, at: &[(&str, &str)]) -> Option<Proven> {
        Proven::of_case(case_at(run, probe, at)?)
    }
}

/// The share of its time that something loses which takes `actual` and would take `possible`.
pub(super) fn lost(actual: f64, possible: f64) -> f64 {
    1.0 - possible / actual
}

/// No flags: findings from the host's facts, or from the flags themselves, are never spoiled.
pub(super) const NOTHING: &[FlagKind] = &[];
/// A value that was got in the way that its case says, whoever else was there.
pub(super) const WRONG: &[FlagKind] = &[FlagKind::Implausible, FlagKind::UnderResolution, FlagKind::FromCache];
/// Flags of values that are partly due to other programs, or to a quota.
pub(super) const DISTURBED: &[FlagKind] = &[
    FlagKind::Implausible,
    FlagKind::UnderResolution,
    FlagKind::FromCache,
    FlagKind::MostlyDisturbed,
    FlagKind::Throttled,
    FlagKind::Contended,
];

/// Another cause that gives the same values.
#[derive(Debug)]
pub struct Rival {
    pub id: &'static str,
    pub is_there: fn(&Run) -> bool,
}

/// hostmark's own class or nice value lets others go first.
pub(super) static YIELDS: Rival = Rival { id: "yields", is_there: |run| yields(&run.host).is_some() };
/// Every system call and signal may stop for a tracer.
pub(super) static TRACED: Rival = Rival { id: "traced", is_there: |run| run.host.process.traced == Some(true) };
/// The kernel is asked for less than the whole clock.
pub(super) static CLAMPED: Rival = Rival { id: "clamped", is_there: |run| run.host.process.clamped().is_some() };
/// A quota stops a single thread.
pub(super) static QUOTA_OF_ONE: Rival = Rival { id: "quota of one CPU", is_there: |run| has_quota_under(run, 1) };
/// A quota stops all CPUs at once, or one that cannot be seen may.
pub(super) static QUOTA: Rival = Rival {
    id: "quota",
    is_there: |run| {
        has_quota_under(run, run.host.usable_cpus().len()) || run.host.limits.sight(Resource::Cpu) == Sight::Nothing
    },
};
/// Packets on loopback pass more than the kernel itself.
pub(super) static LOOPBACK: Rival =
    Rival { id: "loopback path", is_there: |run| !obstacles(&run.host.loopback).is_empty() };
/// The control group's I/O is limited.
pub(super) static IO_LIMIT: Rival = Rival { id: "I/O limit", is_there: |run| io_limit(&run.host).is_some() };
/// The clock is limited below what the hardware can.
pub(super) static CLOCK_LIMIT: Rival = Rival { id: "frequency limit", is_there: |run| limited_hz(&run.host).is_some() };

/// Every rival that a rule may name.
pub static RIVALS: &[&Rival] = &[&YIELDS, &TRACED, &CLAMPED, &QUOTA_OF_ONE, &QUOTA, &LOOPBACK, &IO_LIMIT, &CLOCK_LIMIT];

fn has_quota_under(run: &Run, cpus: usize) -> bool {
    run.host.limits.cpu_quota.is_some_and(|quota| quota < cpus as f64)
}

/// Tells whether one of these flags makes the value useless to the rule. A few rounds that others disturbed leave the others.
fn is_spoiled(measured: &Measured, by: &[FlagKind]) -> bool {
    let few = |rounds: u32| f64::from(rounds) * 2.0 < measured.rounds.len() as f64;
    measured.flags.iter().filter(|flag| by.contains(&flag.kind)).any(|flag| match flag.kind {
        FlagKind::Contended => !measured.noise.contended_rounds.is_some_and(few),
        _ => true,
    })
}

#[derive(Debug, Clone, Copy)]
pub struct Doubt {
    /// Flags that make a case no evidence of what the rule says.
    pub spoiled_by: &'static [FlagKind],
    /// Other causes of what it sees, each told elsewhere: where one of them is there it says nothing.
    pub rivals: &'static [&'static Rival],
}

/// Rounds fewer than these do not tell how often a machine is in which state: they may have met one of two by chance.
const TELLING_ROUNDS: u32 = 10;

/// Widens a median's interval to all of its few rounds: a conclusion then holds in each state. The undisturbed value has one state.
fn widen(estimate: &mut Estimate) {
    let Some([least, most]) = estimate.range.filter(|_| estimate.rounds < TELLING_ROUNDS) else { return };
    if estimate.estimator() == Leading::Typical {
        estimate.repetition.iter_mut().for_each(|to| (to.low, to.high) = (to.low.min(least), to.high.max(most)));
    }
    estimate.ci_low = estimate.ci_low.map(|low| low.min(least));
    estimate.ci_high = estimate.ci_high.map(|high| high.max(most));
}

/// A run of which every median of few rounds may be that of any of them.
pub(super) fn in_all_states(run: &Run) -> Run {
    let mut run = run.clone();
    for case in &mut run.cases {
        if let Outcome::Measured(measured) = &mut case.outcome {
            widen(&mut measured.estimate);
            measured.also.values_mut().for_each(|also| widen(&mut also.estimate));
        }
    }
    run
}

/// The run as a rule may look at it: a case whose flags spoil it has no value.
fn sound<'a>(run: &'a Run, by: &[FlagKind]) -> Cow<'a, Run> {
    let is_spoiled = |outcome: &Outcome| matches!(outcome, Outcome::Measured(measured) if is_spoiled(measured, by));
    if !run.cases.iter().any(|case| is_spoiled(&case.outcome)) {
        return Cow::Borrowed(run);
    }
    let mut run = run.clone();
    for case in run.cases.iter_mut().filter(|case| is_spoiled(&case.outcome)) {
        case.outcome = Outcome::Skipped { reason: ReasonCode::Disturbed.because("") };
    }
    Cow::Owned(run)
}

pub fn conclusions(rule: &Rule, run: &Run) -> Vec<Conclusion> {
    if rule.doubt.rivals.iter().any(|rival| (rival.is_there)(run)) {
        return Vec::new();
    }
    let typeset = |text: Text<String>| Text { zh: typeset(&text.zh, Lang::Zh).into_owned(), ..text };
    let drawn = (rule.draw)(&sound(run, rule.doubt.spoiled_by)).into_iter();
    drawn.map(|conclusion| Conclusion { short: typeset(conclusion.short), ..conclusion }).collect()
}
