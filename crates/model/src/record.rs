//! What a run file keeps of its rounds so that its estimates can be made again, and what it says of such estimates.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Event, Others, Text};

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
