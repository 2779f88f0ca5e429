//! Units of stored values, and which direction of a value is good.

use serde::{Deserialize, Serialize};

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
    /// Whether no value of it lies below zero: a time, or a rate.
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
