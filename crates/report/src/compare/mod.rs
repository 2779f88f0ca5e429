//! Compares runs: what differs between their hosts and settings, and for every case whether it became slower.
//!
//! Pure over runs: a [`Comparison`] is made from run files alone, and can be serialised as `hostmark.comparison/1`.

mod differs;
mod facts;
mod floor;
mod pair;
mod reason;
mod side;
mod verdict;

use hostmark_model::{Better, Params, Profile, Run, Text, Unit};
use serde::{Deserialize, Serialize};

pub use floor::History;

/// The schema that this version writes.
pub const SCHEMA: &str = "hostmark.comparison/1";

/// The rate of false discoveries that verdicts are held to, over all cases of one comparison. No unit.
pub const FALSE_DISCOVERIES: f64 = 0.05;

/// One side as it is given: a name for people, and its runs, which are one environment and are pooled.
#[derive(Debug, Clone, Copy)]
pub struct Pool<'a> {
    /// What the table calls it.
    pub name: &'a str,
    /// Its runs; at least one.
    pub runs: &'a [Run],
}

/// Several sides, each against one base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: String,
    /// What everything is compared with.
    pub base: Side,
    /// What is compared with it, in the order given.
    pub new: Vec<Against>,
}

/// The runs of one environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// What the table calls it.
    pub name: String,
    /// Its runs.
    pub runs: Vec<RunName>,
    /// What took the machine's time while they ran.
    pub disturbances: Vec<Text<String>>,
}

/// Which run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunName {
    /// Its unique id.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// When it started, RFC 3339, UTC.
    pub started: String,
    /// The host's name.
    pub host: String,
    /// Release of the kernel.
    pub kernel: String,
    /// The profile.
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
    /// The side.
    pub side: Side,
    /// What differs between hosts and settings.
    pub differs: Vec<Difference>,
    /// How many facts are known of both sides and the same.
    pub same: usize,
    /// SHA-256 of the program, where one and the same measured every run of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Differences that shift values by themselves: libc, kernel, page size.
    pub warnings: Vec<Text<String>>,
    /// Every case of either side, in catalogue order.
    pub cases: Vec<CaseComparison>,
    /// How many cases have which verdict.
    pub counts: Counts,
}

/// A fact or setting that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Its place in the run file: `host.kernel.release`.
    pub key: String,
    /// What it is called.
    pub label: Text<String>,
    /// What the base has; none where it is not known. Runs that differ among themselves are joined by ` | `.
    pub base: Option<String>,
    /// What the other side has.
    pub new: Option<String>,
}

/// How many cases have which verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Worse than on the base.
    pub slower: usize,
    /// Better than on the base.
    pub faster: usize,
    /// Other than on the base, where neither direction is good.
    pub changed: usize,
    /// No difference could be shown.
    pub no_difference: usize,
    /// Without a verdict.
    pub not_comparable: usize,
}

/// A comparison's answer for one case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It got worse, in the direction of the probe's `better`.
    Slower,
    /// It got better.
    Faster,
    /// It is another value, of a quantity that has no good direction.
    Changed,
    /// The interval holds 1, or the effect does not exceed the noise floor.
    NoDifference,
    /// There is no verdict, and `reason` says why.
    NotComparable,
}

/// Why a case has no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// Only one side has the case.
    OneSide,
    /// The probe's revisions differ: the numbers do not mean the same.
    Revision,
    /// The units differ.
    Unit,
    /// It failed on a side.
    Failed,
    /// It was skipped on a side.
    Skipped,
    /// The pages that the kernel gave differ.
    PageSize,
    /// A side's numbers cannot be true together: its file was changed or damaged.
    ContradictsItself,
    /// A side's value is one that physics forbids.
    Implausible,
    /// A side has one value and no rounds, as another tool's results do.
    OneValue,
    /// It is computed from other cases, which have verdicts of their own.
    Derived,
    /// A side has fewer than three rounds.
    TooFewRounds,
    /// A value is zero or negative, so that there is no ratio.
    NotPositive,
}

/// Why a case has no verdict, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// Which reason.
    pub kind: ReasonKind,
    /// What was found, a fragment.
    pub text: Text<String>,
}

/// One case on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseComparison {
    /// The case id.
    pub id: String,
    /// Its probe.
    pub probe: String,
    /// Its point.
    pub params: Params,
    /// The probe's title, with the axes that are not at their default.
    pub label: Text<String>,
    /// The section of a report that shows it.
    pub section: Text<String>,
    /// The unit of both values; none where the run does not describe the probe.
    pub unit: Option<Unit>,
    /// Which direction is good.
    pub better: Option<Better>,
    /// The base's value, when it has one.
    pub base: Option<Value>,
    /// The other side's value.
    pub new: Option<Value>,
    /// How the two relate, when both have a positive value of the same meaning.
    pub effect: Option<Effect>,
    /// The answer.
    pub verdict: Verdict,
    /// Why there is none.
    pub reason: Option<Reason>,
    /// What a reader should know: another inner loop, disturbed samples.
    pub remarks: Vec<Text<String>>,
}

/// The value of one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// The median of the round medians; of several runs the median of theirs. In the base unit.
    pub median: f64,
    /// Lower end of its 95 % interval; of several runs that over the runs. None without one.
    pub ci_low: Option<f64>,
    /// Upper end.
    pub ci_high: Option<f64>,
    /// Runs that have a value.
    pub runs: usize,
    /// Rounds of all of them.
    pub rounds: usize,
    /// Samples of all of them, those that were left out included.
    pub samples: u64,
    /// Samples that moved to another CPU or were kept waiting for one.
    pub disturbed: u64,
}

/// How a value relates to the base's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// New over base; 1 is no change. With an interval it is that of the geometric means of rounds (or runs), otherwise
    /// that of the values.
    pub ratio: f64,
    /// The test behind it; none where there is nothing but two values.
    pub test: Option<Test>,
}

/// Welch's test on logarithms, and what the effect is held against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// Lower end of the ratio's 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Two-sided p value of "no change".
    pub p_value: f64,
    /// The same, adjusted for all cases of this comparison (Benjamini & Hochberg).
    pub adjusted_p_value: f64,
    /// What was counted as one observation.
    pub level: Level,
    /// What the effect must exceed.
    pub floor: Floor,
}

/// What a comparison counts as one observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The medians of rounds, where a side has one run.
    Round,
    /// The values of runs, where both sides have several.
    Run,
}

/// The change that is taken for noise, whatever the test says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// As a fraction: 0.02 is 2 %, to both sides on the logarithms.
    pub fraction: f64,
    /// What it comes from.
    pub source: FloorSource,
    /// Runs that it comes from, where it comes from runs.
    pub runs: Option<usize>,
}

/// What a noise floor comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FloorSource {
    /// How much runs of the same environment differ that were kept earlier, or that a side has.
    History,
    /// How much the rounds of both sides differ, as nothing is known of how much runs do.
    Rounds,
    /// Both sides have several runs: what differs between runs is in the interval already.
    Runs,
}

impl Comparison {
    /// Compares `base` with each of `new`; `history` tells how much runs of the same environments differ.
    pub fn of(base: Pool, new: &[Pool], history: &History) -> Comparison {
        let against = |new: &Pool| pair::against(base, *new, history);
        Comparison { schema: SCHEMA.to_owned(), base: side::named(base), new: new.iter().map(against).collect() }
    }

    /// Whether a case became slower by more than `fraction` (0.05 is 5 %), on any side.
    pub fn has_regression(&self, fraction: f64) -> bool {
        let is_one = |case: &CaseComparison| {
            case.verdict == Verdict::Slower && case.change().is_some_and(|change| change.abs() > fraction)
        };
        self.new.iter().flat_map(|against| &against.cases).any(is_one)
    }
}

impl CaseComparison {
    /// By how much the value changed, as a fraction: 0.05 is 5 % more than the base.
    pub fn change(&self) -> Option<f64> {
        self.effect.as_ref().map(|effect| effect.ratio - 1.0)
    }
}
