//! Probe external.time: a time that a command prints.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    needs: &[Need::CommandValue(Unit::Nanoseconds)],
    ..super::asked(crate::texts::external::TIME, Unit::Nanoseconds, Better::Lower)
};
