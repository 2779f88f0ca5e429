//! Compares runs: what differs between their hosts and settings, and for every case whether it became slower.
//!
//! Pure over runs: a [`Comparison`] is made from run files alone, and can be serialised as `hostmark.comparison/2`.

mod clock;
mod differs;
mod evidence;
pub(crate) mod facts;
mod gate;
mod group;
mod in_turn;
mod known;
mod pair;
mod reason;
mod scatter;
mod side;
mod tables;
mod verdict;
mod widened;

use std::collections::BTreeSet;

use hostmark_model::{Better, FlagKind, Leading, Params, Profile, Run, Text, Unit};
use serde::{Deserialize, Serialize};

pub use differs::{FactOfRuns, differing, has_circumstances_of};

pub use crate::difference::FALSE_DISCOVERIES;
pub use gate::Open;
pub use in_turn::LOOKS;
pub use scatter::History;

/// The schema that this version writes.
pub const SCHEMA: &str = "hostmark.comparison/2";

/// Default fraction within which values are the same: 5 %.
pub const SAME: f64 = 0.05;

/// One side as it is given: a name for people, and its runs, which are one environment and are pooled.
#[derive(Debug, Clone, Copy)]
pub struct Pool<'a> {
    pub name: &'a str,
    pub runs: &'a [Run],
}

/// Several sides, each against one base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: String,
    pub base: Side,
    /// Sides compared with it, in the order given.
    pub new: Vec<Against>,
}

/// The runs of one environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Side {
    pub name: String,
    pub runs: Vec<RunName>,
    /// Disturbances while they ran.
    pub disturbances: Vec<Text<String>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunName {
    pub id: String,
    pub name: String,
    /// Start, RFC 3339, UTC.
    pub started: String,
    /// The host's name.
    pub host: String,
    /// The kernel: its system and release.
    pub kernel: String,
    pub profile: Profile,
    /// Version of the program that measured.
    pub tool: String,
    /// The format it was imported from, when another tool measured it.
    pub imported: Option<String>,
    /// SHA-256 of the program that measured, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The command that led to the machine, where the run was ordered from another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// One side against the base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Against {
    pub side: Side,
    /// Differences between hosts and settings.
    pub differs: Vec<Difference>,
    /// Number of facts that are known of both sides and equal.
    pub same: usize,
    /// SHA-256 of the program, where one and the same measured every run of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Effect of a trial's setting here, and how to make it permanent where it pays; a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<Text<String>>,
    /// Differences that shift values by themselves: libc, kernel, page size.
    pub warnings: Vec<Text<String>>,
    /// Largest change, as a fraction, that is called the same.
    pub same_within: f64,
    /// The clock of the cores, where cases are compared in its cycles; it is none of the cases, and is judged with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<CaseComparison>,
    /// Changes of whole groups, in catalogue order; groups of fewer than three cases are left out.
    pub groups: Vec<GroupChange>,
    /// The same of the tables that people know, those of lmbench's summary and STREAM's; none of tables of fewer than three cases.
    pub tables: Vec<GroupChange>,
    /// Every case of either side, in catalogue order.
    pub cases: Vec<CaseComparison>,
    pub counts: Counts,
    /// Reasons why cases have no verdict, with side and number, the most frequent first.
    #[serde(default)]
    pub without: Vec<Without>,
}

/// A fact or setting that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Place in the run file: `host.kernel.release`.
    pub key: String,
    pub label: Text<String>,
    /// Value of the base; none where it is not known. Runs that differ among themselves are joined by ` | `.
    pub base: Option<String>,
    pub new: Option<String>,
}

/// Number of cases by verdict.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Counts {
    pub slower: usize,
    pub faster: usize,
    /// Other than on the base, where neither direction is good.
    pub changed: usize,
    /// The same when undisturbed, and another value all in all.
    pub changed_shape: usize,
    /// The same within [`Against::same_within`].
    pub same: usize,
    /// Neither a difference nor the lack of one could be shown.
    pub inconclusive: usize,
    pub not_comparable: usize,
    /// Cases that failed in some runs and were measured in others.
    #[serde(default)]
    pub partly_failed: usize,
    /// Median of the changes that inconclusive cases would have shown, as a fraction.
    pub visible: Option<f64>,
}

/// Number of cases without a verdict for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Without {
    pub kind: ReasonKind,
    pub on: On,
    pub cases: usize,
}

/// The change of a group of cases: its mean by a random-effects model whose parts are probes, with the variance that runs have in
/// common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupChange {
    /// The first part of its probes' ids: `syscall`. Of a table what `--table` calls it: `lmbench`, `stream`.
    pub name: String,
    /// Title for people; of lmbench's summary its table.
    pub title: Text<String>,
    /// Number of its cases that take part.
    pub cases: usize,
    pub probes: usize,
    /// Cost of the new side over that of the base; above 1 is slower, of rates too.
    pub ratio: f64,
    /// Lower end of its 95 % interval, adjusted for all groups as the p value is.
    pub low: f64,
    pub high: f64,
    /// Two-sided p value of "no change", adjusted for all groups.
    pub adjusted_p_value: f64,
    /// The change, as a fraction, that would have been found four times of five.
    pub visible: f64,
    /// The standard deviation between probes beyond their errors, on the logarithms.
    pub heterogeneity: f64,
    pub verdict: Verdict,
    /// Cases that are far from the rest of their group, the farthest first.
    pub odd: Vec<String>,
}

/// A comparison's answer for one case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Worse value, in the direction of the probe's `better`.
    Slower,
    Faster,
    /// Different value, of a quantity that has no good direction.
    Changed,
    /// Same value, but another typical value or percentile: some of the operations became slower or faster.
    ChangedShape,
    /// Neither can be told: `Test::visible` says which change would have been seen.
    Inconclusive,
    /// Change of at most the comparison's `same_within`; of a number that rounds vote on, none.
    Same,
    /// There is no verdict, and `reason` says why.
    NotComparable,
}

/// Kind of reason why a case has no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// Case that only one side has.
    OneSide,
    /// The probe's revisions differ: the numbers do not mean the same.
    Revision,
    Unit,
    Failed,
    Skipped,
    /// Trials on one machine chose another kernel.
    OtherKernel,
    /// Another tool was asked to do something else.
    Asked,
    /// The pages that the kernel gave differ.
    PageSize,
    /// A buffer of this size lies in another cache on each side, as their machines differ.
    CacheLevel,
    /// A side's numbers cannot be true together: its file was changed or damaged.
    ContradictsItself,
    /// A side's value is one that physics forbids.
    Implausible,
    /// A side's value is one that the tool that measured it calls doubtful.
    Unconfirmed,
    /// A side has one value and no rounds, as another tool's results do.
    OneValue,
    /// Case computed from others, which have their own verdicts.
    Derived,
    /// A side has fewer than two rounds.
    TooFewRounds,
    /// There are fewer pairs of runs made in turn than the first look takes.
    TooFewPairs,
    /// A value is zero or negative, so that there is no ratio.
    NotPositive,
}

/// Side that a reason is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    Base,
    /// The side that is compared with it.
    New,
    /// Both, or how they relate.
    Both,
}

/// Reason why a case has no verdict, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoVerdictReason {
    pub kind: ReasonKind,
    /// Side that lacks the case, has no value, or has one that cannot be judged.
    pub on: On,
    /// True where `--strict` takes it for an open question: not for cases that both sides skipped for the same reason, nor for cases that
    /// are computed from others.
    pub is_open: bool,
    /// Text of the reason, a fragment.
    pub text: Text<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseComparison {
    pub id: String,
    /// The same with sizes as people type them, for the eye.
    #[serde(skip)]
    pub typed: String,
    pub probe: String,
    pub params: Params,
    /// The probe's title, with the axes that are not at their default.
    pub label: Text<String>,
    /// Row of the key figure that it is in every run; none if it is none.
    #[serde(skip)]
    pub figure: Option<Text>,
    /// The section of a report that shows it.
    pub section: Text<String>,
    /// The unit of both values: cycles, or a ratio that is the work of one cycle, where the core alone decides on processors of one
    /// kind; else the probe's. None where the run does not describe the probe.
    pub unit: Option<Unit>,
    pub better: Option<Better>,
    /// Estimator of both values and the change; none where neither side has a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimator: Option<Leading>,
    /// Values of the other estimator on both sides, where they differ on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<OtherValues>,
    /// The base's value, when it has one.
    pub base: Option<SideValue>,
    /// The other side's value.
    pub new: Option<SideValue>,
    /// Relation of the two, when both have a positive value of the same meaning.
    pub effect: Option<Effect>,
    pub verdict: Verdict,
    pub reason: Option<NoVerdictReason>,
    /// Number of runs, of both sides, in which it failed where others measured it.
    #[serde(default, skip_serializing_if = "is_none")]
    pub failed_runs: usize,
    /// Remarks for a reader: another inner loop, disturbed samples.
    pub remarks: Vec<Text<String>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference to what it may skip")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// The values of both sides by the estimator that is not compared first; in the base unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OtherValues {
    pub estimator: Leading,
    /// The base's.
    pub base: f64,
    /// The other side's.
    pub new: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SideValue {
    /// Leading value of both sides, the undisturbed or the typical one; of several runs their geometric mean, so that the change is that of
    /// the two values. In the unit of the comparison.
    pub value: f64,
    /// Lower end of its interval of the run; of several runs that over the runs. None without one.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub runs: usize,
    pub rounds: usize,
    /// Samples of all of them, those that were left out included.
    pub samples: u64,
    /// Samples that moved to another CPU or were kept waiting for one.
    pub disturbed: u64,
    /// Remarks of the runs on it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub flags: BTreeSet<FlagKind>,
}

/// Relation of a value to the base's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// New over base; 1 is no change. With a test it is that of the geometric means of runs.
    pub ratio: f64,
    /// The test behind it; none where there is nothing but two values.
    pub test: Option<Test>,
    /// Other values compared: the typical ones where the undisturbed ones lead, and percentiles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Aspect>,
}

/// Another value of a case that was compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Aspect {
    /// `typical`, or the percentile: `p50`, `p90`, `p99`, `p999`.
    pub name: String,
    pub test: Test,
    /// Evidence that a change of it is one of the case.
    pub evidence: Evidence,
}

/// Evidence that a change beside the leading value, in some of the operations, is one of the case. Single operations are late for many
/// reasons, and percentiles show them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// Change in every round, or in four of five runs or pairs of them, without disturbance.
    Repeats,
    Disturbed,
    /// Change that is not seen each time.
    Once,
}

/// Test of a change, on logarithms, by the scatter of both sides' rounds and of runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Test {
    pub ratio: f64,
    /// Lower end of the ratio's 95 % interval, adjusted for all cases as the p value is: it holds 1 exactly where no change is shown.
    pub low: f64,
    pub high: f64,
    /// Two-sided p value of "no change".
    pub p_value: f64,
    /// The same, adjusted for all cases of this comparison (Benjamini & Hochberg).
    pub adjusted_p_value: f64,
    /// The p value of "it changed by `same_within` or more", adjusted by itself for all cases.
    pub same_p_value: f64,
    /// Largest possible change, as a fraction: the farther end of the 90 % interval.
    pub within: f64,
    /// The change, as a fraction, that would have been found four times of five at the level that the adjustment came to.
    pub visible: f64,
    /// The standard deviation between runs, of the value's logarithm.
    pub deviation: f64,
    /// Runs that tell it; 0 where it is assumed, from runs of other hosts.
    pub runs: usize,
}

impl Test {
    /// Tells whether a change is shown.
    pub fn is_shown(&self) -> bool {
        self.adjusted_p_value <= FALSE_DISCOVERIES
    }
}

impl Aspect {
    /// Tells whether it changed, and not only by a disturbance or once.
    pub(crate) fn is_a_change(&self) -> bool {
        self.test.is_shown() && self.evidence == Evidence::Repeats
    }
}

impl Comparison {
    /// Compares two sides whose runs were made in turn, the first of one with the first of the other, and looked at when there were as
    /// many pairs as each of `looks` says: [`LOOKS`], or one number that was decided beforehand.
    pub fn in_turn(base: Pool, new: Pool, looks: &[usize], same_within: f64) -> Comparison {
        let against = pair::against(base, new, &pair::Design::InTurn(looks), same_within);
        Comparison { schema: SCHEMA.to_owned(), base: side::named(base), new: vec![against] }
    }

    /// Compares `base` with each of `new`; `history` tells how much runs of the same environments differ, and values are the same that
    /// changed by no more than `same_within` (0.05 is 5 %).
    pub fn of(base: Pool, new: &[Pool], history: &History, same_within: f64) -> Comparison {
        let design = pair::Design::Apart(history);
        let against = |new: &Pool| pair::against(base, *new, &design, same_within);
        Comparison { schema: SCHEMA.to_owned(), base: side::named(base), new: new.iter().map(against).collect() }
    }
}

impl CaseComparison {
    /// The case id with sizes as people type them; the exact one where the comparison was read from a file.
    pub fn typed(&self) -> &str {
        if self.typed.is_empty() { &self.id } else { &self.typed }
    }

    /// Change of the value, as a fraction: 0.05 is 5 % more than the base.
    pub fn change(&self) -> Option<f64> {
        self.effect.as_ref().map(|effect| effect.ratio - 1.0)
    }

    /// Aspect with the largest change, where only the shape changed.
    pub fn moved(&self) -> Option<&Aspect> {
        let all = self.effect.as_ref().filter(|_| self.verdict == Verdict::ChangedShape)?.others.iter();
        let size = |aspect: &Aspect| aspect.test.ratio.ln().abs();
        all.filter(|aspect| aspect.is_a_change()).max_by(|one, other| size(one).total_cmp(&size(other)))
    }

    /// The test that the verdict stands on: that of what moved where the shape alone changed.
    pub fn decisive_test(&self) -> Option<&Test> {
        match self.verdict {
            Verdict::ChangedShape => self.moved().map(|aspect| &aspect.test),
            _ => self.effect.as_ref()?.test.as_ref(),
        }
    }

    /// The change that the verdict names, as a fraction.
    pub fn shown_change(&self) -> Option<f64> {
        self.decisive_test().map(|test| test.ratio - 1.0).or_else(|| self.change())
    }

    /// Tells whether it got worse, all in all or in some of its operations.
    pub fn is_worse(&self) -> bool {
        let is_up = self.shown_change().is_some_and(|change| change > 0.0);
        match self.verdict {
            Verdict::Slower => true,
            Verdict::ChangedShape => {
                (self.better == Some(Better::Lower)) == is_up && self.better != Some(Better::Neither)
            }
            _ => false,
        }
    }
}
