//! What of a command is its value, where that is not how long it takes.

use serde::{Deserialize, Serialize};

use crate::Unit;

/// What of a command is its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Sampled {
    /// A rate: so many bytes over the time that it takes.
    Bytes(u64),
    /// A number that it prints.
    Printed {
        /// The regular expression that finds it.
        pattern: String,
        /// The number's unit, by a name of [`PrintedUnit::ALL`].
        unit: String,
    },
}

impl Sampled {
    /// The unit in which the value is stored; none where the printed number's is not known.
    pub fn unit(&self) -> Option<Unit> {
        match self {
            Sampled::Bytes(_) => Some(Unit::BytesPerSecond),
            Sampled::Printed { unit, .. } => PrintedUnit::of_name(unit).map(|unit| unit.stored),
        }
    }
}

/// A unit in which programs print numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrintedUnit {
    /// As it is typed.
    pub name: &'static str,
    /// The base unit in which such a number is stored.
    pub stored: Unit,
    /// One of it in that base unit.
    pub factor: f64,
}

const fn unit(name: &'static str, stored: Unit, factor: f64) -> PrintedUnit {
    PrintedUnit { name, stored, factor }
}

impl PrintedUnit {
    /// All of them.
    pub const ALL: &[PrintedUnit] = &[
        unit("ns", Unit::Nanoseconds, 1.0),
        unit("us", Unit::Nanoseconds, 1e3),
        unit("ms", Unit::Nanoseconds, 1e6),
        unit("s", Unit::Nanoseconds, 1e9),
        unit("min", Unit::Nanoseconds, 60e9),
        unit("B/s", Unit::BytesPerSecond, 1.0),
        unit("kB/s", Unit::BytesPerSecond, 1e3),
        unit("MB/s", Unit::BytesPerSecond, 1e6),
        unit("GB/s", Unit::BytesPerSecond, 1e9),
        unit("KiB/s", Unit::BytesPerSecond, 1024.0),
        unit("MiB/s", Unit::BytesPerSecond, 1_048_576.0),
        unit("GiB/s", Unit::BytesPerSecond, 1_073_741_824.0),
        unit("kbit/s", Unit::BytesPerSecond, 125.0),
        unit("Mbit/s", Unit::BytesPerSecond, 125e3),
        unit("Gbit/s", Unit::BytesPerSecond, 125e6),
        unit("ops/s", Unit::OperationsPerSecond, 1.0),
        unit("kops/s", Unit::OperationsPerSecond, 1e3),
        unit("Mops/s", Unit::OperationsPerSecond, 1e6),
        unit("count", Unit::Count, 1.0),
    ];

    /// The unit of this name. `µs` is `us`.
    pub fn of_name(name: &str) -> Option<PrintedUnit> {
        let name = if ["µs", "μs"].contains(&name) { "us" } else { name };
        PrintedUnit::ALL.iter().find(|unit| unit.name == name).copied()
    }

    /// Their names, for people.
    pub fn names() -> String {
        PrintedUnit::ALL.iter().map(|unit| unit.name).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_found_by_its_name_alone() {
        let of = |name| PrintedUnit::of_name(name).map(|unit| (unit.stored, unit.factor));
        assert_eq!(of("us"), Some((Unit::Nanoseconds, 1e3)));
        assert_eq!(of("µs"), of("us"));
        assert_eq!(of("MiB/s"), Some((Unit::BytesPerSecond, 1_048_576.0)));
        assert_eq!(of("Gbit/s"), Some((Unit::BytesPerSecond, 1e9 / 8.0)));
        // m is no minute, and nobody's milli.
        for wrong in ["", "m", "US", "mb/s", "MB", "ns ", "b/s"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
        assert_eq!(Sampled::Bytes(1).unit(), Some(Unit::BytesPerSecond));
    }
}
