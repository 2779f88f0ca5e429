//! Probe disk.write: direct overwrites of a file, by pattern, block and queue depth.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: super::ALSO,
    axes: super::REQUESTS,
    full_factorial: super::FULL_FACTORIAL,
    blocking: true,
    measure: Measure::Run(|case| super::read::keep(case, 0)),
    ..crate::texts::disk::WRITE
};
