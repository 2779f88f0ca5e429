//! Probe external.operations: operations a second that a command prints.

use hostmark_engine::prelude::*;

pub static PROBE: Probe = Probe {
    needs: &[Need::CommandValue(Unit::OperationsPerSecond)],
    ..super::asked(crate::texts::external::OPERATIONS, Unit::OperationsPerSecond, Better::Higher)
};
