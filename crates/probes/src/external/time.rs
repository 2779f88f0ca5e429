//! Probe external.time: a time that a command prints.

use hostmark_engine::prelude::*;

use crate::executed::ASKED;

pub static PROBE: Probe = Probe {
    title: crate::texts::external::TIME.title,
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    needs: &[Need::CommandValue(Unit::Nanoseconds)],
    related: &["external.command", "ipc.round_trip", "net.tcp", "disk.fsync"],
    explain: crate::texts::external::TIME.explain,
    ..ASKED
};
