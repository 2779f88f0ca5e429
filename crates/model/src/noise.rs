//! What disturbed a measurement: stopped by a quota, kept waiting, or beside others.

use serde::{Deserialize, Serialize};

/// What CPU quotas did to the control groups of the measured process, whoever of them used the quota up.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Throttling {
    /// Periods of a quota (mostly 100 ms) in which a group was stopped until the period's end.
    pub periods: u64,
    /// For how long, ns: summed over the CPUs that were stopped, and counted by the kernel when they go on.
    pub ns: f64,
}

/// What others used of a CPU of a round: neither the run's own processes, nor idle.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Others {
    /// The share of its time, 0 to 1, over a second or more around the round: of the CPU that others used most.
    pub share: f64,
    /// How far the share may be off: the kernel counts by ticks.
    pub error: f64,
}

/// What disturbed a case, summed over its samples and rounds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Noise {
    /// Samples that were marked: migrated, or of a block of samples that was kept waiting for over 1 % of its time.
    #[serde(rename = "tainted")]
    pub disturbed: u64,
    /// Marked samples that were left out of the estimate.
    pub left_out: u64,
    /// Time the measured thread was runnable and did not run, ns.
    pub run_delay_ns: f64,
    /// Time the hypervisor gave to others meanwhile, ns (it moves in ticks of 10 ms; absent where the kernel does not say).
    pub steal_ns: Option<f64>,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Page faults inside blocks of samples.
    pub faults: u64,
    /// Rounds whose warm-up did not settle.
    pub unsettled_rounds: u32,
    /// Rounds in which a CPU quota stopped the process; absent where the kernel counts none.
    pub throttled_rounds: Option<u32>,
    /// For how long, ns, as [`Throttling::ns`] counts it.
    pub throttled_ns: Option<f64>,
    /// Rounds that others disturbed by using a CPU of theirs; absent where none could be judged.
    pub contended_rounds: Option<u32>,
    /// The share of that CPU's time, 0 to 1, that others used, on average over these rounds; absent without one.
    pub others_share: Option<f64>,
    /// The share of looks at the cores of its rounds in which another thread ran on them too; absent where none was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<f64>,
}

/// What others of the same physical machine took, of which this system's kernel knows nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Neighbours {
    /// The share of looks at a core in which another thread ran on it too; absent where none was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core_shared: Option<f64>,
    /// What a load from the last cache cost as the run went on; absent where no such cache was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_cache: Option<LastCache>,
}

/// Looks at the last cache, one per replicate.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LastCache {
    /// The buffer that was gone over, bytes: the largest that the cache held when the run began.
    pub bytes: u64,
    /// What a dependent load took, ns, in the order of the looks.
    pub looks_ns: Vec<f64>,
}
