//! Probe external.operations: operations a second that a command prints.

use hostmark_engine::prelude::*;

use crate::executed::ASKED;

pub static PROBE: Probe = Probe {
    title: crate::texts::external::OPERATIONS.title,
    unit: Unit::OperationsPerSecond,
    better: Better::Higher,
    needs: &[Need::CommandValue(Unit::OperationsPerSecond)],
    related: &["external.command", "net.tcp", "disk.read", "process.fork_exec"],
    explain: crate::texts::external::OPERATIONS.explain,
    ..ASKED
};
