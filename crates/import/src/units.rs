//! Units as tools write them beside a number, for formats whose tests choose their own.

/// What a number with a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnitKind {
    /// A time: ns.
    Time,
    /// Bytes per second.
    Rate,
    /// Operations per second.
    Operations,
}

const KIB: f64 = 1024.0;

/// Units that are known: what they are of, and what one is in the base unit. KB, MB and GB are not among them: some tools count
/// 1000, others 1024.
const UNITS: &[(&str, UnitKind, f64)] = &[
    ("ns", UnitKind::Time, 1.0),
    ("nanoseconds", UnitKind::Time, 1.0),
    ("us", UnitKind::Time, 1e3),
    ("usec", UnitKind::Time, 1e3),
    ("microseconds", UnitKind::Time, 1e3),
    ("ms", UnitKind::Time, 1e6),
    ("msec", UnitKind::Time, 1e6),
    ("milliseconds", UnitKind::Time, 1e6),
    ("s", UnitKind::Time, 1e9),
    ("sec", UnitKind::Time, 1e9),
    ("second", UnitKind::Time, 1e9),
    ("seconds", UnitKind::Time, 1e9),
    ("minutes", UnitKind::Time, 60e9),
    ("hours", UnitKind::Time, 3600e9),
    ("B/s", UnitKind::Rate, 1.0),
    ("byte/s", UnitKind::Rate, 1.0),
    ("bytes/s", UnitKind::Rate, 1.0),
    ("bytes/sec", UnitKind::Rate, 1.0),
    ("KiB/s", UnitKind::Rate, KIB),
    ("MiB/s", UnitKind::Rate, KIB * KIB),
    ("GiB/s", UnitKind::Rate, KIB * KIB * KIB),
    ("bits/sec", UnitKind::Rate, 0.125),
    ("kbits/sec", UnitKind::Rate, 125.0),
    ("mbits/sec", UnitKind::Rate, 125e3),
    ("gbits/sec", UnitKind::Rate, 125e6),
    ("iops", UnitKind::Operations, 1.0),
    ("ops/s", UnitKind::Operations, 1.0),
    ("ops/sec", UnitKind::Operations, 1.0),
    ("operations/s", UnitKind::Operations, 1.0),
    ("operations/sec", UnitKind::Operations, 1.0),
    ("operations per second", UnitKind::Operations, 1.0),
    ("req/s", UnitKind::Operations, 1.0),
    ("requests per second", UnitKind::Operations, 1.0),
    ("transactions_per_second", UnitKind::Operations, 1.0),
    ("transactions per second", UnitKind::Operations, 1.0),
    ("tps", UnitKind::Operations, 1.0),
    ("qps", UnitKind::Operations, 1.0),
];

/// What a unit is. Words may be in any case; where B is bytes and b bits, it counts.
pub(super) fn known(unit: &str) -> Option<(UnitKind, f64)> {
    let lower = unit.to_ascii_lowercase();
    UNITS.iter().find(|(name, ..)| *name == unit || *name == lower).map(|(_, kind, one)| (*kind, *one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_that_may_be_two_things_are_unknown() {
        for unit in ["MB/s", "KB/s", "Mb/s", "b/s", "Mib/s", "GB/s", "", "points"] {
            assert_eq!(known(unit), None, "{unit}");
        }
        assert_eq!(known("MiB/s"), Some((UnitKind::Rate, 1_048_576.0)));
        assert_eq!(known("Mbits/sec"), Some((UnitKind::Rate, 125e3)));
        assert_eq!(known("Seconds"), Some((UnitKind::Time, 1e9)));
    }
}
