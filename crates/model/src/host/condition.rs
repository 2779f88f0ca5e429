//! The state of a machine when it is looked at, what of it would disturb a measurement, and how the kernel treats the process that
//! measures.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::HostFacts;
use crate::Text;

/// What the machine was doing; differs between any two looks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Activity {
    /// Time since boot.
    pub uptime_s: Option<f64>,
    /// Load averages of 1, 5 and 15 minutes.
    pub load: Option<[f64; 3]>,
    /// Pressure stall information by resource: cpu, memory, io.
    pub pressure: BTreeMap<String, Pressure>,
}

/// Shares of the last ten seconds in which tasks waited for a resource: 0.02 is 2 %.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Pressure {
    /// Some task waited.
    pub some: f64,
    /// All tasks waited at once.
    pub full: Option<f64>,
}

/// Activity of others on the machine during a short look at it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Disturbed {
    /// The process that took most CPU time.
    pub busy: Option<BusyTask>,
    /// Share of the usable CPUs' time that the hypervisor gave to others: 0.013 is 1.3 %.
    pub steal_share: Option<f64>,
    /// Load averages of 1, 5 and 15 minutes.
    pub load: Option<[f64; 3]>,
    /// True where the processes of others could not be seen: that none is busy says nothing then.
    #[serde(default)]
    pub processes_unseen: bool,
    /// CPU time of programs that could not be seen over elapsed time: 0.98 is 98 % of one CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen_cpus: Option<f64>,
    /// True where the kernel's counters of CPU time stand still: that nobody uses a CPU says nothing then.
    #[serde(default)]
    pub counters_stand: bool,
}

/// A process that is not ours and takes CPU time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BusyTask {
    /// Process id.
    pub pid: u32,
    /// Name of the task.
    pub name: String,
    /// CPU time over elapsed time: 0.98 is 98 % of one CPU.
    pub cpus: f64,
    /// The CPU on which it ran last.
    pub last_cpu: usize,
}

/// Effect of a finding on a host for a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostWeight {
    /// Values would scatter or drift: `hostmark host --check` fails.
    Disturbs,
    /// Possible disturbance that cannot be seen here: `hostmark host --check` fails as well.
    Unknown,
    /// Values are shifted, but every time alike: to be known when hosts are compared.
    Shifts,
    /// Limitation: something cannot be measured or seen here.
    Note,
}

/// Finding of one rule on a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFinding {
    /// A stable name of the rule.
    pub id: String,
    /// Effect on a measurement.
    pub weight: HostWeight,
    /// Observation, and its effect.
    pub effect: Text<String>,
    /// Advice against it.
    pub cure: Text<String>,
}

/// Report of `hostmark host`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostReport {
    /// `hostmark.host/1`.
    pub schema: String,
    /// The machine.
    pub host: HostFacts,
    /// Activity of others during the look.
    pub disturbed: Disturbed,
    /// Findings, worst first.
    pub findings: Vec<HostFinding>,
}

impl HostReport {
    /// The schema that this version writes.
    pub const SCHEMA: &'static str = "hostmark.host/1";

    /// Tells whether something would disturb a measurement, or may do so unseen.
    pub fn is_disturbed(&self) -> bool {
        self.findings.iter().any(|finding| matches!(finding.weight, HostWeight::Disturbs | HostWeight::Unknown))
    }
}

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
    /// Further attributes by name, each as the kernel words it: `timer_slack_ns`, `store_bypass`, `autogroup_nice`, `tracer` …
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// Its soft resource limits by name, each a number or `unlimited`; those that the kernel does not tell are missing.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub resource_limits: BTreeMap<String, String>,
}

/// The whole computing capacity of a CPU, as utilization clamps count it.
const WHOLE_CAPACITY: u32 = 1024;

impl ProcessFacts {
    /// Tells whether nothing is known of it.
    pub fn is_unknown(&self) -> bool {
        *self == ProcessFacts::default()
    }

    /// The most that the scheduler asks for it, where that is less than a whole CPU.
    pub fn clamped(&self) -> Option<u32> {
        self.uclamp_max.filter(|most| *most < WHOLE_CAPACITY)
    }

    /// Returns an attribute that is a number.
    pub fn number(&self, attribute: &str) -> Option<i64> {
        self.attributes.get(attribute)?.parse().ok()
    }
}
