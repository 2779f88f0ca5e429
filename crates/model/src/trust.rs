//! How far a run can be trusted: what its values would be if it were repeated, as a grade with reasons.

use serde::{Deserialize, Serialize};

use crate::Text;

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
    /// Its letter.
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
    /// Whether it found something, and nothing wrong.
    pub fn has_passed(&self) -> bool {
        self.passed > 0 && self.failed == 0
    }

    /// Its day.
    pub fn day(&self) -> &str {
        self.started.get(..10).unwrap_or(&self.started)
    }
}
