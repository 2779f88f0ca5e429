//! Probe external.rate: bytes a second of a command, by its time or as it prints them.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    needs: &[Need::CommandValue(Unit::BytesPerSecond)],
    ..super::asked(crate::texts::external::RATE, Unit::BytesPerSecond, Better::Higher)
};
