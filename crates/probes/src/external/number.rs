//! Probe external.number: a number without a unit that a command prints.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    needs: &[Need::CommandValue(Unit::Count)],
    ..super::asked(crate::texts::external::NUMBER, Unit::Count, Better::Neither)
};
