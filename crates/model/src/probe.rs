//! Probes as a run file describes them, so that it can be read without the program that made it; units of values.

use serde::{Deserialize, Serialize};

use crate::Text;

/// How an axis' values are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AxisKind {
    /// Bytes, as a plain integer; K M G (2^10 …) may be typed.
    Size,
    /// A plain integer.
    Count,
    /// A number of threads, each on a CPU of its own.
    Threads,
    /// A number of processes that do the same at once, each on a CPU of its own; the value is that of one of them.
    Copies,
    /// One of several names.
    Choice,
    /// Where two parties run: same_cpu, smt_sibling, same_cache, other_cache, same_package_other_node, other_node, free.
    Placement,
    /// The memory node of the CPUs and that of the memory, as `0-1`.
    Nodes,
}

/// A parameter that a probe sweeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AxisInfo {
    /// Its name in a case id.
    pub name: String,
    /// How its values are read.
    pub kind: AxisKind,
    /// The value that it has while another axis is swept.
    pub default: String,
}

/// A further quantity that the same measurement yields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QuantityInfo {
    /// Its key in `also`.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Which direction is good.
    pub better: Better,
    /// What it is.
    pub title: Text<String>,
}

/// The texts that teach a probe: its page of the handbook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(bound = "S: schemars::JsonSchema + Default + Serialize"))]
pub struct Explain<S = &'static str> {
    /// What is executed.
    pub what: Text<S>,
    /// Why it matters.
    pub why: Text<S>,
    /// How to read the value: what it is made of, how it moves along the axes, what to set it beside.
    pub reading: Text<S>,
    /// Typical figures, each with where it was published or on what class of machine it was measured.
    #[serde(default)]
    pub typical: Text<S>,
    /// The usual causes of a bad value, and how to tell them apart.
    #[serde(default)]
    pub causes: Text<S>,
}

/// Everything a reader needs to know of a probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProbeInfo {
    /// `group.name`.
    pub id: String,
    /// A short title.
    pub title: Text<String>,
    /// The unit of its value.
    pub unit: Unit,
    /// Which direction is good.
    pub better: Better,
    /// Further quantities of the same measurement.
    pub also: Vec<QuantityInfo>,
    /// Raised whenever the meaning of the number changes; runs of different revisions are not compared.
    pub revision: u32,
    /// The texts that teach it.
    pub explain: Explain<String>,
    /// The section of a report that shows it.
    pub section: Text<String>,
    /// Ids of the probes to read beside it.
    #[serde(default)]
    pub related: Vec<String>,
    /// The lmbench programs whose place it takes.
    pub replaces: Vec<String>,
    /// How its method differs from theirs; of probes that take the place of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<Text<String>>,
    /// Its axes, in the order of a case id.
    pub axes: Vec<AxisInfo>,
    /// What it needs of its host, as `cpus>=2`, `kernel>=6.1`, `root`; without it its cases are skipped.
    pub needs: Vec<String>,
    /// The selected probes that are computed from it, where it was not selected itself: only those of its cases were
    /// measured that they need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub brought_by: Vec<String>,
}

/// The unit in which a value is stored: always a base unit, never scaled, never rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Nanoseconds,
    /// Cycles of the core's own clock, which changes with its frequency.
    CoreCycles,
    /// Cycles of the constant-rate counter (TSC, CNTVCT).
    ReferenceCycles,
    /// Bytes a second; MB = 10^6, MiB = 2^20 when shown.
    BytesPerSecond,
    /// Operations a second.
    OperationsPerSecond,
    /// Bytes.
    Bytes,
    /// Hertz.
    Hertz,
    /// Joules.
    Joules,
    /// A number of things.
    Count,
    /// A quotient of two values of the same kind, or of two units that the title names.
    Ratio,
}

impl Unit {
    /// Tells whether no value of it lies below zero: a time, or a rate.
    pub fn is_time_or_rate(self) -> bool {
        use Unit::{BytesPerSecond, CoreCycles, Hertz, Nanoseconds, OperationsPerSecond, ReferenceCycles};
        matches!(self, Nanoseconds | CoreCycles | ReferenceCycles | BytesPerSecond | OperationsPerSecond | Hertz)
    }
}

/// Which direction of a value is good for who uses the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Less is better: latencies, costs.
    Lower,
    /// More is better: rates, bandwidths, capacities.
    Higher,
    /// A fact about the machine, neither good nor bad.
    Neither,
}
