//! Units as tools write them beside a number, for formats whose tests choose their own.

/// What a number with a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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
const UNITS: &[(&str, Kind, f64)] = &[
    ("ns", Kind::Time, 1.0),
    ("nanoseconds", Kind::Time, 1.0),
    ("us", Kind::Time, 1e3),
    ("usec", Kind::Time, 1e3),
    ("microseconds", Kind::Time, 1e3),
    ("ms", Kind::Time, 1e6),
    ("msec", Kind::Time, 1e6),
    ("milliseconds", Kind::Time, 1e6),
    ("s", Kind::Time, 1e9),
    ("sec", Kind::Time, 1e9),
    ("second", Kind::Time, 1e9),
    ("seconds", Kind::Time, 1e9),
    ("minutes", Kind::Time, 60e9),
    ("hours", Kind::Time, 3600e9),
    ("B/s", Kind::Rate, 1.0),
    ("byte/s", Kind::Rate, 1.0),
    ("bytes/s", Kind::Rate, 1.0),
    ("bytes/sec", Kind::Rate, 1.0),
    ("KiB/s", Kind::Rate, KIB),
    ("MiB/s", Kind::Rate, KIB * KIB),
    ("GiB/s", Kind::Rate, KIB * KIB * KIB),
    ("bits/sec", Kind::Rate, 0.125),
    ("kbits/sec", Kind::Rate, 125.0),
    ("mbits/sec", Kind::Rate, 125e3),
    ("gbits/sec", Kind::Rate, 125e6),
    ("iops", Kind::Operations, 1.0),
    ("ops/s", Kind::Operations, 1.0),
    ("ops/sec", Kind::Operations, 1.0),
    ("operations/s", Kind::Operations, 1.0),
    ("operations/sec", Kind::Operations, 1.0),
    ("operations per second", Kind::Operations, 1.0),
    ("req/s", Kind::Operations, 1.0),
    ("requests per second", Kind::Operations, 1.0),
    ("transactions_per_second", Kind::Operations, 1.0),
    ("transactions per second", Kind::Operations, 1.0),
    ("tps", Kind::Operations, 1.0),
    ("qps", Kind::Operations, 1.0),
];

/// What a unit is. Words may be in any case; where B is bytes and b bits, it counts.
pub(super) fn known(unit: &str) -> Option<(Kind, f64)> {
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
        assert_eq!(known("MiB/s"), Some((Kind::Rate, 1_048_576.0)));
        assert_eq!(known("Mbits/sec"), Some((Kind::Rate, 125e3)));
        assert_eq!(known("Seconds"), Some((Kind::Time, 1e9)));
    }
}
