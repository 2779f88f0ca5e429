//! What came out of a case: an estimate with its interval and every sample behind it, or the reason why there is none.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{FarUsage, Histogram, Noise, Others, Params, Raw, Throttling};

/// How an interval was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IntervalMethod {
    /// Between order statistics of the round medians, interpolated (five rounds or more).
    OrderStatistics,
    /// No interval: fewer than five rounds.
    None,
}

/// Which value of an estimate stands for it in tables: decided for its kind of case, never by what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Leading {
    /// The median of the round medians.
    #[default]
    Typical,
    /// What the machine does when left alone.
    Quiet,
}

impl Leading {
    /// As a run file writes it.
    pub fn word(self) -> &'static str {
        match self {
            Leading::Typical => "typical",
            Leading::Quiet => "quiet",
        }
    }
}

/// What the machine does when left alone: a fixed quantile, on the good side, of the samples that nothing disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Quiet {
    /// The value.
    pub value: f64,
    /// Lower end of the interval of this run; absent with fewer than five rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The core clock at which it is told, hertz: what the core held nine tenths of the time; absent where it is a time as it was
    /// measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_hz: Option<f64>,
}

/// Where the leading value of another run on this host is to be expected: the interval of this run, and how far runs lie
/// apart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Repetition {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The standard deviation between runs, of the value's logarithm.
    pub deviation: f64,
    /// The earlier runs of this host that tell it; 0 where it is assumed, from runs of other hosts.
    pub runs: u32,
}

/// The estimate of a value from its rounds; every number in the base unit of its quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The typical value: the median of the round medians.
    pub median: f64,
    /// Lower end of the typical value's interval of this run; absent with fewer than five rounds.
    pub ci_low: Option<f64>,
    /// Upper end of the interval.
    pub ci_high: Option<f64>,
    /// The interval's confidence: 0.95.
    pub confidence: f64,
    /// How the interval was made.
    pub method: IntervalMethod,
    /// Smallest sample.
    pub min: f64,
    /// Largest sample.
    pub max: f64,
    /// Mean of all samples.
    pub mean: f64,
    /// Standard deviation of all samples (n − 1).
    pub stddev: f64,
    /// Median absolute deviation of all samples from their median, unscaled.
    pub mad: f64,
    /// The best round's median: the least disturbed value. Never used in a comparison.
    pub best_round: f64,
    /// Samples used.
    pub n: u64,
    /// Rounds used.
    pub rounds: u32,
    /// The smallest and the largest round median; absent of what has no rounds of its own, and of other tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// What the machine does when left alone, of cases for which that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<Quiet>,
    /// Which of the two values stands for the case.
    #[serde(default, skip_serializing_if = "Estimate::is_typical")]
    pub leading: Leading,
    /// Where the leading value of another run is to be expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetition: Option<Repetition>,
    /// Of a discrete quantity, which rounds vote on: the share of them that agree on `median`. It has no interval. Absent of
    /// all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<f64>,
}

/// Rounds that lie further apart than this fraction of the value, to either side, make it an unstable one.
const UNSTABLE: f64 = 0.25;

impl Estimate {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference to what it may skip")]
    fn is_typical(leading: &Leading) -> bool {
        *leading == Leading::Typical
    }

    /// The value that stands for the case: the quiet one where that leads, else the typical one.
    pub fn value(&self) -> f64 {
        self.leading_quiet().map_or(self.median, |quiet| quiet.value)
    }

    /// The quiet value where it leads.
    pub fn leading_quiet(&self) -> Option<Quiet> {
        self.quiet.filter(|_| self.leading == Leading::Quiet)
    }

    /// Which value that is.
    pub fn estimator(&self) -> Leading {
        self.leading_quiet().map_or(Leading::Typical, |_| Leading::Quiet)
    }

    /// The leading value's interval of this run; none with fewer than five rounds.
    pub fn of_this_run(&self) -> Option<(f64, f64)> {
        match self.leading_quiet() {
            Some(quiet) => quiet.low.zip(quiet.high),
            None => self.ci_low.zip(self.ci_high),
        }
    }

    /// The interval that tables show: of repetition where it is known, else of this run.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let repetition = self.repetition.filter(|_| self.of_this_run().is_some());
        repetition.map(|repetition| (repetition.low, repetition.high)).or_else(|| self.of_this_run())
    }

    /// Half of that interval's width over the leading value, as a fraction; none without an interval or with a zero value.
    pub fn relative_half_width(&self) -> Option<f64> {
        half_width(self.interval()?, self.value())
    }

    /// The same of this run alone.
    pub fn relative_half_width_of_this_run(&self) -> Option<f64> {
        half_width(self.of_this_run()?, self.value())
    }

    /// Between what the rounds and the value lie, where rounds disagree so far that no ± tells it, or where they are too few for an
    /// interval. None of what rounds voted on.
    pub fn shown_range(&self) -> Option<[f64; 2]> {
        let is_apart = |half: f64| half > UNSTABLE;
        let is_unstable = self.relative_half_width_of_this_run().is_none_or(is_apart);
        let range = self.range.filter(|[low, high]| is_unstable && self.agreement.is_none() && low < high);
        // A quiet value may lie beside the medians of all rounds.
        range.map(|[low, high]| [low.min(self.value()), high.max(self.value())])
    }

    /// Whether the rounds disagree so far that no ± tells it; that is not said without a range.
    pub fn is_unstable(&self) -> bool {
        let Some([least, most]) = self.range else { return false };
        self.of_this_run()
            .or(Some((least, most)))
            .and_then(|ends| half_width(ends, self.value()))
            .is_some_and(|half| half > UNSTABLE)
    }
}

fn half_width((low, high): (f64, f64), value: f64) -> Option<f64> {
    (value != 0.0).then(|| (high - low) / 2.0 / value.abs())
}

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
    MostlyTainted,
    /// A round's warm-up never reached a steady clock.
    Unsettled,
    /// Rounds are missing: they failed or found no time.
    RoundsLost,
    /// The best round is over 10 % better than the median: neighbours, or page placement.
    BestRoundGap,
    /// A CPU quota stopped the process in some of the rounds.
    Throttled,
    /// Others used a CPU of the case in some of the rounds, and these were disturbed.
    Contended,
    /// The value cannot be confirmed by what the host reports, or stands on a choice that the detail names.
    Unconfirmed,
}

/// A remark on a value, with what it stands on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Flag {
    /// Which remark.
    pub kind: FlagKind,
    /// What was seen, one sentence.
    pub detail: String,
}

/// One round as the run file keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RoundRecord {
    /// Which round, from 0.
    pub round: u32,
    /// The median of its samples.
    pub median: f64,
    /// A [`crate::Taint`] per sample.
    pub taints: Vec<u8>,
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Further quantities that are the value itself, in cycles of a clock.
    pub const OF_THE_VALUE: [&str; 5] =
        ["cycles", "reference_cycles", "batch_cycles", "bytes_per_cycle", "operations_per_cycle"];

    /// A further quantity as it stands beside the value. The same value in cycles has the value's estimator: where the quiet value leads
    /// and it has none of its own, it is told at the clock that the typical values imply.
    pub fn companion(&self, name: &str) -> Option<Cow<'_, Estimate>> {
        let own = &self.also.get(name)?.estimate;
        let scale = own.median / self.estimate.median;
        let quiet = self
            .estimate
            .leading_quiet()
            .filter(|_| Self::OF_THE_VALUE.contains(&name) && own.leading_quiet().is_none());
        let Some(quiet) = quiet.filter(|_| scale.is_finite()) else { return Some(Cow::Borrowed(own)) };
        let scaled = |end: Option<f64>| end.map(|end| end * scale);
        let quiet = Quiet { value: quiet.value * scale, low: scaled(quiet.low), high: scaled(quiet.high), at_hz: None };
        Some(Cow::Owned(Estimate { quiet: Some(quiet), leading: Leading::Quiet, repetition: None, ..own.clone() }))
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
        /// One fragment that says why.
        reason: String,
    },
    /// It should have worked and did not.
    Failed {
        /// One fragment that says what went wrong.
        reason: String,
    },
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

    /// The peer at its other end, by its name in the run; none where both ends are on one machine.
    pub fn peer(&self) -> Option<&str> {
        self.params.get(PEER_AXIS).filter(|to| *to != HERE)
    }
}

/// The axis of who is at the other end, which cases have in a run with peers.
pub const PEER_AXIS: &str = "to";
/// Its value where that is this machine, and what this machine is called among the peers of a run.
pub const HERE: &str = "here";

/// The first record of `probe`, which is its default case: run files keep catalogue order, default first.
pub fn default_case_of<'a>(cases: &'a [CaseRecord], probe: &str) -> Option<&'a CaseRecord> {
    cases.iter().find(|case| case.probe == probe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_that_is_shown_holds_the_value_that_is_shown() {
        // Four rounds: the quiet value is what the best samples of all come to, below the median of each.
        let estimate: Estimate = serde_json::from_value(serde_json::json!({
            "median": 142.5, "ci_low": null, "ci_high": null, "confidence": 0.95, "method": "none", "min": 116.6, "max": 300.0,
            "mean": 150.0, "stddev": 9.0, "mad": 5.0, "best_round": 119.1, "n": 52, "rounds": 4, "range": [119.1, 162.3],
            "quiet": { "value": 117.3 }, "leading": "quiet"
        }))
        .unwrap();
        assert_eq!((estimate.value(), estimate.shown_range()), (117.3, Some([117.3, 162.3])));
        let typical = Estimate { leading: Leading::Typical, ..estimate };
        assert_eq!((typical.value(), typical.shown_range()), (142.5, Some([119.1, 162.3])));
    }

    #[test]
    fn cycles_beside_a_quiet_value_are_quiet_too_and_other_quantities_are_not() {
        let estimate = |median: f64, quiet: Option<f64>| {
            serde_json::json!({
                "median": median, "ci_low": null, "ci_high": null, "confidence": 0.95, "method": "none", "min": 1.0, "max": 1.0,
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
        assert!(without.companion("p99").is_none());
    }
}
