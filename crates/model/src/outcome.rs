//! Outcomes of cases: a measurement with every sample behind it, what the file keeps of its rounds so that its estimate can be made
//! again, or the reason why there is none.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::message::{recorded, restored};
use crate::{
    Estimate, Event, FarUsage, Histogram, Message, Noise, Others, Params, Reason, Repetition, Text, Throttling,
};

/// A further quantity of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Also {
    /// Its estimate.
    pub estimate: Estimate,
}

/// What is remarkable about a measured value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FlagKind {
    /// Fewer than five rounds: no interval.
    FewRounds,
    /// The value is smaller than what the clock can tell apart.
    UnderResolution,
    /// Physics forbids it: see the detail.
    Implausible,
    /// Over half of the samples were disturbed, so they stayed in.
    #[serde(rename = "mostly_tainted")]
    MostlyDisturbed,
    /// A round's warm-up never reached a steady clock.
    Unsettled,
    /// Rounds are missing: they failed or found no time.
    RoundsLost,
    /// The best round is over 10 % better than the median: neighbours, or page placement.
    BestRoundGap,
    /// Others used a part of a structure of the core: in some of the rounds, and the value is of the other rounds, or in all.
    PartlyUsed,
    /// A CPU quota stopped the process in some of the rounds.
    Throttled,
    /// Others used a CPU of the case in some of the rounds, and these were disturbed.
    Contended,
    /// The disk did not do what the case asked of it: a cache above it did.
    FromCache,
    /// The value cannot be confirmed by what the host reports, or stands on a choice that the detail names.
    Unconfirmed,
    /// A value of memory from a buffer that the last cache may hold in part.
    SmallBuffer,
}

/// Tells whether flags say of a value that others, a quota or an unsteady clock disturbed it.
pub fn is_of_disturbed(flags: &[Flag]) -> bool {
    const DECISIVE: [FlagKind; 5] = [
        FlagKind::Contended,
        FlagKind::Throttled,
        FlagKind::MostlyDisturbed,
        FlagKind::Unsettled,
        FlagKind::BestRoundGap,
    ];
    flags.iter().any(|flag| DECISIVE.contains(&flag.kind))
}

/// Tells whether a memory value is from a buffer that the last cache may hold in part: one from a larger buffer was measured otherwise.
pub fn is_of_small_buffer(flags: &[Flag]) -> bool {
    flags.iter().any(|flag| flag.kind == FlagKind::SmallBuffer)
}

/// A remark on a value, with what it stands on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Flag {
    /// Which remark.
    pub kind: FlagKind,
    /// What was seen, one sentence.
    pub detail: String,
    /// The sentence as other languages look it up; absent in older files.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::message::known")]
    pub message: Option<Message>,
}

impl Flag {
    /// A remark of this kind, and what was seen.
    pub fn new(kind: FlagKind, detail: impl Into<Message>) -> Flag {
        let (detail, message) = recorded(detail.into());
        Flag { kind, detail, message }
    }

    /// The sentence in whichever language it is wanted.
    pub fn sentence(&self) -> Message {
        restored(&self.detail, self.message.as_ref())
    }
}

/// One round as the run file keeps it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RoundRecord {
    /// Which round, from 0.
    pub round: u32,
    /// The median of its samples.
    pub median: f64,
    /// [`crate::DisturbanceFlags`] per sample.
    #[serde(rename = "taints")]
    pub disturbance_flags: Vec<u8>,
    /// Core clock beside the samples, hertz.
    pub core_hz: Option<f64>,
    /// The CPUs it ran on.
    pub cpus: Vec<usize>,
    /// Iterations of a sample.
    pub iterations: u64,
    /// Whether the warm-up settled.
    pub settled: bool,
    /// Time that the hypervisor gave to others of that of the round's CPUs, ns, in ticks of 10 ms; absent where the kernel
    /// does not say.
    pub steal_ns: Option<f64>,
    /// What CPU quotas did meanwhile; absent where the kernel counts none. A round with any period in it is a disturbed one.
    pub throttled: Option<Throttling>,
    /// The share of its samples' time in which the measuring thread waited for a CPU; absent where it is not known.
    pub waited: Option<f64>,
    /// What others used of its CPUs; absent where it is not known.
    pub others: Option<Others>,
    /// The share of looks at its core in which another thread ran on that too; absent where it was not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<f64>,
    /// What its far ends used on theirs, each by its own account; empty where there was none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub far: Vec<FarUsage>,
    /// What else its part of the estimates is made of; absent of other tools, and of derived values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Raw>,
}

/// A core that so few of a round's looks saw shared was its own, and one that all others did was shared: a look may be interrupted.
const SELDOM: f64 = 0.1;

impl RoundRecord {
    /// State of its core: shared with another thread all the while (true) or hardly ever (false); none where that came or went, or nobody
    /// looked.
    pub fn is_shared(&self) -> Option<bool> {
        let shared = self.shared?;
        (shared <= SELDOM || shared >= 1.0 - SELDOM).then_some(shared > SELDOM)
    }
}

/// What physics allows a value to be, in its unit: no end of an interval lies beyond.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Bounds {
    /// No less than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// No more than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
}

impl Bounds {
    /// The ends of an interval of `value`, held to what is allowed. A value that lies beyond itself is told elsewhere, and stays
    /// within its interval.
    pub fn held(&self, (low, high): (f64, f64), value: f64) -> (f64, f64) {
        let least = self.least.map_or(f64::NEG_INFINITY, |least| least.min(value));
        let most = self.most.map_or(f64::INFINITY, |most| most.max(value));
        (low.max(least), high.min(most))
    }
}

/// A measured case.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Measured {
    /// The value with its interval.
    pub estimate: Estimate,
    /// Further quantities, by name.
    pub also: BTreeMap<String, Also>,
    /// Every sample, by round, in the base unit.
    pub samples: Vec<Vec<f64>>,
    /// Every operation of all rounds, of probes that watch the tails: disturbed ones among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Histogram>,
    /// The rounds.
    pub rounds: Vec<RoundRecord>,
    /// What disturbed it.
    pub noise: Noise,
    /// What the probe says of how it measured: page size obtained, kernel chosen …
    pub notes: BTreeMap<String, String>,
    /// Remarks on the value.
    pub flags: Vec<Flag>,
    /// What physics allows the value to be; absent where nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
}

impl Measured {
    /// The further quantity that is a time in cycles of the core's clock.
    pub const CYCLES: &str = "cycles";
    /// Further quantities that are the value itself, in cycles of a clock.
    pub const OF_THE_VALUE: [&str; 5] =
        [Self::CYCLES, "reference_cycles", "batch_cycles", "bytes_per_cycle", "operations_per_cycle"];

    /// Returns a further quantity as it stands beside the value. The same value in cycles has the value's estimator: typical beside a
    /// typical one; quiet beside a quiet one, where it has no quiet value of its own at the clock that the typical values imply. It is
    /// expected of another run as the value is, unless it has an expectation of its own.
    pub fn companion(&self, name: &str) -> Option<Cow<'_, Estimate>> {
        Some(Self::companion_of(&self.estimate, name, &self.also.get(name)?.estimate))
    }

    /// The same of a value alone, which has this further quantity.
    pub fn companion_of<'a>(value: &Estimate, name: &str, own: &'a Estimate) -> Cow<'a, Estimate> {
        let scale = own.typical / value.typical;
        if !Self::OF_THE_VALUE.contains(&name) || !scale.is_finite() {
            return Cow::Borrowed(own);
        }
        let mut companion = Estimate { leading: value.estimator(), ..own.clone() };
        if let (Some(quiet), None) = (value.leading_quiet(), companion.leading_quiet()) {
            companion.quiet = Some(quiet.map(|number| number * scale));
        }
        let by = companion.value() / value.value();
        let repetition = value.repetition.filter(|_| by.is_finite());
        let scaled = repetition.map(|next| Repetition { low: next.low * by, high: next.high * by, ..next });
        companion.repetition = own.repetition.or(scaled);
        Cow::Owned(companion)
    }

    /// Returns the undisturbed value in cycles: it repeats where the value at the core's clock does not. `None` for all else.
    pub fn in_cycles(&self) -> Option<Cow<'_, Estimate>> {
        self.estimate.leading_quiet()?.at_hz?;
        self.companion(Self::CYCLES)
    }

    /// The medians of the rounds whose core was shared all the while, or alone.
    pub fn medians_where(&self, is_shared: bool) -> Vec<f64> {
        self.rounds.iter().filter(|round| round.is_shared() == Some(is_shared)).map(|round| round.median).collect()
    }

    /// Samples that were taken: those that count, and those that were left out.
    pub fn taken(&self) -> u64 {
        self.estimate.n.saturating_add(self.noise.left_out)
    }
}

/// How a case ended: nothing is silently absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It has a value.
    Measured(Box<Measured>),
    /// It could not be measured here, and why.
    Skipped {
        /// Why.
        #[serde(flatten)]
        reason: Reason,
    },
    /// It should have worked and did not.
    Failed {
        /// What went wrong.
        #[serde(flatten)]
        reason: Reason,
    },
}

impl Outcome {
    /// Returns the reason why there is no value; `None` where there is one.
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Outcome::Measured(_) => None,
            Outcome::Skipped { reason } | Outcome::Failed { reason } => Some(reason),
        }
    }
}

/// A case and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CaseRecord {
    /// The case id as text: `group.probe[@axis=value{,axis=value}]`.
    #[cfg_attr(test, schemars(regex(pattern = crate::schema_tests::CASE_ID)))]
    pub id: String,
    /// Its probe.
    pub probe: String,
    /// Its point.
    pub params: Params,
    /// How it ended.
    pub outcome: Outcome,
}

impl CaseRecord {
    /// The measurement, when there is one.
    pub fn measured(&self) -> Option<&Measured> {
        match &self.outcome {
            Outcome::Measured(measured) => Some(measured),
            _ => None,
        }
    }

    /// The measurement, to be changed.
    pub fn measured_mut(&mut self) -> Option<&mut Measured> {
        match &mut self.outcome {
            Outcome::Measured(measured) => Some(measured),
            _ => None,
        }
    }

    /// The peer at its other end, by its name in the run; none where both ends are on one machine.
    pub fn peer(&self) -> Option<&str> {
        self.params.get(PEER_AXIS).filter(|to| *to != HERE)
    }
}

/// The axis of who is at the other end, which cases have in a run with peers.
pub const PEER_AXIS: &str = "to";
/// Axis value for this machine, and its name among the peers of a run.
pub const HERE: &str = "here";

/// What a round's estimates are made of besides its samples and what [`crate::RoundRecord`] has of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Raw {
    /// Smallest step of the clock, ns; 0 where the samples are no times.
    pub resolution_ns: f64,
    /// Cost of a start and an end of the clock, ns.
    pub clock_cost_ns: f64,
    /// The median of the samples' times, ns.
    pub sample_ns: f64,
    /// Iterations of each sample, by which its time is divided; one number where all have the same.
    pub iterations: Vec<u64>,
    /// Bytes or operations an iteration when the case is a rate; absent when it is a time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub amount: u64,
    /// The core's frequency beside each sample, in their order: of so many in a row, kHz; 0 where it changed. Absent where the
    /// frequency was not taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub core_khz: Vec<[u64; 2]>,
    /// Looks at the core, in order: so many samples since the one before, and so many independent adds in a thousand cycles. Two that
    /// have no samples between them lie before the round and behind it. Absent where nobody looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<[u64; 2]>,
    /// Time waited for a CPU inside samples, ns.
    pub run_delay_ns: f64,
    /// Involuntary switches inside samples.
    pub involuntary_switches: u64,
    /// Page faults inside samples.
    pub faults: u64,
    /// Values of further quantities that the probe measured itself, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub also: BTreeMap<String, Vec<f64>>,
    /// Of each value of the case's histogram, how many operations were this round's; a negative number stands for so many
    /// values of which it had none. Absent without a histogram.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<i64>,
}

fn is_zero(amount: &u64) -> bool {
    *amount == 0
}

/// A round that is in no case's samples: it gave no value, or its case came to none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LostRound {
    /// The case's id.
    pub case: String,
    /// Which round, from 0.
    pub round: u32,
    /// The CPUs it ran on.
    pub cpus: Vec<usize>,
    /// What others used of them; absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<Others>,
    /// What the worker said.
    pub events: Vec<Event>,
}

/// That a run's estimates were made again, from what was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Again {
    /// The version of the program that made them.
    pub version: String,
    /// What could not be made again.
    pub gaps: Vec<Gap>,
}

/// Something that could not be estimated again, and stands as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Gap {
    /// What it is, and why.
    pub what: Text<String>,
    /// The ids of the cases.
    pub cases: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Leading;

    #[test]
    fn cycles_have_the_estimator_of_the_value_and_other_quantities_their_own() {
        let estimate = |typical: f64, quiet: Option<f64>| {
            serde_json::json!({
                "typical": typical, "ci_low": null, "ci_high": null, "confidence": 0.95, "method": "none", "min": 1.0, "max": 1.0,
                "mean": 1.0, "stddev": 0.0, "mad": 0.0, "best_round": 1.0, "n": 1, "rounds": 1,
                "quiet": quiet.map(|value| serde_json::json!({ "value": value, "low": value - 1.0 })),
                "leading": if quiet.is_some() { "quiet" } else { "typical" }
            })
        };
        let measured = |quiet: Option<f64>, cycles: Option<f64>| -> Measured {
            serde_json::from_value(serde_json::json!({
                "estimate": estimate(100.0, quiet), "samples": [], "rounds": [], "notes": {}, "flags": [], "noise": Noise::default(),
                "also": { "cycles": { "estimate": estimate(300.0, cycles) }, "again": { "estimate": estimate(50.0, None) } }
            }))
            .unwrap()
        };
        let of = |measured: &Measured, name: &str| measured.companion(name).unwrap().value();
        let without = measured(Some(80.0), None);
        assert_eq!((of(&without, "cycles"), of(&without, "again")), (240.0, 50.0));
        assert_eq!(without.companion("cycles").unwrap().quiet.unwrap().low, Some(237.0));
        assert_eq!(of(&measured(Some(80.0), Some(216.0)), "cycles"), 216.0);
        assert_eq!(of(&measured(None, None), "cycles"), 300.0);
        // A case that leads with typical may know quiet values.
        let mut both = measured(Some(80.0), Some(216.0));
        both.estimate.leading = Leading::Typical;
        assert_eq!((both.estimate.value(), of(&both, "cycles")), (100.0, 300.0));
        assert!(without.companion("p99").is_none());
    }
}
