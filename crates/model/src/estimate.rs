//! Estimates: a case's values with their intervals, which of them stands for it, and how far a run of them can be trusted.

use serde::{Deserialize, Serialize};

use crate::Text;

/// How an interval was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IntervalMethod {
    /// Between order statistics of the round medians, interpolated (five rounds or more).
    OrderStatistics,
    /// No interval: fewer than five rounds.
    #[default]
    None,
    /// Some way of an older version, in its files.
    #[serde(alias = "log_t", alias = "linear_t", alias = "bootstrap")]
    Older,
}

/// Which value of an estimate stands for it, wherever one number is shown: decided for its kind of case, never by what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
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
    /// Both estimators: rules on values of one estimator are applied to each.
    pub const EACH: [Leading; 2] = [Leading::Typical, Leading::Quiet];

    /// The one that it is not.
    pub fn other(self) -> Leading {
        match self {
            Leading::Quiet => Leading::Typical,
            Leading::Typical => Leading::Quiet,
        }
    }

    /// Returns the word for it in a run file.
    pub fn word(self) -> &'static str {
        match self {
            Leading::Typical => "typical",
            Leading::Quiet => "quiet",
        }
    }
}

/// What the machine does when left alone: a fixed quantile, on the good side, of the samples that nothing disturbed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
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
    /// The smallest and the largest of the rounds' own quantiles; absent of files of other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// The core clock at which it is told, hertz: the median over the case's rounds; absent where it is a time as it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_hz: Option<f64>,
}

impl Quiet {
    /// The same in another unit: `of` each of its numbers. It is told at no clock.
    pub fn map(self, of: impl Fn(f64) -> f64) -> Quiet {
        Quiet {
            value: of(self.value),
            low: self.low.map(&of),
            high: self.high.map(&of),
            range: self.range.map(|ends| ends.map(&of)),
            at_hz: None,
        }
    }
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

/// The leading value of an estimate, and all that is said of it: every number belongs to the same estimator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stated {
    /// Kind of the value.
    pub estimator: Leading,
    /// The value.
    pub value: f64,
    /// Range of its rounds, each by the same estimator, and the value with them; absent where it has no rounds of its own.
    pub range: Option<[f64; 2]>,
    /// Interval of this run; `None` with fewer than five rounds.
    pub of_this_run: Option<(f64, f64)>,
    /// Interval in which another run's value is expected; `None` where that of this run is missing.
    of_repetition: Option<(f64, f64)>,
    /// The core clock at which it is told, hertz; absent where it is what was measured, at whatever clocks.
    pub at_hz: Option<f64>,
}

impl Stated {
    /// The interval that is shown wherever there is room for one: of repetition where it is known, else of this run.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.of_repetition.or(self.of_this_run)
    }
}

/// The estimate of a value from its rounds; every number in the base unit of its quantity.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The typical value: the median of the round medians, or what they come to together where a median would hide something or be
    /// nobody's (a mean over all rounds, a vote).
    // Recordings of before call it so.
    #[serde(alias = "median")]
    pub typical: f64,
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
    /// Of a discrete quantity, which rounds vote on: the share of them that agree on `typical`. It has no interval. Absent of
    /// all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<f64>,
}

/// Rounds that lie further apart than this fraction of the value, to either side, make it an unsteady one.
const UNSTEADY: f64 = 0.25;

impl Estimate {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference to what it may skip")]
    fn is_typical(leading: &Leading) -> bool {
        *leading == Leading::Typical
    }

    /// The same with this quiet value, which leads where there is one.
    pub fn led_by(self, quiet: Option<Quiet>) -> Estimate {
        Estimate { quiet, leading: quiet.map_or(Leading::Typical, |_| Leading::Quiet), ..self }
    }

    /// The value that stands for the case, with its own ranges: whoever shows a value shows this, or names the other.
    pub fn stated(&self) -> Stated {
        self.of(self.leading_quiet())
    }

    /// The same by one estimator, whichever leads; none where there is no such value.
    pub fn by(&self, estimator: Leading) -> Option<Stated> {
        match estimator {
            Leading::Quiet => self.quiet.map(|quiet| self.of(Some(quiet))),
            Leading::Typical => Some(self.of(None)),
        }
    }

    fn of(&self, quiet: Option<Quiet>) -> Stated {
        let (estimator, value, of_this_run, range, at_hz) = match quiet {
            Some(Quiet { value, low, high, range, at_hz }) => {
                (Leading::Quiet, value, low.zip(high), range.or(self.range), at_hz)
            }
            None => (Leading::Typical, self.typical, self.ci_low.zip(self.ci_high), self.range, None),
        };
        let is_leading = of_this_run.is_some() && estimator == self.estimator();
        Stated {
            estimator,
            value,
            range: range.map(|[low, high]| [low.min(value), high.max(value)]),
            of_this_run,
            of_repetition: self.repetition.filter(|_| is_leading).map(|known| (known.low, known.high)),
            at_hz,
        }
    }

    /// The number alone.
    pub fn value(&self) -> f64 {
        self.stated().value
    }

    /// The quiet value where it leads.
    pub fn leading_quiet(&self) -> Option<Quiet> {
        self.quiet.filter(|_| self.leading == Leading::Quiet)
    }

    /// Returns the kind of that value.
    pub fn estimator(&self) -> Leading {
        if self.quiet.is_some() { self.leading } else { Leading::Typical }
    }

    /// The leading value's interval of this run; none with fewer than five rounds.
    pub fn of_this_run(&self) -> Option<(f64, f64)> {
        self.stated().of_this_run
    }

    /// The leading value's interval as it is shown: of repetition where it is known, else of this run.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.stated().interval()
    }

    /// Half of that interval's width over the leading value, as a fraction; none without an interval or with a zero value.
    pub fn relative_half_width(&self) -> Option<f64> {
        half_width(self.interval()?, self.value())
    }

    /// Returns the range of the rounds and the value, where rounds disagree so far that no ± tells it, or where they are too few
    /// for an interval. `None` where rounds voted on the value.
    pub fn shown_range(&self) -> Option<[f64; 2]> {
        let is_apart = |half: f64| half > UNSTEADY;
        let is_unsteady = self.of_this_run().and_then(|ends| half_width(ends, self.value())).is_none_or(is_apart);
        self.stated().range.filter(|[low, high]| is_unsteady && self.agreement.is_none() && low < high)
    }

    /// Tells whether the rounds disagree so far that no ± tells it; that is not said without a range.
    pub fn is_unsteady(&self) -> bool {
        let Stated { value, range: Some([least, most]), of_this_run, .. } = self.stated() else { return false };
        of_this_run.or(Some((least, most))).and_then(|ends| half_width(ends, value)).is_some_and(|half| half > UNSTEADY)
    }
}

fn half_width((low, high): (f64, f64), value: f64) -> Option<f64> {
    (value != 0.0).then(|| (high - low) / 2.0 / value.abs())
}

/// How near the next run's values are to be expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Grade {
    /// Nine of ten values within 5 %.
    A,
    /// Nine of ten within 15 %.
    B,
    /// Nine of ten within 30 %.
    C,
    /// Nine of ten within 100 %: large differences only.
    D,
    /// Further apart, most values disturbed, or nothing that tells how far: not to be used.
    F,
}

impl Grade {
    /// Returns its letter.
    pub fn letter(self) -> &'static str {
        match self {
            Grade::A => "A",
            Grade::B => "B",
            Grade::C => "C",
            Grade::D => "D",
            Grade::F => "F",
        }
    }
}

/// Something that makes a run less trustworthy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Doubt {
    /// What was seen.
    pub text: Text<String>,
    /// What to do about it.
    pub cure: Text<String>,
}

/// How far a run can be trusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trust {
    /// The grade.
    pub grade: Grade,
    /// Nine of ten values of the next run are expected within this fraction of this run's; none where no value has an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
    /// The same of what the core does by itself; none where no such value has an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<f64>,
    /// The same of all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<f64>,
    /// The earlier runs of this host that tell it; 0 where it is assumed, from runs of other hosts.
    pub runs: u32,
    /// The ids of earlier runs some of whose values were left out as outliers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Why it is no better, the worst first.
    pub doubts: Vec<Doubt>,
    /// What `hostmark self-check` last found on the host since it started, with the program that measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_check: Option<SelfChecked>,
}

/// How a self-check ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SelfChecked {
    /// When it started, RFC 3339, UTC.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    pub started: String,
    /// How many known values came back within their bounds.
    pub passed: u32,
    /// How many did not.
    pub failed: u32,
    /// How many could not be looked at.
    pub not_possible: u32,
}

impl SelfChecked {
    /// Tells whether it found something, and nothing wrong.
    pub fn has_passed(&self) -> bool {
        self.passed > 0 && self.failed == 0
    }

    /// Returns its day.
    pub fn day(&self) -> &str {
        self.started.get(..10).unwrap_or(&self.started)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_that_is_shown_holds_the_value_that_is_shown() {
        // Four rounds: the quiet value is what the best samples of all come to, below the median of each.
        let estimate: Estimate = serde_json::from_value(serde_json::json!({
            "typical": 142.5, "ci_low": null, "ci_high": null, "confidence": 0.95, "method": "none", "min": 116.6, "max": 300.0,
            "mean": 150.0, "stddev": 9.0, "mad": 5.0, "best_round": 119.1, "n": 52, "rounds": 4, "range": [119.1, 162.3],
            "quiet": { "value": 117.3 }, "leading": "quiet"
        }))
        .unwrap();
        assert_eq!((estimate.value(), estimate.shown_range()), (117.3, Some([117.3, 162.3])));
        let typical = Estimate { leading: Leading::Typical, ..estimate.clone() };
        assert_eq!((typical.value(), typical.shown_range()), (142.5, Some([119.1, 162.3])));
        // Rounds by the same estimator are known: what the medians did is nobody's business.
        let quiet = Quiet { range: Some([116.9, 121.0]), ..estimate.quiet.unwrap() };
        let known = Estimate { quiet: Some(quiet), ..estimate };
        assert_eq!(known.shown_range(), Some([116.9, 121.0]));
    }
}
