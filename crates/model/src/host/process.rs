//! How the kernel treats the process that measures: its class, its bounds, and who stands between it and the kernel.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What the process that read the host was given by whoever started it, and hands on to all that it starts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ProcessFacts {
    /// Its scheduling policy: SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Its nice value: 0 as a rule, 19 yields to all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nice: Option<i32>,
    /// Its real-time priority; 0 outside of the real-time policies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// The least computing capacity that the scheduler asks for it, of 1024, where the kernel has utilization clamps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uclamp_min: Option<u32>,
    /// The most that it asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uclamp_max: Option<u32>,
    /// Whether a debugger or tracer is attached (ptrace).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traced: Option<bool>,
    /// Whether no program that it executes can have more rights (no_new_privs).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_new_privs: Option<bool>,
    /// Its soft resource limits by name, each a number or `unlimited`; those that the kernel does not tell are missing.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub resource_limits: BTreeMap<String, String>,
}

/// The whole computing capacity of a CPU, as utilization clamps count it.
const WHOLE_CAPACITY: u32 = 1024;
/// The policy of what waits for all others.
const IDLE: &str = "SCHED_IDLE";

impl ProcessFacts {
    /// Whether nothing is known of it.
    pub fn is_unknown(&self) -> bool {
        *self == ProcessFacts::default()
    }

    /// The most that the scheduler asks for it, where that is less than a whole CPU.
    pub fn clamped(&self) -> Option<u32> {
        self.uclamp_max.filter(|most| *most < WHOLE_CAPACITY)
    }

    /// Whether others that want its CPU go first, by its policy or its nice value.
    pub fn yields_to_others(&self) -> bool {
        self.policy.as_deref() == Some(IDLE) || self.nice.is_some_and(|nice| nice > 0)
    }
}
