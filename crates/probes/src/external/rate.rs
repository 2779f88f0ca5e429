//! Probe external.rate: bytes a second of a command, by its time or as it prints them.

use hostmark_engine::prelude::*;

use crate::executed::ASKED;

pub static PROBE: Probe = Probe {
    title: crate::texts::external::RATE.title,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    needs: &[Need::CommandValue(Unit::BytesPerSecond)],
    related: &["external.command", "memory.copy", "ipc.bandwidth", "net.tcp_bandwidth", "disk.read"],
    explain: crate::texts::external::RATE.explain,
    ..ASKED
};
